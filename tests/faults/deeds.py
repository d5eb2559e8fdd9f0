"""What the processes of the chaos test do to a store, one deed after the other, until killed.

Before a deed its process says what it is about to do (`ask`), afterwards what was acknowledged
(`ack`); each is a line of JSON. A process may know the ledger of what all said before it began.
"""

from __future__ import annotations

import contextlib
import random
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from memstrata import Memory
from memstrata.errors import Conflict, NotFound, VaultUnavailable

__all__ = ["DEEDS", "UNEARTHED", "Deeds", "Ledger"]

WHEN = "2026-03-02T09:00:00+00:00"
UNEARTHED = f"ghp_{'Zq81' * 9}"
"""A secret that an older program has stored as it is."""
CITIES = ("Lisbon", "Porto", "Turku", "Ostholm", "Bergen", "Gdansk", "Faro")
LONG = "And then it rained for days. " * 120
Say = Callable[..., None]
State = tuple[str, str]
"""What a fact says, and its lifecycle."""


async def _as_it_is(runtime: object, scope: object, rows: Sequence[object]) -> Any:
    """What an older program did with the secrets in a dump."""
    return list(rows), None


@dataclass
class Ledger:
    """What was asked for and what was acknowledged, over all processes, on one file."""

    messages: dict[str, str] = field(default_factory=dict[str, str])
    """Acknowledged ids and the word that only this message says."""
    owner: dict[str, str] = field(default_factory=dict[str, str])
    """Word → user."""
    asked_gone: set[str] = field(default_factory=set[str])
    gone: set[str] = field(default_factory=set[str])
    """Words that were asked to be forgotten; of which that was acknowledged."""
    unanswered: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Adds that were asked for and not acknowledged, by word; to be retried."""
    facts: dict[str, set[State]] = field(default_factory=dict[str, set[State]])
    """What each may be now."""
    hidden: set[str] = field(default_factory=set[str])
    asked_hidden: set[str] = field(default_factory=set[str])
    """Batches that were undone, or asked to be."""
    batches: dict[str, str] = field(default_factory=dict[str, str])
    """Batch → the word of its message."""
    secrets: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """What each entry may hold."""
    sealed: dict[str, str] = field(default_factory=dict[str, str])
    """The word of a message that held a secret, and the secret."""
    released: dict[str, str] = field(default_factory=dict[str, str])
    """The word of a message whose secret was none, and what it says again."""
    loaded: set[str] = field(default_factory=set[str])
    unearthed: set[str] = field(default_factory=set[str])
    decided: set[str] = field(default_factory=set[str])
    zones: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    keys: dict[str, set[bool]] = field(default_factory=dict[str, set[bool]])
    """Key → whether it may open."""

    def hear(self, line: dict[str, Any]) -> None:
        """Take down what a process said."""
        handler = getattr(self, f"_{line['say']}", None)
        if handler is not None:
            handler(line)

    def _ask_add(self, line: dict[str, Any]) -> None:
        self.owner[line["word"]] = line["user"]
        self.unanswered[line["word"]] = line

    def _ack_add(self, line: dict[str, Any]) -> None:
        word = line["word"]
        self.unanswered.pop(word, None)
        for one in line["ids"]:
            self.messages[one] = word
        self.batches[line["batch"]] = word
        if line.get("secret"):
            self.sealed[word] = line["secret"]

    def _ask_forget(self, line: dict[str, Any]) -> None:
        self.asked_gone.update(line["words"])
        for word in line["words"]:
            self.unanswered.pop(word, None)

    def _ack_forget(self, line: dict[str, Any]) -> None:
        self.gone.update(line["words"])

    def _ask_fact(self, line: dict[str, Any]) -> None:
        self.facts.setdefault(line["id"], set()).add((line["details"], line["lifecycle"]))

    def _ack_fact(self, line: dict[str, Any]) -> None:
        self.facts[line["id"]] = {(line["details"], line["lifecycle"])}

    def _ask_undo(self, line: dict[str, Any]) -> None:
        self.asked_hidden.add(line["batch"])

    def _ack_undo(self, line: dict[str, Any]) -> None:
        self.hidden.add(line["batch"])

    def _ask_secret(self, line: dict[str, Any]) -> None:
        self.secrets.setdefault(line["id"], set()).add(line["secret"])

    def _ack_secret(self, line: dict[str, Any]) -> None:
        self.secrets[line["id"]] = {line["secret"]}

    def _ack_release(self, line: dict[str, Any]) -> None:
        self.released[line["word"]] = line["secret"]

    def _ack_load(self, line: dict[str, Any]) -> None:
        self.loaded.add(line["user"])

    def _ack_unearth(self, line: dict[str, Any]) -> None:
        self.unearthed.add(line["user"])

    def _ack_decide(self, line: dict[str, Any]) -> None:
        self.decided.add(line["user"])

    def _ask_zone(self, line: dict[str, Any]) -> None:
        self.zones.setdefault(line["user"], set()).add(line["zone"])

    def _ack_zone(self, line: dict[str, Any]) -> None:
        self.zones[line["user"]] = {line["zone"]}

    def _ask_key(self, line: dict[str, Any]) -> None:
        self.keys[line["key"]].add(line["opens"])

    def _ack_key(self, line: dict[str, Any]) -> None:
        self.keys[line["key"]] = {line["opens"]}


@dataclass
class Deeds:
    """One process's deeds; what it is called says that no other has the same words."""

    memory: Memory
    name: str
    slot: int
    ledger: Ledger
    say: Say
    randomness: random.Random
    dumps: Path
    count: int = 0

    def word(self) -> str:
        """One that nobody has said."""
        self.count += 1
        return f"q{self.name}n{self.count}q"

    def user(self) -> str:
        return self.randomness.choice(("ann", "ann", "bea"))

    # ── messages ─────────────────────────────────────────────────────────────────────────────

    def _add(self, ask: dict[str, Any]) -> None:
        self.say("ask_add", **ask)
        self.ledger.hear({"say": "ask_add", **ask})
        receipt = self.memory.add(ask["said"], user_id=ask["user"], **ask["more"])
        secret = ask.get("secret")
        ids, batch = receipt.message_ids, receipt.batch_id
        ack = {"word": ask["word"], "user": ask["user"], "ids": ids, "batch": batch}
        self.say("ack_add", **ack, secret=secret)
        self.ledger.hear({"say": "ack_add", **ack, "secret": secret})

    def tell(self) -> None:
        """Said once, however often it is sent: by a key, an id of its own, or as it is."""
        word, place = self.word(), self.randomness.choice(CITIES)
        text = self.randomness.choice(
            (
                f"I live in {place}. The word is {word}.",
                f"My sister Mara Lind works for Northwind in {place}, word {word}.",
                f"I moved to {place}. {word}",
                f"I moved to {place} in May 2025. {word}",
                f"我叫王小明，我住在上海。{word}",
                f"Mara called me. {word}",
                f"{word}. {LONG}",
            )
        )
        said: Any = text
        more: dict[str, Any] = {"infer": self.randomness.random() < 0.8}
        match self.randomness.randrange(3):
            case 0:
                more["idempotency_key"] = f"key-{word[1:-1]}"
            case 1:
                said = [{"role": "user", "content": text, "id": word, "name": "Ann Weber"}]
                more["session_id"] = f"s{self.randomness.randrange(3)}"
                more["occurred_at"] = f"2026-0{self.randomness.randrange(1, 7)}-02T09:00:00Z"
            case _:
                more["wait"] = self.randomness.random() < 0.5
        self._add({"word": word, "user": self.user(), "said": said, "more": more})

    def retry(self) -> None:
        """What nobody has acknowledged is sent again."""
        for ask in tuple(self.ledger.unanswered.values()):
            if self.randomness.random() < 0.5:
                again = {key: ask[key] for key in ("word", "user", "said", "more")}
                self._add({**again, "secret": ask.get("secret")})

    def token(self) -> str:
        """One that is told by its shape, which has a digit."""
        letters = self.randomness.choices(string.ascii_letters + string.digits, k=33)
        return f"ghp_{''.join(letters)}{self.randomness.randrange(100, 1000)}"

    def betray(self) -> None:
        """A secret in a message is sealed before it is stored."""
        word = self.word()
        secret = self.token()
        ask = {"word": word, "user": self.user(), "said": f"{word}: the token is {secret}"}
        self._add({**ask, "more": {"idempotency_key": f"key-{word[1:-1]}"}, "secret": secret})

    def forget(self) -> None:
        known = [
            (one, word)
            for one, word in self.ledger.messages.items()
            if word not in self.ledger.asked_gone
        ]
        if known:
            one, word = self.randomness.choice(known)
            self.say("ask_forget", words=[word])
            with contextlib.suppress(NotFound):
                self.memory.forget(ids=[one], user_id=self.ledger.owner[word])
            self.say("ack_forget", words=[word])
            self.ledger.asked_gone.add(word)

    def wipe(self) -> None:
        """All of somebody."""
        user = f"dan{self.name}x{self.count}"
        word = self.word()
        said = f"I live in Bergen with Olga Berg. {word}"
        self._add({"word": word, "user": user, "said": said, "more": {"session_id": "s"}})
        own = self.word()  # no message says it, so that only all of it takes this along
        self.memory.create({"kind": "semantic", "name": f"fact {own}"}, user_id=user)
        self.memory.vault.put(f"pass-{own}", caption="door", user_id=user)
        self.say("ask_forget", words=[word, own])
        self.memory.forget(everything=True, user_id=user)
        self.say("ack_forget", words=[word, own])

    def go_back(self) -> None:
        """A block by hand says again what it said before something was added to it."""
        user = f"ida{self.name}x{self.count}"
        block = {"kind": "core", "label": "human", "value": "Ida sails."}
        self.memory.create(block, user_id=user)
        word = self.word()
        ask = {"word": word, "user": user, "said": f"Always answer in Bulgarian. {word}"}
        self._add({**ask, "more": {"session_id": word, "occurred_at": WHEN}})
        self.say("ask_forget", words=[word])
        self.memory.forget(session_id=word, user_id=user)
        self.say("ack_forget", words=[word])

    def take_back(self) -> None:
        word = self.word()
        ask = {"word": word, "user": "ann", "said": f"I own a red boat called {word}."}
        more = {"session_id": f"u{self.slot}", "idempotency_key": f"key-{word[1:-1]}"}
        self._add({**ask, "more": more})
        batch = next(b for b, w in reversed(self.ledger.batches.items()) if w == word)
        self.say("ask_undo", batch=batch)
        self.memory.undo(batch, user_id="ann", cascade=True)
        self.say("ack_undo", batch=batch)

    def take_back_evidence(self) -> None:
        """Said twice, it is one record on two messages; and one of them is taken back."""
        user = f"eva{self.name}x{self.count}"
        batch = word = ""
        for _ in range(2):
            word = self.word()
            said = f"My cat is called Minka. My full name is Eva Maria Sommer. {word}"
            ask = {"word": word, "user": user, "said": said}
            self._add({**ask, "more": {"session_id": word, "occurred_at": WHEN}})
            batch = next(b for b, w in reversed(self.ledger.batches.items()) if w == word)
        self.say("ask_undo", batch=batch)
        self.memory.undo(batch, user_id=user)
        self.say("ack_undo", batch=batch)
        self.say("ask_forget", words=[word])
        self.memory.forget(session_id=word, user_id=user)
        self.say("ack_forget", words=[word])

    # ── records ──────────────────────────────────────────────────────────────────────────────

    def _fact(self) -> str:
        name = f"fact {self.word()}"
        [one] = self.memory.create({"kind": "semantic", "name": name}, user_id="ann").record_ids
        self.say("ack_fact", id=one, details="", lifecycle="current")
        return one

    def _become(self, one: str, details: str, lifecycle: str, call: Callable[[], Any]) -> Any:
        self.say("ask_fact", id=one, details=details, lifecycle=lifecycle)
        result = call()
        self.say("ack_fact", id=one, details=details, lifecycle=lifecycle)
        return result

    def update(self) -> None:
        one = self._fact()
        for step in ("one", "two"):
            change = partial(self.memory.update, one, details=step, user_id="ann")
            self._become(one, step, "current", change)
        self._become(one, "two", "retired", lambda: self.memory.retire(one, user_id="ann"))

    def undo(self) -> None:
        one = self._fact()
        self._become(
            one, "x", "current", lambda: self.memory.update(one, details="x", user_id="ann")
        )
        done = self._become(
            one, "y", "current", lambda: self.memory.update(one, details="y", user_id="ann")
        )
        taken = self._become(
            one, "x", "current", lambda: self.memory.undo(done.batch_id, user_id="ann")
        )
        self._become(one, "y", "current", lambda: self.memory.undo(taken.batch_id, user_id="ann"))

    def supersede(self) -> None:
        word = self.word()
        fact = {"kind": "semantic", "name": f"shed {word}", "valid_from": "2024-01-01"}
        [one] = self.memory.create(fact, user_id="ann").record_ids
        self.say("ack_fact", id=one, details="", lifecycle="current")
        new = {"name": f"barn {word}", "valid_from": "2025-01-01"}
        self._become(one, "", "past", lambda: self.memory.update(one, user_id="ann", **new))
        [newer] = [r for r in self.memory.list(user_id="ann", limit=1000) if new["name"] in r.title]
        if self.randomness.random() < 0.5:
            self._become(
                one,
                "",
                "current",
                lambda: self.memory.forget(ids=[newer.id], user_id="ann"),
            )

    def consolidate(self) -> None:
        """Tidied, and tidied again; and something in a digest is forgotten."""
        user = f"fay{self.name}x{self.count}"
        words = [self.word() for _ in range(2)]
        for day, word in enumerate(words):
            said = f"I live in {self.randomness.choice(CITIES)} with {word}."
            more = {"session_id": word, "occurred_at": f"2026-03-0{3 + day}T09:00:00Z"}
            self._add({"word": word, "user": user, "said": said, "more": more})
        plan = {"kind": "episodic", "event_type": "plan", "summary": "Row", "due": WHEN}
        self.memory.create(plan, user_id=user)
        for name in ("The gate is green", "the gate is green."):
            self.memory.create({"kind": "semantic", "name": name}, user_id=user)
        done = self.memory.consolidate(user_id=user)
        self.memory.consolidate(user_id=user)
        if self.randomness.random() < 0.3:
            self.memory.undo(done.batch_id, user_id=user)
        self.say("ask_forget", words=words[:1])
        self.memory.forget(session_id=words[0], user_id=user)
        self.say("ack_forget", words=words[:1])

    def regroup(self) -> None:
        """Records that come, move and go, and all their themes made anew."""
        user = f"gus{self.name}x{self.count}"
        made = list[str]()
        for what in self.randomness.choices(("The red boat sails", "Bread needs salt"), k=9):
            fact = {"kind": "semantic", "name": f"{what} {self.word()}"}
            made += self.memory.create(fact, user_id=user).record_ids
        self.memory.update(made[0], name=f"A violin costs {self.word()}", user_id=user)
        self.memory.retire(made[1], user_id=user)
        gone = self.word()
        [one] = self.memory.create(
            {"kind": "semantic", "name": f"The red boat sails {gone}"}, user_id=user
        ).record_ids
        self.memory.consolidate(user_id=user, rebuild_themes=True)
        self.say("ask_forget", words=[gone])
        self.memory.forget(ids=[one], user_id=user)
        self.say("ack_forget", words=[gone])

    def decide(self) -> None:
        user = f"dora{self.name}x{self.count}"
        for place in ("Ostholm", "Turku"):
            word = self.word()
            ask = {"word": word, "user": user, "said": f"I live in {place}. {word}"}
            more = {"session_id": place, "occurred_at": WHEN}
            self._add({**ask, "more": more})
        for waiting in self.memory.review(user_id=user):
            decision = self.randomness.choice(("accept", "reject"))
            decided = self.memory.decide(waiting.record.id, decision, user_id=user)
            if self.randomness.random() < 0.3:
                self.memory.undo(decided.batch_id, user_id=user)
                self.memory.decide(waiting.record.id, "accept", user_id=user)
        self.say("ack_decide", user=user)

    # ── the vault, and the rest ──────────────────────────────────────────────────────────────

    def seal(self) -> None:
        secret = f"pass-{self.word()}"
        put = self.memory.vault.put(secret, caption=f"gate {secret[-4:]}", user_id="ann")
        [one] = put.record_ids
        self.say("ack_secret", id=one, secret=secret)
        if self.randomness.random() < 0.3:
            self.memory.vault.reveal(one, reason="chaos", user_id="ann")
        newer = f"{secret}-newer"
        self.say("ask_secret", id=one, secret=newer)
        self.memory.vault.rotate(one, newer, user_id="ann")
        self.say("ack_secret", id=one, secret=newer)

    def release(self) -> None:
        """What was sealed was no secret."""
        word = self.word()
        secret = self.token()
        said = f"{word}: the token is {secret}"
        more = {"idempotency_key": f"key-{word[1:-1]}"}
        self._add({"word": word, "user": "ann", "said": said, "more": more})
        for entry in self.memory.vault.list(user_id="ann", limit=1000):
            if any(self.ledger.messages.get(e.source_id) == word for e in entry.evidence):
                self.memory.vault.release(entry.id, user_id="ann")
                self.say("ack_release", word=word, secret=secret)

    def rekey(self) -> None:
        self.memory.vault.rotate_key()

    def load(self) -> None:
        user = f"cleo{self.randomness.randrange(12)}"
        self.memory.load(self.dumps / f"{user}.jsonl")
        self.say("ack_load", user=user)

    def unearth(self) -> None:
        """Secrets that were stored in plain text are found and sealed."""
        user = f"olga{self.randomness.randrange(12)}"
        if user in self.ledger.unearthed:
            return
        with mock.patch("memstrata.ingest.transfer.admitted", _as_it_is):
            self.memory.load(self.dumps / f"{user}.jsonl")
        self.say("ask_unearth", user=user)
        self.memory.audit_secrets(seal=True, user_id=user)
        if self.memory.audit_secrets(user_id=user) == []:
            self.say("ack_unearth", user=user)
            self.ledger.unearthed.add(user)

    def zone(self) -> None:
        zone = self.randomness.choice(("Asia/Shanghai", "Europe/Lisbon", "America/Lima"))
        user = f"{self.slot}zoe"
        self.say("ask_zone", user=user, zone=zone)
        self.memory.set_user(timezone=zone, user_id=user)
        self.memory.configure(instructions=f"Zoe lives by the time of {zone}.")
        self.say("ack_zone", user=user, zone=zone)

    def key(self) -> None:
        made = self.memory.keys.create(self.word())
        self.say("ack_key", key=made.secret, opens=True)
        if self.randomness.random() < 0.5:
            self.say("ask_key", key=made.secret, opens=False)
            self.memory.keys.revoke(made.id)
            self.say("ack_key", key=made.secret, opens=False)

    def do(self, deed: str) -> None:
        """Do it; what another process was faster at is no fault."""
        try:
            getattr(self, deed)()
        except (Conflict, NotFound) as error:
            self.say("outrun", deed=deed, why=str(error))
        except VaultUnavailable as error:
            if "rotating" not in str(error):
                raise
            self.say("outrun", deed=deed, why=str(error))


DEEDS = (
    *(
        "tell",
        "tell",
        "tell",
        "retry",
        "betray",
        "forget",
        "forget",
        "wipe",
        "take_back",
        "take_back_evidence",
    ),
    *(
        "update",
        "undo",
        "supersede",
        "decide",
        "consolidate",
        "regroup",
        "seal",
        "seal",
        "release",
        "go_back",
        "rekey",
        "load",
        "load",
        "unearth",
        "zone",
        "key",
    ),
)
