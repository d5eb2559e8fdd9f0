"""Fail when a function or a file is longer than the limits; they are only ever lowered."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["oversized"]

FUNCTION_LINES = 60
FILE_LINES = 500
FOLDERS = ("src", "tests", "tools", "examples")


def oversized(path: Path, source: str) -> Iterator[str]:
    """One line per thing in `source` that is too long, in the form editors can jump to."""
    lines = len(source.splitlines())
    if lines > FILE_LINES:
        yield f"{path}:1: {lines} lines, {FILE_LINES} allowed"
    for node in ast.walk(ast.parse(source, str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield (
                    f"{path}:{node.lineno}: {node.name} has {length} lines, "
                    f"{FUNCTION_LINES} allowed"
                )


def main() -> int:
    """Exit status: 1 when anything is too long."""
    files = sorted(path for folder in FOLDERS for path in Path(folder).rglob("*.py"))
    found = [line for path in files for line in oversized(path, path.read_text("utf-8"))]
    print("\n".join(found) or f"{len(files)} files within the size limits")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
