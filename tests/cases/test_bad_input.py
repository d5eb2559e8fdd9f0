"""Arguments that are none: one table through all verbs, each answered by an error that names it."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import memstrata
from memstrata import Memory
from memstrata.errors import InvalidInput, MemstrataError, NotFound, VaultUnavailable
from memstrata.memory import AsyncMemory
from memstrata.memory.keys import AsyncKeys
from memstrata.memory.vault import AsyncVault

LONG = "x" * 600


class _Thing:
    """An object of no use, with a name that is the same in every test process."""

    def __repr__(self) -> str:
        return "THING"


THING = _Thing()
NO_TEXT = (5, 1.5, True, b"x", ["x"], {"x": 1}, THING)
NO_ID = (*NO_TEXT, "", "  ", LONG, "a\x00b", "\ud800")
NO_TIME = (
    5, True, b"2026", ["2026-01-01"], "soon", "2026-13-01", "2026-01-01T25:00",
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00",
)  # fmt: skip
NO_FLAG = ("no", "false", 0, 1, None, [], THING)
NO_LIMIT = (0, -1, 2_000_000, 2.5, "5", True, None, math.inf)
NO_CHOICES = ("current", 5, [5], ["nonsense"], [None], [["core"]], {"core": 1})

FACT = {"kind": "semantic", "name": "x"}
NO_RECORD = (
    None, 5, "x", [], {}, {"name": "x"}, {"kind": "nonsense"}, {"kind": ["semantic"]},
    {"kind": "semantic"}, {"kind": "semantic", "name": ""}, {"kind": "semantic", "name": "  "},
    {"kind": "semantic", "name": 5}, {**FACT, "nonsense": 1}, {**FACT, "confidence": 2},
    {**FACT, "confidence": math.nan}, {**FACT, "occurred_at": "soon"}, {**FACT, "metadata": []},
    {**FACT, "tags": "x"}, {**FACT, "trust": "boss"}, {**FACT, "sensitivity": "secret"},
    {**FACT, "evidence": 5}, {**FACT, "evidence": [5]}, {**FACT, "id": "sem_1"},
    {**FACT, "valid_from": "0001-01-01T00:00:00+14:00"},
    {"kind": "core", "label": "human", "value": "x" * 3_000}, {"kind": "core", "label": ""},
    {"kind": "resource", "content": ""}, {"kind": "procedural", "summary": "x", "steps": "x"},
)  # fmt: skip
NO_MESSAGES = (
    None, 5, 1.5, b"x", THING, {1, 2}, [None], [5], [b"x"], [["x"]],
    {"role": 5, "content": "x"}, {"role": "", "content": "x"}, {"role": "user", "content": 5},
    {"role": "user", "content": {"a": 1}}, {"content": "x", "occurred_at": "soon"},
    {"content": "x", "occurred_at": "0001-01-01T00:00:00+14:00"},
    {"content": "x", "trust": "boss"}, {"content": "x", "tags": "x"}, {"content": "x", "tags": [5]},
    {"content": "x", "metadata": []}, {"content": "x", "id": ""}, {"content": "x", "id": 5},
    {"content": "x", "name": 5}, {"content": "x", "name": ["x"]},
)  # fmt: skip


def nested(depth: int) -> dict[str, Any]:
    """A filter with so many others around it."""
    found: dict[str, Any] = {"kind": "core"}
    for _ in range(depth):
        found = {"not": found}
    return found


DEEP = {"not": nested(300)}
"""Deeper than what goes through it has a stack for."""

NO_FILTERS = (
    5, "x", [], [{"kind": "core"}], {"nonsense": 1}, {5: 5}, {"": 1}, {"kind": {"like": "x"}},
    {"kind": {}}, {"kind": ["core"]}, {"tags": "x"}, {"or": []}, {"or": {}}, {"and": "x"},
    {"not": None}, {"not": 5}, {"occurred_at": "soon"}, {"occurred_at": 5},
    {"metadata": 1}, {"metadata.": 1},
    {"metadata.a..b": 1}, {"metadata.k": {"gt": None}}, {"metadata.k": {"gt": True}},
    {"metadata.k": {"in": "abc"}}, {"metadata.k": {"in": [[1]]}}, {"metadata.k": {"exists": "yes"}},
    {"metadata.k": {"starts_with": 5}}, {"metadata.k": b"x"}, {"metadata.k": 2**70},
    {"metadata.k": {"lt": -(2**70)}}, {"metadata.k": {"in": [2**70]}}, {"metadata.k": math.nan},
    {"metadata.k": THING}, nested(30),
)  # fmt: skip

BAD: Mapping[str, tuple[Any, ...]] = {
    "user_id": NO_ID,
    "agent_id": NO_ID,
    "session_id": NO_ID,
    "idempotency_key": NO_ID,
    "messages": (
        *NO_MESSAGES,
        {"content": "x", "metadata": DEEP},
        {"content": [{"type": "image", "x": DEEP}]},
        {"content": "x", "metadata": {"a": nested(5000)}},
    ),
    "record": NO_RECORD,
    "managers": (5, {}, [5], ["dreams"], "semantic", [""]),
    "strategy": ("best", 5, "", ["single"], True),
    "instructions": (5, True, ["x"], "x" * 2001),
    "record_id": (*NO_TEXT, None, "", "  "),
    "batch_or_change": (*NO_TEXT, None, "", "  "),
    "decision": ("perhaps", 5, "", None, ["accept"], True),
    "into": (*NO_TEXT, "", "  "),
    "name": (*NO_TEXT, "", "  "),
    "type": ("cloud", 5, "", ["person"], True),
    "batch_id": (*NO_TEXT, None, "", "  "),
    "id": (*NO_TEXT, None, "", "  "),
    "ids": ("msg_1", 5, {"msg_1"}, {"msg_1": 1}, [5], [None], [""], [["msg_1"]]),
    "erased": ("msg_1", 5, {"msg_1"}, {"msg_1": 1}, [5], [None], [""], [["msg_1"]]),
    "text": (*NO_TEXT, "", "  "),
    "query": (*NO_TEXT[:-3], None, THING),
    "question": (*NO_TEXT, None, "", "  ", "\u200b"),
    "occurred_at": NO_TIME,
    "since": NO_TIME,
    "until": NO_TIME,
    "now": NO_TIME,
    "as_of": NO_TIME,
    "known_at": NO_TIME,
    "metadata": ("x", 5, ["x"], [("a", 1)], True, DEEP, {"a": [[DEEP]]}),
    "tags": ("x", 5, [5], [None], [""], {"x": 1}),
    "trust": ("boss", 5, "", ["user"], True),
    "kinds": NO_CHOICES,
    "strata": NO_CHOICES,
    "lifecycles": (*NO_CHOICES, None),
    "search_fields": (*NO_CHOICES, None),
    "method": ("magic", 5, "", None, ["bm25"]),
    "state": ("lost", 5, "", ["done"]),
    "filters": NO_FILTERS,
    "limit": NO_LIMIT,
    "max_tokens": NO_LIMIT,
    "threshold": ("0.5", [], True, math.nan),
    "select": ("magic", 5, "", None, ["mmr"], True),
    "gain": ("0.5", [], True, math.nan, -0.1, 1.5),
    "gate": ("magic", 5, "", None, ["share"], True),
    "rewrite": NO_FLAG,
    "learn": NO_FLAG,
    "parent": (*NO_TEXT, "", "  "),
    "timeout": ("1", [], math.nan, True),
    "if_version": ("1", 1.5, True, [], 0, -1),
    "cursor": (5, b"1", "x", "x:1", "1:x:y", "99999999999999999999999:1", "\ud800", [], ""),
    "infer": NO_FLAG,
    "wait": NO_FLAG,
    "cascade": NO_FLAG,
    "everything": NO_FLAG,
    "dry_run": NO_FLAG,
    "explain": NO_FLAG,
    "hidden": NO_FLAG,
    "actor": (*NO_TEXT, None, "", "  "),
    "reason": (*NO_TEXT, None),
    "rebuild_themes": NO_FLAG,
    "force": NO_FLAG,
    "seal": NO_FLAG,
    "permissions": ("read", 5, [], ["all"], [5], [None], [["read"]], {"read": 1}, ["READ"]),
    "expires_at": (*NO_TIME, "2001-01-01"),
    "revoked": NO_FLAG,
    "secret": (*NO_TEXT, None, "", "half \ud800"),
    "caption": (*NO_TEXT, None, "", "  "),
    "entry_type": (*NO_TEXT, None, "", "  "),
    "source": (5, True, ["x"], {"x": 1}, THING),
    "sensitivity": ("top", 5, "", ["low"], True),
    "tenant": (*NO_ID, None),
    "timezone": (*NO_TEXT, "", "Mars/Base", "../../etc/passwd", "\x00", "\ud800"),
    "locale": (*NO_TEXT, "", LONG, "\ud800"),
    "path": (5, 1.5, True, None, [], {}, THING, "", "a\x00b"),
}
"""What is wrong for an argument of that name, whatever the verb."""

NAMED = {"messages": "message", "filters": "filter", "record": "", "timezone": "zone"}
"""How the error names it, where that is not the argument's name."""

