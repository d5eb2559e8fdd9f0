"""Finding and reading the files of a data set; what is wrong with one is said by its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from memstrata.errors import InvalidInput

__all__ = ["find", "only", "read", "read_lines"]

T = TypeVar("T")


def find(data: Path, folder: str, patterns: Sequence[str]) -> Path:
    """The one file that `data` names: itself, or what matches in it or in its `folder`.

    Of several patterns the first one that matches anything counts.
    """
    if data.is_file():
        return data
    for place in (data, data / folder):
        for pattern in patterns:
            if (found := only(place, pattern)) is not None:
                return found
    wanted = " or ".join(patterns)
    raise InvalidInput(f"no {wanted} in {data}: give the data file, or the folder it is in")


def only(folder: Path, pattern: str) -> Path | None:
    """The one file of a folder that matches, None without one; several are `InvalidInput`."""
    found = sorted(folder.glob(pattern)) if folder.is_dir() else []
    if len(found) > 1:
        raise InvalidInput(f"several {pattern} in {folder}: name one of them")
    return found[0] if found else None


def read(path: Path, adapter: TypeAdapter[T]) -> T:
    """A JSON file as what the adapter makes of it; otherwise `InvalidInput`."""
    return _parsed(path, _bytes(path), adapter, "")


def read_lines(path: Path, adapter: TypeAdapter[T]) -> list[T]:
    """A file of one JSON document a line; blank lines are skipped."""
    lines = enumerate(_bytes(path).splitlines(), start=1)
    return [_parsed(path, line, adapter, f"line {n}: ") for n, line in lines if line.strip()]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        raise InvalidInput(f"cannot read {path}: {exc.strerror}") from exc


def _parsed(path: Path, content: bytes, adapter: TypeAdapter[T], place: str) -> T:
    try:
        return adapter.validate_json(content)
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"{path} has another format: {place}{where}: {first['msg']}") from exc
