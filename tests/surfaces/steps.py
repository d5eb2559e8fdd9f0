"""One table of calls, the same for every surface: what is asked, and what later calls refer to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["STEPS", "Step"]

THEN = "2026-05-08T09:00:00+01:00"
NOW = "2026-06-01T12:00:00+00:00"
NOBODY = "sem_" + "0" * 32
TEA = "我喜欢喝茶 🍵"
PATHLIKE = "file:///etc/passwd and ../../secret.txt and http://127.0.0.1:9/x are only words"


@dataclass(frozen=True)
class Step:
    """A call of a verb, by the names of its arguments; `$name` stands for what was kept."""

    verb: str
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    keep: Mapping[str, tuple[str | int, ...]] = field(
        default_factory=dict[str, tuple[str | int, ...]]
    )
    """Names for parts of the result, for later steps."""
    fails: str | None = None
    """The error it ends with."""


def _ana(**given: Any) -> dict[str, Any]:
    return {**given, "user_id": "ana"}


_FACT = {
    "kind": "semantic", "name": "Ana's hives", "summary": "Ana keeps bees behind the mill.",
    "subject": "Ana", "attribute": "pet", "value": "bees", "tags": ["home"],
}  # fmt: skip

STEPS: tuple[Step, ...] = (
    # Nothing is global by omission, and nobody has anything yet.
    Step("add", {"messages": "Whose is this?"}, fails="ScopeRequired"),
    Step("search", {"query": "bees"}, fails="ScopeRequired"),
    Step("search", _ana(query="bees", now=NOW)),
    Step("kinds"),
    # Writing.
    Step(
        "add",
        _ana(
            messages="I moved to Lisbon last month. I can't eat peanuts.",
            session_id="s1",
            occurred_at=THEN,
            tags=["home"],
            metadata={"place": "kitchen"},
        ),
        {"first": ("message_ids", 0), "batch": ("batch_id",)},
    ),
    Step("add", _ana(messages=TEA, session_id="s1", occurred_at="2026-05-08T09:01:00+01:00")),
    Step("add", _ana(messages=PATHLIKE, session_id="s2", occurred_at=THEN, infer=False)),
    Step("add", _ana(messages="I play the cello.", occurred_at=THEN, idempotency_key="k1")),
    Step("add", _ana(messages="I play the cello.", occurred_at=THEN, idempotency_key="k1")),
    Step("add", _ana(messages="I play the flute.", idempotency_key="k1"), fails="Conflict"),
    Step("add", _ana(messages="  ")),
    Step("add", _ana(messages="x", occurred_at="soon"), fails="InvalidInput"),
    Step("add", {"messages": "I keep goats.", "user_id": "ben", "occurred_at": THEN}),
    Step("create", _ana(record=_FACT), {"fact": ("record_ids", 0)}),
    Step("create", _ana(record={"kind": "nonsense"}), fails="InvalidInput"),
    Step("update", _ana(record_id="$fact", changes={"details": "Four hives."}, if_version=1)),
    Step(
        "update",
        _ana(record_id="$fact", changes={"details": "Six."}, if_version=1),
        fails="Conflict",
    ),
    Step("update", _ana(record_id=NOBODY, changes={"details": "x"}), fails="NotFound"),
    Step("update", _ana(record_id="$fact", changes={"nonsense": 1}), fails="InvalidInput"),
    # Finding.
    Step("search", _ana(query="Where does Ana live?", now=NOW, limit=3)),
    Step("search", _ana(query="喝茶", now=NOW)),
    Step("search", _ana(query="passwd", now=NOW, method="bm25", strata=["messages"])),
    Step(
        "search",
        _ana(query="bees", now=NOW, kinds=["semantic"], filters={"tags": {"contains": "home"}}),
    ),
    Step("search", _ana(query="bees", now=NOW, method="string_match", explain=True)),
    Step("search", _ana(query=" "), fails="InvalidInput"),
    Step("search", _ana(query="x", filters={"nonsense": 1}), fails="InvalidInput"),
    Step("search", _ana(query="x", method="magic"), fails="InvalidInput"),
    Step("search", {"query": "Lisbon", "user_id": "ben", "now": NOW}),
    Step("search", {"query": "Lisbon", "user_id": 'x" or "1"=="1', "now": NOW}),
    Step("context", _ana(query="What can I cook for Ana?", now=NOW, max_tokens=400)),
    Step("ask", _ana(question="What does Ana keep behind the mill?", now=NOW)),
    Step("ask", _ana(question="How old is the tower in Pisa?", now=NOW)),
    Step("timeline", _ana(query="Lisbon", now=NOW)),
    Step("count", _ana(query="How many instruments do I play?", now=NOW)),
    Step("chat", _ana(messages="What do I play?", learn=False, now=NOW)),
    # Browsing.
    Step("get", _ana(id="$first")),
    Step("get", {"id": "$first", "user_id": "ben"}, fails="NotFound"),
    Step("list", _ana(limit=1), {"next": ("next",)}),
    Step("list", _ana(limit=1, cursor="$next")),
    Step("list", _ana(cursor="none of ours"), fails="InvalidInput"),
    Step("messages", _ana(session_id="s1")),
    Step("episodes", _ana()),
    Step("themes", _ana()),
    Step("entities", _ana(name="Lisbon")),
    Step("history", _ana(id="$fact")),
    Step("review", _ana()),
    Step("changes", _ana(limit=2), {"seen": ("items", 1, "cursor")}),
    Step("changes", _ana(cursor="$seen", limit=2)),
    Step("changes", _ana(cursor="none of ours"), fails="InvalidInput"),
    Step("batches", _ana(state="done", limit=2)),
    Step("wait_for", _ana(batch_id="$batch")),
    Step("retry", _ana(batch_id="$batch"), fails="Conflict"),
    Step("scopes"),
    # What is sealed.
    Step(
        "vault.put",
        _ana(secret="seven plums", caption="Garden gate"),
        {"gate": ("record_ids", 0)},
    ),
    Step("vault.list", _ana()),
    Step("vault.reveal", _ana(id="$gate", reason="to open it")),
    Step("vault.reveal", _ana(id=NOBODY, reason="to open it"), fails="NotFound"),
    Step("audit", _ana(limit=1)),
    # Taking back, and running it.
    Step("retire", _ana(record_id="$fact", reason="the hives were sold")),
    Step("undo", _ana(batch_or_change="$batch")),
    Step("undo", _ana(batch_or_change="$batch"), fails="Conflict"),
    Step("forget", _ana(ids=["$fact"], dry_run=True)),
    Step("forget", _ana(ids=["$fact"], reason="asked for")),
    Step("get", _ana(id="$fact"), fails="NotFound"),
    Step("forget", _ana(), fails="InvalidInput"),
    Step("set_user", _ana(timezone="Europe/Lisbon", locale="pt-PT")),
    Step("set_user", _ana(timezone="Mars/Base"), fails="InvalidInput"),
    Step("configure", {"strategy": "managers"}),
    Step("consolidate", _ana()),
    Step("stats", _ana()),
    Step("verify"),
    Step("forget", _ana(everything=True)),
    Step("list", _ana()),
    Step("search", {"query": "goats", "user_id": "ben", "now": NOW}),
)
