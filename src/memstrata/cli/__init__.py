"""The command line: one command per verb, the same words as in Python."""

from __future__ import annotations

from memstrata.cli.main import main

__all__ = ["main"]
