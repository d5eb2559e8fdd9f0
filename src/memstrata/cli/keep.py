"""Commands that keep a store: backup and restore."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memstrata.cli.bulk import progress
from memstrata.cli.call import Call
from memstrata.cli.output import plural, safe

if TYPE_CHECKING:
    from memstrata.receipts import Backup, Restored

__all__ = ["backup", "restore"]


def backup(
    call: Call,
    path: Annotated[Path, typer.Argument(help="The file to write.", show_default=False)],
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace a backup that is there.")] = False,
) -> None:
    """Copy the whole store to a file, checked, while other programs go on using it."""
    with progress("copying", None):
        made = call.store(lambda memory: memory.backup(path, force=force), reads=True, embeds=False)
    call.show(made, lambda: safe(f"wrote {_contents(made)} to {path}"))
    _say_key(call, made.vault_key)


def restore(
    call: Call,
    backup: Annotated[Path, typer.Argument(help="A file that `backup` wrote.", show_default=False)],
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Move a store aside that is there.")
    ] = False,
) -> None:
    """Put a backup in the place of the store, once it was checked; nobody may have that open."""
    config = importlib.import_module("memstrata.config")
    with progress("restoring", None):
        made: Restored = config.restore(backup, call.settings.url, force=force)
    call.show(made, lambda: safe(f"{made.path} has {_contents(made)}"))
    if made.replaced is not None:
        call.note(f"the store that was there is {made.replaced}: delete it when all is well")
    _say_key(call, made.vault_key)


def _contents(made: Backup | Restored) -> str:
    return f"{plural(made.messages, 'message')} and {plural(made.records, 'record')}"


def _say_key(call: Call, key: str | None) -> None:
    if key is not None:
        call.note(f"its secrets need the vault's key {key}, which is not in the backup")
