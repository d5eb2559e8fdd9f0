"""Commands that browse what is kept, from `get` to `history`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memstrata.cli import render
from memstrata.cli.call import Call, zone_of
from memstrata.cli.output import write
from memstrata.cli.reading import filters
from memstrata.cli.recall import Filters, Kind, Limit, Session, Since, Until

__all__ = [
    "Cursor",
    "changes",
    "entities",
    "episodes",
    "get",
    "history",
    "list_",
    "messages",
    "review",
    "themes",
]

if TYPE_CHECKING:
    from memstrata.memory import AsyncMemory
    from memstrata.records import Page, Theme

Cursor = Annotated[
    str | None, typer.Option(help="Go on where the last page ended.", show_default=False)
]

_PAUSE = 0.5
"""Seconds between looks for what is new."""


def get(
    call: Call,
    id: Annotated[
        str, typer.Argument(help="Of a message, record, episode or theme.", show_default=False)
    ],
) -> None:
    """Show everything about one message, record, episode or theme."""
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


def episodes(
    call: Call,
    *,
    session: Session = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> None:
    """List runs of messages about one thing, in the order they began."""
    asked: dict[str, Any] = {"session_id": session, "since": since, "until": until}
    page, zone = call.zoned(
        lambda memory: memory.episodes(limit=limit, cursor=cursor, **asked),
    )
    call.show(page, lambda: render.episodes(page, zone))


def themes(
    call: Call,
    parent: Annotated[
        str | None, typer.Argument(help="Only what is under this theme.", show_default=False)
    ] = None,
    *,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> None:
    """Show groups of related records as a tree, the largest first."""

    async def read(memory: AsyncMemory) -> tuple[Page[Theme], dict[str, Page[Theme]]]:
        page = await memory.themes(parent, limit=limit, cursor=cursor)
        above = [] if call.options.json else [each.id for each in page if each.children]
        return page, {each: await memory.themes(each) for each in above}

    (page, under), zone = call.zoned(read)
    call.show(page, lambda: render.themes(page, under, zone))


def entities(
    call: Call,
    name: Annotated[
        str | None, typer.Argument(help="Only this one, in any spelling.", show_default=False)
    ] = None,
    *,
    type_: Annotated[
        str | None,
        typer.Option(
            "--type",
            help="person, place, organisation, product, handle or thing.",
            show_default=False,
        ),
    ] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> None:
    """List people, places and named things, the most mentioned first, and what mentions them."""
    page = call.scoped(
        lambda memory: memory.entities(name, type=type_, limit=limit, cursor=cursor),
        reads=True,
        embeds=False,
    )
    call.show(page, lambda: render.entities(page))


def review(call: Call, *, limit: Limit = 100, cursor: Cursor = None) -> None:
    """List what could not be decided, oldest first, with what stands against it; see `decide`."""
    page, zone = call.zoned(lambda memory: memory.review(limit=limit, cursor=cursor))
    call.show(page, lambda: render.reviews(page, zone))


def changes(
    call: Call,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for more, until interrupted.")
    ] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> None:
    """Show what was done to records and messages, in the order it was done."""
    if not follow:
        page, zone = call.zoned(lambda memory: memory.changes(limit=limit, cursor=cursor))
        call.show(page, lambda: render.log(page, zone))
        return
    anyio = importlib.import_module("anyio")

    async def tell(memory: AsyncMemory) -> None:
        place, zone = cursor, await zone_of(memory)
        while True:
            page = await memory.changes(limit=limit, cursor=place)
            for change in page:
                # A line each, in JSON too, so that what reads them knows where one ends.
                as_json = call.options.json
                write(change.model_dump_json() if as_json else render.log_line(change, zone))
                place = change.cursor
            if not page.items:
                await anyio.sleep(_PAUSE)

    call.scoped(tell, reads=True, embeds=False)


def history(
    call: Call,
    id: Annotated[str, typer.Argument(help="A record or message.", show_default=False)],
) -> None:
    """Show every change of a record, oldest first: who, why, before and after."""
    log, zone = call.zoned(lambda memory: memory.history(id))
    call.show(log, lambda: render.changes(log, zone))
