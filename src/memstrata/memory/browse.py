"""Verbs that read what is kept, page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memstrata.arguments import (
    check_choice,
    check_choices,
    check_flag,
    check_id,
    check_key,
    check_limit,
    check_text,
    moment,
)
from memstrata.errors import InvalidInput, NotFound
from memstrata.handle import Handle
from memstrata.ingest import add as adding
from memstrata.ingest import review as reviewing
from memstrata.kinds import KINDS
from memstrata.records import (
    Change,
    Entity,
    EntityType,
    Episode,
    Message,
    Page,
    Record,
    Review,
    Theme,
    micros,
)
from memstrata.runtime import view_of
from memstrata.store.filters import parse_filter
from memstrata.store.views import EVER, Listing
from memstrata.text.names import normal_form

__all__ = ["Browsing"]

_When = datetime | str | None
_STANDING = ("current", "past", "review")


class Browsing(Handle):
    """Verbs that read what is kept, page by page."""

    async def get(
        self, id: str, *, user_id: str | None = None, agent_id: str | None = None
    ) -> Message | Record | Episode | Theme:
        """One message, record, episode or theme by id; `NotFound` if it is not in this scope."""
        scope = self._scope(user_id, agent_id)
        key = check_key("id", id)
        found = (await self._runtime.store.get(view_of(scope), [key])).get(key)
        if found is None:
            raise NotFound(f"no message, record, episode or theme {key} in this scope")
        await self._note_reads("get", scope, [found])
        return found

    async def list(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        kinds: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        lifecycles: Sequence[str] = _STANDING,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Record]:
        """Records in the order they were first written; the retired ones only if asked for."""
        scope = self._scope(user_id, agent_id)
        listing = Listing(
            limit=check_limit("limit", limit),
            cursor=cursor,
            where=parse_filter(filters, await self._runtime.zone_of(scope)),
            kinds=tuple(KINDS) if kinds is None else check_choices("kinds", kinds, KINDS),
            lifecycles=check_choices("lifecycles", lifecycles, (*_STANDING, "retired")),
        )
        page = await self._runtime.store.list_records(view_of(scope), listing)
        await self._note_reads("list", scope, page.items)
        return page

    async def messages(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        since: _When = None,
        until: _When = None,
        hidden: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Message]:
        """The original messages in the order they happened; undone ones only with `hidden`."""
        scope = self._scope(user_id, agent_id)
        zone = await self._runtime.zone_of(scope)
        start, end = moment("since", since, zone), moment("until", until, zone)
        listing = Listing(
            limit=check_limit("limit", limit),
            cursor=cursor,
            where=parse_filter(filters, zone),
            session_id=check_id("session_id", session_id),
            hidden=check_flag("hidden", hidden),
            since=EVER[0] if start is None else micros(start),
            until=EVER[1] if end is None else micros(end),
        )
        return await self._runtime.store.list_messages(view_of(scope), listing)

    async def episodes(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        since: _When = None,
        until: _When = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Episode]:
        """Runs of messages about one thing, in the order they began, with title and summary."""
        scope = self._scope(user_id, agent_id)
        zone = await self._runtime.zone_of(scope)
        start, end = moment("since", since, zone), moment("until", until, zone)
        listing = Listing(
            limit=check_limit("limit", limit),
            cursor=cursor,
            session_id=check_id("session_id", session_id),
            since=EVER[0] if start is None else micros(start),
            until=EVER[1] if end is None else micros(end),
        )
        return await self._runtime.store.list_episodes(view_of(scope), listing)

    async def themes(
        self,
        parent: str | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Theme]:
        """Groups of related records, the largest first: those at the top, or under `parent`.

        They form by themselves as records come, and change as records do; see docs/themes.md.
        """
        view = view_of(self._scope(user_id, agent_id))
        listing = Listing(limit=check_limit("limit", limit), cursor=cursor)
        under = None if parent is None else check_key("parent", parent)
        page = await self._runtime.store.list_themes(view, listing, under)
        if under is not None and not page.items:
            found = await self.get(under, user_id=user_id, agent_id=agent_id)
            if not isinstance(found, Theme):
                raise InvalidInput(f"{under} is no theme: pass the id of one")
        return page

    async def entities(
        self,
        name: str | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        type: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Entity]:
        """People, places and named things, the most mentioned first, and what mentions them.

        `name` asks what that name, in any of its spellings, is linked to.
        """
        listing = Listing(limit=check_limit("limit", limit), cursor=cursor)
        spelling = None if name is None else [normal_form(check_text("name", name))]
        return await self._runtime.store.list_entities(
            view_of(self._scope(user_id, agent_id)),
            listing,
            type=None if type is None else check_choice("type", type, EntityType),
            normals=spelling,
        )

    async def review(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Review]:
        """What could not be decided, oldest first, with what stands against it; see `decide`."""
        scope = self._scope(user_id, agent_id)
        listing = Listing(
            limit=check_limit("limit", limit),
            cursor=cursor,
            kinds=tuple(KINDS),
            lifecycles=("review",),
        )
        page = await reviewing.waiting(self._runtime, scope, listing)
        await self._note_reads("review", scope, (item.record for item in page.items))
        return page

    async def changes(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Change]:
        """What was done to records and messages, in the order it was done, to be followed.

        Each has a `cursor`, from which the log goes on after it; that of the last one seen is good
        for ever. What records say is in `history`; what was erased is not in the log any more.
        """
        scope = self._scope(user_id, agent_id)
        listing = Listing(limit=check_limit("limit", limit), cursor=cursor)
        return await self._runtime.store.list_changes(view_of(scope), listing)

    async def history(
        self, id: str, *, user_id: str | None = None, agent_id: str | None = None
    ) -> list[Change]:
        """Every change of a record, oldest first: who, why, from what, before and after."""
        scope = self._scope(user_id, agent_id)
        key = check_key("id", id)
        log = await self._runtime.store.history(view_of(scope), key)
        await self._note_reads("history", scope, (change.after for change in log[-1:]))
        if log:
            return log
        found = await self.get(key, user_id=user_id, agent_id=agent_id)
        # A theme is made from records, whose histories say all there is to say.
        return [] if isinstance(found, Theme) else [adding.appended(found)]
