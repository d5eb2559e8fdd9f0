"""The invariants of a sound store: what breaks them, in words, with ids and never with text.

What can be said in SQL is in `verify_broken`. Here the index is made anew from the stored text
and compared, and what points to nothing is told from what points to something erased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from memstrata.records import Chunk, Scope
from memstrata.store.items import (
    GONE,
    entity_passage,
    episode_passage,
    message_passages,
    own_header,
    record_passages,
    theme_passage,
)
from memstrata.store.ports import Passage, Row, Tx
from memstrata.store.rows import dumps, message_from, record_from
from memstrata.store.tombstones import Tombstones
from memstrata.text.standin import STANDIN

__all__ = ["broken"]

_PAGE = 500
_NAMED = 3
_RECORDED, _WRITTEN = (8, 16), (0, 16)
"""The bytes of a header that say when an episode was told, and when an entity was learned of."""

Dangling = tuple[str, str, str]
"""What is wrong unless the target was erased; what it is wrong with; the target."""


@dataclass(frozen=True, slots=True)
class _Indexed:
    """Something that can be found, and what the index must say of it."""

    seq: int
    name: str
    length: int
    """Of its text, in characters."""
    passages: Callable[[Sequence[Chunk]], Sequence[Passage]]
    untold: tuple[int, int] = (0, 0)
    """The bytes of the header that say when it was written, which its row does not repeat."""


class _Found:
    """What is wrong: in words, with the distinct ids it is wrong with."""

    def __init__(self) -> None:
        self._ids: dict[str, dict[str, None]] = {}

    def note(self, what: str, name: str) -> None:
        self._ids.setdefault(what, {})[name] = None

    def lines(self) -> list[str]:
        return [
            f"{len(ids)} {what} ({', '.join([*ids][:_NAMED])}{', …' if len(ids) > _NAMED else ''})"
            for what, ids in self._ids.items()
        ]


def broken(tx: Tx, scope: Scope, number: int) -> list[str]:
    """The broken invariants of one scope: how many break each, and up to three of their ids."""
    found = _Found()
    for what, name in tx.rows("verify_broken", {"scope": number, "gone": GONE}):
        found.note(str(what), str(name))
    rows = tx.rows("verify_dangling", {"scope": number})
    dangling = [(str(what), str(name), str(target)) for what, name, target in rows]
    for page in _pages(tx, scope, number, dangling):
        _compare(tx, number, page, found)
    _erased(tx, number, dangling, found)
    return found.lines()


# ── index = rows ─────────────────────────────────────────────────────────────────────────────


def _compare(tx: Tx, number: int, page: Sequence[_Indexed], found: _Found) -> None:
    """Make the index of some owners anew, passage by passage, and compare it with the stored."""
    owners = dumps([one.seq for one in page])
    stored: dict[int, list[Row]] = {}
    for row in tx.rows("verify_items", {"scope": number, "owners": owners}):
        stored.setdefault(row[0], []).append(row)
    for one in page:
        if items := stored.get(one.seq):
            for what in _differences(one, items):
                found.note(what, one.name)


def _differences(one: _Indexed, items: Sequence[Row]) -> Iterator[str]:
    spans = [(int(row[2]), int(row[3])) for row in items]
    ends = [0, *(stop for _, stop in spans)]
    if [start for start, _ in spans] != ends[:-1] or ends[-1] != one.length:
        yield "texts whose passages in the index do not cover them"
        return
    made = one.passages([Chunk(start=start, end=stop) for start, stop in spans])
    for (*_, header, terms), passage in zip(items, made, strict=True):
        if bytes(terms) != passage.terms:
            yield "index entries with other words than their text"
        if _told(bytes(header), one) != _told(own_header(passage.header, one.seq), one):
            yield "index entries that say other than their row"


def _told(header: bytes, one: _Indexed) -> bytes:
    return header[: one.untold[0]] + header[one.untold[1] :]


def _pages(tx: Tx, scope: Scope, number: int, dangling: list[Dangling]) -> Iterator[list[_Indexed]]:
    yield from _messages(tx, scope, number, dangling)
    yield from _records(tx, scope, number)
    yield from _episodes(tx, number)
    yield from _entities(tx, number)
    yield from _themes(tx, number)


def _in_pages(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    return (rows[begin : begin + _PAGE] for begin in range(0, len(rows), _PAGE))


def _rows(tx: Tx, name: str, number: int) -> Iterator[list[Row]]:
    after = 0
    while rows := tx.rows(name, {"scope": number, "after": after, "limit": _PAGE}):
        yield rows
        after = int(rows[-1][0])


def _messages(
    tx: Tx, scope: Scope, number: int, dangling: list[Dangling]
) -> Iterator[list[_Indexed]]:
    """Messages; the vault's entries that they name and that are not there are noted besides."""
    loaded = {str(row[0]) for row in tx.rows("verify_loaded", {"scope": number})}
    for stored in _rows(tx, "message_all", number):
        named: dict[str, str] = {}
        page: list[_Indexed] = []
        for row in stored:
            message = message_from(scope, row)
            if message.batch_id not in loaded:
                named.update(
                    (match["entry"], message.id)
                    for match in STANDIN.finditer(message.content)
                    if match["entry"]
                )
            make = partial(message_passages, message)
            page.append(_Indexed(int(row[0]), message.id, len(message.content), make))
        known = {"scope": number, "ids": dumps(sorted(named))}
        rows = tx.rows("record_ids_of_ids", known) if named else []
        there = {str(row[0]) for row in rows}
        what = "messages that name an entry of the vault that is gone"
        dangling += [(what, named[entry], entry) for entry in named if entry not in there]
        yield page


