"""Benchmarks through the public verbs: evidence recall on LoCoMo, speed and size, and a peer."""

from __future__ import annotations

__all__: list[str] = []
