"""Many in one store: tenants, users and agents, each with a word and ids that nobody else has."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from memstrata import AsyncMemory
from memstrata.access import EVERYTHING, Grant
from memstrata.verbs import call

__all__ = [
    "AGENTS",
    "PLACES",
    "QUESTION",
    "TENANTS",
    "USERS",
    "Crowd",
    "Place",
    "everything_of",
    "fill",
    "known",
    "rows_of",
]

TENANTS = ("default", "north", "south")
USERS = ("ann", "bea", "cem")
AGENTS = ("desk", "road")
QUESTION = "goat fair visited, live in, gate, 山羊"
_ID = re.compile(r"\b[a-z]+_[0-9a-f]{32}\b")
_NAMED = ("messages", "records", "episodes", "themes", "entities", "batches", "changes")


@dataclass(frozen=True)
class Place:
    """One scope of one tenant."""

    tenant: str
    user: str | None
    agent: str | None

    @property
    def scope(self) -> dict[str, Any]:
        """As a call names it."""
        named = {"user_id": self.user, "agent_id": self.agent}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def word(self) -> str:
        """A name that stands in what was told here, and in nothing else."""
        number = PLACES.index(self)
        return f"{'BDFGHKLMNPR'[number % 11]}{'aei'[number // 11]}lvenhoek"

    @property
    def shared(self) -> Place:
        """What the user shares with all agents."""
        return Place(self.tenant, self.user, None)

    @property
    def view(self) -> set[Place]:
        """What a call here may see: its own, and for a user's agent what the user shares."""
        return {self} if self.user is None else {self, self.shared}


PLACES = [
    Place(tenant, user, agent)
    for tenant, user, agent in itertools.product(TENANTS, (*USERS, None), (None, *AGENTS))
    if user or agent
]


@dataclass
class Crowd:
    """What stands where."""

    ids: dict[str, Place]
    of: dict[Place, dict[str, list[str]]]
    """The ids of each place, by table."""

    def seen_in(self, value: object) -> set[Place]:
        """Whose words or ids stand anywhere in what a verb returned."""
        text = f"{value!r} {value!s}"
        small = text.lower()
        told = {place for place in PLACES if place.word.lower() in small}
        return told | {self.ids[each] for each in _ID.findall(text) if each in self.ids}


async def fill(memory: AsyncMemory) -> None:
    """Tell the same of each place, with its word in it, at the same time and in the background."""
    batches = {place: await _tell(memory, place) for place in PLACES}
    for place, batch in batches.items():
        everything = Grant(tenant=place.tenant)
        done = await call(memory, everything, "wait_for", {"batch_id": batch, **place.scope})
        assert done.state == "done", done
        await call(memory, everything, "consolidate", place.scope)


async def _tell(memory: AsyncMemory, place: Place) -> str:
    grant, word = Grant(tenant=place.tenant), place.word
    said = [
        f"I live in {word}. I have 7 goats from {word}.",
        f"Yesterday I visited the goat fair in {word}.",
        f"I live in Upper {word}.",
        f"我昨天在{word}的羊市买了一只山羊。",
    ]
    at = "2026-03-01T10:00:00Z"
    told: dict[str, Any] = {
        "messages": [{"role": "user", "content": text, "occurred_at": at} for text in said],
        "metadata": {"m": word},
        "tags": [word],
    }
    same = {"session_id": "mon", "idempotency_key": "k", "wait": False}
    receipt = await call(memory, grant, "add", {**told, **same, **place.scope})
    for record in (
        {"kind": "core", "label": "human", "value": f"Keeps goats at {word}."},
        {"kind": "semantic", "name": f"The gate of {word} is green", "tags": [word]},
    ):
        await call(memory, grant, "create", {"record": record, "reason": word, **place.scope})
    sealed = {"secret": f"plum {word}", "caption": f"{word} gate", "sensitivity": "high"}
    put = await call(memory, grant, "vault.put", {**sealed, **place.scope})
    seen = {"id": put.record_ids[0], "reason": f"to open {word}"}
    assert await call(memory, grant, "vault.reveal", {**seen, **place.scope}) == f"plum {word}"
    if place.agent is None:
        await call(memory, grant, "set_user", {"locale": word, **place.scope})
    return receipt.batch_id


def known(path: Path) -> Crowd:
    """What stands where, by the rows of the file."""
    ids: dict[str, Place] = {}
    of: dict[Place, dict[str, list[str]]] = {}
    with closing(apsw.Connection(str(path))) as file:
        for number, *who in file.execute("SELECT scope, tenant, user_id, agent_id FROM scopes"):
            place = Place(who[0], who[1] or None, who[2] or None)
            found = {
                table: [
                    str(row[0])
                    for row in file.execute(
                        f"SELECT DISTINCT id FROM {table} WHERE scope = ?", (number,)
                    )
                ]
                for table in _NAMED
            }
            of[place] = found
            ids |= {each: place for group in found.values() for each in group}
    return Crowd(ids, of)


def rows_of(path: Path) -> dict[tuple[str, ...], list[str]]:
    """Every row of a file by whose it is: tenant, user and agent as far as its table says."""
    rows: dict[tuple[str, ...], list[str]] = defaultdict(list)
    with closing(apsw.Connection(str(path))) as file:
        owners = {
            number: (tenant, user, agent)
            for number, tenant, user, agent in file.execute(
                "SELECT scope, tenant, user_id, agent_id FROM scopes"
            )
        }
        tables = [
            str(row[0]) for row in file.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        for table in tables:
            found = file.execute(f"SELECT * FROM {table}")
            for row in found:
                columns = [str(column[0]) for column in found.description]
                named = dict(zip(columns, row, strict=True))
                if "scope" in named:
                    owner = owners[named["scope"]]
                else:
                    parts = ("tenant", "user_id", "agent_id")
                    owner = tuple(str(named[part]) for part in parts if part in named)
                rows[owner].append(f"{table} {row!r}")
    return {owner: sorted(each) for owner, each in rows.items()}


def everything_of(tenant: str) -> Grant:
    """All permissions, for all of a tenant, with a key."""
    return Grant(tenant=tenant, permissions=EVERYTHING, key="ops")
