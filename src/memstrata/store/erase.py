"""Erasing for good: rows, versions, evidence, index entries, vectors, log, in one transaction.

What is left of it are tombstones (store/tombstones.py), by which a replay is known.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from memstrata.records import BatchState, JsonObject, Scope
from memstrata.store import audit, chains, entities, rewrite, themes
from memstrata.store.append import add_batch, find_scope, reserve
from memstrata.store.episodes import retell
from memstrata.store.filters import Filter, compile_filter
from memstrata.store.items import GONE, MAX, close_header, speaker_hash
from memstrata.store.ports import Narrate, NewBatch, Row, Tx
from memstrata.store.rows import dumps, scope_params, signed
from memstrata.store.tombstones import Tombstone, bury, mark
from memstrata.text.names import normal_form

__all__ = ["Erased", "Order", "Selection", "Unnamed", "erase"]

_CONTEXT = 10
"""How many messages before it a message is distilled with (store/distil.py)."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What to erase in one scope: one of the four ways to say it."""

    ids: tuple[str, ...] | None = None
    where: Filter | None = None
    session_id: str | None = None
    everything: bool = False

    @property
    def way(self) -> str:
        """Which of the four it is."""
        if self.everything:
            return "everything"
        return "ids" if self.ids is not None else "session" if self.session_id else "filters"


Unnamed = Callable[[rewrite.Page, Collection[str]], rewrite.Rewrites]


@dataclass(frozen=True, slots=True)
class Order:
    """Who erases, when and why, and what the erasure needs that is no part of the store."""

    batch: NewBatch
    """As what it is noted; it is done, unless something is to be distilled or embedded again."""
    salt: bytes
    """Random bytes, with which tombstones are keyed if the scope has none yet."""
    narrate: Narrate
    reason: str = ""
    embeds: bool = False
    """Whether what is told anew gets a vector."""
    unnamed: tuple[Unnamed, rewrite.Index] | None = None
    """Takes out of texts what stands for the secrets of vault entries, and indexes them anew."""


@dataclass(frozen=True, slots=True)
class Erased:
    """How much went, and its ids."""

    messages: int = 0
    records: int = 0
    versions: int = 0
    chunks: int = 0
    ids: tuple[str, ...] = ()
    rebuilding: int = 0
    """Messages that stay and are distilled again."""
    agents: tuple[str, ...] = ()
    """The user's agents with memory of their own, which an erasure of everything leaves."""
    rolled: tuple[str, ...] = ()
    """Records that go back to what they said before; edits since are gone too."""
    state: BatchState | None = None
    """Of the batch it is noted as; None if nothing was written."""


@dataclass(frozen=True, slots=True)
class _Doomed:
    """What is about to go from one scope."""

    scope: Scope
    number: int
    selection: Selection
    messages: list[str]
    records: list[str]
    named: frozenset[str]
    """Of the records those that the selection itself names."""
    rebuild: list[str]
    said: list[Row] = field(default_factory=list[Row])
    """Rows of `erase_marks`."""
    versions: list[Row] = field(default_factory=list[Row])
    """Rows of `erase_versions`."""
    items: list[int] = field(default_factory=list[int])
    rolled: dict[str, int] = field(default_factory=dict[str, int])
    """Records that began without what is erased: the first version that goes."""
    rolled_versions: int = 0
    kept: frozenset[str] = frozenset()
    """Records that what is erased only confirmed."""
    remade: bool = False
    """Whether digests or a profile go that are made anew without it."""

    @property
    def ids(self) -> tuple[str, ...]:
        return (*self.messages, *self.records)


def erase(tx: Tx, scope: Scope, selection: Selection, order: Order, *, dry_run: bool) -> Erased:
    """Erase the selection, and what was derived from it alone or in part.

    Episodes are told anew from the messages they keep; the messages that stay and were evidence of
    a derived record are noted in the batch, to be distilled again.
    """
    agents = _agents(tx, scope) if selection.everything else ()
    number = find_scope(tx, scope)
    doomed = None if number is None else _doomed(tx, scope, number, selection)
    if doomed is None:
        return Erased(agents=agents)
    versions = len(doomed.versions) + doomed.rolled_versions
    erased = Erased(
        messages=len(doomed.messages),
        records=len(doomed.records),
        versions=versions,
        chunks=len(doomed.items) - len(doomed.messages) - versions,
        ids=doomed.ids,
        rebuilding=len(doomed.rebuild),
        rolled=tuple(sorted(doomed.rolled)),
        agents=agents,
    )
    if dry_run:
        return erased
    return replace(erased, state=_carry_out(tx, doomed, order))


