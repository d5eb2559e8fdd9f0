"""A path for a store, and a disk that fails when told to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.vfs import FaultyDisk

_numbers = itertools.count()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the test's store is."""
    return tmp_path / "memory.db"


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    """A disk without a fault yet."""
    disk = FaultyDisk(f"faulty-{next(_numbers)}")
    yield disk
    disk.unregister()