ANN: dict[str, Any] = {"user_id": "ann"}
VALID: Mapping[str, dict[str, Any]] = {
    "add": {"messages": "x", **ANN},
    "ask": {"question": "x", **ANN},
    "audit": ANN,
    "audit_secrets": ANN,
    "backup": {"path": "/nowhere/backup.db"},
    "batches": ANN,
    "changes": ANN,
    "chat": {"messages": "x", **ANN},
    "consolidate": ANN,
    "context": {"query": "x", **ANN},
    "count": {"query": "x", **ANN},
    "create": {"record": {"kind": "semantic", "name": "never stored"}, **ANN},
    "decide": {"record_id": "$record", "decision": "accept", **ANN},
    "dump": {"path": "/nowhere/out.jsonl", **ANN},
    "entities": ANN,
    "episodes": ANN,
    "for_tenant": {"tenant": "north"},
    "forget": {"everything": True, "dry_run": True, **ANN},
    "get": {"id": "$message", **ANN},
    "history": {"id": "$record", **ANN},
    "keys.create": {"name": "never made"},
    "keys.list": {},
    "keys.revoke": {"id": "$key"},
    "list": ANN,
    "load": {"path": "/nowhere/in.jsonl"},
    "messages": ANN,
    "retire": {"record_id": "$record", **ANN},
    "retry": {"batch_id": "$batch", **ANN},
    "review": ANN,
    "scoped": ANN,
    "search": {"query": "x", **ANN},
    "configure": {"strategy": "managers"},
    "set_user": {"timezone": "Asia/Tokyo", **ANN},
    "stats": ANN,
    "themes": ANN,
    "timeline": {"query": "x", **ANN},
    "undo": {"batch_or_change": "$batch", **ANN},
    "update": {"record_id": "$record", "name": "y", **ANN},
    "vault.list": ANN,
    "vault.put": {"secret": "never stored", "caption": "x", **ANN},
    "vault.release": {"id": "$entry", **ANN},
    "vault.reveal": {"id": "$entry", "reason": "x", **ANN},
    "vault.rotate": {"id": "$entry", "secret": "never stored", **ANN},
    "vault.rotate_key": {},
    "verify": ANN,
    "wait_for": {"batch_id": "$batch", **ANN},
}
"""A call of each verb that has arguments; `$…` is something stored."""

