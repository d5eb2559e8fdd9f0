"""Understanding text without a model: terms, times, names, chunks and secrets."""
