"""What a manager sees beside the new messages: what is known, what was said before, what day it is.

Records stand under short aliases. All text is data, made safe as in any other prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from memstrata.ingest.managers.units import Unit
from memstrata.kinds import KINDS
from memstrata.kinds.attributes import Language
from memstrata.records import Message, Record
from memstrata.text.clean import shorten
from memstrata.text.recalled import own_words
from memstrata.text.untrusted import as_data, as_word

__all__ = ["Known", "aliased", "show"]

_RELATED = 10
_RELATED_TOKENS = 600
_BEFORE_TOKENS = 500
_BLOCK_TOKENS = 400
_LONGEST, _KEYS = 280, 80
"""Characters of a record or of an earlier message; of what a fact is known under."""
_WORDS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "today": "Today is {today}. The new messages were said on {said}.",
        "core": "Core memory",
        "known": "Known memories",
        "none": "(none)",
        "episode": "The conversation so far",
        "before": "Earlier messages",
        "new": "NEW messages",
        "wishes": "Instructions of whoever runs this memory",
        "until": "until",
    },
    "zh": {
        "today": "今天是 {today}。新消息说于 {said}。",
        "core": "核心记忆",
        "known": "已知记忆",
        "none": "（无）",
        "episode": "到目前为止的对话",
        "before": "之前的消息",
        "new": "新消息",
        "wishes": "本记忆管理方的要求",
        "until": "至",
    },
}


@dataclass(frozen=True, slots=True)
class Known:
    """What stands around a unit."""

    aliases: Mapping[str, Record]
    """The related records by the alias they are shown under."""
    core: Sequence[Record]
    now: datetime
    zone: tzinfo
    instructions: str = ""

    def of_kinds(self, kinds: Sequence[str]) -> Known:
        """The same with the related records of some kinds alone, under the same aliases."""
        kept = {alias: one for alias, one in self.aliases.items() if one.kind in kinds}
        return Known(kept, self.core, self.now, self.zone, self.instructions)


def aliased(records: Sequence[Record], count: Callable[[str], int]) -> dict[str, Record]:
    """The records under aliases, the most related first, as many as there is room for."""
    shown: dict[str, Record] = {}
    room = _RELATED_TOKENS
    for record in records:
        tokens = count(_line("r00", record, "en", UTC))
        if len(shown) == _RELATED or tokens > room:
            break
        room -= tokens
        shown[f"r{len(shown) + 1}"] = record
    return shown


def show(
    unit: Unit,
    known: Known,
    language: Language,
    count: Callable[[str], int],
    *,
    numbers: Sequence[int] | None = None,
) -> str:
    """The user's turn of a prompt; with `numbers` only these of the new messages are new."""
    words = _WORDS[language]
    lines = [one for one in unit.lines if numbers is None or one.number in numbers] or [*unit.lines]
    said = lines[-1].message.occurred_at
    parts = [words["today"].format(today=_day(known.now, known.zone), said=_day(said, known.zone))]
    if known.instructions:
        parts.append(f"{words['wishes']}:\n{as_data(known.instructions)}")
    if known.core:
        parts.append(f"{words['core']}:\n" + "\n".join(_blocks(known.core, count)))
    rows = [_line(alias, one, language, known.zone) for alias, one in known.aliases.items()]
    parts.append(f"{words['known']}:\n" + ("\n".join(rows) or words["none"]))
    if unit.episode is not None:
        told = shorten(unit.episode.text, 2 * _LONGEST)
        parts.append(f"{words['episode']}:\n  {as_data(told)}")
    others = (one for one in unit.lines if one not in lines and one.number < lines[-1].number)
    heard = [*((one, one.content) for one in unit.before), *((o.message, o.text) for o in others)]
    earlier = [f"- {_said(message, text, known.zone)}" for message, text in heard]
    if earlier:
        kept = _within(list(reversed(earlier)), _BEFORE_TOKENS, count)
        parts.append(f"{words['before']}:\n" + "\n".join(reversed(kept)))
    new = [f"[{one.number}] {_head(one.message, known.zone)}: {as_data(one.text)}" for one in lines]
    parts.append(f"{words['new']}:\n" + "\n".join(new))
    return "\n\n".join(parts)


def _within(lines: Sequence[str], room: int, count: Callable[[str], int]) -> list[str]:
    """The first of the lines that fit."""
    kept: list[str] = []
    for line in lines:
        room -= count(line)
        if room < 0:
            break
        kept.append(line)
    return kept


def _blocks(core: Sequence[Record], count: Callable[[str], int]) -> list[str]:
    """Blocks of core memory, the shortest whole; of what has no room its first lines."""
    shown: dict[str, str] = {}
    room = _BLOCK_TOKENS
    for place, one in enumerate(sorted(core, key=lambda one: len(one.text))):
        lines = as_data(KINDS[one.kind].render(one)).split("\n")
        kept = _within(lines, room // (len(core) - place), count)
        room -= sum(map(count, kept))
        shown[one.id] = "\n".join([*kept, *(["  …"] if len(kept) < len(lines) else [])])
    return [shown[one.id] for one in core]


def _line(alias: str, record: Record, language: Language, zone: tzinfo) -> str:
    when = record.valid_from or record.occurred_at
    parts = [record.kind]
    if when is not None:
        parts.append(_date(when, zone))
    if record.valid_to is not None:
        parts.append(f"{_WORDS[language]['until']} {_date(record.valid_to, zone)}")
    kind = KINDS[record.kind]
    keys = kind.keys(record)  # which say what the rest of its text would
    said = record.title if keys else kind.render(record)
    text = as_data(shorten(said.replace("\n", "; "), _LONGEST))
    under = f" [{as_word(shorten(keys, _KEYS))}]" if keys else ""
    return f"{alias} ({', '.join(parts)}): {text}{under}"


def _said(message: Message, text: str, zone: tzinfo) -> str:
    text = shorten(own_words(text).strip(), _LONGEST)
    return f"{_head(message, zone)}: {as_data(text)}"


def _head(message: Message, zone: tzinfo) -> str:
    """When, and who: the role always, for what is whose depends on it."""
    role = as_word(message.role)
    who = role if message.name is None else f"{as_word(message.name)} ({role})"
    trust = "" if message.trust in ("user", "agent") else f", {message.trust}"
    return f"{_day(message.occurred_at, zone, time=True)} {who}{trust}"


def _date(when: datetime, zone: tzinfo) -> str:
    return _local(when, zone).date().isoformat()


def _day(when: datetime, zone: tzinfo, *, time: bool = False) -> str:
    local = _local(when, zone)
    return f"{local:%Y-%m-%d %H:%M}" if time else f"{local:%Y-%m-%d (%A)}"


def _local(when: datetime, zone: tzinfo) -> datetime:
    try:
        return when.astimezone(zone)
    except OverflowError:  # on the first or the last day there is
        return when
