"""The LoCoMo data set: long two-person conversations with questions and their evidence turns.

The file is a JSON list as published by its authors (https://github.com/snap-research/locomo);
corrections to wrong evidence come from a second file (https://github.com/dial481/locomo-audit).
Neither ships with memstrata.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field, JsonValue, TypeAdapter, ValidationError

from memstrata.bench import files
from memstrata.errors import InvalidInput

__all__ = [
    "ADVERSARIAL",
    "CATEGORIES",
    "Conversation",
    "Question",
    "Turn",
    "evidence_ids",
    "find_files",
    "load",
    "session_time",
]

ADVERSARIAL = 5
"""The category of questions about something that was never said, or said by the other person."""

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

# The audit numbers conversations by their place in the published file of ten.
_PUBLISHED = ("26", "30", "41", "42", "43", "44", "47", "48", "49", "50")

_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_AUDITED = re.compile(r"locomo_(\d+)_qa(\d+)")


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation; `occurred_at` is the date of its session."""

    id: str
    session: str
    speaker: str
    text: str
    caption: str | None
    occurred_at: datetime

    @property
    def content(self) -> str:
        """The text, and the caption of the image that came with it."""
        return f"{self.text} [image: {self.caption}]" if self.caption else self.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its category and the turns that answer it; empty evidence is possible."""

    text: str
    category: int
    evidence: frozenset[str]
    audited: frozenset[str]
    """The corrected evidence; the same as `evidence` where nothing was found wrong."""
    answer: str = ""
    """As published; of an adversarial question empty."""
    corrected: str = ""
    """The corrected answer; the same as `answer` where nothing was found wrong."""
    trap: str = ""
    """Of an adversarial question the answer that would be right of somebody else."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation: its turns in order, and the questions about it."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    def sessions(self) -> dict[str, list[Turn]]:
        """The turns by session, both in order."""
        grouped: dict[str, list[Turn]] = {}
        for turn in self.turns:
            grouped.setdefault(turn.session, []).append(turn)
        return grouped


def _caption(value: object) -> object:
    return value or None


class _Turn(BaseModel):
    dia_id: str
    speaker: str
    text: str
    blip_caption: Annotated[str | None, BeforeValidator(_caption)] = None


class _Question(BaseModel):
    question: str
    category: int
    evidence: list[str] = Field(default_factory=list[str])
    answer: str | int | float = ""
    adversarial_answer: str | int | float = ""


class _Sample(BaseModel):
    sample_id: str
    conversation: dict[str, JsonValue]
    qa: list[_Question]


class _Correction(BaseModel):
    question_id: str
    question: str
    correct_evidence: list[str]
    correct_answer: str | int | float | None = None


_SAMPLES = TypeAdapter(list[_Sample])
_TURNS = TypeAdapter(list[_Turn])
_CORRECTIONS = TypeAdapter(list[_Correction])


def find_files(data: Path) -> tuple[Path, Path | None]:
    """The conversations file and the audit file, if any, that `data` names.

    `data` is the file itself, its folder, or a folder holding a `locomo` folder. The audit is the
    one `audit*.json` beside the conversations.
    """
    if data.is_file():
        return data, files.only(data.parent, "audit*.json")
    for folder in (data, data / "locomo"):
        found = files.only(folder, "locomo*.json")
        if found is not None:
            return found, files.only(folder, "audit*.json")
    raise InvalidInput(f"no locomo*.json in {data}: give the data file, or the folder it is in")


def load(path: Path, audit: Path | None = None) -> tuple[Conversation, ...]:
    """The conversations of `path`, their evidence corrected by `audit` if one is given."""
    samples = files.read(path, _SAMPLES)
    places = {_place(sample.sample_id, at): at for at, sample in enumerate(samples)}
    corrections = _corrections(files.read(audit, _CORRECTIONS) if audit else [], samples, places)
    return tuple(
        _conversation(sample, corrections.get(at, {})) for at, sample in enumerate(samples)
    )


def evidence_ids(raw: Sequence[str]) -> frozenset[str]:
    """The turn ids named in evidence as written, which is not always tidy (`D8:6; D9:17`)."""
    return frozenset(f"D{int(s)}:{int(t)}" for text in raw for s, t in _EVIDENCE.findall(text))


def session_time(text: str) -> datetime:
    """The instant of a session date such as `1:56 pm on 8 May, 2023`, read as UTC."""
    try:
        return datetime.strptime(text.strip(), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError as exc:
        raise InvalidInput(f"not a session date: {text!r}") from exc


def _place(sample_id: str, at: int) -> int:
    number = sample_id.removeprefix("conv-")
    return _PUBLISHED.index(number) if number in _PUBLISHED else at


def _corrections(
    audit: Sequence[_Correction], samples: Sequence[_Sample], places: Mapping[int, int]
) -> dict[int, dict[int, _Correction]]:
    """Corrections by sample and question, for the conversations at hand."""
    found: dict[int, dict[int, _Correction]] = {}
    for correction in audit:
        match = _AUDITED.fullmatch(correction.question_id)
        if match is None:
            raise InvalidInput(f"not an audited question id: {correction.question_id!r}")
        at = places.get(int(match[1]))
        if at is None:
            continue
        number, asked = int(match[2]), samples[at].qa
        if number >= len(asked) or asked[number].question != correction.question:
            raise InvalidInput(f"{correction.question_id} is another question in the data file")
        found.setdefault(at, {})[number] = correction
    return found


def _conversation(sample: _Sample, corrected: Mapping[int, _Correction]) -> Conversation:
    questions = [_asked(q, corrected.get(n)) for n, q in enumerate(sample.qa)]
    return Conversation(sample.sample_id, _turns(sample), tuple(questions))


def _asked(asked: _Question, correction: _Correction | None) -> Question:
    evidence, answer = evidence_ids(asked.evidence), str(asked.answer)
    audited, corrected = evidence, answer
    if correction is not None:
        audited = evidence_ids(correction.correct_evidence)
        corrected = answer if correction.correct_answer is None else str(correction.correct_answer)
    trap = str(asked.adversarial_answer)
    return Question(asked.question, asked.category, evidence, audited, answer, corrected, trap)


def _turns(sample: _Sample) -> tuple[Turn, ...]:
    numbers = sorted(
        int(match[1]) for key in sample.conversation if (match := _SESSION.fullmatch(key))
    )
    return tuple(turn for number in numbers for turn in _session(sample, f"session_{number}"))


def _session(sample: _Sample, name: str) -> list[Turn]:
    date = sample.conversation.get(f"{name}_date_time")
    if not isinstance(date, str):
        raise InvalidInput(f"{sample.sample_id}: {name} has no date")
    at = session_time(date)
    try:
        turns = _TURNS.validate_python(sample.conversation[name])
    except ValidationError as exc:
        raise InvalidInput(f"{sample.sample_id}: {name} has another format") from exc
    return [Turn(t.dia_id, name, t.speaker, t.text, t.blip_caption, at) for t in turns]
