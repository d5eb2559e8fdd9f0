"""Commands that find: `search`, `context`, `timeline`, `count`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memstrata.cli import render
from memstrata.cli.call import Call
from memstrata.cli.output import safe
from memstrata.cli.reading import filters, read_text

__all__ = [
    "Filters",
    "Kind",
    "Limit",
    "Now",
    "Session",
    "Since",
    "Until",
    "context",
    "count",
    "search",
    "timeline",
]

Kind = Annotated[
    list[str] | None, typer.Option(help="Only this kind; repeatable.", show_default=False)
]
Strata = Annotated[
    list[str] | None,
    typer.Option(
        help="messages, episodes, records or themes; repeatable.",
        show_default="messages and records",
    ),
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


def _words(text: str) -> str:
    return read_text("-") if text == "-" else text


def search(
    call: Call,
    query: Annotated[
        str, typer.Argument(help="The question; `-` is standard input.", show_default=False)
    ],
    *,
    kind: Kind = None,
    stratum: Strata = None,
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
    select: Annotated[
        str,
        typer.Option(
            help="Which of what is alike stands for the rest: discounted, coverage, mmr, "
            "mmr_narrow, mmr_wide or relevance."
        ),
    ] = "discounted",
    gain: Annotated[
        float | None,
        typer.Option(
            help="The least share of the evidence that is worth its tokens; 0 adds all.",
            show_default="0.01",
        ),
    ] = None,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Let the language model make the question whole.")
    ] = False,
    gate: Annotated[
        str, typer.Option(help="What decides what pays: share, or model (it drafts answers).")
    ] = "share",
) -> None:
    """Print what to put before a model: the prompt text, within a budget."""
    asked: dict[str, Any] = {"max_tokens": max_tokens, "kinds": kind, "now": now, "select": select}
    asked |= {"rewrite": rewrite, "gate": gate} | ({} if gain is None else {"gain": gain})
    words = _words(query)
    made = call.scoped(lambda memory: memory.context(words, **asked), reads=True)
    call.show(made, lambda: safe(str(made)).strip())
    for note in made.notes:
        call.note(note)
    if not made.items:
        call.note("nothing is remembered about that")
    if over := sum("budget" in (item.reason or "") for item in made.dropped):
        call.note(f"{over} found beyond the budget of {max_tokens} tokens")


def timeline(
    call: Call,
    query: Annotated[
        str, typer.Argument(help="The question; `-` is standard input.", show_default=False)
    ],
    *,
    since: Since = None,
    until: Until = None,
    now: Now = None,
    limit: Limit = 50,
) -> None:
    """Show the dated events that have to do with a question, in order of time."""
    words = _words(query)
    events, zone = call.zoned(
        lambda memory: memory.timeline(words, since=since, until=until, now=now, limit=limit),
        embeds=True,
    )
    call.show(events, lambda: render.events(events, zone))


def count(
    call: Call,
    query: Annotated[
        str, typer.Argument(help="How many … ; `-` is standard input.", show_default=False)
    ],
    *,
    now: Now = None,
) -> None:
    """Count what a question asks the number of, with evidence; or say that memory cannot tell."""
    words = _words(query)
    counted = call.scoped(lambda memory: memory.count(words, now=now), reads=True)
    call.show(counted, lambda: render.count(counted))
