"""Chat messages in the shapes callers have: texts, OpenAI's and Anthropic's mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from memstrata.errors import InvalidInput
from memstrata.kinds import explain
from memstrata.records import JsonObject, Trust

__all__ = ["Turn", "as_list", "read_turn", "said_by", "split_content", "texts_of", "unread_keys"]

_OF_CHAT_FORMATS = frozenset(
    {
        "annotations",
        "audio",
        "cache_control",
        "function_call",
        "reasoning_content",
        "refusal",
        "stop_reason",
        "tool_call_id",
        "tool_calls",
        "type",
    }
)
"""Keys of messages of known chat formats that say nothing to remember by themselves."""


class Turn(BaseModel):
    """One message as given; keys of other chat formats (`tool_calls`, …) are kept as parts."""

    model_config = ConfigDict(extra="allow")

    role: str = Field(default="user", min_length=1, max_length=64)
    content: str | list[Any] | None = None
    name: str | None = Field(default=None, max_length=256)
    occurred_at: datetime | None = None
    id: str | None = Field(default=None, min_length=1, max_length=512)
    metadata: JsonObject = Field(default_factory=dict[str, JsonValue])
    tags: list[str] = Field(default_factory=list[str])
    trust: Trust | None = None


def as_list(messages: object) -> list[Any]:
    """A text, one message, or a list of them, as a list; anything else is `InvalidInput`."""
    if isinstance(messages, str | Mapping):
        return [messages]
    if isinstance(messages, Sequence) and not isinstance(messages, bytes | bytearray):
        return list(cast("Sequence[Any]", messages))
    raise InvalidInput(
        "messages is a text, a message such as {'role': 'user', 'content': '…'}, or a list of "
        f"them, not {type(messages).__name__}"
    )


def read_turn(given: object) -> Turn:
    """One item of a list of messages; `InvalidInput` says what is wrong with it."""
    if isinstance(given, str):
        return Turn(content=given)
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"a message is a text or a mapping with role and content, not {type(given).__name__}"
        )
    try:
        return Turn.model_validate(dict(cast("Mapping[str, Any]", given)))
    except ValidationError as error:
        raise InvalidInput(explain(error)) from error


def unread_keys(turn: Turn) -> list[str]:
    """A note if the message has keys that nothing reads, such as a misspelt one."""
    unknown = sorted(set(turn.model_extra or {}) - _OF_CHAT_FORMATS)
    if not unknown:
        return []
    known = ", ".join(sorted(Turn.model_fields))
    return [f"kept, but not searched: {', '.join(unknown)}; a message has {known}"]


def texts_of(messages: object) -> list[str]:
    """The texts of a conversation, oldest first."""
    return [split_content(read_turn(given))[0] for given in as_list(messages)]


def said_by(messages: object) -> list[tuple[str, str]]:
    """The turns of a conversation as (role, text), oldest first; of a name, that."""
    turns = [read_turn(given) for given in as_list(messages)]
    return [(turn.name or turn.role, split_content(turn)[0]) for turn in turns]


def split_content(turn: Turn) -> tuple[str, list[Any]]:
    """The text of a message, and its parts that are not text, in the order given."""
    texts: list[str] = []
    parts: list[Any] = []
    content = turn.content
    for part in [content] if isinstance(content, str) else content or []:
        text = _text_of(part)
        texts.extend([] if text is None else [text])
        if isinstance(part, Mapping):
            mapping = cast("Mapping[str, Any]", part)
            parts.extend([] if text is not None and mapping.get("type") == "text" else [mapping])
    extra = {key: value for key, value in (turn.model_extra or {}).items() if value}
    return "\n".join(texts), [*parts, *([extra] if extra else [])]


def _text_of(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise InvalidInput(f"a part of content is a text or a mapping, not {type(part).__name__}")
    mapping = cast("Mapping[str, Any]", part)
    text, inner = mapping.get("text"), mapping.get("content")
    if isinstance(text, str):
        return text
    if isinstance(inner, str):
        return inner
    if isinstance(inner, list):
        found = [_text_of(item) for item in cast("list[Any]", inner)]
        return "\n".join(text for text in found if text) or None
    return None