def _records(tx: Tx, scope: Scope, number: int) -> Iterator[list[_Indexed]]:
    for stored in _rows(tx, "record_all", number):
        page: list[_Indexed] = []
        for row in stored:
            record = record_from(scope, row)
            name = f"{record.id} version {record.version}"
            make = partial(record_passages, record)
            page.append(_Indexed(int(row[0]), name, len(record.text), make))
        yield page


def _episodes(tx: Tx, number: int) -> Iterator[list[_Indexed]]:
    for told in _in_pages(tx.rows("episode_all", {"scope": number})):
        page: list[_Indexed] = []
        for seq, name, session_id, title, summary, _, _, started_at, *_ in told:
            text = f"{title}\n{summary}"
            when = {"started_at": started_at, "recorded_at": 0}
            one = episode_passage(text, **when, session_id=session_id, hidden=not title)
            page.append(_Indexed(int(seq), str(name), len(text), _only(one), _RECORDED))
        yield page


def _entities(tx: Tx, number: int) -> Iterator[list[_Indexed]]:
    for known in _in_pages(tx.rows("entity_all", {"scope": number})):
        seqs = dumps([row[0] for row in known])
        spelled: dict[int, list[str]] = {}
        for seq, _, written, given in tx.rows("entity_names_of", {"scope": number, "seqs": seqs}):
            spelled.setdefault(seq, []).extend([] if given else [str(written)])
        page: list[_Indexed] = []
        for seq, entity_id, name, _ in known:
            names = list(dict.fromkeys([str(name), *spelled.get(seq, ())]))
            one = entity_passage(names, recorded_at=0)
            page.append(_Indexed(int(seq), str(entity_id), len(name), _only(one), _WRITTEN))
        yield page


def _themes(tx: Tx, number: int) -> Iterator[list[_Indexed]]:
    for stored in _in_pages(tx.rows("verify_themes", {"scope": number})):
        page: list[_Indexed] = []
        for seq, name, title, summary, ended_at, changed_at in stored:
            text = f"{title}\n{summary}"
            one = theme_passage(text, occurred_at=ended_at, recorded_at=changed_at)
            page.append(_Indexed(int(seq), str(name), len(text), _only(one)))
        yield page


def _only(passage: Passage) -> Callable[[Sequence[Chunk]], Sequence[Passage]]:
    return lambda _: [passage]


# ── nothing that was erased ──────────────────────────────────────────────────────────────────


def _erased(tx: Tx, number: int, dangling: Sequence[Dangling], found: _Found) -> None:
    """Note what points to nothing though it was not erased, and what was erased and is there."""
    buried = Tombstones(tx, number)
    targets = {target for _, _, target in dangling}
    gone = buried.find("id", targets)
    for what, name, target in dangling:
        if target not in gone:
            found.note(what, name)
    if not buried:
        return
    where: dict[str, set[str]] = {}
    for place, name in tx.rows("verify_ids", {"scope": number}):
        where.setdefault(str(name), set()).add(str(place))
    for name in buried.find("id", list(where)):
        for place in sorted(where[str(name)]):
            found.note(f"{place} of something that was erased", str(name))
