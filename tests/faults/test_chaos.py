"""Chaos, a short run of it; `make chaos ROUNDS=500` is the long one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from faults.failpoints import WRITING

TESTS = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and fork")


def test_chaos(tmp_path: Path) -> None:
    """Processes are killed wherever they are: what was acknowledged holds, what was forgotten is
    gone, and the store is sound."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "faults.chaos", "25", "--keep", str(tmp_path / "kept")],
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "\n0 violations" in said
    assert "25 rounds, seed 1: " in said


def test_the_statements_that_write_are_known() -> None:
    """A failpoint is named by its statement."""
    assert {"message_add", "erase_messages", "secret_reseal", "batch_finish"} <= set(WRITING)
    assert not {"message_by_id", "verify_broken", "batch_next"} & set(WRITING)