def _agents(tx: Tx, scope: Scope) -> tuple[str, ...]:
    if scope.user_id is None or scope.agent_id is not None:
        return ()
    whose = {"tenant": scope.tenant, "user_id": scope.user_id}
    return tuple(str(row[0]) for row in tx.rows("scope_agents", whose))


# ── what goes ────────────────────────────────────────────────────────────────────────────────


def _doomed(tx: Tx, scope: Scope, number: int, selection: Selection) -> _Doomed | None:
    messages, named = _select(tx, number, selection)
    if not messages and not named:
        return None
    message_ids = {"scope": number, "ids": dumps(messages)}
    said = tx.rows("erase_marks", message_ids)
    derived, by_name = _derived(tx, number, selection, said, {*messages, *named})
    sources = {*messages, *named, *derived}
    kept, rolled = _clean_beginnings(tx, number, derived - by_name, sources)
    asked = {"scope": number, "ids": dumps(sorted(derived | set(named)))}
    made = {str(row[0]): bool(row[1]) for row in tx.rows("derived_ids", asked)}
    rolled = {key: version for key, version in rolled.items() if key not in made}
    derived -= kept | rolled.keys()
    records = sorted({*named, *derived})
    record_ids = {"scope": number, "ids": dumps(records)}
    items = [
        int(row[0])
        for name, ids in (
            ("erase_message_items", message_ids),
            ("erase_record_items", record_ids),
        )
        for row in tx.rows(name, ids)
    ]
    going = [
        int(row[0])
        for record_id, version in rolled.items()
        for row in tx.rows("roll_items", {"scope": number, "id": record_id, "version": version})
    ]
    counted = [
        tx.one("roll_count", {"scope": number, "id": record_id, "version": version})
        for record_id, version in rolled.items()
    ]
    lost = dumps(sorted((derived - set(named) - made.keys()) | rolled.keys()))
    stay = {"scope": number, "records": lost, "messages": dumps(messages)}
    return _Doomed(
        scope=scope,
        number=number,
        selection=selection,
        messages=messages,
        records=records,
        named=frozenset(named),
        rebuild=[str(row[1]) for row in tx.rows("erase_rebuild", stay)],
        said=said,
        versions=tx.rows("erase_versions", record_ids),
        items=items + going,
        rolled=rolled,
        rolled_versions=sum(int(row[0]) for row in counted if row),
        kept=frozenset(kept),
        remade=any(stood for key, stood in made.items() if key not in named),
    )


def _select(tx: Tx, number: int, selection: Selection) -> tuple[list[str], list[str]]:
    scope = {"scope": number}
    if selection.ids is not None:
        ids = {**scope, "ids": dumps(list(selection.ids))}
        return (
            [str(row[1]) for row in tx.rows("message_by_id", ids)],
            [str(row[0]) for row in tx.rows("record_ids_of_ids", ids)],
        )
    if selection.session_id is not None:
        session = {**scope, "session_id": selection.session_id}
        return [str(row[0]) for row in tx.rows("message_ids_of_session", session)], []
    tree = None if selection.everything else selection.where
    found: list[list[str]] = []
    sql, bound = compile_filter(tree, "messages", tx.dialect)
    found.append([str(r[0]) for r in tx.select("message_ids_where", sql, {**scope, **bound})])
    sql, bound = compile_filter(tree, "records", tx.dialect)
    found.append([str(r[0]) for r in tx.select("record_ids_where", sql, {**scope, **bound})])
    return found[0], found[1]


