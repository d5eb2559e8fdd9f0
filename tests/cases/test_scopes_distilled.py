"""Whose memory it is, of what is made of messages: episodes, entities, facts, doubts, answers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import memstrata
from memstrata import Memory
from memstrata.errors import NotFound, ScopeRequired
from memstrata.models.fake import FakeEmbedder

Scope = dict[str, Any]

USERS = ("ann", "bea", "cem")
AGENTS = (None, "desk", "road")
SESSIONS = ("mon", "tue")


def place(user: str, agent: str | None) -> Scope:
    """The scope of a user, and of an agent of theirs."""
    return {"user_id": user, **({} if agent is None else {"agent_id": agent})}


def own_word(user: str, agent: str | None, session: str) -> str:
    """A name that stands in what one session of one scope told, and in nothing else."""
    number = list(itertools.product(USERS, AGENTS, SESSIONS)).index((user, agent, session))
    return f"{'BCDFGHKLMNPRSTVWZX'[number]}alvenhoek"


OWN_WORDS = {own_word(*each) for each in itertools.product(USERS, AGENTS, SESSIONS)}


def own_words_in(value: Any) -> set[str]:
    """The names that stand anywhere in what a verb returned."""
    text = str(value)
    return {word for word in OWN_WORDS if word in text}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Three users, each with two agents and without; two sessions of facts, events and doubts."""
    path = tmp_path_factory.mktemp("told") / "memory.db"
    with memstrata.open(path, embedder=FakeEmbedder(dimensions=64)) as memory:
        for user, agent, session in itertools.product(USERS, AGENTS, SESSIONS):
            name = own_word(user, agent, session)
            said = [
                f"I live in {name}. I have 7 goats from {name}.",
                f"Yesterday I visited the goat fair in {name}.",
                f"I live in Upper {name}.",
                f"我昨天在{name}的羊市买了一只山羊。",
            ]
            at = "2026-03-01T10:00:00Z"
            messages = [{"role": "user", "content": text, "occurred_at": at} for text in said]
            memory.add(messages, session_id=session, **place(user, agent))
        yield memory


QUESTION = "goat fair visited, live in 山羊"
DISTILLED: dict[str, Callable[[Memory, Scope], Any]] = {
    "episodes": lambda m, s: m.episodes(**s).items,
    "entities": lambda m, s: m.entities(**s).items,
    "records": lambda m, s: m.list(**s).items,
    "review": lambda m, s: m.review(**s).items,
    "search messages": lambda m, s: m.search(QUESTION, strata=["messages"], limit=999, **s).hits,
    "search records": lambda m, s: m.search(QUESTION, strata=["records"], limit=999, **s).hits,
    "search episodes": lambda m, s: m.search(QUESTION, strata=["episodes"], limit=999, **s).hits,
    "search": lambda m, s: m.search(QUESTION, limit=999, **s).hits,
    "timeline": lambda m, s: m.timeline(QUESTION, limit=999, **s),
    "count": lambda m, s: m.count("How many goats do I have?", **s),
    "context": lambda m, s: m.context(QUESTION, max_tokens=100_000, **s),
    "histories": lambda m, s: [m.history(record.id, **s) for record in m.list(**s)],
    "one by one": lambda m, s: [
        [m.get(item.id, **s) for item in (*m.episodes(**s), *m.list(**s))],
        [m.entities(name, **s).items for name in sorted(OWN_WORDS)],
    ],
}
WHOLE = ("episodes", "entities", "records", "review", "histories", "one by one")
"""Those that give everything, and not just what has to do with the question."""


@pytest.mark.parametrize("name", DISTILLED)
@pytest.mark.parametrize(("user", "agent"), list(itertools.product(USERS, AGENTS)))
def test_r32_what_was_made_of_messages_stays_in_their_scope(
    told: Memory, name: str, user: str, agent: str | None
) -> None:
    """Episodes, entities, facts, reviews, timelines and counts show what their scope told."""
    scope = place(user, agent)
    agents = (None,) if agent is None else (None, agent)
    own = {own_word(user, each, session) for each in agents for session in SESSIONS}
    read = DISTILLED[name]
    for seen in (own_words_in(read(told, scope)), own_words_in(read(told.scoped(**scope), {}))):
        assert seen <= own
        assert seen
        assert seen == own or name not in WHOLE
    if agent is not None:
        assert own_words_in(read(told, {"agent_id": agent})) == set()


def test_r32_nothing_that_was_made_is_read_without_a_scope(told: Memory) -> None:
    """No scope is an error, and one that nobody has is empty."""
    for name, read in DISTILLED.items():
        with pytest.raises(ScopeRequired, match="user_id"):
            read(told, {})
        assert own_words_in(read(told, {"user_id": "nobody"})) == set(), name
    assert told.verify() == []


def test_r32_nobody_decides_on_what_waits_for_somebody_else(told: Memory) -> None:
    """An id of another scope reaches neither its review nor its episodes."""
    waiting = told.review(**place("ann", "desk")).items
    [theirs, *_] = [review.record for review in waiting if review.record.agent_id == "desk"]
    episode = next(e for e in told.episodes(**place("ann", "desk")) if e.agent_id == "desk")
    for scope in (
        place("bea", None),
        place("bea", "desk"),
        place("ann", "road"),
        {"user_id": "ann"},
    ):
        for attempt in (
            lambda scope: told.decide(theirs.id, "accept", **scope),
            lambda scope: told.decide(theirs.id, "reject", **scope),
            lambda scope: told.get(episode.id, **scope),
            lambda scope: told.history(theirs.id, **scope),
        ):
            with pytest.raises(NotFound):
                attempt(scope)
    assert told.review(**place("ann", "desk")).items == waiting
