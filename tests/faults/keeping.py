"""A process that backs up or restores a store, and is killed at a failpoint on the way.

python -m faults.keeping backup|restore FAILPOINT PASSING FROM TO
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from faults.failpoints import Failpoints, Fate
from faults.vfs import FaultyDisk

import memstrata
from memstrata.config import restore

__all__ = ["killed"]

TESTS = Path(__file__).parents[1]


def killed(what: str, failpoint: str, passing: int, source: Path, target: Path) -> bool:
    """Run one in a process of its own; whether it was killed, and if not it ended well."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", __name__, what, failpoint, str(passing), str(source), str(target)],
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def main(what: str, failpoint: str, passing: str, source: str, target: str) -> None:
    """Do it, with `force`: so it comes by every failpoint there is."""
    disk = FaultyDisk("mortal")
    fate = Failpoints(Fate(failpoint, int(passing)), lambda place: None)
    if what == "restore":
        fate.install(disk)
        restore(source, target, force=True, vfs=disk.name)
    else:
        with memstrata.open(source, embedder="none", vfs=disk.name) as memory:
            fate.install(disk)
            memory.backup(target, force=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
