"""Themes brought up to date with the records of a scope: joined, left, split, merged, named.

All of it in one transaction, over at most `_PAGE` records, so that other writers wait for a moment
only. What a process knows of a scope's themes it keeps until another process changes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from memstrata.consolidate.asking import Asking
from memstrata.kinds import KINDS
from memstrata.records import Record, Scope, micros
from memstrata.runtime import Runtime, new_id
from memstrata.store.themes import Standing, ThemeRows, membership
from memstrata.themes.called import AT_ONCE, Given, Unnamed, call, still_fits, still_true
from memstrata.themes.groups import Groups, Members
from memstrata.themes.naming import Told, name_of, name_of_parent, summary_of
from memstrata.themes.rules import Rules, rules_for

__all__ = ["has_unnamed", "keep_themes", "name_themes", "rebuild_themes", "tidy_themes"]

_PAGE = 512
_MOST_BYTES = 64 << 20
"""Of vectors that a process keeps between batches; the scopes used last stay."""
_NOTHING = np.zeros(0, np.float32)
_THEMED = frozenset(name for name, kind in KINDS.items() if kind.themed)


@dataclass(slots=True)
class _Known:
    """What a process knows of a scope's themes."""

    stamp: int
    model: int
    groups: Groups
    parents: Groups
    standing: dict[int, Standing] = field(default_factory=dict[int, Standing])
    topics: Counter[str] = field(default_factory=Counter[str])
    called: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    """By name, the themes of records that are called so."""
    alone: set[int] = field(default_factory=set[int])
    """Themes of records that are under no parent yet."""

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors."""
        return self.groups.nbytes + self.parents.nbytes

    def note(self, one: Standing) -> None:
        """Take in what has become of a theme that was forgotten before."""
        self.standing[one.seq] = replace(one, total=_NOTHING)
        self.topics.update(one.topics)
        if one.level == 0:
            self.called.setdefault(one.name, set()).add(one.seq)
            if one.parent is None:
                self.alone.add(one.seq)

    def forget(self, seq: int) -> None:
        """Forget what a theme was like, if there was one."""
        one = self.standing.pop(seq, None)
        self.alone.discard(seq)
        if one is not None:
            self.topics.subtract(one.topics)
            self.called.get(one.name, set[int]()).discard(seq)
            if not self.called.get(one.name, True):
                del self.called[one.name]


async def keep_themes(runtime: Runtime, scope: Scope) -> int:
    """Put the records of a scope that wait for it into themes; how many.

    Without an embedder, or while the store has vectors of another one, there is nothing to group
    by, and nothing is done.
    """
    done = 0
    while runtime.model is not None and await runtime.store.themes_wait(scope, _THEMED):
        moved = await _worked(runtime, scope, _Work.run)
        done += moved
        if not moved:
            break
    return done


async def tidy_themes(runtime: Runtime, scope: Scope) -> int:
    """Let the records of undersized themes try the others, and let themes merge that gain by it;
    how many themes are fewer.

    Records that wait for a theme find one first.
    """
    await keep_themes(runtime, scope)
    return await _worked(runtime, scope, _Work.tidy)


async def rebuild_themes(runtime: Runtime, scope: Scope) -> int:
    """Let every record find its place anew among the themes there are, and those among parents, in
    one transaction; how many have another one.

    Themes keep their ids, and their names where those still fit; under a `grouping` of the
    caller's they were made by other rules, and begin from nothing.
    """
    if runtime.grouping:
        runtime.themes.pop(scope, None)
        await runtime.store.with_themes(scope, runtime.now(), ThemeRows.clear)
        return await keep_themes(runtime, scope)
    await keep_themes(runtime, scope)
    return await _worked(runtime, scope, _Work.rebuild)


async def name_themes(runtime: Runtime, scope: Scope, asking: Asking) -> int:
    """Have a model name the themes of two records and more that none has named as they are; how
    many are called otherwise.

    Up to twenty, the largest first; those beyond are noted as left. A name that a model gave
    stays while half of the records are the same.
    """
    await keep_themes(runtime, scope)
    unnamed, taken = await _unnamed(runtime, scope)
    asking.leave("theme names", max(len(unnamed) - AT_ONCE, 0))
    given = await call(asking, unnamed[:AT_ONCE], taken)
    return await _worked(runtime, scope, partial(_Work.call, given=given)) if given else 0


async def has_unnamed(runtime: Runtime, scope: Scope) -> bool:
    """Whether there are themes that a model should name."""
    return bool((await _unnamed(runtime, scope))[0])


async def _unnamed(runtime: Runtime, scope: Scope) -> tuple[list[Unnamed], list[str]]:
    if runtime.model is None:
        return [], []
    return await runtime.store.with_themes(scope, runtime.now(), _look, reads=True)


def _look(rows: ThemeRows) -> tuple[list[Unnamed], list[str]]:
    """The themes that no model has named as they are, the largest first and not much more of them
    than are named at once; and the names of the others."""
    placed: dict[int, dict[str, int]] = {}
    for record_id, (seq, theme) in rows.placed().items():
        placed.setdefault(theme, {})[record_id] = seq
    wanted: list[tuple[Standing, dict[str, int]]] = []
    taken: list[str] = []
    for one in rows.all():
        members = placed.get(one.seq, {})
        fits = one.named is not None and still_fits(one.named, membership(members))
        if one.level or fits or len(members) < 2:
            taken.append(one.name)
        else:
            wanted.append((one, members))
    wanted.sort(key=lambda pair: (-pair[0].size, pair[0].seq))
    shown = [_seen(rows, one, members) for one, members in wanted[:AT_ONCE]]
    rest = [Unnamed(one.seq, one.name, (), b"") for one, _ in wanted[AT_ONCE:]]
    return [*shown, *rest], taken


def _seen(rows: ThemeRows, theme: Standing, members: Mapping[str, int]) -> Unnamed:
    """A theme with what its members say, the most typical first."""
    said = {record.id: record.text for _, record in rows.records(members.values())}
    vectors = rows.members(theme.seq)
    order = _typical(vectors, theme.total) if vectors else [*members]
    texts = tuple(said[one] for one in order if one in said)
    return Unnamed(theme.seq, theme.name, texts, membership(members))


async def _worked(runtime: Runtime, scope: Scope, work: Callable[..., tuple[int, _Known]]) -> int:
    """Do some work on the themes of a scope in one transaction; what it says it did."""
    if runtime.embedder is None or runtime.model is None:
        return 0
    # Taken out: if the transaction fails, what is known here is not what is kept there.
    known = runtime.themes.pop(scope, None)
    rules = rules_for(runtime.embedder.relate, runtime.grouping)
    use = partial(work, rules=rules, known=known if isinstance(known, _Known) else None)
    done, kept = await runtime.store.with_themes(scope, runtime.now(), use)
    runtime.themes[scope] = kept
    held = [one.nbytes for one in runtime.themes.values() if isinstance(one, _Known)]
    while len(held) > 1 and sum(held) > _MOST_BYTES:
        runtime.themes.pop(next(iter(runtime.themes)))
        held.pop(0)
    return done


class _Work:
    """One transaction's worth of it."""

    def __init__(self, rows: ThemeRows, rules: Rules, known: _Known | None) -> None:
        current = known is not None and (known.stamp, known.model) == (rows.stamp, rows.model)
        self.rows = rows
        self.known = known if known is not None and current else _load(rows, rules)
        self.known.groups.fetch = rows.members
        self.known.parents.fetch = rows.children
        self._adopted = False
        self._told: set[int] = set()
        """Themes of records that were written anew, whose parents tell of them."""
        self.versions: dict[str, int] = {}
        """By record, the version that counts from now on."""
        self.given: Mapping[int, Given] = {}
        """What a model calls themes, by number."""

    @classmethod
    def run(cls, rows: ThemeRows, *, rules: Rules, known: _Known | None) -> tuple[int, _Known]:
        """How many records found their place, or lost it, and what is known now."""
        work = cls(rows, rules, known)
        left = work.leave_departed() if not rows.themed else 0
        moved, themed = work.arrive()
        changed = work.save()
        work.known.stamp = rows.advance(themed, changed=changed)
        return moved + left, work.known

    @classmethod
    def tidy(cls, rows: ThemeRows, *, rules: Rules, known: _Known | None) -> tuple[int, _Known]:
        """How many themes are fewer, and what is known now."""
        work = cls(rows, rules, known)
        before = len(work.known.groups)
        work.known.groups.tidy()
        changed = work.save()
        work.known.parents.tidy()
        changed |= work.save()
        work.known.stamp = rows.advance(rows.themed, changed=changed)
        return before - len(work.known.groups), work.known

    @classmethod
    def rebuild(cls, rows: ThemeRows, *, rules: Rules, known: _Known | None) -> tuple[int, _Known]:
        """How many records have another theme, and what is known now."""
        work = cls(rows, rules, known)
        placed = rows.placed()
        vectors = rows.vectors([seq for seq, _ in placed.values()])
        members = {name: vectors[seq] for name, (seq, _) in placed.items() if seq in vectors}
        groups = work.known.groups
        groups.regroup(members, {name: theme for name, (_, theme) in placed.items()})
        work.versions = {name: seq for name, (seq, _) in placed.items()}
        moved = len(groups.homes)
        changed = work.save()
        themes = {seq: one for seq, one in work.known.standing.items() if one.level == 0}
        work.known.parents.regroup(
            {str(seq): groups.centroid(seq) for seq in sorted(themes)},
            {str(seq): one.parent or 0 for seq, one in themes.items()},
        )
        changed |= work.save()
        work.known.stamp = rows.advance(rows.themed, changed=changed)
        return moved, work.known

    @classmethod
    def call(
        cls, rows: ThemeRows, *, rules: Rules, known: _Known | None, given: Mapping[int, Given]
    ) -> tuple[int, _Known]:
        """How many themes are called otherwise, and what is known now.

        One that is gone, or has other members by now, keeps its name.
        """
        work = cls(rows, rules, known)
        groups, standing = work.known.groups, work.known.standing
        work.given = {seq: one for seq, one in given.items() if seq in groups}
        before = {seq: standing[seq].name for seq in work.given}
        groups.touched |= set(work.given)
        changed = work.save()
        work.known.stamp = rows.advance(rows.themed, changed=changed or bool(work.given))
        return sum(standing[seq].name != name for seq, name in before.items()), work.known

    def leave_departed(self) -> int:
        """Take out the records that are no more; how many."""
        departed = self.rows.departed()
        for record_id, theme in departed:
            self.known.groups.remove(record_id, theme)
            self.rows.leave(record_id)
        return len(departed)

    def arrive(self) -> tuple[int, int]:
        """How many records were looked at, and before which version all have their place."""
        rows, groups = self.rows, self.known.groups
        arrivals = rows.arrivals(rows.themed, _THEMED, _PAGE)
        belong = [seq for seq, record, _ in arrivals if _belongs(record)]
        vectors = rows.vectors(belong)
        for seq, record, theme in arrivals:
            if seq in vectors:
                self.versions[record.id] = seq
                if theme:
                    groups.change(record.id, theme, vectors[seq])
                else:
                    groups.add(record.id, vectors[seq])
            elif theme:
                groups.remove(record.id, theme)
                rows.leave(record.id)
        # What has no vector yet is looked at again once it has.
        waiting = [seq for seq in belong if seq not in vectors]
        reached = max((seq + 1 for seq, _, _ in arrivals), default=max(rows.themed, 1))
        themed = min([reached, *waiting])
        # Only what is not looked at again counts, or waiting for a vector would never end.
        moved = sum(seq in vectors or theme > 0 or seq < themed for seq, _, theme in arrivals)
        return moved, themed

    def save(self) -> bool:
        """Write what has changed; whether anything has."""
        groups = self.known.groups
        gone, homes = set(groups.gone), dict(groups.homes)
        # One that only lost a member has changed too: other processes must read it again.
        changed = bool(groups.touched or gone or homes)
        self.versions |= self.rows.versions_of(set(self._members()) - self.versions.keys())
        renamed = _kept(groups, self._keep_theme)
        for record_id, key in homes.items():
            self.rows.place(record_id, self.versions[record_id], renamed.get(key, key))
        groups.settled(renamed)
        gone |= self._under_parents(gone)
        for key in gone:
            self.known.forget(key)
        self.rows.drop(gone)
        return changed or bool(gone) or self._adopted

    def _members(self) -> Iterator[str]:
        groups = self.known.groups
        return (name for key in groups.touched for name in groups.members(key))

    def _keep_theme(self, key: int) -> int:
        groups, standing = self.known.groups, self.known.standing.get(key)
        members = groups.members(key)
        told = dict(self.rows.records([self.versions[name] for name in members]))
        typical = [told[self.versions[name]] for name in _typical(members, groups.centroid(key))]
        self.known.forget(key)
        span = _span(typical, self.rows.said(members))
        name = name_of(
            [record.text for record in typical],
            [KINDS[record.kind].about(record) for record in typical],
            self.known.topics,
            len(groups),
            standing.name if standing else "",
            free=lambda name: self._is_free(name, span),
        )
        summary = summary_of([record.title for record in typical])
        now = membership({name: self.versions[name] for name in members})
        name, summary, named = self._by_model(key, standing, now, name, summary)
        seq = self._keep(0, key, standing, name, summary, groups, span, named)
        self._told.add(seq)
        return seq

    def _by_model(
        self, key: int, standing: Standing | None, now: bytes, rules: Told, summary: str
    ) -> tuple[Told, str, bytes | None]:
        """Name and summary, as a model gives them or has given them, else those of the rules; and
        by which members a model did."""
        given = self.given.get(key)
        if given is not None and given.members == now:
            told = Told(given.name, rules.topics) if given.name else rules
            return told, given.summary or summary, now
        then = standing.named if standing else None
        if standing is None or then is None or not still_fits(then, now):
            return rules, summary, None
        if still_true(then, now):
            summary = self.rows.summary(standing.seq)
        return Told(standing.name, rules.topics), summary, then

    def _is_free(self, name: str, span: tuple[int, int]) -> bool:
        """Whether no other theme of that time is called so."""
        return not any(
            seq in self.known.groups
            and self.known.standing[seq].started_at <= span[1]
            and span[0] <= self.known.standing[seq].ended_at
            for seq in self.known.called.get(name, ())
        )

    # ── parents ──────────────────────────────────────────────────────────────────────────────

    def _under_parents(self, gone: Iterable[int]) -> set[int]:
        """Put the themes that are under none under a parent; the parents that are no more.

        Parents whose themes have changed are told anew: no word of them is from what has left.
        """
        known, parents = self.known, self.known.parents
        for seq in gone:
            if (parent := known.standing[seq].parent) is not None and parent in parents:
                parents.remove(str(seq), parent)
        for parent in {known.standing[seq].parent for seq in self._told - {*gone}}:
            if parent is not None and parent in parents:
                parents.refresh(parent)
        self._told = set()
        for seq in sorted(known.alone):
            if seq in known.groups:
                parents.add(str(seq), known.groups.centroid(seq))
        lost, homes = set(parents.gone), dict(parents.homes)
        renamed = _kept(parents, self._keep_parent)
        self._adopted = bool(homes)
        for child, key in homes.items():
            seq, parent = int(child), renamed.get(key, key)
            self.rows.adopt(seq, parent)
            known.standing[seq] = replace(known.standing[seq], parent=parent)
            known.alone.discard(seq)
        parents.settled(renamed)
        return lost

    def _keep_parent(self, key: int) -> int:
        parents, standing = self.known.parents, self.known.standing
        children = [standing[int(seq)] for seq in parents.members(key)]
        old = standing.get(key)
        named = [(child.name, child.size) for child in children]
        name = name_of_parent(named, old.name if old else "")
        children.sort(key=lambda child: -child.size)
        summary = summary_of([child.name for child in children])
        span = (min(c.started_at for c in children), max(c.ended_at for c in children))
        self.known.forget(key)
        return self._keep(1, key, old, Told(name, ()), summary, parents, span)

    def _keep(
        self,
        level: int,
        key: int,
        old: Standing | None,
        told: Told,
        summary: str,
        groups: Groups,
        span: tuple[int, int],
        named: bytes | None = None,
    ) -> int:
        """Write a theme, and note it; its number."""
        one = Standing(
            seq=max(key, 0),
            id=old.id if old else new_id("theme"),
            level=level,
            parent=old.parent if old else None,
            name=told.name,
            topics=told.topics,
            size=groups.size(key),
            total=groups.total(key).copy(),
            started_at=span[0],
            ended_at=span[1],
            named=named,
        )
        seq = self.rows.keep(one, summary)
        self.known.note(replace(one, seq=seq))
        return seq


