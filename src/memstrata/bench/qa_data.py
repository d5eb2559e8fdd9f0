"""Questions with their right answers, and the conversations they are asked about.

LoCoMo: one user per conversation, asked on the day after its last session. LongMemEval: all
evidence sessions as one user's memory, or, from a file as published, each question's whole history
as the memory of a user of its own; asked at the date of the question.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

from memstrata.bench import data as locomo_data
from memstrata.bench import locomo, longmemeval, longmemeval_data
from memstrata.bench.data import ADVERSARIAL, CATEGORIES, Conversation
from memstrata.bench.haystack import Item
from memstrata.bench.longmemeval_data import Question
from memstrata.errors import InvalidInput

__all__ = ["ABSTENTION", "NOT_MENTIONED", "SETS", "Asked", "Story", "load"]

SETS = ("locomo", "longmemeval")
ABSTENTION = "abstention"
"""The category of LongMemEval's questions that nothing answers."""
NOT_MENTIONED = "Not mentioned in the conversation"
"""The right choice of LoCoMo's adversarial questions, in its own words."""
_SEED = 20230508


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a user's memory, asked at `now`."""

    id: str
    text: str
    gold: str
    """The right answer; of a preference what a good one heeds, of an abstention why there is none;
    of an adversarial question `NOT_MENTIONED`."""
    category: str
    now: datetime
    choices: tuple[str, str] | None = None
    """What an adversarial question offers, one of them the right one."""

    @property
    def wording(self) -> str:
        """As it is put to a model."""
        if self.choices is None:
            return self.text
        first, second = self.choices
        return f"{self.text} Choose the right answer: (a) {first} (b) {second}"


@dataclass(frozen=True, slots=True)
class Story:
    """One user's messages in the order they are added, and the questions about them."""

    user_id: str
    items: tuple[Item, ...]
    asked: tuple[Asked, ...]


def load(
    data: Path, name: str, *, audited: bool = False, limit: int | None = None
) -> tuple[Story, ...]:
    """The stories of a set; with `limit` so many of the questions, the same in every run.

    `audited` corrects LoCoMo's answers by the audit beside its file. Raises `InvalidInput`.
    """
    if name not in SETS:
        raise InvalidInput(f"there is no set {name!r}: use {' or '.join(SETS)}")
    stories = _locomo(data, audited) if name == "locomo" else _longmemeval(data)
    if limit is not None:
        stories = _drawn(stories, limit)
    if not any(story.asked for story in stories):
        raise InvalidInput(f"{data} has no question with an answer, so there is nothing to ask")
    return tuple(story for story in stories if story.asked)


def _drawn(stories: Sequence[Story], limit: int) -> list[Story]:
    every = [asked.id for story in stories for asked in story.asked]
    kept = set(random.Random(_SEED).sample(every, min(limit, len(every))))
    return [replace(s, asked=tuple(a for a in s.asked if a.id in kept)) for s in stories]


def _locomo(data: Path, audited: bool) -> list[Story]:
    found, audit = locomo_data.find_files(data)
    if audited and audit is None:
        raise InvalidInput(f"no audit*.json beside {found}: its answers cannot be corrected")
    return [_of_conversation(one, audited) for one in locomo_data.load(found, audit)]


def _of_conversation(one: Conversation, audited: bool) -> Story:
    made = locomo.haystack_of(one)
    asked: list[Asked] = []
    for number, (question, case) in enumerate(zip(one.questions, made.cases, strict=True)):
        name = f"{one.id}/{number}"
        adversarial = question.category == ADVERSARIAL
        gold = question.corrected if audited else question.answer
        gold = NOT_MENTIONED if adversarial else gold
        choices = _choices(name, question.trap) if adversarial and question.trap else None
        if gold:
            category = CATEGORIES[question.category]
            asked.append(Asked(name, question.text, gold, category, case.now, choices))
    return Story(one.id, made.items, tuple(asked))


def _choices(name: str, trap: str) -> tuple[str, str]:
    """The right one comes first for half of the questions, always the same half."""
    first = blake2b(name.encode(), digest_size=1).digest()[0] % 2 == 0
    return (NOT_MENTIONED, trap) if first else (trap, NOT_MENTIONED)


def _longmemeval(data: Path) -> list[Story]:
    path = longmemeval_data.find_file(data)
    if path.suffix != ".jsonl":
        return [_whole(question) for question in longmemeval_data.load(path, whole=True)]
    questions = longmemeval_data.load(path)
    pool = longmemeval.haystack_of(questions)
    return [Story("user", pool.items, _asked(questions, [case.now for case in pool.cases]))]


def _whole(question: Question) -> Story:
    pool = longmemeval.haystack_of([question])
    items = tuple(replace(item, user_id=question.id) for item in pool.items)
    return Story(question.id, items, _asked([question], [case.now for case in pool.cases]))


def _asked(questions: Iterable[Question], moments: Iterable[datetime]) -> tuple[Asked, ...]:
    return tuple(
        Asked(q.id, q.text, q.answer, ABSTENTION if q.abstention else q.type, now)
        for q, now in zip(questions, moments, strict=True)
        if q.answer
    )
