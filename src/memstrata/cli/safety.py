"""Commands for what is protected: `vault`, its secrets and its key; `audit`, who did what with it.

A secret is never an argument, where the shell keeps it and others on the machine see it: it is
asked for, hidden, or read from standard input.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from memstrata.cli import render
from memstrata.cli.browse import Cursor
from memstrata.cli.bulk import progress
from memstrata.cli.call import Call, Failed
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
from memstrata.cli.reading import assignments, read_text
from memstrata.cli.recall import Limit, Since, Until
from memstrata.cli.remember import Metadata, OnceKey, Tags, show_receipt
from memstrata.errors import NotFound, StoreUnavailable
from memstrata.text.standin import STANDIN

if TYPE_CHECKING:
    from memstrata.memory import AsyncMemory
    from memstrata.receipts import AuditEntry, Exposure, KeyRotation
from memstrata.records import Page, Record

__all__ = [
    "Who",
    "Why",
    "audit_export",
    "audit_list",
    "audit_secrets",
    "vault_list",
    "vault_put",
    "vault_release",
    "vault_reveal",
    "vault_rotate",
    "vault_rotate_key",
]

EntryId = Annotated[str, typer.Argument(help="The entry; `vault list` says it.", metavar="ID")]
Why = Annotated[str, typer.Option(help="Why, for the log.", show_default=False)]
Who = Annotated[str, typer.Option(help="Who, for the log.")]
Stdin = Annotated[
    bool,
    typer.Option("--stdin", help="Read the secret from standard input, less one line end."),
]

PAGE = 1000
"""How many rows of the log are read at a time."""

_AROUND = 60  # characters
_EVIDENCE = 3  # sources that are looked at for the line a secret stood in


# ── the vault ────────────────────────────────────────────────────────────────────────────────


def vault_put(
    call: Call,
    caption: Annotated[str, typer.Argument(help="What the secret is for.", show_default=False)],
    *,
    type_: Annotated[
        str, typer.Option("--type", help="A word of your own; contact and bookmark are readable.")
    ] = "password",
    source: Annotated[
        str | None, typer.Option(help="Where it is from, in words.", show_default=False)
    ] = None,
    sensitivity: Annotated[
        str, typer.Option(help="low, medium or high: where the caption shows.")
    ] = "medium",
    tag: Tags = None,
    metadata: Metadata = None,
    stdin: Stdin = False,
    reason: Why = "",
    actor: Who = "user",
    idempotency_key: OnceKey = None,
) -> None:
    """Seal a secret, which is asked for; it can be seen again only by a reveal."""
    given: dict[str, Any] = {
        "caption": caption,
        "entry_type": type_,
        "source": source,
        "sensitivity": sensitivity,
        "tags": tag or (),
        "metadata": assignments(metadata or (), "--metadata"),
        "reason": reason,
        "actor": actor,
        "idempotency_key": idempotency_key,
    }
    secret = _secret(call, "Secret", stdin=stdin)
    receipt = call.scoped(lambda memory: memory.vault.put(secret, **given))
    show_receipt(call, receipt)


def _secret(call: Call, prompt: str, *, stdin: bool) -> str:
    """A secret from standard input, or typed twice without being shown."""
    if stdin:
        if sys.stdin.isatty():
            raise _usage("--stdin reads from a pipe or a file: leave it out to be asked, hidden")
        return re.sub(r"\r?\n\Z", "", read_text("-"))
    if call.options.json:
        raise _usage("with --json nothing is asked: give the secret on standard input, --stdin")
    if not sys.stdin.isatty():
        raise _usage("nobody is there to be asked: give the secret on standard input, --stdin")
    return typer.prompt(prompt, hide_input=True, confirmation_prompt="The same again", err=True)


def _usage(line: str) -> Failed:
    return Failed(line, code=2, name="UsageError")


def vault_list(call: Call, *, limit: Limit = 100, cursor: Cursor = None) -> None:
    """List what is in the vault: captions, never a secret."""

    async def found(memory: AsyncMemory) -> tuple[Page[Record], list[str]]:
        page = await memory.vault.list(limit=limit, cursor=cursor)
        if call.options.json:
            return page, []
        return page, [await _line_of(memory, entry) for entry in page.items]

    page, lines = call.scoped(found, reads=True, embeds=False)
    call.show(page, lambda: _entries(page, lines))


async def _line_of(memory: AsyncMemory, entry: Record) -> str:
    """The line that an entry's secret was taken out of; empty where there is none."""
    for evidence in entry.evidence[:_EVIDENCE]:
        try:
            source = await memory.get(evidence.source_id)
        except NotFound:  # undone, or from outside
            continue
        text: str = getattr(source, "content", "") or getattr(source, "text", "")
        for line in text.split("\n"):
            if any(match["entry"] == entry.id for match in STANDIN.finditer(line)):
                return _around(line, entry.id)
    return ""