def _derived(
    tx: Tx, number: int, selection: Selection, said: Sequence[Row], sources: set[str]
) -> tuple[set[str], set[str]]:
    """Records that rest on what is erased, however far: their text may repeat it, so it goes too.

    Also those of them that only took a name from it. An entry with a sealed secret stays while
    anything else that it rests on does.
    """
    by_name = set[str]() if selection.everything else _named_by(tx, number, said) - sources
    derived = set(by_name)
    fresh = sources | by_name
    while fresh:
        asked = {"scope": number, "ids": dumps(sorted(fresh))}
        rest = {str(row[0]) for row in tx.rows("record_ids_of_sources", asked)}
        rest -= sources | derived
        known = dumps(sorted({*sources, *derived, *rest}))
        kept = {"scope": number, "ids": dumps(sorted(rest)), "sources": known}
        rest -= {str(row[0]) for row in tx.rows("erase_sealed_kept", kept)}
        derived |= rest
        fresh = rest
    return derived, by_name


def _clean_beginnings(
    tx: Tx, number: int, derived: Collection[str], sources: Collection[str]
) -> tuple[set[str], dict[str, int]]:
    """Of these records those that say nothing from what is erased, and those that said something
    before they did, by the first version that goes.

    What a person has written is not lost with a message that repeated it, or that something was
    added from. A fact that is part of a chain, or does not stand, goes whole rather than back: what
    it was before may not be so any more.
    """
    asked = {"ids": dumps(sorted(derived)), "sources": dumps(sorted(sources))}
    kept = tx.rows("erase_supported", {"scope": number, **asked})
    rows = tx.rows("erase_tainted", {"scope": number, **asked})
    return {str(row[0]) for row in kept}, {str(key): int(version) for key, version in rows}


def _named_by(tx: Tx, number: int, said: Sequence[Row]) -> set[str]:
    """Records on later messages that took a name from one that is erased: "she" is who it named."""
    scope = {"scope": number}
    found: set[str] = set()
    ids = dumps([row[0] for row in said])
    for _, seq, session_id, *_ in said:
        mentioned = tx.rows("mention_entities", {**scope, "owners": dumps([seq])})
        if not mentioned:
            continue
        near = {**scope, "seq": seq, "session_id": session_id, "count": _CONTEXT}
        after = {row[0] for row in tx.rows("message_after_all", near)}
        after |= {row[0] for row in tx.rows("message_after", near)}
        asked = {"sources": dumps(sorted(after)), "entities": dumps([row[0] for row in mentioned])}
        found |= {
            str(row[0]) for row in tx.rows("record_ids_named", {**scope, **asked, "ids": ids})
        }
    return found


# ── how it goes ──────────────────────────────────────────────────────────────────────────────


def _carry_out(tx: Tx, doomed: _Doomed, order: Order) -> BatchState:
    scope, number, at = doomed.scope, doomed.number, order.batch.at
    owners = {"scope": number, "owners": dumps(doomed.items)}
    message_ids = {"scope": number, "ids": dumps(doomed.messages)}
    episodes = [int(row[0]) for row in tx.rows("episode_of_messages", message_ids)]
    named = {int(row[0]) for row in tx.rows("mention_entities", owners)}
    speakers = {str(row[7]) for row in doomed.said}
    spoken = entities.find(tx, number, [n for s in speakers if (n := normal_form(s))])
    named |= {entity.seq for entity in spoken}

    regrouped = themes.dissolve(tx, number, [*doomed.records, *doomed.rolled])
    named_anew = _unname(tx, doomed, order)
    chains.contract(tx, scope, number, doomed.versions, at)
    keyed = _keyed(tx, doomed)
    _roll_back(tx, doomed)
    _remove(tx, doomed)
    hashes = dumps([signed(speaker_hash(name)) for name in sorted(speakers)])
    tx.run("erase_speakers", {"scope": number, "hashes": hashes})
    entities.drop_unmentioned(tx, number, sorted(named))
    entities.drop_unwritten(tx, number, sorted(named), at)
    retell(tx, scope, number, episodes, order.narrate)
    tx.many("erase_vector", ({"scope": number, "seq": seq} for seq in episodes))
    salt = bury(tx, number, at, order.salt, _stones(doomed, _empty_batches(tx, doomed, keyed)))
    _scrub_audit(tx, doomed, salt)

    request: JsonObject = {"rebuild": [*doomed.rebuild]} if doomed.rebuild else {}
    if doomed.remade:
        request["consolidate"] = True
    anew = bool(request) or (order.embeds and bool(episodes or named or named_anew or regrouped))
    state: BatchState = "pending" if anew else "done"
    add_batch(tx, number, replace(order.batch, state=state, request=request))
    counts: JsonObject = {
        "way": doomed.selection.way,
        "messages": len(doomed.messages),
        "records": len(doomed.records),
        "versions": len(doomed.versions),
    }
    noted = audit.Entry(at, order.batch.actor, "erase", reason=order.reason, detail=counts)
    audit.note(tx, scope, noted)
    return state


