"""What the Dockerfile and compose.yaml say, and a stand-in for a container that keeps to it.

The stand-in is made of what containers are made of: namespaces of mounts, processes and the
network, a root that is read-only, the volumes, a `/tmp` of its own, an unprivileged user without
capabilities, and the environment of the image. The program in it is the one of this checkout. It
needs Linux, root, `unshare` and `setpriv`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

__all__ = ["ROOT", "Image", "Ran", "compose_service", "read_image", "run_inside", "why_not"]

ROOT = Path(__file__).parents[1]

_LOOPBACK = """
import fcntl, socket, struct
with socket.socket() as any:  # SIOCSIFFLAGS: up, and running
    fcntl.ioctl(any, 0x8914, struct.pack("16sh14x", b"lo", 0x41))
"""
_SCRIPT = """
set -eu
new=$1; shift
mount -t tmpfs -o mode=0755 none "$new"
mkdir -p "$new/tmp"
mount -t tmpfs -o mode=1777 none "$new/tmp"
for each in $READABLE; do
    if [ -L "$each" ]; then cp -P "$each" "$new$each"; continue; fi
    mkdir -p "$new$each"
    mount --bind "$each" "$new$each"
    mount -o remount,bind,ro "$new$each"
done
mkdir -p "$new/proc" "$new/dev"
mount -t proc none "$new/proc"
for each in null zero random urandom; do
    touch "$new/dev/$each"
    mount --bind "/dev/$each" "$new/dev/$each"
done
for pair in $WRITABLE; do
    mkdir -p "$new${pair#*:}"
    mount --bind "${pair%%:*}" "$new${pair#*:}"
done
mount -o remount,ro "$new"
"$PYTHON" -c "$LOOPBACK"
code=0
chroot "$new" setpriv --reuid "$OWNER" --regid "$GROUP" --clear-groups --no-new-privs \
    --bounding-set=-all --inh-caps=-all env -i -C / "$@" || code=$?
find "$new/tmp" -mindepth 1 -xdev -type f >"$LEFT"
exit "$code"
"""


@dataclass
class Image:
    """The last stage of a Dockerfile."""

    environment: dict[str, str] = field(default_factory=dict[str, str])
    user: str = ""
    volumes: list[str] = field(default_factory=list[str])
    ports: list[str] = field(default_factory=list[str])
    healthcheck: list[str] = field(default_factory=list[str])
    command: list[str] = field(default_factory=list[str])
    """What is run: the entry point with its arguments."""
    copied: list[str] = field(default_factory=list[str])
    """What all stages copy from the checkout."""
    runs: list[str] = field(default_factory=list[str])


def _instructions(text: str) -> list[tuple[str, str]]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [
        (word, rest.strip())
        for word, _, rest in (line.strip().partition(" ") for line in joined.splitlines())
        if word
    ]


def read_image(path: Path = ROOT / "Dockerfile") -> Image:
    """The image a Dockerfile makes."""
    image, entry = Image(), list[str]()
    for word, rest in _instructions(path.read_text("utf-8")):
        match word:
            case "FROM":
                image = Image(copied=image.copied)
            case "COPY" if not rest.startswith("--from"):
                image.copied += shlex.split(rest)[:-1]
            case "ENV":
                image.environment.update(dict(each.split("=", 1) for each in shlex.split(rest)))
            case "HEALTHCHECK":
                image.healthcheck = json.loads(rest[rest.index("CMD") + 3 :])
            case "VOLUME":
                image.volumes = json.loads(rest)
            case _:
                _simple(image, entry, word, rest)
    image.command[:0] = entry
    return image


def _simple(image: Image, entry: list[str], word: str, rest: str) -> None:
    match word:
        case "ENTRYPOINT":
            entry[:] = json.loads(rest)
        case "CMD":
            image.command = json.loads(rest)
        case "RUN":
            image.runs.append(rest)
        case "EXPOSE":
            image.ports += rest.split()
        case "USER":
            image.user = rest
        case _:
            pass


def compose_service(path: Path = ROOT / "compose.yaml") -> tuple[dict[str, Any], list[str]]:
    """The one service of a compose file, and the names of its volumes."""
    read = yaml.safe_load(path.read_text("utf-8"))
    [service] = read["services"].values()
    return service, list(read["volumes"])


def why_not() -> str | None:
    """Why there can be no stand-in here; None if there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a stand-in for a container needs Linux and root"
    if missing := [tool for tool in ("unshare", "setpriv", "mount") if not shutil.which(tool)]:
        return f"a stand-in for a container needs {', '.join(missing)}"
    probe = [
        "unshare",
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "mount",
        "-t",
        "tmpfs",
        "none",
        "/mnt",
    ]
    done = subprocess.run(probe, capture_output=True, encoding="utf-8", check=False)
    return None if done.returncode == 0 else f"no mount namespaces here: {done.stderr.strip()}"


@dataclass(frozen=True)
class Ran:
    """How a command in the container ended."""

    code: int
    out: str
    err: str
    left_in_tmp: str


def _readable() -> list[str]:
    """What the image would have: the system, Python, and the program."""
    system = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc"]
    ours = {str(Path(each).resolve()) for each in (sys.base_prefix, ROOT, sys.prefix)}
    inside = [each for each in sorted(ours) if not each.startswith("/usr/")]
    outer = [a for a in inside if not any(a.startswith(f"{b}/") for b in inside)]
    return [each for each in system if os.path.lexists(each)] + outer


def run_inside(
    folder: Path, volumes: Mapping[Path, str], environment: Mapping[str, str], *command: str
) -> Ran:
    """Run a command as compose.yaml would, with these folders of ours as volumes."""
    owner, _, group = str(compose_service()[0]["user"]).partition(":")
    new, left = folder / "root", folder / "left"
    new.mkdir(exist_ok=True)
    seen = {**environment, "PATH": f"{sys.prefix}/bin:{environment['PATH']}"}
    given: Sequence[str] = [f"{name}={value}" for name, value in seen.items()]
    done = subprocess.run(
        [
            "unshare",
            "--mount",
            "--net",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            _SCRIPT,
            "sh",
            str(new),
            *given,
            *command,
        ],
        env={
            "PATH": os.environ["PATH"],
            "READABLE": " ".join(_readable()),
            "WRITABLE": " ".join(f"{ours}:{theirs}" for ours, theirs in volumes.items()),
            "OWNER": owner,
            "GROUP": group,
            "LEFT": str(left),
            "LOOPBACK": _LOOPBACK,
            "PYTHON": sys.executable,
        },
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr, left.read_text() if left.exists() else "")
