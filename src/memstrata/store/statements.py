"""Reads the named statements of a backend's `queries.sql`."""

from __future__ import annotations

import re
from importlib import resources

__all__ = ["load_statements"]

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def load_statements(package: str, file: str = "queries.sql") -> dict[str, str]:
    """The statements of a file by name: `-- name: …`, a line that says what for, the SQL."""
    text = resources.files(package).joinpath(file).read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]
    return {
        name: body.strip().rstrip(";") for name, body in zip(parts[::2], parts[1::2], strict=True)
    }