def _kept(groups: Groups, keep: Callable[[int], int]) -> dict[int, int]:
    """Keep the groups that changed; by the keys they had, the numbers of those that are new."""
    numbers = {key: keep(key) for key in sorted(groups.touched, key=abs)}
    return {key: seq for key, seq in numbers.items() if key < 0}


def _load(rows: ThemeRows, rules: Rules) -> _Known:
    themes = rows.all()
    dimensions = len(themes[0].total) if themes else rows.dimensions
    known = _Known(rows.stamp, rows.model, Groups(dimensions, rules), Groups(dimensions, rules))
    for theme in themes:
        level = known.parents if theme.level else known.groups
        level.restore(theme.seq, theme.size, theme.total)
        known.note(theme)
    return known


def _belongs(record: Record) -> bool:
    """Whether a record belongs in a theme: those that do not stand, that are to be kept from
    sight, or that were made from others do not."""
    return (
        record.lifecycle != "retired"
        and record.sensitivity != "high"
        and not KINDS[record.kind].is_derived(record)
    )


def _span(records: Sequence[Record], said: Mapping[str, int]) -> tuple[int, int]:
    """From the first to the last: when each happened, or was said, or was learned."""
    moments = [_moment(record, said.get(record.id)) for record in records]
    return min(moments), max(moments)


def _moment(record: Record, said: int | None) -> int:
    if own := record.occurred_at or record.valid_from:
        return micros(own)
    return micros(record.created_at) if said is None else said


def _typical(members: Members, centroid: NDArray[np.float32]) -> list[str]:
    """The members, those nearest to the centroid first."""
    cosines = np.stack(list(members.values())) @ centroid
    names = list(members)
    return [names[at] for at in np.argsort(-cosines, kind="stable").tolist()]
