"""Commands that read: `search`, `context`, `get`, `list`, `messages`, `history`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memstrata.cli import render
from memstrata.cli.call import Call
from memstrata.cli.output import safe
from memstrata.cli.reading import filters, read_text

__all__ = ["context", "get", "history", "list_", "messages", "search"]

Kind = Annotated[
    list[str] | None, typer.Option(help="Only this kind; repeatable.", show_default=False)
]
Filters = Annotated[
    str | None,
    typer.Option("--filters", help="""JSON, such as '{"tags": {"contains": "work"}}'."""),
]
Session = Annotated[str | None, typer.Option(help="Only this conversation.", show_default=False)]
Since = Annotated[str | None, typer.Option(help="From then on (ISO 8601).", show_default=False)]
Until = Annotated[str | None, typer.Option(help="Before then (ISO 8601).", show_default=False)]
Now = Annotated[
    str | None, typer.Option(help="When the question is asked.", show_default="the clock")
]
Limit = Annotated[int, typer.Option(help="At most so many.")]
Cursor = Annotated[
    str | None, typer.Option(help="Go on where the last page ended.", show_default=False)
]


def _words(text: str) -> str:
    return read_text("-") if text == "-" else text


def search(
    call: Call,
    query: Annotated[
        str, typer.Argument(help="The question; `-` is standard input.", show_default=False)
    ],
    *,
    kind: Kind = None,
    stratum: Annotated[
        list[str] | None,
        typer.Option(help="messages or records; repeatable.", show_default="both"),
    ] = None,
    method: Annotated[
        str, typer.Option(help="hybrid, embedding, bm25 or string_match.")
    ] = "hybrid",
    search_field: Annotated[
        list[str] | None,
        typer.Option(help="Words must stand in this field; repeatable.", show_default=False),
    ] = None,
    filters_: Filters = None,
    since: Since = None,
    until: Until = None,
    now: Now = None,
    as_of: Annotated[
        str | None, typer.Option(help="What was true then.", show_default=False)
    ] = None,
    known_at: Annotated[
        str | None, typer.Option(help="What was known then.", show_default=False)
    ] = None,
    session: Session = None,
    limit: Limit = 10,
    threshold: Annotated[
        float | None, typer.Option(help="Least score, 0 to 1.", show_default=False)
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how the question was understood.")
    ] = False,
) -> None:
    """Find what is remembered, best first, with its source, date and signals."""
    asked: dict[str, Any] = {
        "kinds": kind,
        "strata": stratum,
        "method": method,
        "search_fields": search_field or (),
        "filters": filters(filters_),
        "since": since,
        "until": until,
        "now": now,
        "as_of": as_of,
        "known_at": known_at,
        "session_id": session,
        "limit": limit,
        "threshold": threshold,
        "explain": explain,
    }
    words = _words(query)
    results, zone = call.zoned(lambda memory: memory.search(words, **asked), embeds=True)
    call.show(results, lambda: render.hits(results, zone, explain=explain))
    for note in results.notes:
        call.note(note)


def context(
    call: Call,
    query: Annotated[
        str, typer.Argument(help="The question; `-` is standard input.", show_default=False)
    ],
    *,
    max_tokens: Annotated[int, typer.Option(help="At most so many tokens.")] = 6000,
    kind: Kind = None,
    now: Now = None,
) -> None:
    """Print what to put before a model: the prompt text, within a budget."""
    words = _words(query)
    made = call.scoped(
        lambda memory: memory.context(words, max_tokens=max_tokens, kinds=kind, now=now),
        reads=True,
    )
    call.show(made, lambda: safe(str(made)).strip())
    if not made.items:
        call.note("nothing is remembered about that")
    if made.dropped:
        call.note(f"{len(made.dropped)} found beyond the budget of {max_tokens} tokens")


def get(
    call: Call,
    id: Annotated[str, typer.Argument(help="A message or record.", show_default=False)],
) -> None:
    """Show everything about one message or record."""
    found, zone = call.zoned(lambda memory: memory.get(id))
    call.show(found, lambda: render.whole(found, zone))


def list_(
    call: Call,
    *,
    kind: Kind = None,
    filters_: Filters = None,
    lifecycle: Annotated[
        list[str] | None,
        typer.Option(
            help="current, past, review or retired; repeatable.",
            show_default="all but retired",
        ),
    ] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> None:
    """List records in the order they were first written."""
    asked: dict[str, Any] = {"kinds": kind, "filters": filters(filters_), "limit": limit}
    asked |= {"lifecycles": lifecycle} if lifecycle else {}
    page, zone = call.zoned(lambda memory: memory.list(cursor=cursor, **asked))
    call.show(page, lambda: render.records(page, zone))


def messages(
    call: Call,
    *,
    session: Session = None,
    filters_: Filters = None,
    since: Since = None,
    until: Until = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Undone messages too.")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> None:
    """List the original messages in the order they happened."""
    asked: dict[str, Any] = {
        "session_id": session,
        "filters": filters(filters_),
        "since": since,
        "until": until,
        "hidden": hidden,
        "limit": limit,
        "cursor": cursor,
    }
    page, zone = call.zoned(lambda memory: memory.messages(**asked))
    call.show(page, lambda: render.messages(page, zone))


def history(
    call: Call,
    id: Annotated[str, typer.Argument(help="A record or message.", show_default=False)],
) -> None:
    """Show every change of a record, oldest first: who, why, before and after."""
    log, zone = call.zoned(lambda memory: memory.history(id))
    call.show(log, lambda: render.changes(log, zone))
