"""Several processes on one file, killed and interrupted: what was acknowledged is there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import memstrata
from memstrata import Memory
from memstrata.errors import NotFound
from memstrata.models.fake import FakeEmbedder
from memstrata.records import Record

ANN: dict[str, Any] = {"user_id": "ann"}
TESTS = Path(__file__).parents[1]
FOREVER = 10_000

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and fork")


@contextmanager
def child(*args: object) -> Generator[subprocess.Popen[str]]:
    """A process that runs one of `faults.children`; it does not outlive the block."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "faults.children", *map(str, args)],
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    """The next so many lines it says."""
    assert process.stdout is not None
    return [process.stdout.readline().rstrip("\n") for _ in range(count)]


def ended_well(process: subprocess.Popen[str]) -> list[str]:
    """The rest of what a process says, which must end by itself and without an error."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.splitlines()


def reopen(path: Path) -> Memory:
    """The store that the children write to, with their embedder."""
    return memstrata.open(path, embedder=FakeEmbedder(dimensions=32))


def test_r39_two_processes_and_a_reader(tmp_path: Path) -> None:
    """Two processes overwrote each other's rows in silence, or failed at once with `locked`
    (modelcontextprotocol/servers #4797, mem0ai/mem0 #7196)."""
    path = tmp_path / "memory.db"
    with (
        memstrata.open(path, embedder="none") as memory,
        child("add", path, "ann", "red", 100) as one,
        child("add", path, "ann", "blue", 100) as two,
    ):
        seen = [0]
        while one.poll() is None or two.poll() is None:
            seen.append(len(memory.search("crate", limit=FOREVER, **ANN)))
            assert len(memory.messages(limit=FOREVER, **ANN)) >= seen[-1]
        said = [*ended_well(one), *ended_well(two)]

        assert seen == sorted(seen)
        stored = [message.id for message in memory.messages(limit=FOREVER, **ANN)]
        assert sorted(stored) == sorted(said) and len(set(stored)) == 200
        assert len(memory.search("crate", limit=FOREVER, **ANN)) == 200
        assert memory.verify() == []


def test_r40_two_importers_one_killed(tmp_path: Path) -> None:
    """Two imports at once ended without an error, and then every search failed
    (MemPalace/mempalace #357, #1401). Nor does anybody wait for what the killed one had begun."""
    path = tmp_path / "memory.db"
    with reopen(path) as server:
        with (
            child("load", path, "ann", 1_200, 100) as one,
            child("load", path, "bea", 400, 50) as two,
        ):
            lines(one, 3)
            one.kill()
            assert len(server.search("crate 7", **ANN)) > 0
            assert ended_well(two)[-1] == "400"
        counts = [server.stats(user_id=user)["messages"] for user in ("ann", "bea")]
        assert counts[0] >= 300 and counts[0] % 100 == 0 and counts[1] == 400
        assert server.verify() == []

        with child("load", path, "ann", 1_200, 100) as again:
            assert ended_well(again)[-1] == "1200"
        assert server.stats(**ANN)["messages"] == 1_200
        assert server.search("crate 1199", method="bm25", **ANN)[0].text == "crate 1199"
        assert server.add("one more", **ANN).state == "done"
        assert server.stats(**ANN)["items_without_vector"] == 0
        assert server.verify() == []


@pytest.mark.parametrize(("where", "seed", "rounds"), [("inside", 11, 20), ("outside", 12, 8)])
def test_r40_killed_at_any_point(tmp_path: Path, where: str, seed: int, rounds: int) -> None:
    """A writer that was killed left a store that could only be thrown away
    (MemPalace/mempalace #1401)."""
    path = tmp_path / "memory.db"
    kept: set[str] = set()
    asked, erased = set[str](), set[str]()
    steps: dict[str, int] = {}
    with child("crash", path, seed, rounds, where) as process:
        said = [line.split(" ", 2)[1:] for line in ended_well(process)]
    for word, rest in said:
        name, _, value = rest.partition(" ")
        assert word != "unsound", rest
        if word == "kept":
            kept.add(name)
        elif word == "step":
            steps[name] = int(value)
        elif word in ("erase", "erased"):
            (asked if word == "erase" else erased).add(name)
    ends = [rest for word, rest in said if word == "killed"]
    assert ends == [f"by -{int(signal.SIGKILL)}"] * rounds
    assert len(kept) > 20 and steps

    with reopen(path) as memory:
        assert memory.verify() == []
        for each in kept - asked:
            assert memory.get(each, **ANN).id == each
        for each in erased:
            with pytest.raises(NotFound):
                memory.get(each, **ANN)
        for record_id, step in steps.items():
            record = memory.get(record_id, **ANN)
            assert isinstance(record, Record) and record.fields["details"] in (
                f"step {step}",
                f"step {step + 1}",
            )
        check_usable(memory)


def check_usable(memory: Memory) -> None:
    """What was left waiting is worked off, and all of it is found."""
    assert memory.add("The end.", **ANN).state == "done"
    states = {batch.state for batch in memory.batches(limit=FOREVER, **ANN)}
    assert states == {"done"}
    assert memory.stats(**ANN)["items_without_vector"] == 0
    total = memory.stats(**ANN)["messages"]
    found = memory.search("crate basket end", strata=["messages"], limit=FOREVER, **ANN)
    assert len(found) == total
    assert memory.verify() == []


@pytest.mark.parametrize("after", [1, 4])
def test_an_import_that_is_interrupted(tmp_path: Path, after: int) -> None:
    """Ctrl-C in a long import: whole groups, each done or waiting, nothing half."""
    path = tmp_path / "memory.db"
    group = 500
    with child("load", path, "ann", 20_000, group) as process:
        said = lines(process, after)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode != 0 and "KeyboardInterrupt" in err
    acknowledged = int([*said, *out.split()][-1])

    with reopen(path) as memory:
        batches = memory.batches(limit=FOREVER, **ANN).items
        assert all(batch.messages == group for batch in batches)
        assert {batch.state for batch in batches} <= {"done", "pending"}
        stored = memory.messages(limit=FOREVER, **ANN).items
        assert acknowledged <= len(stored) < 20_000 and len(stored) % group == 0
        assert {message.content for message in stored} == {f"crate {n}" for n in range(len(stored))}
        assert memory.verify() == []
        assert memory.add("The end.", **ANN).state == "done"
        assert memory.stats(**ANN)["items_without_vector"] == 0
