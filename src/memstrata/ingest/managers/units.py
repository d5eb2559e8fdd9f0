"""What one call reads: the new messages of one episode, as far as they fit; each with a number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memstrata.kinds import KINDS
from memstrata.recall.small_talk import is_small_talk
from memstrata.records import Episode, Message
from memstrata.text.chunks import split
from memstrata.text.recalled import own_words

__all__ = ["Line", "Unit", "is_worth_reading", "kinds_in", "units"]

NEW_TOKENS = 1200
"""Of new text in one call."""
_BEFORE = 10


@dataclass(frozen=True, slots=True)
class Line:
    """A new message, or a piece of a long one, as the model sees it."""

    number: int
    message: Message
    text: str


@dataclass(frozen=True, slots=True)
class Unit:
    """The new messages of one call, in order, and what stands around them."""

    lines: tuple[Line, ...]
    before: tuple[Message, ...]
    """Up to ten messages before the first, oldest first."""
    episode: Episode | None = None
    """The open episode they go on with."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages it reads, each once."""
        return tuple({line.message.id: line.message for line in self.lines}.values())


def kinds_in(unit: Unit, kinds: Sequence[str]) -> tuple[str, ...]:
    """Those of some kinds that a unit may have something for, the likeliest first.

    A prompt that offers less is shorter, and a small model is led astray less.
    """
    texts = [line.text for line in unit.lines]
    return tuple(
        name
        for name, kind in sorted(KINDS.items(), key=lambda pair: pair[1].rarity)
        if name in kinds and any(map(kind.may_be_in, texts))
    )


def is_worth_reading(messages: Sequence[Message]) -> bool:
    """Whether a model should see them at all: small talk and what was recalled say nothing new."""
    texts = (own_words(message.content).strip() for message in messages)
    return any(text and not is_small_talk(text) for text in texts)


def units(
    run: Sequence[Message],
    before: Sequence[Message],
    count: Callable[[str], int],
    *,
    episode: Episode | None = None,
) -> list[Unit]:
    """The calls that read the new messages of one episode, in order; none for small talk.

    Each has at most `NEW_TOKENS` by `count`; a longer message is cut into pieces, and every piece
    has the speaker and the date of its message.
    """
    if not is_worth_reading(run):
        return []
    found: list[Unit] = []
    earlier = list(before)
    waiting: list[tuple[Message, str]] = []
    room = NEW_TOKENS
    for message in run:
        for text in _pieces(message, count):
            tokens = count(text) + 20
            if waiting and tokens > room:
                if is_worth_reading(list(_once(waiting))):
                    found.append(_unit(waiting, earlier, None if found else episode))
                earlier += [one for one in _once(waiting) if one is not message]
                waiting, room = [], NEW_TOKENS
            waiting.append((message, text))
            room -= tokens
    if waiting and is_worth_reading(list(_once(waiting))):
        found.append(_unit(waiting, earlier, None if found else episode))
    return found


def _pieces(message: Message, count: Callable[[str], int]) -> Iterator[str]:
    text = own_words(message.content).strip()
    for part in split(text, limit=NEW_TOKENS, count=count):
        yield text[part.start : part.end].strip()


def _once(lines: Sequence[tuple[Message, str]]) -> Iterator[Message]:
    yield from {message.id: message for message, _ in lines}.values()


def _unit(
    waiting: Sequence[tuple[Message, str]], before: Sequence[Message], episode: Episode | None
) -> Unit:
    lines = tuple(Line(at, message, text) for at, (message, text) in enumerate(waiting, 1))
    return Unit(lines, tuple(before[-_BEFORE:]), episode)
