"""A store against a small dictionary model: whatever is done, in whatever order, it agrees.

Two users, each with an agent or without. Opening the file again is a step like any other, and so
is a crash: the files are copied as they lie while the store is open, as a killed process would
leave them, and the copy is what is used from then on.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import memstrata
from memstrata import Conflict, Memory, Message, NotFound, Receipt
from memstrata.models.fake import FakeEmbedder

Scope = tuple[str, str | None]
View = dict[str, Any]
State = tuple[str, str, int] | None
"""What a record says, its lifecycle, and which call made it so; None when it was taken back."""

SCOPES: tuple[Scope, ...] = (("ana", None), ("ana", "cook"), ("bob", None), ("bob", "cook"))
SEARCHES: tuple[tuple[str, Any], ...] = (
    ("note", "string_match"),
    ("fact", "bm25"),
    ("note", "embedding"),
)
LONG_AGO = "2020-01-01T00:00:00Z"
ANY = st.integers(0, 10_000)


@dataclass
class Said:
    """A message of the model."""

    scope: Scope
    text: str
    batch: str
    hidden: bool = False


@dataclass
class Fact:
    """A record of the model."""

    scope: Scope
    state: State
    evidence: str | None = None


@dataclass
class Batch:
    """What a call changed: states of records before and after, or whose messages it hid."""

    scope: Scope
    effects: list[tuple[str, State, State]] = field(default_factory=list[tuple[str, State, State]])
    said: bool = False
    failed: bool = False
    undone: bool = False
    hid: str | None = None
    showed: str | None = None


class StoreMachine(RuleBasedStateMachine):
    """Does to a store and to a model of it the same."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.embedder = FakeEmbedder(dimensions=32)
        self.said: dict[str, Said] = {}
        self.facts: dict[str, Fact] = {}
        self.batches: dict[str, Batch] = {}
        self.calls: dict[str, tuple[str, ...]] = {}
        self.ends: dict[int, str] = {}
        self.left: list[Memory] = []
        self.count = 0
        self.files = 0

    @initialize()
    def start(self) -> None:
        self.path = self.new_path()
        self.memory = self.opened()

    def new_path(self) -> Path:
        self.files += 1
        return Path(self.folder.name, f"store-{self.files}.db")

    def opened(self) -> Memory:
        return memstrata.open(self.path, embedder=self.embedder)

    def name(self, what: str) -> str:
        self.count += 1
        return f"{what} {self.count}"

    def state(self, name: str, lifecycle: str) -> tuple[str, str, int]:
        self.count += 1
        return name, lifecycle, self.count

    # Writing

    @rule(scope=st.sampled_from(SCOPES), many=st.integers(1, 3), fails=st.booleans())
    def add(self, scope: Scope, many: int, fails: bool) -> None:
        texts = tuple(self.name("note") for _ in range(many))
        self.embedder.fail_next(int(fails))
        receipt = self.memory.add(list(texts), **of(scope))
        self.embedder.fail_next(0)
        assert receipt.state == ("failed" if fails else "done")
        self.note_said(receipt, scope, texts, failed=fails)

    @precondition(lambda self: self.said)
    @rule(n=ANY)
    def add_again(self, n: int) -> None:
        """The same call is one call, unless it was taken back; what was forgotten stays so."""
        message = self.said[pick(self.said, n)]
        texts = self.calls[message.batch]
        again = self.memory.add(list(texts), infer=False, **of(message.scope))
        if again.batch_id not in self.batches:
            same = [i for i, said in self.calls.items() if said == texts]
            assert all(self.batches[i].undone and self.hidden(i) for i in same)
            assert again.skipped == []
            self.note_said(again, message.scope, texts)
            return
        assert self.calls[again.batch_id] == texts
        assert len(again.skipped) == len(texts)
        standing = [i for i, m in self.said.items() if m.batch == again.batch_id]
        assert not standing or not self.batches[again.batch_id].undone
        assert again.message_ids == standing

    def note_said(
        self, receipt: Receipt, scope: Scope, texts: tuple[str, ...], *, failed: bool = False
    ) -> None:
        assert len(receipt.message_ids) == len(texts)
        self.calls[receipt.batch_id] = texts
        self.batches[receipt.batch_id] = Batch(scope, said=True, failed=failed)
        for message_id, text in zip(receipt.message_ids, texts, strict=True):
            self.said[message_id] = Said(scope, text, receipt.batch_id)

    @rule(scope=st.sampled_from(SCOPES), n=st.none() | ANY)
    def create(self, scope: Scope, n: int | None) -> None:
        name = self.name("fact")
        own = [i for i, m in self.said.items() if m.scope == scope and not m.hidden]
        evidence = pick(own, n) if own and n is not None else None
        given = {"kind": "semantic", "name": name, "evidence": [evidence] if evidence else []}
        receipt = self.memory.create(given, **of(scope))
        (record_id,) = receipt.record_ids
        self.facts[record_id] = Fact(scope, self.state(name, "current"), evidence)
        self.log(receipt, scope, (record_id, None, self.facts[record_id].state))

    @precondition(lambda self: self.current())
    @rule(n=ANY)
    def create_again(self, n: int) -> None:
        record_id = pick(self.current(), n)
        fact, name = self.facts[record_id], self.says(record_id)
        receipt = self.memory.create({"kind": "semantic", "name": name}, **of(fact.scope))
        assert receipt.record_ids == [record_id]
        self.log(receipt, fact.scope)

    @precondition(lambda self: self.current())
    @rule(n=ANY)
    def update(self, n: int) -> None:
        record_id = pick(self.current(), n)
        name = self.name("fact")
        receipt = self.memory.update(record_id, name=name, **of(self.facts[record_id].scope))
        self.become(receipt, record_id, self.state(name, "current"))

    @precondition(lambda self: self.current())
    @rule(n=ANY)
    def supersede(self, n: int) -> None:
        old = pick(self.current(), n)
        scope, name = self.facts[old].scope, self.name("fact")
        receipt = self.memory.update(old, name=name, valid_from=LONG_AGO, **of(scope))
        (new,) = set(receipt.record_ids) - {old}
        before = self.facts[old].state
        ended = self.state(self.says(old), "past")
        self.ends[ended[2]] = new
        self.facts[old].state = ended
        self.facts[new] = Fact(scope, self.state(name, "current"))
        self.log(receipt, scope, (old, before, ended), (new, None, self.facts[new].state))

    @precondition(lambda self: self.current())
    @rule(n=ANY)
    def retire(self, n: int) -> None:
        record_id = pick(self.current(), n)
        receipt = self.memory.retire(record_id, **of(self.facts[record_id].scope))
        self.become(receipt, record_id, self.state(self.says(record_id), "retired"))

    def become(self, receipt: Receipt, record_id: str, state: State) -> None:
        fact = self.facts[record_id]
        before, fact.state = fact.state, state
        self.log(receipt, fact.scope, (record_id, before, state))

    def log(self, receipt: Receipt, scope: Scope, *effects: tuple[str, State, State]) -> None:
        assert receipt.state == "done"
        self.batches[receipt.batch_id] = Batch(scope, list(effects))

    @precondition(lambda self: self.batches)
    @rule(n=ANY)
    def undo(self, n: int) -> None:
        """Anything that anybody did, new or old."""
        batch_id = pick(self.batches, n)
        batch = self.batches[batch_id]
        if not self.may_undo(batch_id):
            with pytest.raises(Conflict):
                self.memory.undo(batch_id, **of(batch.scope))
            return
        receipt = self.memory.undo(batch_id, **of(batch.scope))
        taken = Batch(batch.scope)
        for record_id, before, after in reversed(batch.effects):
            self.facts[record_id].state = before
            taken.effects.append((record_id, after, before))
        if (target := batch.showed or (batch_id if batch.said else None)) is not None:
            taken.hid = self.show(target, visible=False)
        if batch.hid is not None:
            taken.showed = self.show(batch.hid, visible=True)
        self.batches[receipt.batch_id] = taken

    def may_undo(self, batch_id: str) -> bool:
        batch = self.batches[batch_id]
        standing = all(
            record_id in self.facts and self.facts[record_id].state == after
            for record_id, _, after in batch.effects
        )
        if batch.said:
            return not batch.undone and bool(self.hidden(batch_id)) and not self.leant_on(batch_id)
        if batch.hid is not None:
            return True in self.hidden(batch.hid)
        if batch.showed is not None:
            return False in self.hidden(batch.showed) and not self.leant_on(batch.showed)
        return bool(batch.effects) and standing

    def leant_on(self, batch_id: str) -> bool:
        """Whether a record that stands rests on the batch's messages."""
        theirs = {i for i, message in self.said.items() if message.batch == batch_id}
        return any(f.evidence in theirs and f.state is not None for f in self.facts.values())

    def hidden(self, batch_id: str) -> list[bool]:
        return [m.hidden for m in self.said.values() if m.batch == batch_id]

    def show(self, batch_id: str, *, visible: bool) -> str:
        for message in self.said.values():
            if message.batch == batch_id:
                message.hidden = not visible
        self.batches[batch_id].undone = not visible
        self.batches[batch_id].failed = False
        return batch_id

    @precondition(lambda self: any(batch.failed for batch in self.batches.values()))
    @rule(n=ANY)
    def retry(self, n: int) -> None:
        batch_id = pick([i for i, batch in self.batches.items() if batch.failed], n)
        done = self.memory.retry(batch_id, **of(self.batches[batch_id].scope))
        assert done.state == "done"
        self.batches[batch_id].failed = False

    # Forgetting

    @precondition(lambda self: self.said or self.facts)
    @rule(n=ANY)
    def forget_one(self, n: int) -> None:
        target = pick([*self.said, *self.facts], n)
        scope = (self.said.get(target) or self.facts[target]).scope
        gone = self.resting_on([target])
        receipt = self.memory.forget(ids=[target], **of(scope))
        assert set(receipt.ids) == gone
        self.drop(gone)

    @rule(scope=st.sampled_from(SCOPES), really=st.integers(0, 3))
    def forget_everything(self, scope: Scope, really: int) -> None:
        own = [i for i, m in self.said.items() if m.scope == scope]
        own += [i for i, f in self.facts.items() if f.scope == scope]
        receipt = self.memory.forget(everything=True, dry_run=really > 0, **of(scope))
        assert set(receipt.ids) == set(own)
        if not really:
            self.drop(set(own))

    def resting_on(self, ids: Sequence[str]) -> set[str]:
        return {*ids, *(i for i, fact in self.facts.items() if fact.evidence in ids)}

    def drop(self, ids: set[str]) -> None:
        self.join(ids)
        for gone in ids:
            self.said.pop(gone, None)
            self.facts.pop(gone, None)
        for batch in self.batches.values():
            batch.effects = [effect for effect in batch.effects if effect[0] not in ids]

    def join(self, ids: set[str]) -> None:
        """What one of these had ended, ended when the next began; without one it holds again."""
        states = {i: f.state for i, f in self.facts.items() if f.state}
        again: set[int] = set()
        for number, ender in list(self.ends.items()):
            follows: str | None = ender
            while follows in ids:
                follows = self.ends.get(states[follows][2]) if follows in states else None
            if ender in ids and follows in states:
                self.ends[number] = follows
            elif ender in ids:
                again.add(number)
                del self.ends[number]

        def now(state: State) -> State:
            return (state[0], "current", state[2]) if state and state[2] in again else state

        for fact in self.facts.values():
            fact.state = now(fact.state)
        for batch in self.batches.values():
            batch.effects = [(i, now(before), now(after)) for i, before, after in batch.effects]

    # Reading

    @rule(user=st.sampled_from(["ana", "bob"]), agent=st.sampled_from([None, "cook"]))
    def search(self, user: str, agent: str | None) -> None:
        view = of((user, agent))
        for word, method in SEARCHES:
            hits = self.memory.search(word, method=method, limit=1000, **view)
            expected = {
                **{i: m.text for i, m in self.said.items() if not m.hidden},
                **{i: self.says(i) for i in self.current()},
            }
            owner = {**self.said, **self.facts}
            seen = {i: text for i, text in expected.items() if sees(view, owner[i].scope)}
            found = {hit.id: hit.text for hit in hits}
            if method == "embedding":
                assert found.items() <= seen.items()
            else:
                assert found == {i: text for i, text in seen.items() if word in text}

    @precondition(lambda self: self.said or self.facts)
    @rule(n=ANY, user=st.sampled_from(["ana", "bob"]))
    def get(self, n: int, user: str) -> None:
        target = pick([*self.said, *self.facts], n)
        owner = self.said.get(target) or self.facts[target]
        view = of((user, owner.scope[1]))
        taken_back = isinstance(owner, Fact) and owner.state is None
        if not sees(view, owner.scope) or taken_back:
            with pytest.raises(NotFound):
                self.memory.get(target, **view)
            return
        found: Any = self.memory.get(target, **view)
        assert found.id == target
        says = owner.text if isinstance(owner, Said) else self.says(target)
        assert says == (found.content if isinstance(owner, Said) else found.title)

    @invariant()
    def every_listing_agrees(self) -> None:
        for user, agent in SCOPES:
            view = of((user, agent))
            shown = {message.id: message.content for message in self.every_message(view)}
            assert shown == {
                i: m.text for i, m in self.said.items() if not m.hidden and sees(view, m.scope)
            }
            listed = self.memory.list(lifecycles=["current", "past", "retired"], **view)
            assert {r.id: (r.title, r.lifecycle) for r in listed} == {
                i: f.state[:2] for i, f in self.facts.items() if f.state and sees(view, f.scope)
            }

    def every_message(self, view: View) -> Iterator[Message]:
        """Page by page."""
        cursor, more = None, True
        while more:
            page = self.memory.messages(limit=4, cursor=cursor, **view)
            yield from page
            cursor, more = page.next, page.next is not None

    @invariant()
    def every_count_agrees(self) -> None:
        for user, agent in SCOPES:
            view = of((user, agent))
            counted = self.memory.stats(**view)
            own = [m for m in self.said.values() if sees(view, m.scope)]
            assert counted["messages"] == sum(not m.hidden for m in own)
            assert counted["hidden_messages"] == sum(m.hidden for m in own)
            failed = [b for b in self.batches.values() if b.failed and sees(view, b.scope)]
            assert counted["failed_batches"] == len(failed)
            assert counted["pending_batches"] == 0

    # Living on

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memory = self.opened()

    @rule()
    def crash(self) -> None:
        """What was acknowledged is in the files, however the process ends."""
        copy = self.new_path()
        for suffix in ("", "-wal"):
            file = Path(f"{self.path}{suffix}")
            if file.exists():
                shutil.copyfile(file, f"{copy}{suffix}")
        self.left.append(self.memory)
        self.path = copy
        self.memory = self.opened()

    def teardown(self) -> None:
        for memory in self.left:
            memory.close()
        if hasattr(self, "memory"):
            self.check_whole()
            self.memory.close()
        self.folder.cleanup()

    def check_whole(self) -> None:
        """It is sound, and a dump of it is all of it."""
        assert self.memory.verify() == []
        first, second = (Path(self.folder.name, name) for name in ("first", "second"))
        count = self.memory.dump(first)
        with memstrata.open(":memory:", embedder="none") as copy:
            assert copy.load(first) == count
            assert copy.verify() == []
            copy.dump(second)
        assert first.read_bytes() == second.read_bytes()

    # The model

    def current(self) -> list[str]:
        return [i for i, fact in self.facts.items() if is_current(fact)]

    def says(self, record_id: str) -> str:
        state = self.facts[record_id].state
        assert state is not None
        return state[0]


def of(scope: Scope) -> View:
    return {"user_id": scope[0], "agent_id": scope[1]}


def sees(view: View, scope: Scope) -> bool:
    return scope[0] == view["user_id"] and scope[1] in (None, view["agent_id"])


def is_current(fact: Fact) -> bool:
    return fact.state is not None and fact.state[1] == "current"


def pick(items: Any, n: int) -> str:
    listed = list(items)
    return listed[n % len(listed)]


StoreMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
TestStore = StoreMachine.TestCase
