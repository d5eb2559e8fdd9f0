"""The SQLite backend: one file, or memory."""
