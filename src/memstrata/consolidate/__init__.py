"""Tidying what is remembered: duplicates, plans whose time is over, digests, a profile."""