def _around(line: str, entry_id: str) -> str:
    """A line as a person reads it, cut to what stands near the secret."""
    here = "[…]"

    def shown(match: re.Match[str]) -> str:
        if match["entry"] == entry_id:
            return here
        return f"[{match['caption']}]" if match["entry"] else match[0]

    told = STANDIN.sub(shown, line)
    at = told.find(here)
    start, end = max(0, at - _AROUND), at + len(here) + _AROUND
    return f"{'…' if start else ''}{told[start:end].strip()}{'…' if end < len(told) else ''}"


def _entries(page: Page[Record], lines: Sequence[str]) -> str:
    if not page.items:
        return "the vault is empty"
    parts = [_entry(entry, line) for entry, line in zip(page.items, lines, strict=True)]
    return "\n\n".join([*parts, *render.more(page)])


def _entry(entry: Record, line: str) -> str:
    what = str(entry.fields.get("entry_type"))
    sealed = bool(entry.fields.get("sealed"))
    head = join([entry.title, what if what != entry.title else None])
    state = "sealed" if sealed else "readable"
    lines = [
        f"{bold(one_line(head))}  {entry.sensitivity}  {state}  {dim(entry.id)}",
        *([indented(f"taken out of: {one_line(line)}")] if line else []),
    ]
    told = "" if sealed else entry.text.removeprefix(entry.title).lstrip("\n")
    return "\n".join([*lines, *([indented(safe(shorten(told, _AROUND * 2)))] if told else [])])


def vault_reveal(
    call: Call,
    entry_id: EntryId,
    *,
    reason: Annotated[
        str, typer.Option(help="Why, for the audit log; needed.", show_default=False)
    ],
    actor: Who = "user",
) -> None:
    """Print a secret and nothing else; the audit log says who asked, and why."""
    secret = call.scoped(
        lambda memory: memory.vault.reveal(entry_id, reason=reason, actor=actor),
        reads=True,
        embeds=False,
    )
    if call.options.json:
        call.show({"id": entry_id, "secret": secret}, str)
        return
    # Exactly as it is for a program that reads it; a terminal must not obey what is in it.
    sys.stdout.write((safe(secret) if sys.stdout.isatty() else secret) + "\n")


def vault_release(call: Call, entry_id: EntryId, *, reason: Why = "", actor: Who = "user") -> None:
    """Say that it is no secret: it stands again where it was taken out."""
    receipt = call.scoped(
        lambda memory: memory.vault.release(entry_id, reason=reason, actor=actor), reads=True
    )
    # Its messages were there before: none was stored by this.
    changes = render.receipt(receipt.model_copy(update={"message_ids": []}))
    again = f"it stands again in {plural(len(receipt.message_ids), 'message')}"
    show_receipt(call, receipt, lambda: "\n".join([changes, again]))


def vault_rotate(
    call: Call,
    entry_id: EntryId,
    *,
    stdin: Stdin = False,
    reason: Why = "",
    actor: Who = "user",
    idempotency_key: OnceKey = None,
) -> None:
    """Seal another secret, which is asked for, in the place of the old one; that is destroyed."""
    secret = _secret(call, "New secret", stdin=stdin)
    receipt = call.scoped(
        lambda memory: memory.vault.rotate(
            entry_id, secret, reason=reason, actor=actor, idempotency_key=idempotency_key
        ),
        reads=True,
    )
    show_receipt(call, receipt)


def vault_rotate_key(call: Call, *, reason: Why = "", actor: Who = "user") -> None:
    """Make a new key and seal the whole store with it; exit code 1 if another call is needed."""
    done = call.store(
        lambda memory: memory.vault.rotate_key(reason=reason, actor=actor),
        reads=True,
        embeds=False,
    )
    call.show(done, lambda: _rotation(done))
    if done.remaining:
        raise typer.Exit(1)


def _rotation(done: KeyRotation) -> str:
    lines = [f"key {done.key_id} seals now; sealed anew: {plural(done.resealed, 'secret')}"]
    if done.remaining:
        left = plural(done.remaining, "secret needs", "secrets need")
        lines.append(f"{left} another key: put it back, and run this again")
    return "\n".join(lines)