def _unname(tx: Tx, doomed: _Doomed, order: Order) -> bool:
    """Take the ids of erased vault entries out of what stays; whether anything named them."""
    params = {"scope": doomed.number, "ids": dumps(doomed.records)}
    rows = tx.rows("secret_sources", params)
    gone = set(doomed.ids)
    sources = sorted({str(row[1]) for row in rows} - gone)
    if not sources or order.unnamed is None:
        return False
    unnamed, index = order.unnamed
    page = rewrite.page_on(tx, doomed.scope, doomed.number, sources)
    found = unnamed(page, {str(row[0]) for row in rows})
    stay = replace(
        found,
        messages=tuple(pair for pair in found.messages if pair[1].message.id not in gone),
        records=tuple(record for record in found.records if record.id not in gone),
        quotes=tuple(quote for quote in found.quotes if quote[0] not in gone),
    )
    rewrite.change_texts(tx, doomed.scope, doomed.number, stay, index, order.narrate)
    return True


def _roll_back(tx: Tx, doomed: _Doomed) -> None:
    """Let records say again what they said before; what else they rested on is distilled again."""
    for record_id, version in doomed.rolled.items():
        place = {"scope": doomed.number, "id": record_id, "version": version}
        tx.run("roll_evidence", place)
        tx.run("roll_changes", place)
        tx.run("roll_versions", place)
        tx.run("roll_open", place)
        stamp = reserve(tx, 1)
        row = tx.one("record_seq", {**place, "version": version - 1})
        themes.rescan(tx, doomed.number, int(row[0]) if row else 0)
        owner = {"scope": doomed.number, "owners": dumps([row[0] if row else 0])}
        for seq, header in tx.rows("item_headers", owner):
            opened = close_header(bytes(header), MAX)
            item = {"scope": doomed.number, "seq": seq, "header": opened, "stamp": stamp}
            tx.run("item_header_set", item)
        tx.run("scope_touch", {"scope": doomed.number, "stamp": stamp})


def _remove(tx: Tx, doomed: _Doomed) -> None:
    scope = {"scope": doomed.number}
    messages, records = dumps(doomed.messages), dumps(doomed.records)
    items = doomed.items
    stamp = reserve(tx, 1)
    tx.many("erase_item", ({**scope, "seq": s, "stamp": stamp, "header": GONE} for s in items))
    tx.many("erase_vector", ({**scope, "seq": seq} for seq in items))
    tx.run("erase_mentions", {**scope, "owners": dumps(items)})
    tx.run("erase_brought", {**scope, "ids": messages})
    tx.run("erase_messages", {**scope, "ids": messages})
    tx.run("erase_records", {**scope, "ids": records})
    tx.run("erase_evidence_of", {**scope, "ids": records})
    _uncompare(tx, doomed)
    tx.run("erase_secrets", {**scope, "ids": records})
    tx.run("erase_secret_marks", {**scope, "ids": records})
    for ids in (messages, records):
        tx.run("erase_evidence_from", {**scope, "ids": ids})
        tx.run("erase_changes", {**scope, "ids": ids})
    gone = set(doomed.ids)
    batches = dumps(sorted(_batches(doomed)))
    citing = {**scope, "batches": batches, "ids": dumps(list(doomed.ids))}
    for change_id, op, reason, evidence in tx.rows("change_citing", citing):
        left = _without(evidence, gone)
        log = {"id": change_id, "op": op, "reason": reason, "evidence": left}
        tx.run("change_relink", {**scope, **log})
    for record_id in (*doomed.kept, *doomed.rolled):
        for row in tx.rows("change_of_target", {**scope, "target_id": record_id}):
            if row[8] and gone & set(json.loads(row[8])):
                log = {"id": row[0], "op": row[2], "reason": row[7]}
                tx.run("change_relink", {**scope, **log, "evidence": _without(row[8], gone)})
    for batch_id, request in tx.rows("batch_rebuilds", scope):
        asked = json.loads(request)
        left = _without(json.dumps(asked.pop("rebuild", [])), gone)
        again = asked if left is None else {**asked, "rebuild": json.loads(left)}
        noted = dumps(again) if again else None
        tx.run("batch_request", {**scope, "id": batch_id, "request": noted})
    tx.run("scope_touch", {**scope, "stamp": stamp})