WITHOUT = {"close", "doctor", "kinds", "scopes"}
"""The verbs that take none."""
OPTIONAL = {("scoped", "actor"), ("for_tenant", "actor")}
"""Arguments that may be None, unlike others of their name."""
SKIP = {("update", "changes"), ("decide", "changes"), ("scoped", "user_id"), ("scoped", "agent_id")}


OF_SERVERS = {"keys.grant", "keys.required"}
"""What is no verb: a server asks it."""


def arguments() -> list[tuple[str, str]]:
    """Every verb with every argument of it."""
    verbs = {
        f"{prefix}{name}": verb
        for prefix, surface in (("", AsyncMemory), ("keys.", AsyncKeys), ("vault.", AsyncVault))
        for name, verb in inspect.getmembers(surface, inspect.isfunction)
        if not name.startswith("_") and f"{prefix}{name}" not in OF_SERVERS
    }
    return [
        (name, argument)
        for name, verb in verbs.items()
        for argument in inspect.signature(verb).parameters
        if argument != "self" and (name, argument) not in SKIP
    ]


@pytest.fixture(scope="module")
def stored() -> Iterator[tuple[Memory, dict[str, str]]]:
    """A store with one message and one record; after all wrong calls it must be as before."""
    with memstrata.open(":memory:", embedder="none") as memory:
        said = memory.add("The kettle is blue.", user_id="ann", session_id="s", infer=False)
        made = memory.create({"kind": "semantic", "name": "The kettle is blue"}, user_id="ann")
        sealed = memory.vault.put("a plum", caption="Mail", user_id="ann")
        key = memory.keys.create("desk")
        before = (memory.stats(user_id="ann"), memory.batches(user_id="ann"), memory.scopes())
        yield (
            memory,
            {
                "$message": said.message_ids[0],
                "$record": made.record_ids[0],
                "$batch": said.batch_id,
                "$entry": sealed.record_ids[0],
                "$key": key.id,
            },
        )
        after = (memory.stats(user_id="ann"), memory.batches(user_id="ann"), memory.scopes())
        assert after == before
        assert memory.verify() == []
        assert memory.keys.list(revoked=True).items == memory.keys.list().items
        assert [each.id for each in memory.keys.list()] == [key.id]
        assert memory.vault.reveal(sealed.record_ids[0], user_id="ann", reason="x") == "a plum"


