"""`audit_secrets`: secrets in what an older memstrata, or another program, has stored."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import anyio.to_thread

from memstrata.arguments import Signature
from memstrata.errors import Conflict, VaultUnavailable
from memstrata.ingest.narrate import narrator
from memstrata.ingest.work import drain
from memstrata.passages import limits_of
from memstrata.receipts import Exposure
from memstrata.records import Evidence, Scope, Trust
from memstrata.runtime import Runtime, new_id, scope_of
from memstrata.safety.redact import marks_key, redacted, sealings
from memstrata.safety.rewriting import Redaction, indexed_in, rewritten
from memstrata.store.audit import Entry
from memstrata.store.ports import LinkEvidence, NewBatch, Write
from memstrata.store.rewrite import Page
from memstrata.text.clean import clean_json, clean_text
from memstrata.vault_keys import mark_of

__all__ = ["audit_secrets"]

_TRIES = 5


class _Finder:
    """Leaves texts as they are, and notes what is in them: where, what, and the mark of it."""

    def __init__(self, scope: Scope, key: bytes | None) -> None:
        self.source: str | None = None
        self.found: list[tuple[str, str, bytes]] = []
        self._scope = scope
        self._key = key

    def __call__(self, secret: str, caption: str) -> str:
        mark = b"" if self._key is None else mark_of(secret, self._scope, self._key)
        self.found.append((self.source or "", caption, mark))
        return secret

    def text(self, text: str) -> str:
        return text if clean_text(text, self).text else ""

    def json(self, value: Any) -> Any:
        clean_json(value, self)
        return value


async def audit_secrets(
    runtime: Runtime, tenant: str, scope: Scope | None, *, seal: bool, by: Signature
) -> list[Exposure]:
    """Find secrets in all stored text of a scope, or of the tenant; `seal` moves them to the
    vault. Where it cannot seal, `VaultUnavailable`, and the page it came to is as it was.
    """
    found: list[Exposure] = []
    for each in [scope] if scope else await _every_scope(runtime, tenant):
        after: int | None = 0
        while after is not None:
            page, shown = await _page(runtime, each, after, by if seal else None)
            after = page.after
            found += shown
        if seal and found:
            await drain(runtime, each)
    if seal and found:
        await runtime.store.clean()
    return found


async def _page(
    runtime: Runtime, scope: Scope, after: int, sealing: Signature | None
) -> tuple[Page, list[Exposure]]:
    """What a page shows, sealed if that is asked for; read again if it changed meanwhile."""
    attempt = 0
    while True:
        page = await runtime.store.text_page(scope, after)
        shown = await _look(runtime, scope, page)
        try:
            if shown and sealing is not None:
                await _seal(runtime, scope, page, sealing)
        except Conflict:
            attempt += 1
            if attempt == _TRIES:
                raise
        else:
            return page, shown


async def _every_scope(runtime: Runtime, tenant: str) -> list[Scope]:
    rows = await runtime.store.scopes(tenant)
    return [scope_of(tenant, row["user_id"], row["agent_id"]) for row in rows]


async def _look(runtime: Runtime, scope: Scope, page: Page) -> list[Exposure]:
    """What a page shows in plain text, but for what was released: that is no secret."""
    try:
        key = await marks_key(runtime)
    except VaultUnavailable:
        key = None
    finder = _Finder(scope, key)
    await anyio.to_thread.run_sync(rewritten, page, finder, UTC)
    known = await runtime.store.known_secrets(scope, {mark for _, _, mark in finder.found})
    exposed: dict[str, list[str]] = {}
    for source, caption, mark in finder.found:
        if mark not in known or known[mark].state != "released":
            exposed.setdefault(source, []).append(caption)
    return [
        Exposure(
            id=source,
            user_id=scope.user_id,
            agent_id=scope.agent_id,
            captions=list(dict.fromkeys(captions)),
        )
        for source, captions in exposed.items()
    ]


async def _seal(runtime: Runtime, scope: Scope, page: Page, by: Signature) -> None:
    zone = await runtime.zone_of(scope)
    changes, redactor = await redacted(
        runtime, scope, lambda stand_in: rewritten(page, Redaction(stand_in), zone)
    )
    if redactor.reason:
        raise VaultUnavailable(redactor.reason)
    batch = NewBatch(new_id("batch"), "seal", by.actor, runtime.now(), "pending", {"infer": False})
    trust: dict[str, Trust] = {was.message.id: was.message.trust for was in page.messages}
    trust |= {record.id: record.trust for record in page.records}
    writes: list[Write] = []
    made = sealings(runtime, redactor, batch.id, trust)
    for sealing in made:
        writes += [sealing.secret, sealing.write]
    for record_id, source in dict.fromkeys(redactor.again):
        link = Evidence(source_id=source)
        writes.append(LinkEvidence(record_id, (link,), "it is named again"))
    entry = Entry(batch.at, by.actor, "seal", reason=by.reason, detail={"secrets": len(made)})
    index = indexed_in(limits_of(runtime.embedder))
    await runtime.store.rewrite(scope, batch, changes, writes, index, narrator(zone), entry)