def _uncompare(tx: Tx, doomed: _Doomed) -> None:
    """Forget how records compare with others; what happened to those for it names them no more."""
    scope = {"scope": doomed.number}
    for change_id, reason in tx.rows("judged_reasons", {**scope, "ids": dumps(doomed.records)}):
        told = reason
        for record_id in doomed.records:
            told = told.replace(record_id, "what was forgotten")
        if told != reason:
            tx.run("rewrite_reason", {**scope, "id": change_id, "reason": told})
    compared = {**scope, "ids": dumps([*doomed.records, *doomed.rolled])}
    tx.run("erase_judged", compared)
    tx.run("erase_judged_after", compared)


def _without(listed: str, gone: Collection[str]) -> str | None:
    """A JSON list without what is gone, None if nothing is left."""
    left = [item for item in json.loads(listed) if item not in gone]
    return dumps(left) if left else None


def _batches(doomed: _Doomed) -> set[str]:
    """The batches that brought or changed what goes."""
    return {str(row[6]) for row in doomed.said} | {str(row[3]) for row in doomed.versions}


def _keyed(tx: Tx, doomed: _Doomed) -> list[Row]:
    """Calls with a key that wrote what goes, or part of it: id, digest, key of each."""
    ids = dumps([*doomed.records, *doomed.rolled])
    return tx.rows("erase_keyed", {"scope": doomed.number, "ids": ids})


def _empty_batches(tx: Tx, doomed: _Doomed, keyed: list[Row]) -> list[Row]:
    """Forget what identified the input of batches that are empty now: id, digest, key of each."""
    scope = {"scope": doomed.number}
    if doomed.selection.everything:
        rows = tx.rows("erase_batches_all", scope)
    else:
        ids = dumps(sorted(_batches(doomed)))
        rows = tx.rows("erase_batches", {**scope, "ids": ids})
        rows = list({row[0]: row for row in (*rows, *keyed)}.values())
    tx.many("batch_forget", ({**scope, "id": row[0]} for row in rows))
    return rows


def _stones(doomed: _Doomed, batches: Iterable[Row]) -> Iterator[Tombstone]:
    """The tombstones of all that goes."""
    for message_id, seq, session_id, role, digest, identity, *_ in doomed.said:
        yield Tombstone("id", message_id)
        if identity is not None:
            yield Tombstone("identity", bytes(identity))
        if session_id is not None:
            own = None if identity is None else bytes(identity)
            turn = "prompt" if role == "system" else "line"
            yield Tombstone(turn, bytes(digest), None, session_id, seq, message_id, own)
    for record_id in doomed.records:
        yield Tombstone("id", record_id)
    for record_id, _, fingerprint, *_ in doomed.versions:
        if record_id in doomed.named:
            yield Tombstone("fact", fingerprint)
    for batch_id, digest, key in batches:
        if digest is not None:
            yield Tombstone("batch", bytes(digest), batch_id)
        if key is not None:
            yield Tombstone("key", key, batch_id)


def _scrub_audit(tx: Tx, doomed: _Doomed, salt: bytes) -> None:
    """Leave of what went only a mark in the audit log."""
    tenant = scope_params(doomed.scope)["tenant"]
    for (target_id,) in tx.rows("audit_named", {"tenant": tenant, "ids": dumps(list(doomed.ids))}):
        hidden = f"erased:{mark(salt, 'id', target_id).hex()}"
        audit.scrub(tx, doomed.scope, target_id, hidden)
