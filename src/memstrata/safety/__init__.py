"""What keeps memory safe: erasure now; sealing, audit and redaction build on it."""
