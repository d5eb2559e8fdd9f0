"""Taking erased records out of the chains of what ended what, so that nothing of them is left.

Where A ended when B began, and B when C did, and B is erased, A ended when C began. Without a C
nothing says any more that A ended.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memstrata.records import Lifecycle, Record, Scope, instant, micros
from memstrata.store.append import reserve
from memstrata.store.items import end_header
from memstrata.store.ports import Row, Tx
from memstrata.store.rows import dumps, record_from

__all__ = ["contract"]

_REASON = "what had ended it was forgotten"


@dataclass(frozen=True, slots=True)
class _Links:
    """What stood on either side of the erased."""

    gone: Collection[str]
    after: Mapping[str, str]
    before: Mapping[str, str]
    begun: Mapping[str, frozenset[int]]
    """When each of the erased began, in any version."""

    def beyond(self, record_id: str | None, side: Mapping[str, str]) -> str | None:
        """The first that stays, from here on along one side."""
        seen: set[str] = set()
        while record_id is not None and record_id in self.gone and record_id not in seen:
            seen.add(record_id)
            record_id = side.get(record_id)
        return None if record_id in self.gone else record_id


def contract(tx: Tx, scope: Scope, number: int, erased: Sequence[Row], now: int) -> None:
    """Join what stood on either side of erased records, rows of `erase_versions`."""
    links = _links(erased)
    ids = dumps(sorted(links.gone))
    for (record_id,) in tx.rows("record_ids_linked", {"scope": number, "ids": ids}):
        if record_id not in links.gone:
            _Chain(tx, scope, number, links, now).contract(str(record_id))


def _links(erased: Sequence[Row]) -> _Links:
    newest = {str(row[0]): row for row in erased}
    begun: dict[str, set[int]] = {}
    for row in erased:
        begun.setdefault(row[0], set()).update(() if row[4] is None else (row[4],))
    return _Links(
        gone=frozenset(begun),
        after={key: row[6] for key, row in newest.items() if row[6]},
        before={key: row[5] for key, row in newest.items() if row[5]},
        begun={key: frozenset(times) for key, times in begun.items()},
    )


@dataclass(frozen=True, slots=True)
class _Chain:
    tx: Tx
    scope: Scope
    number: int
    links: _Links
    now: int

    def params(self, **more: Any) -> dict[str, Any]:
        return {"scope": self.number, **more}

    def contract(self, record_id: str) -> None:
        rows = self.tx.rows("record_versions", self.params(id=record_id))
        versions = [record_from(self.scope, row) for row in rows]
        own: Record | None = None
        end: Record | None = None
        cut: dict[int, bool] = {}  # versions that the erased had ended, and if they still end
        for row, record in zip(rows, versions, strict=True):
            if record.superseded_by not in self.links.gone:
                own, end = record, None
                joined = record
            else:
                joined = self.ended(
                    record, own, end or record, self.successor(versions[-1], record)
                )
                if end is None:
                    end = record
                    cut[record.version] = joined.superseded_by is not None
            if record.supersedes in self.links.gone:
                known = self.standing(self.links.beyond(record.supersedes, self.links.before))
                joined = joined.model_copy(update={"supersedes": known and known.id})
            if joined != record:
                self.rewrite(int(row[0]), joined)
        if cut:
            self.relog(record_id, cut)

    def standing(self, record_id: str | None) -> Record | None:
        """A record that is there."""
        if record_id is None:
            return None
        rows = self.tx.rows("record_by_id", self.params(ids=dumps([record_id])))
        return record_from(self.scope, rows[0]) if rows else None

    def successor(self, newest: Record, record: Record) -> Record | None:
        """What follows once the erased is gone; what says the same and stands is as good."""
        found = self.standing(self.links.beyond(record.superseded_by, self.links.after))
        if found is None:
            same = {"fingerprint": newest.fingerprint, "id": newest.id, "now": self.now}
            row = self.tx.one("record_same", self.params(**same))
            found = self.standing(str(row[0])) if row is not None else None
        return found if found is None or found.id != newest.id else None

    def ended(
        self, record: Record, own: Record | None, end: Record, successor: Record | None
    ) -> Record:
        """A version as it stands without what had ended it: what it was before, unless it ended
        all the same when the next began."""
        before = own or self.unended(end)
        valid_to, lifecycle = before.valid_to, before.lifecycle
        if successor is not None:
            valid_to = successor.valid_from or successor.occurred_at or before.valid_to
            lifecycle = self.until(valid_to)
        own_end = record.valid_to != end.valid_to
        own_state = record.lifecycle != end.lifecycle or record.retired_at != end.retired_at
        return record.model_copy(
            update={
                "superseded_by": successor and successor.id,
                "valid_to": record.valid_to if own_end else valid_to,
                "lifecycle": record.lifecycle if own_state else lifecycle,
                "retired_at": record.retired_at if own_state else before.retired_at,
            }
        )

    def unended(self, end: Record) -> Record:
        """What was known to be past when it was written, without the end the erased gave it."""
        begun = self.links.begun.get(end.superseded_by or "", frozenset())
        given = end.valid_to is not None and micros(end.valid_to) not in begun
        valid_to = end.valid_to if given else None
        return end.model_copy(
            update={
                "valid_to": valid_to,
                "lifecycle": self.until(valid_to),
                "retired_at": None,
            }
        )

    def until(self, valid_to: datetime | None) -> Lifecycle:
        return "past" if valid_to is not None and valid_to <= instant(self.now) else "current"

    def rewrite(self, seq: int, record: Record) -> None:
        """Write a version in place, and what the index knows of it."""
        values = {
            "id": record.id,
            "version": record.version,
            "lifecycle": record.lifecycle,
            "valid_to": record.valid_to and micros(record.valid_to),
            "retired_at": record.retired_at and micros(record.retired_at),
            "supersedes": record.supersedes,
            "superseded_by": record.superseded_by,
        }
        self.tx.run("record_relink", self.params(**values))
        stamp = reserve(self.tx, 1)
        for item, header in self.tx.rows("item_headers", self.params(owners=dumps([seq]))):
            ended = end_header(bytes(header), record.valid_to, record.lifecycle)
            self.tx.run("item_header_set", self.params(seq=item, header=ended, stamp=stamp))
        self.tx.run("scope_touch", self.params(stamp=stamp))

    def relog(self, record_id: str, cut: Mapping[int, bool]) -> None:
        """Take out of the log what the erased had to do with the end: reasons may quote it."""
        for row in self.tx.rows("change_of_target", self.params(target_id=record_id)):
            if (still := cut.get(row[5])) is not None:
                op = row[2] if still or row[4] is None else "update"
                log = {"id": row[0], "op": op, "reason": _REASON, "evidence": None}
                self.tx.run("change_relink", self.params(**log))
