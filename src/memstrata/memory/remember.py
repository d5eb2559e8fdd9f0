"""Verbs that write: messages, typed records, and taking any of it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memstrata.arguments import (
    check_choice,
    check_choices,
    check_flag,
    check_id,
    check_json_object,
    check_key,
    check_texts,
    check_version,
    moment,
    signed,
)
from memstrata.handle import Handle
from memstrata.ingest import add as adding
from memstrata.ingest import edit, review
from memstrata.ingest import undo as undoing
from memstrata.ingest.once import once
from memstrata.ingest.review import Decision
from memstrata.kinds import KINDS, KindModel
from memstrata.receipts import ErasureReceipt
from memstrata.records import Receipt, Trust
from memstrata.safety import erase
from memstrata.store.filters import parse_filter

__all__ = ["Remembering"]

_Messages = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
_When = datetime | str | None


class Remembering(Handle):
    """Verbs that write: messages, typed records, and taking any of it back."""

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
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Store one typed record, such as `{"kind": "semantic", "name": "…"}`.

        An exact duplicate is not stored again; its evidence is added to the one that stands.
        """
        scope = self._scope(user_id, agent_id)
        receipt = await once(
            self._runtime,
            scope,
            check_id("idempotency_key", idempotency_key),
            {"verb": "create", "record": record},
            signed(actor, reason),
            lambda by: edit.create(self._runtime, scope, record, by=by),
        )
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
        idempotency_key: str | None = None,
        **changes: Any,
    ) -> Receipt:
        """Change fields of a record, by its kind's rule for change; the rest stays as it is.

        `metadata` is merged key by key; None takes a field or key away. `if_version` makes it
        fail with `Conflict` if someone else changed the record since.
        """
        scope = self._scope(user_id, agent_id)
        target, version = check_key("record_id", record_id), check_version("if_version", if_version)
        receipt = await once(
            self._runtime,
            scope,
            check_id("idempotency_key", idempotency_key),
            {"verb": "update", "id": target, "if_version": version, "changes": changes},
            signed(actor, reason),
            lambda by: edit.update(
                self._runtime, scope, target, changes, if_version=version, by=by
            ),
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
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Stop believing a record: it is out of default reads and stays in `history`."""
        scope = self._scope(user_id, agent_id)
        record_id = check_key("record_id", record_id)
        receipt = await once(
            self._runtime,
            scope,
            check_id("idempotency_key", idempotency_key),
            {"verb": "retire", "id": record_id},
            signed(actor, reason),
            lambda by: edit.retire(self._runtime, scope, record_id, by=by),
        )
        return await adding.settle(self._runtime, scope, receipt)

    async def decide(
        self,
        record_id: str,
        decision: Decision,
        *,
        into: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str = "user",
        reason: str = "",
        idempotency_key: str | None = None,
        **changes: Any,
    ) -> Receipt:
        """Decide on a record that waits in `review`.

        `accept`: it holds, and what it contradicts ends. `correct`: the same, with the fields
        given changed. `reject`: it is retired. `merge`: the record `into` takes over its evidence.
        """
        scope = self._scope(user_id, agent_id)
        target = check_key("record_id", record_id)
        chosen: Decision = check_choice("decision", decision or "", Decision)
        other = None if into is None else check_key("into", into)
        receipt = await once(
            self._runtime,
            scope,
            check_id("idempotency_key", idempotency_key),
            {"verb": "decide", "id": target, "as": chosen, "into": other, "changes": changes},
            signed(actor, reason),
            lambda by: review.decide(
                self._runtime, scope, target, chosen, into=other, changes=changes, by=by
            ),
        )
        return await adding.settle(self._runtime, scope, receipt)

    async def undo(
        self,
        batch_or_change: str,
        *,
        cascade: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str = "user",
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Take back a batch or one change exactly; of an `add`, its messages are hidden.

        `Conflict` names later changes that build on it, unless `cascade` takes them back too.
        """
        scope = self._scope(user_id, agent_id)
        target = check_key("batch_or_change", batch_or_change)
        cascade = check_flag("cascade", cascade)
        receipt = await once(
            self._runtime,
            scope,
            check_id("idempotency_key", idempotency_key),
            {"verb": "undo", "id": target, "cascade": cascade},
            signed(actor, ""),
            lambda by: undoing.undo(self._runtime, scope, target, cascade=cascade, by=by),
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
        actor: str = "user",
        reason: str = "",
    ) -> ErasureReceipt:
        """Erase for good what one of `ids`, `filters`, `session_id` or `everything` names.

        Records that rest on an erased message go too, and what else they rested on is distilled
        again. It cannot be undone; `dry_run` says what would go.
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
                by=signed(actor, reason),
            ),
        )
