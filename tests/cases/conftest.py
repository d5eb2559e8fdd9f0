"""A store of its own for each test, without an embedder unless the test brings one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memstrata
from memstrata import Memory


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the test's store is."""
    return tmp_path / "memory.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    """An empty store that searches by keywords."""
    with memstrata.open(path, embedder="none") as opened:
        yield opened