def test_the_table_has_every_verb_and_argument() -> None:
    """A new verb or argument is not done until it says what it does with nonsense."""
    found = arguments()
    assert {argument for _, argument in found} == set(BAD)
    assert {verb for verb, _ in found} == set(VALID)
    public = {n for n, _ in inspect.getmembers(AsyncMemory, inspect.isfunction) if n[0] != "_"}
    assert public == {verb for verb in VALID if "." not in verb} | WITHOUT


@pytest.mark.parametrize(("verb", "argument"), arguments())
def test_bad_input_is_refused_by_name(
    stored: tuple[Memory, dict[str, str]], verb: str, argument: str
) -> None:
    """Wrong types, blanks and nonsense: `InvalidInput`, which says which argument and why."""
    memory, there = stored
    call = {
        name: there.get(given, given) if isinstance(given, str) else given
        for name, given in VALID[verb].items()
    }
    if argument in ("ids", "filters", "session_id") and verb == "forget":
        call.pop("everything")
    for value in BAD[argument]:
        if value is None and (verb, argument) in OPTIONAL:
            continue
        with pytest.raises(InvalidInput) as caught:
            operator.attrgetter(verb)(memory)(**{**call, argument: value})
            pytest.fail(f"{verb} took {argument}={value!r}")
        message = str(caught.value)
        named = "messages" if (verb, argument) == ("context", "query") else argument
        assert NAMED.get(named, named) in message
        assert len(message) > 15 and "pydantic" not in message


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"nonsense": 1},
        {"id": "x"},
        {"kind": "core"},
        {"version": 9},
        {"lifecycle": "past"},
        {"name": None},
        {"name": 5},
        {"name": ""},
        {"confidence": 7},
        {"metadata": 5},
        {"tags": "x"},
        {"occurred_at": "soon"},
    ],
    ids=str,
)
def test_bad_changes_are_refused(
    stored: tuple[Memory, dict[str, str]], changes: dict[str, Any]
) -> None:
    """An update of what cannot be updated, or to what cannot be."""
    memory, there = stored
    with pytest.raises(InvalidInput):
        memory.update(there["$record"], user_id="ann", **changes)


@pytest.mark.parametrize(
    ("verb", "argument"),
    [
        ("get", "id"),
        ("history", "id"),
        ("retire", "record_id"),
        ("update", "record_id"),
        ("decide", "record_id"),
        ("undo", "batch_or_change"),
        ("retry", "batch_id"),
        ("wait_for", "batch_id"),
        ("forget", "ids"),
        ("vault.release", "id"),
        ("vault.reveal", "id"),
        ("vault.rotate", "id"),
    ],
)
@pytest.mark.parametrize("unknown", ["nonsense", "msg_0", "sem_0", "batch_0", "x" * 100_000, "馆"])
def test_unknown_ids_are_not_found(
    stored: tuple[Memory, dict[str, str]], verb: str, argument: str, unknown: str
) -> None:
    """What is not there is `NotFound`, and the error is no longer than a line or two."""
    memory, _ = stored
    call: dict[str, Any] = {"user_id": "ann", argument: [unknown] if argument == "ids" else unknown}
    if verb == "update":
        call["name"] = "y"
    if verb == "decide":
        call["decision"] = "accept"
    if verb == "vault.reveal":
        call["reason"] = "x"
    if verb == "vault.rotate":
        call["secret"] = "x"
    with pytest.raises(NotFound, match="scope") as caught:
        operator.attrgetter(verb)(memory)(**call)
    assert len(str(caught.value)) < 1_000


def test_a_message_is_no_record(stored: tuple[Memory, dict[str, str]]) -> None:
    """An id of the wrong kind is not found as what the verb needs."""
    memory, there = stored
    for verb in (memory.retire, lambda id, user_id: memory.update(id, name="y", user_id=user_id)):
        with pytest.raises(NotFound, match="record"):
            verb(there["$message"], user_id="ann")


def test_one_bad_message_does_not_take_the_others_with_it(memory: Memory) -> None:
    """Each bad item of a list is reported by its place, and what is good is stored."""
    good = [f"crate {number}" for number in range(len(NO_MESSAGES))]
    mixed: list[Any] = [
        item
        for pair in zip(good, NO_MESSAGES, strict=True)
        for item in (pair[0], pair[1][0] if isinstance(pair[1], list) else pair[1])
    ]
    receipt = memory.add(mixed, user_id="ann", infer=False)
    assert [item.index for item in receipt.skipped] == list(range(1, len(mixed), 2))
    assert not any(item.stored for item in receipt.skipped)
    assert [message.content for message in memory.messages(user_id="ann")] == good


