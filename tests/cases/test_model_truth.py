"""What is true when a model writes: it may end too much, repeat, or take one for another."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cases.support import set_clock, texts

import memstrata
from memstrata import Memory
from memstrata.models.chat import Prompt
from memstrata.models.fake import FakeChat, FakeEmbedder
from memstrata.records import Receipt, Record

DAY = datetime(2026, 4, 2, 8, 0, tzinfo=UTC)
ANY = ["current", "past", "review", "retired"]
USER: dict[str, Any] = {"user_id": "ottilie"}


def fact(
    attribute: str, value: str, number: Any = 1, *, subject: str = "user", **more: Any
) -> dict[str, Any]:
    polarity = more.pop("polarity", True)
    return {
        "kind": "semantic",
        "op": more.pop("op", "create"),
        "from": number if isinstance(number, list) else [number],
        "sentence": more.pop(
            "sentence", f"{subject} {'' if polarity else 'not '}{attribute} {value}"
        ),
        "subject": subject,
        "attribute": attribute,
        "value": value,
        "negated": not polarity,
        **more,
    }


def reply(*memories: Any) -> dict[str, Any]:
    return {"title": "A talk", "summary": "What was said.", "memories": [*memories]}


Answer = Callable[[str], Any]


def meaning(word: str, answer: Answer) -> Callable[[Prompt], Any]:
    """A reply about the known record that says something, by the alias it is shown under."""

    def replied(prompt: Prompt) -> Any:
        shown = re.search(rf"^(r\d+) \([^\n]*{re.escape(word)}", prompt.turns[0].text, re.MULTILINE)
        assert shown, prompt.turns[0].text
        return answer(shown[1])

    return replied


def opened(path: Path, *script: Any, otherwise: Any = None) -> Memory:
    chat = FakeChat(*script, otherwise=otherwise)
    return memstrata.open(path, embedder=FakeEmbedder(), llm=chat)


def tell(memory: Memory, day: float, text: Any, **options: Any) -> Receipt:
    """Say it so many days after the first."""
    when = DAY + timedelta(days=day)
    set_clock(memory, when)
    return memory.add(text, **{**USER, "occurred_at": when, **options})


def facts(memory: Memory, **options: Any) -> list[Record]:
    """Every fact there ever was, in the order of its beginning."""
    found = memory.list(**USER, lifecycles=ANY, kinds=["semantic"], **options)
    return sorted(found, key=lambda record: str(record.valid_from))


def states(memory: Memory) -> list[tuple[Any, Any, str]]:
    return [(r.fields.get("value"), r.fields.get("polarity"), r.lifecycle) for r in facts(memory)]


def recalled(memory: Memory, question: str, **options: Any) -> list[Record]:
    hits = memory.search(question, **USER, strata=["records"], **options)
    return [hit.record for hit in hits if hit.record and hit.record.kind == "semantic"]


# ── R01 ──────────────────────────────────────────────────────────────────────────────────────

OLIVES = [
    ("I really enjoy olives.", "I can't stand olives.", "olives"),
    ("我很喜欢橄榄。", "我讨厌橄榄。", "橄榄"),
]
DELETES: dict[str, Callable[[str, str], Answer]] = {
    "a delete alone": lambda said, value: lambda r: reply({"op": "retire", "target": r, "from": 1}),
    "in other words": lambda said, value: (
        lambda r: reply({"op": "DELETE", "target": r, "from": "1"})
    ),
    "with the opposite": lambda said, value: (
        lambda r: reply(
            {"op": "retire", "target": r, "from": [1]}, fact("likes", value, polarity=False)
        )
    ),
    "superseded": lambda said, value: (
        lambda r: reply(fact("likes", value, op="supersede", target=r, polarity=False))
    ),
    "as a dislike": lambda said, value: lambda r: reply(fact("dislikes", value)),
    "as a dislike that replaces": lambda said, value: (
        lambda r: reply(fact("dislikes", value, op="supersede", target=r))
    ),
    "updated": lambda said, value: (
        lambda r: reply(fact("likes", value, op="update", target=r, polarity=False))
    ),
    "nothing": lambda said, value: lambda r: reply(),
}


@pytest.mark.parametrize(("liked", "disliked", "value"), OLIVES)
@pytest.mark.parametrize("how", DELETES)
def test_r01_the_opposite_is_never_dropped(
    path: Path, liked: str, disliked: str, value: str, how: str
) -> None:
    """A new statement opposite to a stored one produced only a delete; the new statement was not
    added, so the store ended up empty (mem0ai/mem0 #4536)."""
    answer = DELETES[how](disliked, value)
    with opened(path, reply(fact("likes", value)), meaning(value, answer)) as memory:
        old = tell(memory, 0, liked).record_ids
        assert tell(memory, 9, disliked).state == "done"

        assert states(memory) == [(value, True, "past"), (value, False, "current")]
        shown = recalled(memory, value)
        assert [record.fields["polarity"] for record in shown] == [False]
        assert [c.op for c in memory.history(old[0], **USER)][:2] == ["create", "end"]
        then = recalled(memory, value, as_of=DAY + timedelta(days=2))
        assert [record.fields["polarity"] for record in then] == [True]
        assert memory.verify() == []


@pytest.mark.parametrize(
    ("said", "over", "value"),
    [("I play the zither.", "I gave up the zither, for good.", "the zither"),
     ("我弹古筝。", "我不弹古筝了。", "古筝")],
)  # fmt: skip
def test_r01_what_ended_without_an_opposite_keeps_what_was_said(
    path: Path, said: str, over: str, value: str
) -> None:
    retired = meaning(value, lambda r: reply({"op": "retire", "target": r, "from": 1}))
    with opened(path, reply(fact("plays", value)), retired) as memory:
        tell(memory, 0, said)
        receipt = tell(memory, 9, over)
        [old] = [r for r in facts(memory) if r.fields.get("polarity") is True]
        assert old.lifecycle == "past"
        made = [r for r in facts(memory) if r.id in receipt.record_ids and r.id != old.id]
        told = {e.source_id for r in facts(memory) for e in r.evidence}
        assert set(receipt.message_ids) <= told
        assert made or receipt.message_ids[0] in {e.source_id for e in old.evidence}


# ── R02 ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("no_more", "again", "question", "value", "word"),
    [
        ("I don't eat meat any more.", "I'm eating meat again since last week.",
         "does the user eat meat?", "meat", "last week"),
        ("我不吃肉了。", "我从上周又开始吃肉了。", "用户吃肉吗？", "肉", "上周"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("how", ["add only", "supersede", "retire too"])
def test_r02_what_is_so_again_has_a_beginning_and_the_old_an_end(
    path: Path, no_more: str, again: str, question: str, value: str, word: str, how: str
) -> None:
    """Add-only extraction kept "vegetarian" and later "ate steak" side by side; search returned
    both (mem0ai/mem0 #5576)."""

    def answer(alias: str) -> Any:
        if how == "add only":
            return reply(fact("eats", value, when=word))
        if how == "supersede":
            return reply(fact("eats", value, op="supersede", target=alias, when=word))
        end = {"op": "retire", "target": alias, "from": 1}
        return reply(end, fact("eats", value, when=word))

    with opened(path, reply(fact("eats", value, polarity=False)), meaning(value, answer)) as memory:
        tell(memory, 0, no_more)
        tell(memory, 40, again)
        assert states(memory) == [(value, False, "past"), (value, True, "current")]
        old, new = facts(memory)
        assert old.valid_to is not None
        assert old.valid_to == new.valid_from
        assert timedelta(days=1) < DAY + timedelta(days=40) - old.valid_to < timedelta(days=15)
        assert [r.fields["polarity"] for r in recalled(memory, question)] == [True]
        ten = DAY + timedelta(days=10)
        assert [r.fields["polarity"] for r in recalled(memory, question, as_of=ten)] == [False]
        assert [r.fields["polarity"] for r in recalled(memory, question, known_at=ten)] == [False]
        assert memory.verify() == []


# ── R03 ──────────────────────────────────────────────────────────────────────────────────────

DEPOT = [
    ("The depot opens at 07:30.", "The depot", "opens_at", "07:30", "07:30 it opens, the depot."),
    ("仓库七点半开门。", "仓库", "开门时间", "七点半", "仓库是七点半开门的。"),
]  # fmt: skip
REPEATS: dict[str, Callable[[dict[str, Any]], Answer]] = {
    "created again": lambda one: lambda r: reply(one),
    "created twice": lambda one: lambda r: reply(one, one),
    "skipped": lambda one: lambda r: reply({"op": "skip", "target": r, "from": 1}),
    "superseded by itself": lambda one: lambda r: reply({**one, "op": "supersede", "target": r}),
    "corrected by itself": lambda one: lambda r: reply({**one, "op": "correct", "target": r}),
    "revised": lambda one: lambda r: reply({**one, "op": "revise", "target": r}),
    "deleted": lambda one: lambda r: reply({"op": "retire", "target": r, "from": 1}),
    "deleted and created": lambda one: (
        lambda r: reply({"op": "retire", "target": r, "from": 1}, one)
    ),
}


@pytest.mark.parametrize(("said", "subject", "attribute", "value", "again"), DEPOT)
@pytest.mark.parametrize("how", REPEATS)
def test_r03_the_same_again_is_one_fact_with_both_sources(
    path: Path, said: str, subject: str, attribute: str, value: str, again: str, how: str
) -> None:
    """Adding the identical text again deleted the stored copy (mem0ai/mem0 #1674)."""
    one = fact(attribute, value, subject=subject, sentence=said)
    repeat = meaning(value, REPEATS[how](one))
    with opened(path, reply(one), otherwise=repeat) as memory:
        first = tell(memory, 0, said, session_id="a")
        calls = [
            tell(memory, n, text, session_id=f"b{n}") for n, text in enumerate((said, again), 1)
        ]
        live = [r for r in facts(memory) if r.lifecycle == "current"]
        assert [r.id for r in live if r.fields.get("attribute")] == first.record_ids
        assert [r.lifecycle for r in facts(memory) if r.fields.get("value") == value] == ["current"]
        sources = {e.source_id for e in live[0].evidence}
        if how not in ("deleted",):
            assert sources >= {*first.message_ids, *calls[0].message_ids, *calls[1].message_ids}
        assert memory.verify() == []


@pytest.mark.parametrize(("said", "subject", "attribute", "value", "again"), DEPOT)
def test_r03_in_one_batch_and_one_by_one_leave_the_same(
    tmp_path: Path, said: str, subject: str, attribute: str, value: str, again: str
) -> None:
    """Two episodes in one bulk call carrying the same fact made two edges, while one-by-one calls
    made one (getzep/graphiti #1872)."""

    def answer(prompt: Prompt) -> Any:
        new = re.split("NEW messages:|新消息:", prompt.turns[0].text)[-1]
        numbers = [int(n) for n in re.findall(r"^\[(\d+)\]", new, re.MULTILINE)]
        return reply(*(fact(attribute, value, n, subject=subject, sentence=said) for n in numbers))

    left: list[list[tuple[Any, ...]]] = []
    for name, batches in (("once", [[said, again]]), ("each", [[said], [again]])):
        with opened(tmp_path / f"{name}.db", otherwise=answer) as memory:
            for batch in batches:
                tell(memory, 0, batch, session_id="s")
            [one] = facts(memory)
            assert len(one.evidence) == 2
            left.append([(r.text, r.lifecycle, r.valid_from, r.version) for r in facts(memory)])
            assert len(texts(memory.messages(**USER))) == 2
    assert left[0] == left[1]


# ── R04 ──────────────────────────────────────────────────────────────────────────────────────

CLUBS = [
    ("Ana works at Borealis as an accountant.", "Ana also runs the chess club at Borealis.",
     "Ana", "Borealis", "the chess club at Borealis"),
    ("Ana works at Borealis as an accountant.", "Ana can't stand the coffee at Borealis.",
     "Ana", "Borealis", "the coffee at Borealis"),
    ("Ana works at Borealis as an accountant.", "Ana now leads the choir at Borealis too.",
     "Ana", "Borealis", "the choir at Borealis"),
    ("陶然在风岭公司当会计。", "陶然还在风岭公司经营一个棋社。",
     "陶然", "风岭公司", "风岭公司的棋社"),
    ("陶然在风岭公司当会计。", "陶然受不了风岭公司的咖啡。",
     "陶然", "风岭公司", "风岭公司的咖啡"),
]  # fmt: skip
Judge = Callable[[str, str, str], Answer]
JUDGES: dict[str, Judge] = {
    "retire": lambda who, at, what: lambda r: reply({"op": "retire", "target": r, "from": 1}),
    "retire and create": lambda who, at, what: lambda r: reply(
        {"op": "retire", "target": r, "from": 1}, fact("runs", what, subject=who)
    ),
    "supersede": lambda who, at, what: lambda r: reply(
        fact("runs", what, subject=who, op="supersede", target=r)
    ),
    "correct": lambda who, at, what: lambda r: reply(
        fact("runs", what, subject=who, op="correct", target=r)
    ),
    "revise": lambda who, at, what: lambda r: reply(
        fact("runs", what, subject=who, op="revise", target=r)
    ),
    "a clever attribute": lambda who, at, what: lambda r: reply(
        fact("role_at_company", what, subject=who, op="supersede", target=r)
    ),
    "until": lambda who, at, what: lambda r: reply(
        fact("runs", what, subject=who, op="supersede", target=r, when="2026-04-05")
    ),
    "of another kind": lambda who, at, what: lambda r: reply(
        {"kind": "episodic", "op": "supersede", "target": r, "from": 1,
         "summary": f"{who}: {what}", "actor": who}
    ),
    "without parts": lambda who, at, what: lambda r: reply(
        {"kind": "semantic", "op": "supersede", "target": r, "from": 1,
         "sentence": f"{who}: {what}", "subject": who}
    ),
}  # fmt: skip


@pytest.mark.parametrize(("works", "also", "who", "at", "what"), CLUBS)
@pytest.mark.parametrize("judge", JUDGES)
def test_r04_whatever_the_judge_says_the_employment_stays(
    path: Path, works: str, also: str, who: str, at: str, what: str, judge: str
) -> None:
    """Saving a fact that merely mentions a person closed an unrelated, still true fact about that
    person; 41 % of one graph's facts were closed (getzep/graphiti #1728)."""
    employed = reply(fact("works_at", at, subject=who), fact("works_as", "accountant 会计",
                                                             subject=who))  # fmt: skip
    with opened(path, employed, meaning(at, JUDGES[judge](who, at, what))) as memory:
        tell(memory, 0, works)
        receipt = tell(memory, 3, also)
        assert receipt.state == "done" or judge == "retire"
        standing = {r.fields.get("attribute"): r for r in facts(memory)}
        for attribute in ("works_at", "works_as"):
            assert standing[attribute].lifecycle == "current"
            assert standing[attribute].valid_to is None
        assert memory.review(**USER).items == []
        if judge != "retire":
            made = memory.list(**USER, lifecycles=["current"])
            assert any(receipt.message_ids[0] in {e.source_id for e in r.evidence} for r in made)
        assert memory.verify() == []


@pytest.mark.parametrize(
    ("first", "second", "old", "new"),
    [("Ana works at Borealis.", "Ana works at Fernhill now.", "Borealis", "Fernhill"),
     ("陶然在风岭公司工作。", "陶然现在在云栖公司工作。", "风岭公司", "云栖公司")],
)  # fmt: skip
@pytest.mark.parametrize("name", ["works_at", "employer", "Works At", "company"])
def test_r04_a_real_change_is_one_whatever_the_attribute_is_called(
    path: Path, first: str, second: str, old: str, new: str, name: str
) -> None:
    who = first.split()[0] if first.isascii() else "陶然"
    changed = meaning(old, lambda r: reply(fact(name, new, subject=who, op="supersede", target=r)))
    with opened(path, reply(fact("works_at", old, subject=who)), changed) as memory:
        tell(memory, 0, first)
        tell(memory, 3, second)
        assert states(memory) == [(old, True, "past"), (new, True, "current")]


# ── R06 ──────────────────────────────────────────────────────────────────────────────────────

ASKED = [
    ("What should I plant on a shady balcony?", "I'd plant ferns; I grew them for years.", "ferns"),
    ("What should I cook?", "I love dumplings. I always cook dumplings on Sundays.", "dumplings"),
    ("背阴的阳台种什么好？", "我会种蕨类，我种了很多年蕨类。", "蕨类"),
]
CLAIMS: dict[str, Callable[[str, list[int]], dict[str, Any]]] = {
    "a fact": lambda value, rest: fact("grows", value, rest),
    "a taste": lambda value, rest: fact("likes", value, rest),
    "of I": lambda value, rest: fact("grows", value, rest, subject="I"),
    "without parts": lambda value, rest: {
        "kind": "semantic", "from": rest, "sentence": f"The user grows {value}."},
    "an event": lambda value, rest: {
        "kind": "episodic", "from": rest, "summary": f"The user grew {value}.", "actor": "user"},
    "nobody's event": lambda value, rest: {
        "kind": "episodic", "from": rest, "summary": f"The user grew {value} for years."},
    "core": lambda value, rest: {
        "kind": "core", "from": rest, "label": "human", "line": f"Grows {value}"},
}  # fmt: skip


@pytest.mark.parametrize(("asked", "answered", "value"), ASKED)
@pytest.mark.parametrize("rest", [[2], [1, 2]])
@pytest.mark.parametrize("claim", CLAIMS)
def test_r06_what_the_assistant_says_is_no_fact_of_the_user(
    path: Path, asked: str, answered: str, value: str, rest: list[int], claim: str
) -> None:
    """Roles were removed before extraction, so the assistant's proposals were saved as the user's
    facts (mem0ai/mem0 #5642, MemTensor/MemOS-Cloud-OpenClaw-Plugin #10)."""
    chat = FakeChat(otherwise=reply(CLAIMS[claim](value, rest)))
    said = [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
    with memstrata.open(path, embedder="none", llm=chat) as memory:
        receipt = memory.add(said, **USER, session_id="s")
        for record in memory.list(**USER, lifecycles=ANY):
            assert record.kind != "core"
            assert record.fields.get("subject") != "user"
            assert record.fields.get("actor") != "user"
            assert "user grew" not in record.text.lower()
            assert "user grows" not in record.text.lower()
        assert receipt.skipped or receipt.state == "failed"
    rows = re.findall(r"^\[\d\] [^\n]*", chat.prompts[0].turns[0].text, re.MULTILINE)
    assert [" user: " in row for row in rows] == [True, False]
    assert " assistant: " in rows[1]


# ── R08 ──────────────────────────────────────────────────────────────────────────────────────

COUSINS = [
    ("My cousin Leo hates swimming, but his dad signed him up anyway.", "Leo", "swimming"),
    ("我表弟小舟讨厌游泳，可是他爸爸还是给他报了名。", "小舟", "游泳"),
]


@pytest.mark.parametrize(("said", "who", "what"), COUSINS)
@pytest.mark.parametrize("subject", ["user", "I", "我", None])
def test_r08_what_is_said_of_somebody_else_is_theirs(
    path: Path, said: str, who: str, what: str, subject: str | None
) -> None:
    """Something said about a friend was stored as the user's own trait (mem0ai/mem0 #1528)."""
    proposed = fact("likes", what, subject=subject or who, polarity=False)
    with opened(path, reply(proposed)) as memory:
        tell(memory, 0, said)
        about = [r.fields.get("subject") for r in facts(memory) if r.fields.get("value") == what]
        assert about == [who]
        question = f"what does the user think of {what}?"
        assert all(r.fields.get("subject") != "user" for r in recalled(memory, question))
