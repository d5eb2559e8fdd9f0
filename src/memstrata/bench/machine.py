"""What the machine is and does while a benchmark runs, and the figures made of timings."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

__all__ = [
    "child_environment",
    "folder_bytes",
    "load_average",
    "milliseconds",
    "peak_bytes",
    "resident_bytes",
    "setting",
]

_ONE_THREAD = (
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def child_environment(**more: str) -> dict[str, str]:
    """The environment of a measured process: one thread for linear algebra, its best kernel.

    `OPENBLAS_CORETYPE` is taken out, since where it is set it often names an older processor.
    """
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    return kept | dict.fromkeys(_ONE_THREAD, "1") | {"TOKENIZERS_PARALLELISM": "false"} | more


def load_average() -> float | None:
    """Processes running or waiting over the last minute; `None` where the system does not say."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def setting() -> dict[str, str | int | float | None]:
    """Where the figures come from: machine, interpreter, versions, load."""
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "memstrata": importlib.metadata.version("memstrata"),
        "load_average": load_average(),
    }


def resident_bytes() -> int | None:
    """The memory this process holds now; `None` where `/proc` does not say."""
    return _proc_status("VmRSS")


def peak_bytes() -> int | None:
    """The most memory this process has held; `None` on Windows."""
    if (peak := _proc_status("VmHWM")) is not None:
        return peak
    if importlib.util.find_spec("resource") is None:
        return None
    resource = importlib.import_module("resource")
    peak = int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak if sys.platform == "darwin" else peak * 1024


def folder_bytes(folder: Path) -> int:
    """The bytes of all files under a folder."""
    return sum(item.stat().st_size for item in folder.rglob("*") if item.is_file())


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    """The middle, the slow end and the mean of timings, in milliseconds."""
    values = np.asarray(seconds) * 1000.0
    p50, p95 = np.quantile(values, (0.5, 0.95))
    return {"p50": float(p50), "p95": float(p95), "mean": float(values.mean())}


def _proc_status(field: str) -> int | None:
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    for line in status.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return None
