"""From kind models to record versions, and to the writes that store them."""

from __future__ import annotations

from collections.abc import Sequence

from memstrata.kinds import KindModel
from memstrata.passages import limits_of, passages_of
from memstrata.records import Evidence, Record, Scope
from memstrata.runtime import Runtime, new_id
from memstrata.store.ports import PutVersion
from memstrata.text.clean import shorten

__all__ = ["COMMON", "LONGEST_TITLE", "evidence_from", "new_record", "put_version"]

COMMON = frozenset(KindModel.model_fields) - {"evidence"}
"""The fields that records of all kinds have and a caller may set."""
LONGEST_TITLE = 500


def evidence_from(given: Sequence[Evidence | str]) -> list[Evidence]:
    """Evidence as callers give it: links, or the bare ids of sources."""
    return [Evidence(source_id=item) if isinstance(item, str) else item for item in given]


def new_record(
    runtime: Runtime, scope: Scope, model: KindModel, batch_id: str, old: Record | None
) -> Record:
    """The first version of a record, or the one that follows `old`."""
    at = runtime.clock() if old is None else max(runtime.clock(), old.recorded_at)
    common = {name: getattr(model, name) for name in COMMON if name != "title"}
    return Record(
        id=new_id(model.prefix) if old is None else old.id,
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        kind=model.name_of_kind,
        version=1 if old is None else old.version + 1,
        title=shorten(model.heading(), LONGEST_TITLE),
        text=model.body(),
        fields=model.fields(),
        recorded_at=at,
        created_at=at if old is None else old.created_at,
        fingerprint=model.fingerprint(),
        evidence=evidence_from(model.evidence),
        batch_id=batch_id,
        **common,
    )


def put_version(
    runtime: Runtime, record: Record, op: str, *, old: Record | None = None, reason: str = ""
) -> PutVersion:
    """The write that stores a version, with its index form."""
    return PutVersion(
        record=record,
        expected=None if old is None else old.version,
        op=op,
        passages=passages_of(record, limits_of(runtime.embedder)),
        reason=reason,
        evidence=tuple(item.source_id for item in record.evidence),
        same_text=old is not None and (old.text, old.title) == (record.text, record.title),
    )