def test_a_secret_that_cannot_be_sealed_is_refused() -> None:
    """Without a key it is not stored at all."""
    secret = {"kind": "vault", "entry_type": "credential", "caption": "the bank", "secret": "abc"}
    with memstrata.open(":memory:", embedder="none", vault_key="none") as memory:
        with pytest.raises(VaultUnavailable):
            memory.create(secret, user_id="ann")
        with pytest.raises(VaultUnavailable):
            memory.vault.put("abc", caption="the bank", user_id="ann")
        assert memory.stats(user_id="ann")["record_versions"] == 0


def test_an_error_does_not_repeat_a_secret(memory: Memory) -> None:
    """Nor does one about the arguments beside it."""
    for wrong in ({"caption": ""}, {"entry_type": 5}, {"sensitivity": "top"}, {"source": 5}):
        with pytest.raises(InvalidInput) as caught:
            memory.vault.put("plum-7719", **{"caption": "x", **ANN, **wrong})
        assert "plum" not in str(caught.value) and "plum" not in repr(caught.value.__cause__)
    with pytest.raises(InvalidInput) as caught:
        memory.vault.put("plum-7719 \ud800", caption="x", **ANN)
    assert "plum" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"url": 5},
        {"url": ["memory.db"]},
        {"url": "x\x00.db"},
        {"url": "nosuch://host/db"},
        {"url": "\ud800.db"},
        {"embedder": 5},
        {"embedder": "nonsense"},
        {"embedder": THING},
        {"embedder": "plum@http://ana:key@host/v1"},
        {"llm": 5},
        {"llm": ""},
        {"llm": "nonsense"},
        {"llm": "nonsense:plum"},
        {"llm": "plum@http://host:port/v1"},
        {"llm": THING},
        {"llm_chat": "openai:plum"},
        {"llm_judge": THING},
        {"llm": "openai:plum", "llm_chat": 5},
        {"budget": 5},
        {"budget": {"nonsense": 5}},
        {"budget": {"calls": -1}},
        {"budget": {"calls": "many"}},
        {"budget": {"cost": math.nan}},
        {"llm": "plum@http://127.0.0.1:9/v1", "budget": {"cost": 1}},
        {"tenant": None},
        {"tenant": 5},
        {"tenant": ""},
        {"tenant": "\ud800"},
        {"timezone": "Mars/Base"},
        {"timezone": 5},
        {"grouping": {"nonsense": 0.5}},
        {"grouping": {"attach": "0.5"}},
        {"grouping": {"attach": math.nan}},
        {"grouping": {"splits": True}},
        {"grouping": {5: 0.5}},
        {"grouping": [0.5]},
        {"grouping": 5},
        {"vault_key": 5},
        {"vault_key": ""},
        {"vault_key": "\ud800"},
    ],
    ids=str,
)
def test_opening_with_nonsense(options: dict[str, Any]) -> None:
    """So is what a store is opened with."""
    with pytest.raises(MemstrataError):
        memstrata.open(**{"url": ":memory:", "embedder": "none", **options}).close()


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00"])
def test_the_first_and_the_last_day_there_are(memory: Memory, when: str) -> None:
    """The day before the first, and the first in another zone, cannot be said: an error, or not
    asked for; a row that cannot be read again must never be stored."""
    memory.set_user(timezone="Pacific/Kiritimati" if when > "5" else "Pacific/Niue", **ANN)
    fact = {"kind": "semantic", "name": "x", "valid_from": when}
    for call in (
        lambda: memory.add("It rained yesterday, and tomorrow it will.", occurred_at=when, **ANN),
        lambda: memory.add({"content": "rain yesterday, sun tomorrow", "occurred_at": when}, **ANN),
        lambda: memory.create(fact, **ANN),
        lambda: memory.search("rain yesterday or tomorrow", now=when, **ANN),
        lambda: memory.context("rain yesterday or tomorrow", now=when, **ANN),
        lambda: memory.messages(since=when, until=when, **ANN),
    ):
        try:
            call()
        except InvalidInput as error:
            assert "occurred_at" in str(error) or "now" in str(error) or "valid_from" in str(error)
    memory.add("It rained.", **ANN)
    assert "It rained." in str(memory.context("what was the weather like, rain?", **ANN))
    assert len(memory.messages(**ANN)) >= 1
    memory.list(**ANN)