# ── the audit log ────────────────────────────────────────────────────────────────────────────


def audit_list(
    call: Call,
    *,
    since: Since = None,
    until: Until = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> None:
    """List the log of the whole store, or with --user of one user, newest first."""

    async def found(memory: AsyncMemory) -> tuple[Page[AuditEntry], str]:
        asked: dict[str, Any] = {"since": since, "until": until, **call.owner}
        page = await memory.audit(limit=limit, cursor=cursor, **asked)
        user = call.options.user
        zone = (
            call.settings.tz if user is None else (await memory.set_user(user_id=user))["timezone"]
        )
        return page, zone or "UTC"

    page, zone = call.store(found, reads=True, embeds=False)
    call.show(page, lambda: _log(page, ZoneInfo(zone)))


def _log(page: Page[AuditEntry], zone: tzinfo) -> str:
    if not page.items:
        return "nothing is in the audit log"
    rows = [
        (
            stamp(entry.at, zone),
            entry.action,
            entry.actor,
            join([entry.user_id, entry.agent_id and f"agent {entry.agent_id}"], ", ") or None,
            entry.target_id,
            join([entry.reason, *(f"{name} {each}" for name, each in entry.detail.items())], ", "),
        )
        for entry in page.items
    ]
    head = ("at", "action", "by", "whose", "of what", "why")
    return "\n".join([columns(rows, head=head), *render.more(page)])


def audit_export(
    call: Call,
    path: Annotated[
        Path, typer.Argument(help="The file to write.", metavar="FILE", show_default=False)
    ],
) -> None:
    """Write the log of the whole store, or with --user of one user, as JSON lines, oldest first."""
    with progress("writing", None), tempfile.TemporaryFile() as spool:
        pages = call.store(
            lambda memory: _spooled(memory, call.owner, spool), reads=True, embeds=False
        )
        _write(path, spool, pages)
    count = sum(rows for _, _, rows in pages)
    call.show({"path": str(path), "rows": count}, lambda: f"wrote {plural(count, 'row')} to {path}")


async def _spooled(
    memory: AsyncMemory, owner: dict[str, str | None], spool: IO[bytes]
) -> list[tuple[int, int, int]]:
    """Put the pages of the log in a file as they come, newest first, each from its oldest row on;
    where each begins, its bytes and its rows.
    """
    pages: list[tuple[int, int, int]] = []
    at, cursor = 0, None
    while True:
        page = await memory.audit(limit=PAGE, cursor=cursor, **owner)
        rows = (entry.model_dump(mode="json") for entry in reversed(page.items))
        data = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()
        spool.write(data)
        pages.append((at, len(data), len(page.items)))
        at, cursor = at + len(data), page.next
        if cursor is None:
            return pages


def _write(path: Path, spool: IO[bytes], pages: Sequence[tuple[int, int, int]]) -> None:
    """Beside the target first, so that an export is whole or absent."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            for at, size, _ in reversed(pages):
                spool.seek(at)
                file.write(spool.read(size))
        part.replace(path)
    except OSError as error:
        raise StoreUnavailable(f"{path}: the log could not be written: {error}") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()  # there still, when it did not become the export


def audit_secrets(
    call: Call,
    *,
    seal: Annotated[
        bool, typer.Option("--seal", help="Move them to the vault, out of every version.")
    ] = False,
    reason: Why = "",
    actor: Who = "user",
) -> None:
    """Look for secrets in plain text in the whole store, or with --user in one user's memory.

    Exit code 1 if there are some and they were not sealed.
    """
    found = call.store(
        lambda memory: memory.audit_secrets(seal=seal, reason=reason, actor=actor, **call.owner),
        reads=True,
        embeds=seal,
    )
    call.show(found, lambda: _exposures(found, seal=seal))
    if found and not seal:
        raise typer.Exit(1)


def _exposures(found: Sequence[Exposure], *, seal: bool) -> str:
    if not found:
        return "no secret stands in plain text"
    rows = [
        (each.id, join([each.user_id, each.agent_id and f"agent {each.agent_id}"], ", "), captions)
        for each in found
        for captions in [", ".join(each.captions)]
    ]
    places = plural(len(found), "place")
    said = (
        f"sealed what stood in {places}"
        if seal
        else f"secrets stand in plain text in {places}; `memstrata audit secrets --seal` seals them"
    )
    return "\n".join([columns(rows, head=("in", "whose", "what")), said])
