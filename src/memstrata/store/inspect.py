"""Who is in the store, how much it holds, and whether it is sound."""

from __future__ import annotations

from typing import Any

from memstrata.records import Scope, instant
from memstrata.store.ports import Tx, View
from memstrata.store.read import TenantSettings
from memstrata.store.rows import dumps, scope_params
from memstrata.store.spending import totals
from memstrata.store.verify import broken
from memstrata.store.views import numbered

__all__ = ["open_batches", "scopes", "set_tenant", "set_user", "stats", "verify"]

_COUNTED = (
    "messages",
    "hidden_messages",
    "record_versions",
    "items",
    "items_without_vector",
    "pending_batches",
    "failed_batches",
)


def set_user(tx: Tx, scope: Scope, timezone: str | None, locale: str | None) -> None:
    """Set a user's time zone and locale; None keeps what is there."""
    tx.run("user_set", {**scope_params(scope), "timezone": timezone, "locale": locale})


def set_tenant(tx: Tx, tenant: str, settings: TenantSettings) -> None:
    """Set what holds for all of a tenant's memory."""
    managers = dumps(list(settings.managers)) if settings.managers is not None else None
    told = {"strategy": settings.strategy, "instructions": settings.instructions}
    tx.run("tenant_set", {"tenant": tenant, "managers": managers, **told})


def scopes(tx: Tx, tenant: str) -> list[dict[str, Any]]:
    """Every scope of a tenant, with how much it holds."""
    return [
        {
            "user_id": user_id or None,
            "agent_id": agent_id or None,
            "created_at": instant(created_at),
            "messages": messages,
            "records": records,
        }
        for _, user_id, agent_id, created_at, messages, records in tx.rows(
            "scope_list", {"tenant": tenant, "after": 0}
        )
    ]


def _every_scope(tx: Tx, tenant: str) -> View:
    found = (
        Scope(tenant=tenant, user_id=row["user_id"], agent_id=row["agent_id"])
        for row in scopes(tx, tenant)
    )
    return View(tuple(found))


def stats(tx: Tx, view: View) -> dict[str, Any]:
    """Counts over the view's scopes."""
    counted: dict[str, Any] = dict.fromkeys(_COUNTED, 0)
    kinds: dict[str, dict[str, int]] = {}
    for _, number in numbered(tx, view):
        row = tx.one("stats", {"scope": number}) or ()
        for name, count in zip(_COUNTED, row, strict=True):
            counted[name] += count
        for kind, lifecycle, count in tx.rows("stats_kinds", {"scope": number}):
            by_lifecycle = kinds.setdefault(kind, {})
            by_lifecycle[lifecycle] = by_lifecycle.get(lifecycle, 0) + count
    store = tx.one("store_row")
    counted["records"] = kinds
    counted["themes"] = _themes(tx, view)
    counted["models"] = totals(tx, view)
    counted["embedder"] = store[2] if store else None
    return counted


def _themes(tx: Tx, view: View) -> dict[str, Any]:
    """The health of themes: how many, of what sizes, and how settled."""
    sizes: list[int] = []
    parents = records = moved = 0
    for _, number in numbered(tx, view):
        for level, size, count in tx.rows("stats_themes", {"scope": number}):
            parents += count if level else 0
            sizes += [] if level else [int(size)] * count
        placed, changed = tx.one("stats_moves", {"scope": number}) or (0, 0)
        records, moved = records + placed, moved + changed
    return {
        "count": len(sizes),
        "parents": parents,
        "records": records,
        "single": sizes.count(1),
        "largest": max(sizes, default=0),
        "mean_size": round(sum(sizes) / len(sizes), 2) if sizes else 0.0,
        "moved_share": round(moved / records, 3) if records else 0.0,
    }


def open_batches(tx: Tx, tenant: str | None) -> tuple[int, int]:
    """How many batches of a tenant, or of all of them, wait, and how many have failed."""
    if tenant is None:
        waiting, failed = tx.one("batch_counts") or (0, 0)
        return waiting, failed
    counted = stats(tx, _every_scope(tx, tenant))
    return counted["pending_batches"], counted["failed_batches"]


def verify(tx: Tx, view: View | None, tenant: str) -> list[str]:
    """The broken invariants of the view (of the whole tenant without one), in words."""
    problems: list[str] = []
    for scope, number in numbered(tx, view or _every_scope(tx, tenant)):
        owner = scope.user_id or scope.agent_id
        problems += [f"{owner}: {problem}" for problem in broken(tx, scope, number)]
    return problems
