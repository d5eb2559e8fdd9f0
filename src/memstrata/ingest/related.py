"""What is known already and may have to do with new messages: without it a correction looks like
news, and a pronoun resolves to nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import tzinfo

from memstrata.errors import InvalidInput
from memstrata.ingest.proposals import Proposal
from memstrata.kinds import KINDS, Core, Semantic
from memstrata.kinds.attributes import ENDS
from memstrata.recall.find import Asked, find, strata_for
from memstrata.records import Record, Scope
from memstrata.runtime import Runtime
from memstrata.store.batches import Lease
from memstrata.store.ports import View
from memstrata.store.views import Listing

__all__ = ["core_blocks", "related", "subjects_of"]

_FOUND = 20
_QUERY = 2000
"""Characters of the new text that are looked for."""


def subjects_of(proposals: Sequence[Proposal]) -> list[tuple[str, str]]:
    """The subjects and attributes that proposals are about, and those that they may end."""
    facts = [p.record for p in proposals if isinstance(p.record, Semantic)]
    subjects = [(f.subject, f.attribute) for f in facts if f.subject and f.attribute]
    return subjects + [(who, ENDS[what][0]) for who, what in subjects if what in ENDS]


async def related(
    runtime: Runtime,
    lease: Lease,
    text: str,
    local: Sequence[Proposal],
    kinds: Collection[str],
    zone: tzinfo,
) -> list[Record]:
    """Records of some kinds that the new text may touch, the nearest first.

    Those about the matters the local rules see in it come first, then what keywords and names
    find. Core memory is shown by itself, what is derived is nobody's statement, and what is highly
    sensitive is not sent.
    """
    direct = await runtime.store.related(lease, subjects_of(local), set[str](), Core.prefix)
    wanted = tuple(kind for kind in kinds if not KINDS[kind].always)
    found = await _search(runtime, lease.scope, text, wanted, zone) if wanted else []
    once = {record.id: record for record in (*direct, *found)}
    return [
        one
        for one in once.values()
        if one.kind in wanted
        and one.lifecycle == "current"
        and one.sensitivity != "high"
        and not KINDS[one.kind].is_derived(one)
        and (one.user_id, one.agent_id) == (lease.scope.user_id, lease.scope.agent_id)
    ]


async def _search(
    runtime: Runtime, scope: Scope, text: str, kinds: tuple[str, ...], zone: tzinfo
) -> list[Record]:
    asked = Asked(
        query=text[:_QUERY],
        zone=zone,
        now=runtime.clock(),
        kinds=kinds,
        strata=strata_for(["records"], None),
        limit=_FOUND,
        dense=False,
    )
    try:
        results = await find(runtime, scope, asked)
    except InvalidInput:
        return []  # nothing in it that could be looked for
    return [hit.record for hit in results if hit.record is not None]


async def core_blocks(runtime: Runtime, scope: Scope) -> list[Record]:
    """The blocks of core memory of a scope that a model may see, the profile among them."""
    listing = Listing(50, kinds=(Core.name_of_kind,), lifecycles=("current",))
    found = await runtime.store.list_records(View((scope,)), listing)
    return [block for block in found if block.sensitivity != "high"]
