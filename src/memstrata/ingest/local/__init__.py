"""Extraction by rules, without a model: English and Chinese."""

from __future__ import annotations

from memstrata.ingest.local.extract import Setting, extract

__all__ = ["Setting", "extract"]
