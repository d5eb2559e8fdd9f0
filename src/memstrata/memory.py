"""`AsyncMemory`: the verbs. Each checks its arguments and hands over to the module that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memstrata.arguments import (
    check_choice,
    check_choices,
    check_flag,
    check_id,
    check_json_object,
    check_key,
    check_limit,
    check_number,
    check_path,
    check_text,
    check_texts,
    check_version,
    moment,
    signed,
)
from memstrata.doctor import examine
from memstrata.errors import InvalidInput, NotFound, ScopeRequired
from memstrata.handle import Handle
from memstrata.ingest import add as adding
from memstrata.ingest import edit, transfer
from memstrata.kinds import KINDS, KindModel, describe
from memstrata.recall import context as contexts
from memstrata.recall import find as finding
from memstrata.records import (
    Batch,
    Change,
    Context,
    ErasureReceipt,
    Message,
    Method,
    Page,
    Receipt,
    Record,
    Results,
    Scope,
    Stratum,
    Trust,
    micros,
)
from memstrata.runtime import view_of, zone_named
from memstrata.safety import erase
from memstrata.store.filters import parse_filter
from memstrata.store.ports import View
from memstrata.store.read import EVER, Listing

__all__ = ["AsyncMemory"]

_Messages = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
_When = datetime | str | None
_STANDING = ("current", "past", "review")


class AsyncMemory(Handle):
    """One memory store, or one user's or agent's part of it (`scoped`).

    Every verb takes `user_id` and `agent_id`, which say whose memory it is about; a handle made
    by `scoped` has them already. Times are `datetime`s or ISO 8601 texts; one without an offset is
    read in the user's zone.
    """

    def scoped(self, *, user_id: str | None = None, agent_id: str | None = None) -> AsyncMemory:
        """The same memory for one user or agent, so that calls need not name it."""
        return AsyncMemory(self._runtime, self._scope(user_id, agent_id))

    # Remembering

    async def add(
        self,
        messages: _Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        occurred_at: _When = None,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        trust: Trust | None = None,
        kinds: Sequence[str] | None = None,
        infer: bool = True,
        wait: bool = True,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Store messages for good: a text, one chat message, or a list of them.

        Returns when they are durable and can be found by keyword; with `wait`, also by meaning.
        A bad item is reported in `skipped` by index and the rest is stored. What was sent before
        (a re-sent history, the same id, the same batch) is not stored again.
        """
        scope = self._scope(user_id, agent_id)
        zone = await self._runtime.zone_of(scope)
        request = adding.Request(
            messages=messages,
            session_id=check_id("session_id", session_id),
            occurred_at=moment("occurred_at", occurred_at, zone),
            metadata=check_json_object("metadata", metadata),
            tags=check_texts("tags", tags),
            trust=check_choice("trust", trust, Trust),
            kinds=None if kinds is None else check_choices("kinds", kinds, KINDS),
            infer=check_flag("infer", infer),
            wait=check_flag("wait", wait),
            idempotency_key=check_id("idempotency_key", idempotency_key),
        )
        return await adding.add(self._runtime, scope, zone, request)

    async def create(
        self,
        record: KindModel | Mapping[str, Any],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str = "user",
        reason: str = "",
    ) -> Receipt:
        """Store one typed record, such as `{"kind": "semantic", "name": "…"}`.

        An exact duplicate is not stored again; its evidence is added to the one that stands.
        """
        scope = self._scope(user_id, agent_id)
        by = signed(actor, reason)
        receipt = await edit.create(self._runtime, scope, record, by=by)
        return await adding.settle(self._runtime, scope, receipt)

    async def update(
        self,
        record_id: str,
        *,
        if_version: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str = "user",
        reason: str = "",
        **changes: Any,
    ) -> Receipt:
        """Change fields of a record, by its kind's rule for change; the rest stays as it is.

        `metadata` is merged key by key; None takes a field or key away. `if_version` makes it
        fail with `Conflict` if someone else changed the record since.
        """
        scope = self._scope(user_id, agent_id)
        receipt = await edit.update(
            self._runtime,
            scope,
            check_key("record_id", record_id),
            changes,
            if_version=check_version("if_version", if_version),
            by=signed(actor, reason),
        )
        return await adding.settle(self._runtime, scope, receipt)

    async def retire(
        self,
        record_id: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str = "user",
        reason: str = "",
    ) -> Receipt:
        """Stop believing a record: it is out of default reads and stays in `history`."""
        scope = self._scope(user_id, agent_id)
        record_id = check_key("record_id", record_id)
        by = signed(actor, reason)
        receipt = await edit.retire(self._runtime, scope, record_id, by=by)
        return await adding.settle(self._runtime, scope, receipt)

    async def undo(
        self,
        batch_or_change: str,
        *,
        cascade: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str = "user",
    ) -> Receipt:
        """Take back a batch or one change exactly; of an `add`, its messages are hidden.

        `Conflict` names later changes that build on it, unless `cascade` takes them back too.
        """
        scope = self._scope(user_id, agent_id)
        target = check_key("batch_or_change", batch_or_change)
        cascade = check_flag("cascade", cascade)
        receipt = await edit.undo(
            self._runtime, scope, target, cascade=cascade, by=signed(actor, "")
        )
        return await adding.settle(self._runtime, scope, receipt)

    async def forget(
        self,
        *,
        ids: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        session_id: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> ErasureReceipt:
        """Erase for good what one of `ids`, `filters`, `session_id` or `everything` names.

        Records that rest on an erased message go too. It cannot be undone; `dry_run` says what
        would go.
        """
        scope = self._scope(user_id, agent_id)
        return await erase.forget(
            self._runtime,
            scope,
            erase.Request(
                ids=None if ids is None else check_texts("ids", ids),
                where=parse_filter(filters, await self._runtime.zone_of(scope)),
                session_id=check_id("session_id", session_id),
                everything=check_flag("everything", everything),
                dry_run=check_flag("dry_run", dry_run),
            ),
        )

    # Recalling

    async def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        kinds: Sequence[str] | None = None,
        strata: Sequence[Stratum] | None = None,
        method: Method = "hybrid",
        search_fields: Sequence[str] = (),
        filters: Mapping[str, Any] | None = None,
        since: _When = None,
        until: _When = None,
        now: _When = None,
        as_of: _When = None,
        known_at: _When = None,
        session_id: str | None = None,
        limit: int = 10,
        threshold: float | None = None,
        explain: bool = False,
    ) -> Results:
        """Find what is remembered, best first, each hit with its signals and evidence.

        `as_of` asks what was true then, `known_at` what was known then. A blank query is
        `InvalidInput`, never everything.
        """
        scope = self._scope(user_id, agent_id)
        zone = await self._runtime.zone_of(scope)
        asked = finding.Asked(
            query=check_text("query", query),
            zone=zone,
            method=check_choice("method", method, Method),
            kinds=None if kinds is None else check_choices("kinds", kinds, KINDS),
            strata=finding.strata_for(strata, kinds),
            search_fields=check_texts("search_fields", search_fields),
            where=parse_filter(filters, zone),
            since=moment("since", since, zone),
            until=moment("until", until, zone),
            now=moment("now", now, zone) or self._runtime.clock(),
            as_of=moment("as_of", as_of, zone),
            known_at=moment("known_at", known_at, zone),
            session_id=check_id("session_id", session_id),
            limit=check_limit("limit", limit),
            threshold=check_number("threshold", threshold, most=1.0),
            explain=check_flag("explain", explain),
        )
        return await finding.find(self._runtime, scope, asked)

    async def context(
        self,
        query: _Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        max_tokens: int = 6000,
        kinds: Sequence[str] | None = None,
        now: _When = None,
    ) -> Context:
        """What to put before a model for a question or a conversation, within a token budget.

        `str()` of it is the prompt text: a block per kind, each item with id, date, and trust, as
        data that cannot close its block.
        """
        scope = self._scope(user_id, agent_id)
        zone = await self._runtime.zone_of(scope)
        return await contexts.build(
            self._runtime,
            scope,
            contexts.Asked(
                query=query,
                zone=zone,
                max_tokens=check_limit("max_tokens", max_tokens, most=1_000_000),
                kinds=None if kinds is None else check_choices("kinds", kinds, KINDS),
                now=moment("now", now, zone) or self._runtime.clock(),
            ),
        )

    # Browsing

    async def get(
        self, id: str, *, user_id: str | None = None, agent_id: str | None = None
    ) -> Message | Record:
        """One message or record by id; `NotFound` if it is not in this scope."""
        scope = self._scope(user_id, agent_id)
        key = check_key("id", id)
        found = (await self._runtime.store.get(view_of(scope), [key])).get(key)
        if found is None:
            raise NotFound(f"no message or record {key} in this scope")
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
        return await self._runtime.store.list_records(view_of(scope), listing)

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

    async def history(
        self, id: str, *, user_id: str | None = None, agent_id: str | None = None
    ) -> list[Change]:
        """Every change of a record, oldest first: who, why, from what, before and after."""
        scope = self._scope(user_id, agent_id)
        key = check_key("id", id)
        log = await self._runtime.store.history(view_of(scope), key)
        return log or [adding.appended(await self.get(key, user_id=user_id, agent_id=agent_id))]

    # Running it

    async def batches(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        state: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Batch]:
        """The calls that wrote, newest first, and how far each has got."""
        view = view_of(self._scope(user_id, agent_id))
        listing = Listing(limit=check_limit("limit", limit), cursor=cursor)
        states = ("pending", "running", "done", "failed", "undone")
        wanted = None if state is None else check_choices("state", [state], states)[0]
        return await self._runtime.store.list_batches(view, listing, wanted)

    async def wait_for(
        self,
        batch_id: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it returns the batch as it is then
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> Batch:
        """Wait until a batch is done or has failed, at most `timeout` seconds, and return it."""
        scope = self._scope(user_id, agent_id)
        key = check_key("batch_id", batch_id)
        return await adding.wait_for(self._runtime, scope, key, check_number("timeout", timeout))

    async def retry(
        self, batch_id: str, *, user_id: str | None = None, agent_id: str | None = None
    ) -> Batch:
        """Do again what a failed batch left undone; nothing is stored twice."""
        scope = self._scope(user_id, agent_id)
        return await adding.retry(self._runtime, scope, check_key("batch_id", batch_id))

    async def scopes(self) -> list[dict[str, Any]]:
        """Who is in the store: users and agents, with how much each has."""
        if self._bound is not None:
            raise InvalidInput("this handle is bound to one scope: ask the store's own handle")
        return await self._runtime.store.scopes(self._runtime.tenant)

    async def set_user(
        self,
        *,
        timezone: str | None = None,
        locale: str | None = None,
        user_id: str | None = None,
    ) -> dict[str, str | None]:
        """Set a user's time zone (IANA name) and locale; times are read and shown in it.

        Returns the settings in force; with nothing to set it only does that.
        """
        scope = self._scope(user_id, None)
        if scope.user_id is None:
            raise ScopeRequired("an agent has no time zone of its own: give user_id")
        user = Scope(tenant=scope.tenant, user_id=scope.user_id)
        if timezone is not None:
            zone_named(check_text("timezone", timezone))
        locale = check_id("locale", locale)
        if timezone is not None or locale is not None:
            await self._runtime.store.set_user(user, timezone, locale)
            self._runtime.zones.pop(user, None)
        zone, spoken = await self._runtime.store.user_settings(user)
        return {"timezone": zone or str(self._runtime.zone), "locale": spoken}

    async def kinds(self) -> list[dict[str, Any]]:
        """The six kinds of memory: their fields, rule for change, and block in a prompt."""
        return describe()

    async def stats(
        self, *, user_id: str | None = None, agent_id: str | None = None
    ) -> dict[str, Any]:
        """How much a scope holds, what waits, and bytes on disk."""
        return await self._runtime.store.stats(view_of(self._scope(user_id, agent_id)))

    async def verify(self, *, user_id: str | None = None, agent_id: str | None = None) -> list[str]:
        """What is wrong with the store, in words; an empty list when it is sound.

        Without a scope the whole store is checked.
        """
        view: View | None = None
        if user_id is not None or agent_id is not None or self._bound is not None:
            view = view_of(self._scope(user_id, agent_id))
        return await self._runtime.store.verify(view, self._runtime.tenant)

    async def doctor(self) -> list[dict[str, Any]]:
        """Try every part and say in words what works and what does not."""
        return await examine(self._runtime)

    async def dump(
        self,
        path: str | Path,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> int:
        """Write a scope as JSON lines, lossless but for vectors; the number of rows.

        Without a scope the whole store is written.
        """
        scope: Scope | None = None
        if user_id is not None or agent_id is not None or self._bound is not None:
            scope = self._scope(user_id, agent_id)
        return await transfer.dump(self._runtime, scope, check_path("path", path))

    async def load(self, path: str | Path) -> int:
        """Read a file written by `dump`; rows that are there already are left alone.

        Returns how many rows were new. Vectors are computed again.
        """
        if self._bound is not None:
            raise InvalidInput("this handle is bound to one scope: load with the store's own")
        return await transfer.load(self._runtime, check_path("path", path))
