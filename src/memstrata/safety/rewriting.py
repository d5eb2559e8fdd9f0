"""Taking secrets out of stored text, and putting back what was none."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from datetime import tzinfo
from typing import Any, Protocol, cast

from memstrata.ingest.messages import rehashed
from memstrata.ingest.standing import restore
from memstrata.kinds import kind_of
from memstrata.passages import Limits, chunk
from memstrata.records import Chunk, JsonObject, Message, Record
from memstrata.safety.redact import Redactor
from memstrata.store.items import message_passages, record_passages
from memstrata.store.ports import Passage
from memstrata.store.rewrite import Page, Rewrites, Stored
from memstrata.text import time as time_expressions
from memstrata.text.clean import clean_json, clean_text
from memstrata.text.standin import STANDIN, removed

__all__ = ["Editor", "Redaction", "Replacing", "Unnaming", "indexed_in", "rewritten"]


class Editor(Protocol):
    """Changes texts, alone or anywhere in JSON."""

    source: str | None
    """The message or record that is being read."""

    def text(self, text: str) -> str:
        """What a text is to say."""
        ...

    def json(self, value: Any) -> Any:
        """The same for every text in a JSON value."""
        ...


class Replacing:
    """Changes texts wherever they stand, each for itself."""

    def __init__(self) -> None:
        self.source: str | None = None

    def text(self, text: str) -> str:
        """What a text is to say."""
        raise NotImplementedError

    def json(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            items = cast("Mapping[str, Any]", value).items()
            return {self.text(key): self.json(item) for key, item in items}
        if isinstance(value, list):
            return [self.json(item) for item in cast("list[Any]", value)]
        return value


class Unnaming(Replacing):
    """Takes out of texts the ids of these vault entries, which are gone."""

    def __init__(self, ids: Collection[str]) -> None:
        super().__init__()
        self._ids = ids

    def text(self, text: str) -> str:
        return STANDIN.sub(self._instead, text)

    def _instead(self, match: re.Match[str]) -> str:
        return removed("", match["caption"]) if match["entry"] in self._ids else match[0]


class Redaction:
    """Takes secrets out of texts, and remembers whose they were."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.source: str | None = None

    def text(self, text: str) -> str:
        self._redactor.source = _evidence(self.source)
        return clean_text(text, self._redactor).text

    def json(self, value: Any) -> Any:
        self._redactor.source = _evidence(self.source)
        return clean_json(value, self._redactor)


def _evidence(source: str | None) -> str | None:
    """What a vault entry can rest on: no entry of a log, no name."""
    return None if source is None or source.startswith(("chg_", "ent_")) else source


def indexed_in(limits: Limits) -> Callable[[Message | Record, int], tuple[Passage, ...]]:
    """Makes the index form of a text in at most so many passages; the last takes what is over."""

    def index(value: Message | Record, most: int) -> tuple[Passage, ...]:
        if isinstance(value, Message):
            return message_passages(
                value, _at_most(most, chunk(value.content, limits, speaker=value.name))
            )
        return record_passages(value, _at_most(most, chunk(value.text, limits, title=value.title)))

    return index


def _at_most(most: int, chunks: list[Chunk]) -> list[Chunk]:
    if len(chunks) <= most:
        return chunks
    last = Chunk(start=chunks[most - 1].start, end=chunks[-1].end)
    return [*chunks[: most - 1], last]


def rewritten(page: Page, editor: Editor, zone: tzinfo) -> Rewrites:
    """What changes on a page."""
    messages = [
        (was, new) for was in page.messages if (new := _message(was, editor, zone)) is not None
    ]
    records = [new for was in page.records if (new := _record(was, editor)) is not None]
    quotes: list[tuple[str, str, str]] = []
    for record_id, source_id, quote in page.quotes:
        editor.source = source_id
        if (new := editor.text(quote)) != quote:
            quotes.append((record_id, source_id, new))
    reasons: list[tuple[str, str]] = []
    for change_id, reason in page.reasons:
        editor.source = change_id
        if (new := editor.text(reason)) != reason:
            reasons.append((change_id, new))
    names: list[int] = []
    for entity, entity_id, written in page.names:
        editor.source = entity_id
        if editor.text(written) != written:
            names.append(entity)
    return Rewrites(
        messages=tuple(messages),
        records=tuple(records),
        quotes=tuple(quotes),
        reasons=tuple(reasons),
        entities=tuple(dict.fromkeys(names)),
    )


def _message(was: Stored, editor: Editor, zone: tzinfo) -> Stored | None:
    message = was.message
    editor.source = message.id
    new = message.model_copy(
        update={
            "content": editor.text(message.content),
            "name": message.name and editor.text(message.name),
            "parts": cast("list[JsonObject]", editor.json(message.parts)),
            "tags": editor.json(message.tags),
            "metadata": editor.json(message.metadata),
        }
    )
    if new == message:
        return None
    spans = time_expressions.resolve(new.content, said_at=new.occurred_at, zone=zone)
    new = new.model_copy(update={"spans": spans})
    return Stored(new, *rehashed(new, was.identity))


def _record(record: Record, editor: Editor) -> Record | None:
    editor.source = record.id
    new = record.model_copy(
        update={
            "title": editor.text(record.title),
            "text": editor.text(record.text),
            "fields": {name: editor.json(value) for name, value in record.fields.items()},
            "tags": editor.json(record.tags),
            "metadata": editor.json(record.metadata),
            "path": record.path and editor.text(record.path),
        }
    )
    if new == record:
        return None
    if not kind_of(record.kind).is_sealed(record):  # the hash of a secret would tell it
        new = new.model_copy(update={"fingerprint": restore(new).model.fingerprint()})
    return new
