"""Checks of what callers pass, with errors that name the argument and what would be right."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast, get_args

from memstrata.errors import InvalidInput, NotFound
from memstrata.records import JsonObject
from memstrata.text.clean import clean_text
from memstrata.text.secrets import names_secret

__all__ = [
    "DEEPEST",
    "Once",
    "Signature",
    "check_choice",
    "check_choices",
    "check_depth",
    "check_flag",
    "check_id",
    "check_json_object",
    "check_key",
    "check_limit",
    "check_number",
    "check_numbers",
    "check_path",
    "check_text",
    "check_texts",
    "check_version",
    "check_words",
    "is_deep",
    "moment",
    "signed",
]

T = TypeVar("T")

LONGEST = 512
LONGEST_WORDS = 4096
MOST = 10_000
DEEPEST = 100


class Once(NamedTuple):
    """A call that is done once, however often it is sent."""

    key: str
    digest: bytes
    """Of what it asks for."""


class Signature(NamedTuple):
    """Who asks for a change, and why, as the log will say; and by which call."""

    actor: str
    reason: str
    once: Once | None = None


def check_text(name: str, value: object) -> str:
    """A text that is not blank, without its padding."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is a text, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInput(f"{name} is blank: give at least one character")
    return value.strip()


def check_id(name: str, value: object) -> str | None:
    """An id of the caller's own, or None."""
    if value is None:
        return None
    text = check_text(name, value)
    if len(text) > LONGEST:
        raise InvalidInput(f"{name} is longer than {LONGEST} characters")
    if names_secret(text):
        raise InvalidInput(f"{name} looks like a key or token: an id is no secret, use another")
    return _sound(name, text)


def check_key(name: str, value: object) -> str:
    """An id that memstrata gave; `NotFound` for what is longer than any of them."""
    key = check_text(name, value)
    if len(key) > LONGEST:
        raise NotFound(f"{name} {key[:40]}… is not in this scope: no id is that long")
    return _sound(name, key)


def check_words(name: str, value: object, *, blank: bool = False) -> str:
    """A short text of the caller's own, such as a reason, with secrets masked."""
    if blank and value == "":
        return ""
    text = check_text(name, value)
    if len(text) > LONGEST_WORDS:
        raise InvalidInput(f"{name} is longer than {LONGEST_WORDS} characters")
    return clean_text(_sound(name, text)).text


def signed(actor: object, reason: object) -> Signature:
    """Who asks for a change, and why."""
    return Signature(check_words("actor", actor), check_words("reason", reason, blank=True))


def check_flag(name: str, value: object) -> bool:
    """True or False, nothing that is merely like it."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} is True or False, not {value!r}")
    return value


def check_number(name: str, value: object, *, most: float = math.inf) -> float | None:
    """A number from 0 to `most`, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise InvalidInput(f"{name} is a number from 0 to {most}, not {value!r}")
    return value


def check_numbers(name: str, value: object, known: Collection[str]) -> dict[str, float]:
    """A mapping of known names to finite numbers."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} is a mapping of names to numbers, not {type(value).__name__}")
    given = cast("Mapping[Any, Any]", value)
    for key, number in given.items():
        if key not in known:
            raise InvalidInput(f"{name} has no {key!r}: use {', '.join(sorted(known))}")
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise InvalidInput(f"{name}: {key} is a number, not {number!r}")
        if not math.isfinite(number):
            raise InvalidInput(f"{name}: {key} is a finite number, not {number!r}")
    return {str(key): float(number) for key, number in given.items()}


def check_version(name: str, value: object) -> int | None:
    """The number of a version, or None."""
    return None if value is None else check_limit(name, value, most=2**31)


def check_path(name: str, value: object) -> Path:
    """The path of a file."""
    if not isinstance(value, str | os.PathLike):
        raise InvalidInput(f"{name} is the path of a file, not {type(value).__name__}")
    return Path(_sound(name, check_text(name, os.fspath(cast("os.PathLike[str]", value)))))


def _sound(name: str, text: str) -> str:
    if any(0xD800 <= ord(character) < 0xE000 or not ord(character) for character in text):
        raise InvalidInput(f"{name} has a NUL or half a surrogate pair in it, so it is no text")
    return text


def check_texts(name: str, value: object) -> tuple[str, ...]:
    """A list of texts."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput(f"{name} is a list of texts, not {type(value).__name__}")
    items = cast("Sequence[object]", value)
    return tuple(check_text(f"{name}[{place}]", item) for place, item in enumerate(items))


def check_choice(name: str, value: T, choices: Any) -> T:
    """One of a `Literal`'s values, or None where that is a default."""
    if value is not None and value not in get_args(choices):
        raise InvalidInput(f"{name} is one of {', '.join(get_args(choices))}, not {value!r}")
    return value


def check_choices(name: str, value: object, choices: Collection[str]) -> tuple[str, ...]:
    """A list of texts out of `choices`."""
    chosen = check_texts(name, value)
    for item in chosen:
        if item not in choices:
            raise InvalidInput(f"{name}: {item!r} is none of {', '.join(choices)}")
    return chosen


def check_limit(name: str, value: object, *, most: int = MOST) -> int:
    """A whole number from 1 to `most`; JSON knows no difference between 5 and 5.0."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidInput(f"{name} is a whole number from 1 to {most}, not {value!r}")
    return value


def check_json_object(name: str, value: object) -> JsonObject:
    """A mapping of JSON values; None is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} is a mapping, not {type(value).__name__}")
    given = dict(cast("Mapping[str, Any]", value))
    check_depth(name, given)
    return given


def check_depth(name: str, value: object) -> None:
    """`InvalidInput` for mappings and lists too deep in each other: a stack goes through them."""
    if is_deep(value):
        raise InvalidInput(f"{name} is nested more than {DEEPEST} deep: flatten it")


def is_deep(value: object) -> bool:
    """Whether mappings and lists stand in each other on more than `DEEPEST` levels."""
    level = [value]
    for _ in range(DEEPEST):
        level = [child for each in level for child in _children(each)]
        if not level:
            return False
    return True


def _children(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return cast("Mapping[object, object]", value).values()
    return cast("Iterable[object]", value) if isinstance(value, list | tuple) else ()


def moment(name: str, value: object, zone: tzinfo) -> datetime | None:
    """A date-time, or an ISO 8601 text; one without an offset is read in `zone`."""
    if value is None:
        return None
    when = value
    if isinstance(value, str):
        try:
            when = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInput(
                f"{name}: {value!r} is no ISO 8601 date-time such as 2026-05-08T09:00:00+01:00"
            ) from None
    if not isinstance(when, datetime):
        raise InvalidInput(f"{name} is a date-time or an ISO 8601 text, not {type(value).__name__}")
    when = when if when.tzinfo else when.replace(tzinfo=zone)
    try:
        return when.astimezone(UTC).astimezone(when.tzinfo)
    except (OverflowError, ValueError):
        raise InvalidInput(f"{name}: {value!r} is outside the years 1 to 9999 in UTC") from None
