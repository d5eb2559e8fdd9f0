"""The fixed-size header that stands for a message or record version in the scope index.

The layout is that of `scope_index.ITEM`; here it is packed without numpy.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import datetime

from memstrata.kinds import KINDS
from memstrata.records import Chunk, Lifecycle, Message, Record, micros
from memstrata.store.ports import Passage
from memstrata.text.analyse import pack_terms, term_hash
from memstrata.text.names import normal_form

__all__ = [
    "ASKS",
    "ENTITY",
    "GONE",
    "HIDDEN",
    "LIFECYCLES",
    "MAX",
    "MIN",
    "NO_KIND",
    "ONLY_ASKS",
    "REMOVED",
    "ROLES",
    "SENSITIVITIES",
    "STRATA",
    "TIMED",
    "close_header",
    "end_header",
    "entity_passage",
    "episode_passage",
    "flag_header",
    "message_passages",
    "own_header",
    "record_passages",
    "speaker_hash",
    "theme_passage",
]

MIN, MAX = -(2**63), 2**63 - 1
REMOVED, HIDDEN, ASKS, ONLY_ASKS, TIMED = 1, 2, 4, 8, 16
STRATA = {"messages": 0, "episodes": 1, "records": 2, "themes": 3}
ENTITY = 4
"""The stratum code of entities, which are no stratum: they are found only to lend strength."""
ROLES = {"user": 0, "assistant": 1, "system": 2, "tool": 3}
OTHER = 255
NO_KIND = 255
LIFECYCLES = {"current": 0, "past": 1, "retired": 2, "review": 3}
SENSITIVITIES = {"low": 0, "medium": 1, "high": 2}

_HEADER = struct.Struct("<6q2QqBBBBBBH")
GONE = _HEADER.pack(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NO_KIND, OTHER, REMOVED, 0, 0, 0)
"""The header of an erased item."""
_CLOSED = struct.Struct("<q")
_CLOSED_AT, _GROUP_AT, _FLAGS_AT = 16, 64, 75
_VALID_TO, _LIFECYCLE = 4, 13
"""Which of the header's values these are."""


def speaker_hash(name: str) -> int:
    """The hash under which a speaker is indexed, equal for spellings that mean one person."""
    return term_hash(normal_form(name))


def _flags(message: Message) -> int:
    text = message.content
    flags = ASKS if "?" in text or "？" in text else 0
    if flags and _only_asks(text):
        flags |= ONLY_ASKS
    if message.spans:
        flags |= TIMED
    if message.hidden_at is not None:
        flags |= HIDDEN
    return flags


def _only_asks(text: str) -> bool:
    sentences = text.replace("？", "?").replace("。", ".").replace("！", "!").strip()
    rest = sentences.replace("?", "?\n").replace(".", ".\n").replace("!", "!\n").splitlines()
    return all(line.rstrip().endswith("?") for line in rest if line.strip())


def message_passages(message: Message, chunks: Sequence[Chunk]) -> tuple[Passage, ...]:
    """The searchable passages of a message, one unless it is long."""
    header = _HEADER.pack(
        micros(message.occurred_at),
        micros(message.recorded_at),
        MAX,
        MIN,
        MAX,
        MAX,
        term_hash(message.session_id) if message.session_id else 0,
        speaker_hash(message.speaker),
        0,
        STRATA["messages"],
        NO_KIND,
        ROLES.get(message.role, OTHER),
        _flags(message),
        LIFECYCLES["current"],
        0,
        0,
    )
    return tuple(
        Passage(
            chunk.start, chunk.end, header, pack_terms(message.content[chunk.start : chunk.end])
        )
        for chunk in chunks
    )


def _bound(when: datetime | None, default: int) -> int:
    return default if when is None else micros(when)


def _plain(
    *, stratum: int, occurred: int, recorded: int, session: int = 0, flags: int = 0
) -> bytes:
    """The header of what is neither a message nor a record."""
    return _HEADER.pack(
        occurred,
        recorded,
        MAX,
        MIN,
        MAX,
        MAX,
        session,
        0,
        0,
        stratum,
        NO_KIND,
        OTHER,
        flags,
        LIFECYCLES["current"],
        0,
        0,
    )


def episode_passage(
    text: str, *, started_at: int, recorded_at: int, session_id: str | None, hidden: bool = False
) -> Passage:
    """The one searchable passage of an episode; its session is that of its messages."""
    header = _plain(
        stratum=STRATA["episodes"],
        occurred=started_at,
        recorded=recorded_at,
        session=term_hash(session_id) if session_id else 0,
        flags=HIDDEN if hidden else 0,
    )
    return Passage(0, len(text), header, pack_terms(text))


def theme_passage(text: str, *, occurred_at: int, recorded_at: int) -> Passage:
    """The one searchable passage of a theme: its name and summary; it happened with its newest."""
    header = _plain(stratum=STRATA["themes"], occurred=occurred_at, recorded=recorded_at)
    return Passage(0, len(text), header, pack_terms(text))


def entity_passage(names: Sequence[str], *, recorded_at: int) -> Passage:
    """The one passage of an entity: its spellings."""
    header = _plain(stratum=ENTITY, occurred=recorded_at, recorded=recorded_at)
    return Passage(0, len(names[0]), header, pack_terms("\n".join(names)))


def record_passages(record: Record, chunks: Sequence[Chunk]) -> tuple[Passage, ...]:
    """The searchable passages of a record version; the title is indexed with the first."""
    header = _HEADER.pack(
        _bound(record.occurred_at or record.valid_from, micros(record.created_at)),
        micros(record.recorded_at),
        _bound(record.closed_at, MAX),
        _bound(record.valid_from, MIN),
        _bound(record.valid_to, MAX),
        _bound(record.expires_at, MAX),
        0,
        speaker_hash(about) if (about := KINDS[record.kind].about(record)) else 0,
        0,
        STRATA["records"],
        KINDS[record.kind].code,
        OTHER,
        TIMED if record.occurred_at and record.valid_from != record.occurred_at else 0,
        LIFECYCLES[record.lifecycle],
        SENSITIVITIES[record.sensitivity],
        0,
    )
    passages: list[Passage] = []
    for number, chunk in enumerate(chunks):
        text = record.text[chunk.start : chunk.end]
        if number == 0 and record.title not in text:
            text = f"{record.title}\n{text}"
        passages.append(Passage(chunk.start, chunk.end, header, pack_terms(text)))
    return tuple(passages)


def own_header(header: bytes, owner: int) -> bytes:
    """The header with the `seq` of the message or version the item belongs to."""
    return header[:_GROUP_AT] + _CLOSED.pack(owner) + header[_GROUP_AT + 8 :]


def close_header(header: bytes, at: int) -> bytes:
    """The header of a version closed at `at` (`MAX` opens it again)."""
    return header[:_CLOSED_AT] + _CLOSED.pack(at) + header[_CLOSED_AT + 8 :]


def end_header(header: bytes, valid_to: datetime | None, lifecycle: Lifecycle) -> bytes:
    """The header of a version that is true until `valid_to`, and stands as `lifecycle` says."""
    values = list(_HEADER.unpack(header))
    values[_VALID_TO], values[_LIFECYCLE] = _bound(valid_to, MAX), LIFECYCLES[lifecycle]
    return _HEADER.pack(*values)


def flag_header(header: bytes, flag: int, *, on: bool) -> bytes:
    """The header with a flag set or cleared."""
    flags = header[_FLAGS_AT] | flag if on else header[_FLAGS_AT] & ~flag
    return header[:_FLAGS_AT] + bytes([flags]) + header[_FLAGS_AT + 1 :]
