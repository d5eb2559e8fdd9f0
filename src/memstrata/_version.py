"""The version, said once: packaging and `memstrata.__version__` both read it here."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
