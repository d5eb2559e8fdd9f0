"""A disk that is full, read-only or failing: what was acknowledged stays, the rest is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import pytest
from faults.vfs import WRITES, FaultyDisk

import memstrata
from memstrata import Memory
from memstrata.errors import MemstrataError, PermissionDenied, StoreUnavailable
from memstrata.models.fake import FakeEmbedder
from memstrata.records import Record

ANN: dict[str, Any] = {"user_id": "ann"}
FACT = {"kind": "semantic", "name": "The kettle is blue"}


@dataclass
class Story:
    """What a caller did, and what was acknowledged to them."""

    memory: Memory
    messages: set[str] = field(default_factory=set[str])
    gone: set[str] = field(default_factory=set[str])
    """Erased, or asked to be: whether the call failed before or after is not known."""
    record: str | None = None
    names: list[str] = field(default_factory=list[str])
    """What the record has been called; an unanswered change may hold or not."""
    named: int = 0
    """How many of these names are superseded for sure."""
    errors: list[MemstrataError] = field(default_factory=list[MemstrataError])

    def attempt(self, step: Callable[[], None]) -> None:
        """Do one step; a failure must be ours and is kept."""
        try:
            step()
        except StoreUnavailable as error:
            self.errors.append(error)

    def say(self, text: str) -> None:
        self.messages.update(self.memory.add(text, infer=False, **ANN).message_ids)

    def create(self) -> None:
        if self.record is None:
            self.names = [FACT["name"]]
            self.record = self.memory.create(FACT, **ANN).record_ids[0]

    def rename(self) -> None:
        if self.record is not None:
            self.names.append(f"The kettle has colour {len(self.names)}")
            self.memory.update(self.record, name=self.names[-1], **ANN)
            self.named = len(self.names) - 1

    def forget_one(self) -> None:
        if self.messages - self.gone:
            chosen = min(self.messages - self.gone)
            self.gone.add(chosen)
            self.memory.forget(ids=[chosen], **ANN)

    def tell(self) -> None:
        """Every kind of write, each whole or not at all."""
        self.attempt(lambda: self.say("The kettle is on the blue shelf."))
        self.attempt(lambda: self.say(f"A long story. {'And then it rained. ' * 600}"))
        self.attempt(self.create)
        self.attempt(self.rename)
        self.attempt(self.forget_one)
        self.attempt(lambda: self.say("The end."))

    def check(self, memory: Memory) -> None:
        """What was acknowledged is there; the store is sound; all of it is found."""
        assert memory.verify() == []
        stored = {message.id: message for message in memory.messages(**ANN)}
        assert self.messages - self.gone <= set(stored)
        for text in {message.content for message in stored.values()}:
            found = memory.search(text[:80], method="string_match", **ANN)
            assert text[:80] in str([hit.text for hit in found])
        if self.record is not None:
            record = memory.get(self.record, **ANN)
            assert isinstance(record, Record) and record.fields["name"] in self.names[self.named :]
            assert [hit.id for hit in memory.search("kettle", kinds=["semantic"], **ANN)] == [
                self.record
            ]


def finish(story: Story, disk: FaultyDisk, path: Path) -> None:
    """After the fault: sound, usable through the same handle, and the same when opened again."""
    disk.heal()
    memory = story.memory
    story.check(memory)
    story.tell()
    story.say("It works again.")
    story.check(memory)
    memory.close()
    with memstrata.open(path, embedder="none") as again:
        story.check(again)


@pytest.mark.parametrize("room", [0, 1, 4_096, 9_000, 20_000, 45_000, 70_000, 100_000, 200_000])
def test_a_full_disk_loses_nothing(path: Path, disk: FaultyDisk, room: int) -> None:
    """Full at the first byte, in the middle of a transaction, between two, or in the clean-up."""
    story = Story(memstrata.open(path, embedder="none", vfs=disk.name))
    story.say("Before the disk was full.")
    disk.room = room
    for _ in range(3):
        story.tell()
    assert disk.failures and story.errors
    assert all(
        "disk is full" in str(error) and "free space" in str(error) for error in story.errors
    )
    finish(story, disk, path)


@pytest.mark.parametrize("room", [0, 1_000, 30_000, 100_000])
def test_a_full_disk_when_a_store_is_made(path: Path, disk: FaultyDisk, room: int) -> None:
    """A store that could not be made leaves nothing that a second try would trip over."""
    disk.room = room
    with pytest.raises(StoreUnavailable, match="disk is full"):
        memstrata.open(path, embedder="none", vfs=disk.name)
    disk.heal()
    with memstrata.open(path, embedder="none", vfs=disk.name) as memory:
        story = Story(memory)
        story.tell()
        assert story.errors == []
        story.check(memory)


def test_a_full_disk_while_it_embeds(path: Path, disk: FaultyDisk) -> None:
    """Messages are stored, their vectors are not: the receipt says so, and they come later."""
    embedder = FakeEmbedder(dimensions=4_096)
    with memstrata.open(path, embedder=embedder, vfs=disk.name) as memory:
        memory.add("crate", **ANN)
        disk.room = 300_000
        receipt = memory.add([f"crate {n}" for n in range(50)], infer=False, **ANN)
        assert receipt.state == "pending" and "disk is full" in (receipt.reason or "")
        assert len(receipt.message_ids) == 50
        assert len(memory.search("crate 7", method="bm25", **ANN)) > 0

        disk.heal()
        assert memory.add("crate 50", **ANN).state == "done"
        assert memory.wait_for(receipt.batch_id, timeout=20, **ANN).state == "done"
        assert memory.stats(**ANN)["items_without_vector"] == 0
        assert memory.verify() == []


def count_writes(path: Path, disk: FaultyDisk) -> int:
    """How many operations the whole story takes."""
    disk.fail(*WRITES, after=10**9)
    with memstrata.open(path, embedder="none", vfs=disk.name) as memory:
        disk.operations = 0
        story = Story(memory)
        story.tell()
        assert story.errors == []
        total = disk.operations
    disk.heal()
    return total


@pytest.mark.parametrize("once", [True, False], ids=["once", "from then on"])
def test_a_write_may_fail_anywhere(tmp_path: Path, disk: FaultyDisk, once: bool) -> None:
    """Each write, sync and truncation in turn fails: every call is whole, or not there at all."""
    total = count_writes(tmp_path / "whole.db", disk)
    assert total > 60
    for after in range(0, total, 12) if once else range(5, total, 24):
        path = tmp_path / f"{after}.db"
        story = Story(memstrata.open(path, embedder="none", vfs=disk.name))
        disk.fail(*WRITES, after=after, once=once)
        story.tell()
        assert disk.failures, after
        assert all("disk failed" in str(error) for error in story.errors)
        finish(story, disk, path)


def test_a_read_that_fails_is_no_empty_result(path: Path, disk: FaultyDisk) -> None:
    """Every read path says that the disk failed, and works when it does again."""
    with memstrata.open(path, embedder="none") as memory:
        memory.add([f"crate {n} {'x' * 3_000}" for n in range(200)], infer=False, **ANN)
        [record] = memory.create(FACT, **ANN).record_ids
    with memstrata.open(path, embedder="none", vfs=disk.name) as memory:
        disk.fail("read")
        for read in (
            lambda: memory.search("crate", **ANN),
            lambda: memory.search("crate", method="string_match", **ANN),
            lambda: memory.context("crate", **ANN),
            lambda: memory.messages(**ANN),
            lambda: memory.list(**ANN),
            lambda: memory.get(record, **ANN),
            lambda: memory.history(record, **ANN),
            lambda: memory.batches(**ANN),
            lambda: memory.dump(path.parent / "out.jsonl", **ANN),
            lambda: memory.verify(),
        ):
            with pytest.raises(StoreUnavailable, match="disk failed"):
                read()
        assert disk.failures
        assert list(path.parent.glob("out*")) == []
        disk.heal()
        assert len(memory.messages(limit=1_000, **ANN)) == 200
        assert len(memory.search("crate 17", **ANN)) > 0
        assert memory.verify() == []


def test_a_store_that_cannot_be_read_is_not_opened(path: Path, disk: FaultyDisk) -> None:
    """Nor is it taken for an empty one, which would be made anew."""
    with memstrata.open(path, embedder="none") as memory:
        memory.add("crate", **ANN)
    before = path.read_bytes()
    disk.fail("read")
    with pytest.raises(StoreUnavailable, match="disk failed"):
        memstrata.open(path, embedder="none", vfs=disk.name)
    assert path.read_bytes() == before
    disk.heal()
    with memstrata.open(path, embedder="none", vfs=disk.name) as memory:
        assert len(memory.messages(**ANN)) == 1


@pytest.mark.parametrize("embedder", ["none", "fake"])
def test_a_read_only_file_can_be_read(path: Path, disk: FaultyDisk, embedder: str) -> None:
    """Reading works, writing says what to do, and nothing is touched."""
    with memstrata.open(path, embedder=embedder) as memory:
        memory.add("The kettle is blue.", **ANN)
        [record] = memory.create(FACT, **ANN).record_ids
    before = path.read_bytes()

    disk.read_only = True
    with memstrata.open(path, embedder=embedder, vfs=disk.name) as memory:
        assert len(memory.search("kettle", **ANN)) == 2
        assert len(memory.messages(**ANN)) == 1
        assert memory.verify() == []
        for write in (
            lambda: memory.add("x", **ANN),
            lambda: memory.create({"kind": "semantic", "name": "x"}, **ANN),
            lambda: memory.update(record, name="x", **ANN),
            lambda: memory.forget(everything=True, **ANN),
            lambda: memory.set_user(timezone="Asia/Tokyo", **ANN),
        ):
            with pytest.raises(PermissionDenied, match=r"read-only.*writable"):
                write()
    assert path.read_bytes() == before


def test_a_read_only_folder(path: Path, disk: FaultyDisk) -> None:
    """Where not even a journal can be made, opening says what to look at."""
    with memstrata.open(path, embedder="none") as memory:
        memory.add("The kettle is blue.", **ANN)
    before = path.read_bytes()
    disk.read_only_folder = True
    with pytest.raises(MemstrataError, match="folder and its mode"):
        memstrata.open(path, embedder="none", vfs=disk.name)
    assert path.read_bytes() == before


def test_a_read_only_place_for_a_new_store(path: Path, disk: FaultyDisk) -> None:
    """There is nothing to read yet, so that it cannot be opened."""
    disk.read_only_folder = True
    with pytest.raises(MemstrataError, match=r"mode|writable"):
        memstrata.open(path, embedder="none", vfs=disk.name)
    assert not path.exists()


def test_an_unknown_vfs_is_said_so(path: Path) -> None:
    """An option that is wrong is an error of ours too."""
    with pytest.raises(StoreUnavailable, match="vfs"):
        memstrata.open(path, embedder="none", vfs="nonsense")
    assert "nonsense" not in apsw.vfs_names()
