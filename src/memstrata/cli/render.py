"""Messages, records and receipts as text for a person."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from memstrata.cli.output import (
    bold,
    columns,
    dim,
    indented,
    join,
    one_line,
    plural,
    safe,
    shorten,
    stamp,
)

if TYPE_CHECKING:
    from memstrata.recall.count import Count, Counted
    from memstrata.recall.timeline import Event
    from memstrata.receipts import Consolidation, ErasureReceipt
    from memstrata.records import (
        Batch,
        Change,
        Entity,
        Episode,
        Evidence,
        Hit,
        Ledger,
        Message,
        Page,
        Receipt,
        Record,
        Results,
        Review,
        Theme,
    )

__all__ = [
    "amounts",
    "batches",
    "changes",
    "consolidation",
    "count",
    "entities",
    "episodes",
    "erasure",
    "events",
    "hits",
    "log",
    "log_line",
    "messages",
    "more",
    "one_batch",
    "receipt",
    "records",
    "reviews",
    "skipped",
    "spent",
    "themes",
    "whole",
]

_LONG = 600
_OF_A_VERSION = frozenset(
    {"text", "version", "fields", "fingerprint", "recorded_at", "closed_at", "batch_id", "evidence"}
)
_APART = ("content", "summary", "text", "fingerprint")


def hits(results: Results, zone: tzinfo, *, explain: bool) -> str:
    """What was found, best first, each with where it is from and why it is here."""
    if not results.hits:
        return "nothing was found"
    parts = [_hit(number, hit, zone) for number, hit in enumerate(results.hits, 1)]
    answer = "enough to answer from" if results.answerable else "not enough to answer from"
    parts.append(dim(f"{answer} (confidence {results.confidence:.2f})"))
    if explain and results.plan is not None:
        plan = json.dumps(results.plan, ensure_ascii=False, indent=2)
        parts.append(f"{bold('plan')}\n{indented(safe(plan))}")
    return "\n\n".join(parts)


def _hit(number: int, hit: Hit, zone: tzinfo) -> str:
    head = join([f"{number}.", f"{hit.score:.2f}", *_source(hit), stamp(hit.occurred_at, zone)])
    signals = join(f"{name} {value:.2f}" for name, value in hit.signals.items() if value)
    return "\n".join(
        [
            bold(one_line(head)),
            indented(safe(shorten(hit.text, _LONG))),
            indented(dim(join([hit.id, signals]))),
        ]
    )


def _source(hit: Hit) -> list[str | None]:
    if hit.message is not None:
        session = hit.message.session_id
        return [hit.message.speaker, f"session {session}" if session else None]
    if hit.episode is not None:
        session = hit.episode.session_id
        return ["episode", f"session {session}" if session else None]
    if hit.theme is not None:
        return ["theme", _holding(hit.theme)]
    return [hit.kind, _lifecycle(hit.record)]


def _lifecycle(record: Record | None) -> str | None:
    return None if record is None or record.lifecycle == "current" else record.lifecycle


def messages(page: Page[Message], zone: tzinfo) -> str:
    """Messages in their order, a line of who and when over each."""
    if not page.items:
        return "no messages"
    return "\n\n".join([*(_message(each, zone) for each in page.items), *more(page)])


def _message(message: Message, zone: tzinfo) -> str:
    head = join(
        [
            stamp(message.occurred_at, zone),
            message.speaker,
            message.session_id and f"session {message.session_id}",
            "undone" if message.hidden_at else None,
        ]
    )
    lines = [
        f"{bold(one_line(head))}  {dim(message.id)}",
        indented(safe(shorten(message.content, _LONG))),
    ]
    if message.parts:
        lines.append(indented(dim(f"and {plural(len(message.parts), 'part')} that is no text")))
    return "\n".join(lines)


def records(page: Page[Record], zone: tzinfo) -> str:
    """Records in their order, a line of what and when over each."""
    if not page.items:
        return "no records"
    return "\n\n".join([*(_record(each, zone) for each in page.items), *more(page)])


def _record(record: Record, zone: tzinfo) -> str:
    lines = [_head(record, zone)]
    told = record.text.removeprefix(record.title).lstrip("\n")
    if told:
        lines.append(indented(safe(shorten(told, _LONG))))
    return "\n".join(lines)


def _head(record: Record, zone: tzinfo) -> str:
    head = join([record.kind, record.title, _lifecycle(record), _when(record, zone)])
    return f"{bold(one_line(head))}  {dim(record.id)}"


def _when(record: Record, zone: tzinfo) -> str:
    start, end = record.occurred_at or record.valid_from, record.ended_at or record.valid_to
    return join([stamp(start, zone), end and f"until {stamp(end, zone)}"], " ")


def episodes(page: Page[Episode], zone: tzinfo) -> str:
    """Episodes in their order: title, when, and the summary."""
    if not page.items:
        return "no episodes"
    return "\n\n".join([*(_episode(each, zone) for each in page.items), *more(page)])


def _episode(episode: Episode, zone: tzinfo) -> str:
    head = join([episode.title, "open" if episode.open else None])
    about = join(
        [
            episode.session_id and f"session {episode.session_id}",
            f"{stamp(episode.started_at, zone)} until {stamp(episode.ended_at, zone)}",
            plural(len(episode.message_ids), "message"),
        ]
    )
    summary = safe(shorten(episode.summary, _LONG))
    return "\n".join(
        [
            f"{bold(one_line(head))}  {dim(episode.id)}",
            *([indented(summary)] if summary else []),
            indented(dim(one_line(about))),
        ]
    )


def themes(page: Page[Theme], under: Mapping[str, Page[Theme]], zone: tzinfo) -> str:
    """Themes as a tree, those under each by its id: of one of records the most typical titles."""
    if not page.items:
        return "no themes"
    parts: list[str] = []
    for theme in page:
        below = under.get(theme.id)
        parts.append(_theme(theme, zone, below))
        if below is not None:
            parts += [indented(_theme(child, zone)) for child in below]
            parts += [indented(line) for line in more(below, f"memstrata themes {theme.id} ")]
    return "\n\n".join([*parts, *more(page)])


def _theme(theme: Theme, zone: tzinfo, below: Page[Theme] | None = None) -> str:
    days = [each.astimezone(zone).date() for each in (theme.started_at, theme.ended_at)]
    inside = sum(len(child.record_ids) for child in below or ())
    about = join(
        [
            _holding(theme),
            plural(inside, "record") if inside else None,
            " until ".join(dict.fromkeys(map(str, days))),
        ]
    )
    lines = [f"{bold(one_line(theme.name))}  {dim(join([about, theme.id]))}"]
    if not theme.children:
        lines.append(indented(safe(theme.summary)))
    return "\n".join(lines)


def _holding(theme: Theme) -> str:
    if theme.children:
        return plural(theme.children, "theme")
    return plural(len(theme.record_ids), "record")


def entities(page: Page[Entity]) -> str:
    """People, places and named things: how often they are mentioned, and by what."""
    if not page.items:
        return "no entities"
    return "\n\n".join([*(_entity(each) for each in page.items), *more(page)])


def _entity(entity: Entity) -> str:
    also = f"also {', '.join(entity.aliases)}" if entity.aliases else None
    head = join([entity.name, entity.type, plural(entity.mentions, "mention"), also])
    lines = [f"{bold(one_line(head))}  {dim(entity.id)}"]
    lines += [indented(dim(each)) for each in entity.sources]
    return "\n".join(lines)


def reviews(page: Page[Review], zone: tzinfo) -> str:
    """What waits for a decision: the record, why it waits, and what stands against it."""
    if not page.items:
        return "nothing waits for a decision"
    return "\n\n".join([*(_waiting(each, zone) for each in page.items), *more(page)])


def _waiting(review: Review, zone: tzinfo) -> str:
    lines = [_head(review.record, zone), *_from(review.record)]
    if review.reason:
        lines.append(indented(f"waits: {one_line(review.reason)}"))
    for rival in review.rivals:
        lines += [indented(f"against {_head(rival, zone)}"), *map(indented, _from(rival))]
    return "\n".join(lines)


def _from(told: Record | Counted) -> list[str]:
    """A line with what it rests on, if anything."""
    return [indented(dim(f"from {one_line(_evidence(told.evidence))}"))] if told.evidence else []


def events(told: Sequence[Event], zone: tzinfo) -> str:
    """Events in order of time: when, what, and which record or message tells it."""
    if not told:
        return "no dated events were found"
    return "\n\n".join(_event(each, zone) for each in told)


def _event(event: Event, zone: tzinfo) -> str:
    until = f"until {stamp(event.until, zone)}" if event.until else None
    return "\n".join(
        [
            bold(join([stamp(event.when, zone), until], " ")),
            indented(safe(shorten(event.text, _LONG))),
            indented(dim(join([event.kind, event.id]))),
        ]
    )


def count(counted: Count) -> str:
    """The number, the things that make it with their evidence, and what it rests on."""
    number = "cannot tell" if counted.value is None else f"{counted.value:,}"
    things = [_counted(place, each) for place, each in enumerate(counted.items, 1)]
    note = counted.note.removeprefix("cannot tell: ")
    return "\n".join([bold(number), *things, dim(one_line(note))])


def _counted(place: int, thing: Counted) -> str:
    text = indented(safe(shorten(thing.text, _LONG))).lstrip(" ")
    lines = [f"{place}. {text}", indented(dim(join(thing.ids)))]
    return "\n".join([*lines, *_from(thing)])


def more(page: Page[Any], command: str = "") -> list[str]:
    """A line with where the next page begins, if there is one."""
    return [dim(f"there are more: {command}--cursor {page.next}")] if page.next else []


def whole(found: Message | Record | Episode | Theme, zone: tzinfo) -> str:
    """Everything that is known of one message, record, episode or theme."""
    rows: list[str] = []
    for name in type(found).model_fields:
        item = getattr(found, name)
        if name not in _APART and item not in (None, "", [], {}):
            text = _evidence(item) if name == "evidence" else _value(item, zone)
            rows.append(f"{name:14}{safe(text)}".replace("\n", "\n" + " " * 14))
    texts = (getattr(found, name, None) for name in ("content", "summary", "text"))
    text = next((text for text in texts if text), "")
    return "\n".join([*rows, "", safe(text)])


def _value(item: Any, zone: tzinfo) -> str:
    """One value as a person reads it."""
    if hasattr(item, "astimezone"):
        return stamp(item, zone)
    if isinstance(item, list | dict):
        return json.dumps(item, ensure_ascii=False, default=str)
    return str(item)


def _evidence(given: Sequence[Evidence]) -> str:
    return ", ".join(
        f"{each.source_id} “{each.quote}”" if each.quote else each.source_id for each in given
    )


def receipt(done: Receipt) -> str:
    """What a writing verb did."""
    known = {item.id for item in done.skipped if not item.stored}
    lines = [f"stored {each}" for each in done.message_ids if each not in known]
    lines += [_change(change) for change in done.changes]
    lines += [
        skipped(item.reason, item.id, item.stored)
        for item in done.skipped
        if item.index is not None
    ]
    text = "\n".join(map(one_line, lines)) or "nothing was changed"
    if not done.message_ids and not done.record_ids and not done.changes:
        return text
    ended = "" if done.state == "done" else f" is {done.state}"
    cost = _cost(done.ledger)
    return f"{text}\n{dim(done.batch_id)}{ended}{dim(f' · {cost}') if cost else ''}"


def _cost(ledger: Ledger) -> str:
    """What language models cost in it, in words; nothing if none was asked."""
    return spent(ledger.model_dump(), ledger.model_calls) if ledger.model_calls else ""


def spent(use: Mapping[str, Any], calls: int) -> str:
    """Calls, tokens and price, in words; a price that is not known is left out."""
    read = f" ({use['cached_tokens']:,} of them cached)" if use["cached_tokens"] else ""
    dollars = use["cost"]
    return join(
        [
            plural(calls, "model call"),
            f"{plural(use['input_tokens'], 'token')} in{read}",
            f"{use['output_tokens']:,} out",
            None if dollars is None else f"${dollars:.6f}".rstrip("0").rstrip("."),
        ],
        ", ",
    )


def skipped(reason: str, known: str | None, stored: bool) -> str:
    """What was not taken as it was given."""
    if stored:
        return f"note: {reason}"
    return f"not stored: {reason}{f' ({known})' if known else ''}"


def _change(change: Change) -> str:
    versions = ""
    if change.version_before is not None or change.version_after is not None:
        versions = f"version {change.version_after or '-'}"
    return join([change.op, change.target_id, versions, change.reason])


def changes(log: Sequence[Change], zone: tzinfo) -> str:
    """A history, oldest first: when, what, who, why, and what it then said."""
    return "\n\n".join(_logged(change, zone) for change in log)


def log(page: Page[Change], zone: tzinfo) -> str:
    """The change log, a line each."""
    return "\n".join([*(log_line(each, zone) for each in page), *more(page)]) or "no changes"


def log_line(change: Change, zone: tzinfo) -> str:
    """One change of the log: when, what, to what, who, why."""
    who = f"by {change.actor}"
    told = [stamp(change.at, zone), change.op, change.target_id, who, change.reason]
    return one_line(join(told))


def _logged(change: Change, zone: tzinfo) -> str:
    head = join([stamp(change.at, zone), change.op, f"by {change.actor}", change.reason])
    lines = [bold(one_line(head))]
    lines += [indented(safe(line)) for line in _difference(change.before, change.after, zone)]
    if change.evidence:
        lines.append(indented(one_line(f"from {', '.join(change.evidence)}")))
    lines.append(indented(dim(join([change.id, change.batch_id]))))
    return "\n".join(lines)


def _difference(before: Record | None, after: Record | None, zone: tzinfo) -> list[str]:
    """What a change made of a record: its text, then what else is not as it was."""
    old, new = (None if each is None else shorten(each.text, _LONG) for each in (before, after))
    signed = [("-", old), ("+", new)] if old != new else []
    lines = [f"{sign} {indented(text, 2).lstrip(' ')}" for sign, text in signed if text]
    if before is None or after is None:
        return lines
    for name in type(after).model_fields:
        was, now = getattr(before, name), getattr(after, name)
        if name not in _OF_A_VERSION and was != now:
            lines.append(f"{name}: {_value(was, zone)} → {_value(now, zone)}")
    return lines


def batches(page: Page[Batch], zone: tzinfo) -> str:
    """The calls that wrote, newest first."""
    if not page.items:
        return "no batches"
    rows = [
        (
            batch.id,
            batch.verb,
            batch.state,
            batch.messages,
            batch.changes,
            stamp(batch.created_at, zone),
            join([_cost(batch.ledger), batch.reason]),
        )
        for batch in page.items
    ]
    head = ("batch", "verb", "state", "messages", "changes", "created", "")
    return "\n".join([columns(rows, head=head), *more(page)])


def one_batch(batch: Batch, zone: tzinfo) -> str:
    """How far one call has got."""
    ended = f"ended {stamp(batch.finished_at, zone)}" if batch.finished_at else None
    told = [batch.id, batch.verb, batch.state, ended, _cost(batch.ledger), batch.reason]
    return one_line(join(told))


def consolidation(done: Consolidation) -> str:
    """What tidying did."""
    fewer, grouped = done.themes.get("fewer", 0), done.themes.get("moved", 0)
    parts = [
        (done.duplicates, plural(done.duplicates, "duplicate") + " retired"),
        (done.contradictions, plural(done.contradictions, "contradiction") + " found"),
        (done.lapsed_plans, plural(done.lapsed_plans, "plan") + " over"),
        (done.digests, plural(done.digests, "digest") + " made"),
        (done.profile, "the profile made"),
        (done.entities, plural(done.entities, "entity", "entities") + " dropped"),
        (fewer, plural(fewer, "theme") + " fewer"),
        (grouped, plural(grouped, "record") + " moved to another theme"),
        (done.freed_bytes, plural(done.freed_bytes, "byte") + " given back"),
    ]
    told = join((text for count, text in parts if count), ", ")
    batch = f", as batch {done.batch_id}" if done.batch_id else ""
    notes = [safe(f"note: {note}") for note in (done.reason, *done.notes) if note]
    nothing = "nothing was changed" if notes else "there was nothing to tidy"
    cost = [cost] if (cost := _cost(done.ledger)) else []
    return "\n".join([f"{told}{batch}" if told else nothing, *notes, *cost])


def erasure(done: ErasureReceipt) -> str:
    """What was, or would be, erased."""
    what = amounts(done)
    if done.state == "dry_run":
        return "\n".join([f"would erase {what}", *(safe(f"note: {n}") for n in done.notes)])
    lines = [f"erased {what}"]
    if done.batch_id:
        lines[0] += f", as batch {done.batch_id}"
    if done.rebuilding:
        lines.append(f"{plural(done.rebuilding, 'message')} that stayed were distilled again")
    lines += [safe(f"note: {note}") for note in (done.reason, *done.notes) if note]
    return "\n".join(lines)


def amounts(done: ErasureReceipt) -> str:
    """How much an erasure takes."""
    parts: Iterable[str] = (
        plural(done.messages, "message"),
        f"{plural(done.records, 'record')} in {plural(done.versions, 'version')}",
    )
    return " and ".join(parts)
