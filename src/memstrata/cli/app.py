"""The table of commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from memstrata._version import __version__
from memstrata.cli import (
    answer,
    browse,
    keep,
    keys,
    mcp,
    measure,
    operate,
    recall,
    remember,
    safety,
    serve,
)
from memstrata.cli.call import Options, before, shared
from memstrata.cli.output import as_json, write

__all__ = ["app"]

_REMEMBER = "Remember and change"
_RECALL = "Recall and browse"
_SAFE = "Keep it safe"
_RUN = "Run it"

_COMMANDS: tuple[tuple[str, str, Callable[..., None]], ...] = (
    ("add", _REMEMBER, remember.add),
    ("create", _REMEMBER, remember.create),
    ("update", _REMEMBER, remember.update),
    ("retire", _REMEMBER, remember.retire),
    ("decide", _REMEMBER, remember.decide),
    ("undo", _REMEMBER, remember.undo),
    ("forget", _REMEMBER, remember.forget),
    ("ask", _RECALL, answer.ask),
    ("chat", _RECALL, answer.chat),
    ("search", _RECALL, recall.search),
    ("context", _RECALL, recall.context),
    ("timeline", _RECALL, recall.timeline),
    ("count", _RECALL, recall.count),
    ("get", _RECALL, browse.get),
    ("list", _RECALL, browse.list_),
    ("messages", _RECALL, browse.messages),
    ("episodes", _RECALL, browse.episodes),
    ("themes", _RECALL, browse.themes),
    ("entities", _RECALL, browse.entities),
    ("review", _RECALL, browse.review),
    ("changes", _RECALL, browse.changes),
    ("history", _RECALL, browse.history),
    ("batches", _RUN, operate.batches),
    ("wait-for", _RUN, operate.wait_for),
    ("retry", _RUN, operate.retry),
    ("consolidate", _RUN, operate.consolidate),
    ("scopes", _RUN, operate.scopes),
    ("stats", _RUN, operate.stats),
    ("doctor", _RUN, operate.doctor),
    ("serve", _RUN, serve.serve),
    ("mcp", _RUN, mcp.mcp),
    ("verify", _RUN, operate.verify),
    ("backup", _RUN, keep.backup),
    ("restore", _RUN, keep.restore),
    ("dump", _RUN, operate.dump),
    ("load", _RUN, operate.load),
    ("set-user", _RUN, remember.set_user),
    ("configure", _RUN, operate.configure),
    ("kinds", _RUN, operate.kinds),
)

app = typer.Typer(
    name="memstrata",
    help="Long-term memory for LLM agents.",
    epilog="A command's own options: memstrata COMMAND --help",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
vault = typer.Typer(
    help="Keep secrets sealed, and reveal them on the record.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
audit = typer.Typer(
    help="See who did what with what is protected; find secrets in plain text.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
keyring = typer.Typer(
    help="Say who may use the service, and for what.", no_args_is_help=True, rich_markup_mode="rich"
)
bench = typer.Typer(
    help="Measure recall, answers, redaction, speed.", no_args_is_help=True, rich_markup_mode="rich"
)

for _name, _panel, _function in _COMMANDS:
    app.command(_name, rich_help_panel=_panel)(shared(_function))
vault.command("put")(shared(safety.vault_put))
vault.command("list")(shared(safety.vault_list))
vault.command("reveal")(shared(safety.vault_reveal))
vault.command("release")(shared(safety.vault_release))
vault.command("rotate")(shared(safety.vault_rotate))
vault.command("rotate-key")(shared(safety.vault_rotate_key))
audit.command("list")(shared(safety.audit_list))
audit.command("export")(shared(safety.audit_export))
audit.command("secrets")(shared(safety.audit_secrets))
keyring.command("create")(shared(keys.keys_create))
keyring.command("list")(shared(keys.keys_list))
keyring.command("revoke")(shared(keys.keys_revoke))
app.add_typer(vault, name="vault", rich_help_panel=_SAFE)
app.add_typer(audit, name="audit", rich_help_panel=_SAFE)
app.add_typer(keyring, name="keys", rich_help_panel=_SAFE)
bench.command("locomo")(shared(operate.bench_locomo))
bench.command("longmemeval")(shared(operate.bench_longmemeval))
bench.command("madial")(shared(operate.bench_madial))
bench.command("precisionmembench")(shared(operate.bench_precisionmembench))
bench.command("ablation")(shared(operate.bench_ablation))
bench.command("redaction")(shared(operate.bench_redaction))
bench.command("themes")(shared(operate.bench_themes))
bench.command("tokens")(shared(operate.bench_tokens))
bench.command("qa")(shared(measure.bench_qa))
bench.command("extract")(shared(measure.bench_extract))
bench.command("service")(shared(measure.bench_service))
bench.command("speed")(shared(operate.bench_speed))
app.add_typer(bench, name="bench", rich_help_panel=_RUN)


def _first(ctx: typer.Context, options: Options, *, version: bool) -> None:
    if version:
        value = {"memstrata": __version__}
        write(as_json(value) if options.json else f"memstrata {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        write(ctx.get_help())
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", help="Print the version.")]
app.callback(invoke_without_command=True)(before(_first, version=Version))
