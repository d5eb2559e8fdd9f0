"""Checks of what callers pass, with errors that name the argument and what would be right."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, TypeVar, cast, get_args

from memstrata.errors import InvalidInput
from memstrata.records import JsonObject
from memstrata.text.clean import clean_json

__all__ = [
    "check_choice",
    "check_choices",
    "check_id",
    "check_json_object",
    "check_limit",
    "check_text",
    "check_texts",
    "moment",
]

T = TypeVar("T")

LONGEST = 512
MOST = 10_000


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
    if len(text) > LONGEST or any(0xD800 <= ord(c) < 0xE000 or not ord(c) for c in text):
        raise InvalidInput(f"{name} is longer than {LONGEST} characters, or no valid text")
    return text


def check_texts(name: str, value: object) -> tuple[str, ...]:
    """A list of texts."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput(f"{name} is a list of texts, not {type(value).__name__}")
    items = cast("Sequence[object]", value)
    return tuple(check_text(f"{name}[{place}]", item) for place, item in enumerate(items))


def check_choice(name: str, value: T, choices: Any) -> T:
    """One of a `Literal`'s values, or None."""
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
    """A whole number from 1 to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidInput(f"{name} is a whole number from 1 to {most}, not {value!r}")
    return value


def check_json_object(name: str, value: object) -> JsonObject:
    """A mapping of JSON values, secrets in it masked; None is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} is a mapping, not {type(value).__name__}")
    return cast("JsonObject", clean_json(value))


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
    return when if when.tzinfo else when.replace(tzinfo=zone)
