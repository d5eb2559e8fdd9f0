"""What a language model makes of a batch, and what stands in where it fails."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import partial

import anyio.to_thread

from memstrata.errors import BudgetExceeded, MemstrataError, ModelFailed
from memstrata.ingest import managers
from memstrata.ingest.managers import Desk, Reading, Unit
from memstrata.ingest.managers.ground import grounded
from memstrata.ingest.managers.shorten import shorten
from memstrata.ingest.managers.shown import Known, aliased
from memstrata.ingest.proposals import Proposal
from memstrata.ingest.provisional import TakenBack, take_back
from memstrata.ingest.related import core_blocks, related
from memstrata.ingest.segment import segment
from memstrata.kinds import KINDS, Core, Resource
from memstrata.models.chat import ChatModel
from memstrata.models.spending import Meter
from memstrata.passages import limits_of
from memstrata.records import Record
from memstrata.runtime import Runtime
from memstrata.store.batches import Lease
from memstrata.store.distil import Material, Talk
from memstrata.text.analyse import fold

__all__ = ["Written", "by_model"]

_MOST_AT_ONCE = 4
_NAME = re.compile(r"^(?:Name|姓名)\s*[:：]\s*(.+)$", re.MULTILINE)


@dataclass(slots=True)
class Written:
    """What is proposed for a batch."""

    proposals: list[Proposal]
    told: dict[str, tuple[str | None, str | None]] = field(
        default_factory=dict[str, tuple[str | None, str | None]]
    )
    """By the id of the first new message of an episode, its title and summary."""
    refused: list[str] = field(default_factory=list[str])
    """What the model proposed and does not hold, and why."""
    unread: list[str] = field(default_factory=list[str])
    """Ids of the messages that the model has not read."""
    failure: MemstrataError | None = None
    """Why it has not."""
    actor: str = "local rules"
    by_model: bool = False
    """Whether a model was there to be asked."""


@dataclass(frozen=True, slots=True)
class _Call:
    unit: Unit
    kinds: tuple[str, ...]
    first: str
    """Id of the first new message of the episode."""


async def by_model(
    runtime: Runtime,
    lease: Lease,
    material: Material,
    zone: tzinfo,
    local: Sequence[Proposal],
    meter: Meter,
) -> Written:
    """What the managers propose; of what they cannot read, what the local rules find stands in.

    `local` is what the rules find in all of the batch.
    """
    assert runtime.llm is not None
    model = runtime.llm.extract
    count = limits_of(runtime.embedder).count
    desk = Desk(model, meter, count, "managers" if _routes(material) else "single")
    calls = await anyio.to_thread.run_sync(partial(_calls, material, desk))
    written = Written([], actor=_actor(model), by_model=True)
    core = await core_blocks(runtime, lease.scope)
    back = TakenBack()
    if material.provisional:
        back = await take_back(runtime, lease.scope, lease.batch_id)
    reader = _Reader(runtime, lease, material, zone, local, desk, core, back)
    outcomes = await managers.together([partial(reader.read, one) for one in calls], _MOST_AT_ONCE)
    for call, outcome in zip(calls, outcomes, strict=True):
        _take(written, call, outcome)
    if all(isinstance(outcome, MemstrataError) for outcome in outcomes):
        written.actor = "local rules"
    _stand_in(written, local)
    written.proposals = _with_documents(written.proposals, local, set(written.unread))
    written.proposals = await _made_room(desk, written, core)
    return written


def _actor(model: ChatModel) -> str:
    return f"managers ({model.id})"


def _routes(material: Material) -> bool:
    return material.tenant.strategy == "managers"


def _calls(material: Material, desk: Desk) -> list[_Call]:
    """The calls that read the batch, in order; none for small talk."""
    found: list[_Call] = []
    for talk in material.talks:
        kinds = tuple(k for k in KINDS if talk.kinds is None or k in talk.kinds)
        if material.tenant.managers is not None:
            kinds = tuple(kind for kind in kinds if kind in material.tenant.managers)
        if kinds:
            found += _of_talk(talk, kinds, desk)
    return found


def _of_talk(talk: Talk, kinds: tuple[str, ...], desk: Desk) -> list[_Call]:
    open_run = talk.open[2] if talk.open else ()
    fresh = {message.id for message in talk.fresh}
    earlier = list(talk.before)
    found: list[_Call] = []
    for place, run in enumerate(segment(open_run, talk.fresh)):
        new = [message for message in run.messages if message.id in fresh]
        if new:
            episode = talk.open[1] if place == 0 and talk.open else None
            made = managers.units(new, earlier, desk.count, episode=episode)
            found += [_Call(unit, kinds, new[0].id) for unit in made]
            earlier += new
    return found


class _Reader:
    """Reads the units of one batch."""

    def __init__(
        self,
        runtime: Runtime,
        lease: Lease,
        material: Material,
        zone: tzinfo,
        local: Sequence[Proposal],
        desk: Desk,
        core: Sequence[Record],
        back: TakenBack,
    ) -> None:
        self.back = back
        self.runtime = runtime
        self.lease = lease
        self.instructions = material.tenant.instructions or ""
        self.zone = zone
        self.local = local
        self.desk = desk
        self.core = core
        self.user = frozenset(
            fold(name).strip() for one in core for name in _NAME.findall(one.text)
        )

    async def read(self, call: _Call) -> Reading | MemstrataError:
        """What the model proposes, held against what was said; or why it could not be read."""
        unit = call.unit
        ids = {message.id for message in unit.messages}
        rules = [one for one in self.local if one.evidence[0].source_id in ids]
        text = "\n".join(line.text for line in unit.lines)
        found = await related(self.runtime, self.lease, text, rules, call.kinds, self.zone)
        # What the rules made of these very messages is no memory of anything before.
        found = [one for one in self.back.seen(found) if one.kind in call.kinds]
        known = Known(
            aliases=aliased(found, self.desk.count),
            core=self.core,
            now=self.runtime.clock(),
            zone=self.zone,
            instructions=self.instructions,
        )
        try:
            reading = await managers.read(self.desk, unit, known, call.kinds)
        except (ModelFailed, BudgetExceeded) as error:
            return error
        held = grounded(reading.proposals, rules, unit, found, self.user)
        # Where nothing holds and the rules read a fact, the model has overlooked it: they write
        # nothing that is not there in so many words.
        proposals = held.proposals or tuple(rules)
        return replace(reading, proposals=proposals, refused=(*reading.refused, *held.refused))


def _take(written: Written, call: _Call, outcome: Reading | MemstrataError) -> None:
    if isinstance(outcome, Reading):
        written.proposals += outcome.proposals
        written.refused += outcome.refused
        written.told[call.first] = _joined(written.told.get(call.first), outcome)
    else:
        written.failure = written.failure or outcome
        known = set(written.unread)
        written.unread += [one.id for one in call.unit.messages if one.id not in known]


def _stand_in(written: Written, local: Sequence[Proposal]) -> None:
    """Of messages that were not read whole, what the rules find in place of what was read."""
    unread = set(written.unread)
    written.proposals = [one for one in written.proposals if not unread & _sources(one)]
    written.proposals += [replace(one, provisional=True) for one in local if unread & _sources(one)]


def _sources(proposal: Proposal) -> set[str]:
    return {item.source_id for item in proposal.evidence}


def _joined(
    before: tuple[str | None, str | None] | None, reading: Reading
) -> tuple[str | None, str | None]:
    """An episode that took several calls is called by the first, and told by all."""
    if before is None:
        return reading.title, reading.summary
    summary = "\n".join(filter(None, (before[1], reading.summary)))
    return before[0] or reading.title, summary or None


def _with_documents(
    proposals: Sequence[Proposal], local: Sequence[Proposal], unread: set[str]
) -> list[Proposal]:
    """The proposals, with every document in the messages once and whole.

    The rules find where a document begins and ends; what it is called, and what it says in short, a
    model tells better.
    """
    kept = [one for one in proposals if not _is_document(one)]
    named: dict[str, list[Proposal]] = {}
    for one in proposals:
        if _is_document(one) and not one.provisional:
            named.setdefault(one.evidence[0].source_id, []).append(one)
    found: dict[str, list[Proposal]] = {}
    for rule in local:
        if isinstance(rule.record, Resource):
            found.setdefault(rule.evidence[0].source_id, []).append(rule)
    for source in {**found, **named}:
        rules, models = found.get(source, []), named.get(source, [])
        if source in unread:
            kept += [replace(rule, provisional=True) for rule in rules]
        elif len(rules) == 1 and models:
            kept.append(_called(rules[0], models[0]))
        else:
            kept += rules or models[:1]
    return sorted(kept, key=lambda one: one.said_at)


def _is_document(proposal: Proposal) -> bool:
    """Whether it brings a document; one that is known may be meant otherwise too."""
    return isinstance(proposal.record, Resource) and proposal.op not in ("support", "retire")


def _called(rule: Proposal, model: Proposal) -> Proposal:
    assert isinstance(rule.record, Resource) and isinstance(model.record, Resource)
    return replace(rule, record=rule.record.called_as(model.record), reason=model.reason)


async def _made_room(desk: Desk, written: Written, core: Sequence[Record]) -> list[Proposal]:
    """The proposals, after what makes room in blocks of core memory that they would fill."""
    before: list[Proposal] = []
    for block in core:
        lines = [
            one
            for one in written.proposals
            if isinstance(one.record, Core)
            and one.op != "support"
            and one.record.label == Core.label_of(block)
        ]
        try:
            rewrite = await shorten(desk, block, lines)
        except (ModelFailed, BudgetExceeded) as error:
            written.refused.append(f"the block {Core.label_of(block)!r} stays as it is: {error}")
            continue
        if isinstance(rewrite, Proposal):
            before.append(rewrite)
        elif rewrite:
            written.refused.append(rewrite)
    return [*before, *written.proposals]
