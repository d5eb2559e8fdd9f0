"""The real clients of other systems, in an environment of their own, driven from the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from platformdirs import user_cache_path

__all__ = ["OLDER", "Client", "ClientError", "Worker", "working"]

_PACKAGES = ("mem0ai==2.2.1", "mirix==0.1.7")
OLDER = ("0.1.118", "1.0.11")
"""Releases of mem0ai that call routes which newer ones do not."""
_FOLDER = user_cache_path("memstrata") / "tests" / "clients"
_WORKER = Path(__file__).with_name("client_worker.py")


class ClientError(Exception):
    """What a client raised, by the name of its class."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


class Worker:
    """A process with the clients in it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, **order: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the clients' process ended"
        answer = json.loads(line)
        if "error" in answer:
            raise ClientError(*answer["error"])
        return answer["value"]


class Client:
    """One client in that process: its methods by their names."""

    def __init__(self, worker: Worker, name: str, kind: str, **given: Any) -> None:
        self._worker = worker
        self._name = name
        self.version = worker.ask(make=name, client=kind, **{"with": given})

    def __getattr__(self, method: str) -> Any:
        def call(*args: Any, **given: Any) -> Any:
            order = {"of": self._name, "call": method, "args": list(args), "with": given}
            return self._worker.ask(**order)

        return call


@contextmanager
def working(home: Path, older: str | None = None) -> Generator[Worker]:
    """A process with the newest clients, or with an older release of mem0's."""
    python = _environment()
    env = {
        **{name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ},
        "HOME": str(home),
        "MEM0_DIR": str(home / "mem0"),
        "MEM0_TELEMETRY": "False",
        "PYTHONPATH": str(_FOLDER / older) if older else "",
        "PYTHONIOENCODING": "utf-8",
        "NO_PROXY": "*",
    }
    with (home / "clients.log").open("w") as log:
        process = subprocess.Popen(
            [str(python), "-u", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=env,
            cwd=home,
            encoding="utf-8",
        )
        try:
            yield Worker(process)
        finally:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.close()
            process.wait(30)
            process.stdout.close()


def _environment() -> Path:
    """Its interpreter; made once and kept, 230 MB. Where that cannot be, the test is skipped."""
    python = _FOLDER / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    made, wanted = _FOLDER / "made", " ".join([*_PACKAGES, *OLDER])
    _FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(_FOLDER.with_suffix(".lock")):
        if made.exists() and made.read_text() == wanted:
            return python
        try:
            venv.create(_FOLDER, with_pip=True, clear=True, symlinks=os.name != "nt")
            _pip(python, *_PACKAGES)
            for version in OLDER:
                # What it needs is what the newer one needs.
                _pip(python, "--no-deps", "--target", str(_FOLDER / version), f"mem0ai=={version}")
        except subprocess.CalledProcessError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"no environment with {' and '.join(_PACKAGES)}: {error.stderr[-300:]}")
        made.write_text(wanted)
    return python


def _pip(python: Path, *wanted: str) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *wanted], check=True, capture_output=True, text=True)
