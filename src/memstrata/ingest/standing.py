"""A record as it will stand, while it is decided what becomes of proposals."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from memstrata.ingest.proposals import Proposal
from memstrata.kinds import KindModel, kind_of
from memstrata.records import TRUST_RANK, Evidence, Lifecycle, Record

__all__ = ["Standing", "add", "is_less_trusted", "restore", "support"]


@dataclass(slots=True, eq=False)
class Standing:
    """A record as it will stand: one that is stored, or one that is new."""

    model: KindModel
    record: Record | None = None
    """What is stored of it; None for a new one."""
    lifecycle: Lifecycle = "current"
    evidence: list[Evidence] = field(default_factory=list[Evidence])
    """What is to be added."""
    said_at: datetime | None = None
    successor: Standing | None = None
    predecessor: Standing | None = None
    op: str = ""
    """What happens to it, empty for nothing: create, update, end, supersede, correct, retire."""
    reason: str = ""
    provisional: bool = False
    """What happens to it, happens until a model has read what was said."""

    @property
    def begin(self) -> datetime | None:
        """Since when it is true."""
        return self.model.valid_from

    def set(self, **values: object) -> None:
        """Change fields of the model."""
        self.model = self.model.model_copy(update=values)


def restore(record: Record) -> Standing:
    """A stored record as it stands."""
    common = {
        name: getattr(record, name)
        for name in KindModel.model_fields
        if name not in ("title", "evidence")
    }
    values = {key: value for key, value in {**record.fields, **common}.items() if value is not None}
    model = kind_of(record.kind).model_validate(values)
    if record.title != model.heading():
        model = model.model_copy(update={"title": record.title})
    return Standing(model=model, record=record, lifecycle=record.lifecycle)


def add(proposal: Proposal, model: KindModel, known: list[Standing]) -> Standing:
    new = Standing(
        model=model,
        evidence=list(proposal.evidence),
        said_at=proposal.said_at,
        op="create",
        reason=proposal.reason,
    )
    known.append(new)
    return new


def support(standing: Standing, proposal: Proposal) -> None:
    """Add evidence; of independent sources the most trusted counts."""
    sources = {item.source_id for item in standing.evidence}
    if standing.record is not None:
        sources |= {item.source_id for item in standing.record.evidence}
    standing.evidence += [item for item in proposal.evidence if item.source_id not in sources]
    if TRUST_RANK[proposal.record.trust] > TRUST_RANK[standing.model.trust]:
        standing.set(trust=proposal.record.trust)
        standing.op = standing.op or "update"
        standing.reason = standing.reason or proposal.reason


def is_less_trusted(model: KindModel, standing: Standing) -> bool:
    return TRUST_RANK[model.trust] < TRUST_RANK[standing.model.trust]
