"""Commands for the keys to the service: make, list, revoke."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import TYPE_CHECKING, Annotated

import typer

from memstrata.cli import render
from memstrata.cli.browse import Cursor
from memstrata.cli.call import Call, Failed
from memstrata.cli.output import bold, columns, join, safe, stamp
from memstrata.cli.recall import Limit
from memstrata.cli.safety import Who, Why

if TYPE_CHECKING:
    from memstrata.access import ApiKey, NewKey
    from memstrata.records import Page

__all__ = ["keys_create", "keys_list", "keys_revoke"]

Name = Annotated[
    str, typer.Argument(help="What it is called, in lists and in the log.", show_default=False)
]
KeyId = Annotated[str, typer.Argument(help="The key's id; `keys list` says it.", metavar="ID")]


def keys_create(
    call: Call,
    name: Name,
    *,
    for_user: Annotated[
        str | None, typer.Option(help="Only this user's memory.", show_default=False)
    ] = None,
    for_agent: Annotated[
        str | None,
        typer.Option(
            help="Only this agent's memory; with --for-user, what the agent has of the user.",
            show_default=False,
        ),
    ] = None,
    permission: Annotated[
        list[str] | None,
        typer.Option(
            help="read, write, vault:reveal or admin; repeat it for more. Default: read and write.",
            show_default=False,
        ),
    ] = None,
    expires_at: Annotated[
        str | None, typer.Option(help="From when on it opens nothing.", show_default=False)
    ] = None,
    reason: Why = "",
    actor: Who = "user",
) -> None:
    """Make a key, and print it: this once."""
    _bound_by_ours(call)
    made = call.store(
        lambda memory: memory.keys.create(
            name,
            user_id=for_user,
            agent_id=for_agent,
            permissions=permission or ("read", "write"),  # pyright: ignore[reportArgumentType]
            expires_at=expires_at,
            actor=actor,
            reason=reason,
        ),
        embeds=False,
    )
    call.show(made, lambda: _made(made))
    call.note("this key is shown once and kept nowhere: put it where its user keeps secrets")


def _made(key: NewKey) -> str:
    return f"{_table([key])}\n\n{bold(key.secret)}"


def keys_list(
    call: Call,
    *,
    revoked: Annotated[bool, typer.Option("--revoked", help="Revoked ones too.")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> None:
    """List the keys, oldest first; what makes them keys is not in the store."""
    _bound_by_ours(call)
    page = call.store(
        lambda memory: memory.keys.list(revoked=revoked, limit=limit, cursor=cursor),
        reads=True,
        embeds=False,
    )
    call.show(page, lambda: _page(page))


def keys_revoke(call: Call, key_id: KeyId, *, reason: Why = "", actor: Who = "user") -> None:
    """Let a key open nothing any more, from now on; this cannot be undone."""
    _bound_by_ours(call)
    key = call.store(
        lambda memory: memory.keys.revoke(key_id, reason=reason, actor=actor),
        reads=True,
        embeds=False,
    )
    call.show(key, lambda: _table([key]))


def _bound_by_ours(call: Call) -> None:
    """A key for everybody must not come of an option that was taken for another one."""
    if call.options.user is not None or call.options.agent is not None:
        raise Failed(
            "--user and --agent say whose memory a command is about, and keys are the tenant's: "
            "`keys create` binds one with --for-user and --for-agent",
            code=2,
            name="UsageError",
        )


def _page(page: Page[ApiKey]) -> str:
    if not page.items:
        return "there is no key"
    return "\n".join([_table(page.items), *render.more(page)])


def _table(keys: Sequence[ApiKey]) -> str:
    rows = [
        (
            key.id,
            safe(key.name),
            join([key.user_id, key.agent_id and f"agent {key.agent_id}"], ", ") or "everybody",
            ", ".join(key.permissions),
            stamp(key.created_at, UTC),
            _state(key),
        )
        for key in keys
    ]
    return columns(rows, head=("id", "name", "whose memory", "may", "made", "state"))


def _state(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {stamp(key.revoked_at, UTC)}"
    return f"until {stamp(key.expires_at, UTC)}" if key.expires_at else "in force"
