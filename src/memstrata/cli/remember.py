"""Commands that write: from `add` and `create` to `undo`, `forget` and `set-user`."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memstrata.cli import render
from memstrata.cli.bulk import Stored, store_lines
from memstrata.cli.call import Call, Failed
from memstrata.cli.output import say
from memstrata.cli.reading import (
    Group,
    assignments,
    filters,
    groups,
    json_document,
    read,
)
from memstrata.errors import InvalidInput, MemstrataError

if TYPE_CHECKING:
    from memstrata.memory import AsyncMemory
    from memstrata.receipts import ErasureReceipt
from memstrata.records import Receipt

__all__ = [
    "Metadata",
    "OnceKey",
    "Tags",
    "add",
    "create",
    "decide",
    "forget",
    "retire",
    "set_user",
    "show_receipt",
    "undo",
    "update",
]

Reason = Annotated[str, typer.Option(help="Why, for the change log.", show_default=False)]
Actor = Annotated[str, typer.Option(help="Who, for the change log.")]
OnceKey = Annotated[str | None, typer.Option(help="The same key is done once.", show_default=False)]
_OURS = ("actor", "reason", "idempotency_key")
"""Arguments of verbs that no field of a record is called by."""
MessageFile = Annotated[
    str | None,
    typer.Option(
        help="Many messages: JSON lines, a JSON document, or a text on each line; `-` is standard "
        "input.",
        show_default=False,
    ),
]
Tags = Annotated[list[str] | None, typer.Option(help="A tag; repeatable.", show_default=False)]
Metadata = Annotated[
    list[str] | None,
    typer.Option(help="key=text or key:=JSON; repeatable.", show_default=False),
]
Trusted = Annotated[
    str | None,
    typer.Option(help="user, agent, tool, web or import.", show_default="by role"),
]
Distilled = Annotated[
    list[str] | None,
    typer.Option(help="Distil only this kind; repeatable.", show_default=False),
]


def add(
    call: Call,
    text: Annotated[
        str | None, typer.Argument(help="One message; `-` is `--file -`.", show_default=False)
    ] = None,
    *,
    file: MessageFile = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Each line of the file is a text, never JSON.")
    ] = False,
    session: Annotated[
        str | None, typer.Option(help="The conversation it belongs to.", show_default=False)
    ] = None,
    occurred_at: Annotated[
        str | None,
        typer.Option(help="When it was said, ISO 8601. Default: now.", show_default=False),
    ] = None,
    role: Annotated[
        str | None, typer.Option(help="user, assistant, system, tool, …", show_default="user")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Who said it.", show_default=False)] = None,
    tag: Tags = None,
    metadata: Metadata = None,
    trust: Trusted = None,
    kind: Distilled = None,
    infer: Annotated[bool, typer.Option(help="Distil episodes, records and entities.")] = True,
    wait: Annotated[bool, typer.Option(help="Wait for vectors, not only for the disk.")] = True,
    idempotency_key: OnceKey = None,
) -> None:
    """Store messages for good: one text, or a file of them."""
    said = {"role": role, "name": name}
    said = {key: value for key, value in said.items() if value is not None}
    given: dict[str, Any] = {
        "session_id": session,
        "occurred_at": occurred_at,
        "metadata": assignments(metadata or (), "--metadata"),
        "tags": tag or (),
        "trust": trust,
        "kinds": kind,
        "infer": infer,
        "wait": wait,
        "idempotency_key": idempotency_key,
    }
    if text == "-" and file is None:
        text, file = None, "-"
    if (text is None) == (file is None):
        raise Failed("give either one message or --file", code=2, name="UsageError")
    if file is not None:
        _add_file(call, file, plain=plain, said=said, given=given)
        return
    message = {**said, "content": text} if said else str(text)
    receipt = call.scoped(lambda memory: memory.add(message, **given))
    show_receipt(call, receipt)


def show_receipt(call: Call, receipt: Receipt, text: Callable[[], str] | None = None) -> None:
    """Print what a writing verb did, and what it left undone; exit code 1 if it failed."""
    call.show(receipt, text or (lambda: render.receipt(receipt)))
    for item in receipt.skipped:
        if item.index is None:
            call.note(item.reason)
    _check_state(call, receipt.state, receipt.reason, receipt.batch_id)


def _add_file(
    call: Call, file: str, *, plain: bool, said: Mapping[str, str], given: dict[str, Any]
) -> None:
    lines = read(file, plain=plain)
    good = [line.spoken(said) for line in lines if line.problem is None]
    work = list(groups(good, session=given.pop("session_id")))
    key = given.pop("idempotency_key")

    async def one(memory: AsyncMemory, number: int, group: Group) -> Receipt:
        own = key if key and len(work) == 1 else _key(key, number, group, given["occurred_at"])
        messages = [line.message for line in group.lines]
        return await memory.add(messages, session_id=group.session, idempotency_key=own, **given)

    stored = store_lines(call, work, one, Stored.of(lines))
    call.show(stored.to_dict(), stored.to_text)
    for note in stored.notes:
        call.note(note)
    _check_state(call, stored.state, stored.reason, stored.batch_ids[-1:] or [""])


def _key(key: str | None, number: int, group: Group, occurred_at: str | None) -> str:
    """What makes a group the same when an interrupted command is run again."""
    content = [group.session, occurred_at, [line.message for line in group.lines]]
    text = json.dumps(content, sort_keys=True, default=str)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{key}#{number}" if key else f"cli-{digest}"


def _check_state(call: Call, state: str, reason: str | None, batch_id: str | Sequence[str]) -> None:
    """What is stored and not worked off is said, with the command that goes on."""
    last = batch_id if isinstance(batch_id, str) else batch_id[0]
    if state == "failed":
        raise Failed(
            f"stored, and not all that follows was done: {reason}; go on with `memstrata retry "
            f"{last}`",
            name="ModelFailed",
        )
    if state != "done":
        call.note(f"found by keyword so far; `memstrata wait-for {last}` adds vectors")


def create(
    call: Call,
    record: Annotated[
        str | None,
        typer.Argument(help="A kind, such as semantic; or a record as JSON.", show_default=False),
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Argument(help="With a kind: its fields, field=text or field:=JSON."),
    ] = None,
    *,
    file: Annotated[
        str | None,
        typer.Option(help="Records as JSON or JSON lines; `-` is standard input."),
    ] = None,
    reason: Reason = "",
    actor: Actor = "user",
    idempotency_key: OnceKey = None,
) -> None:
    """Store a typed record by hand; `memstrata kinds` lists the kinds and their fields."""
    if (record is None) == (file is None):
        raise Failed("give either a record or --file", code=2, name="UsageError")
    if file is not None:
        _create_file(call, file, reason=reason, actor=actor, key=idempotency_key)
        return
    made = _record(str(record), fields or ())
    if importlib.import_module("memstrata.kinds").parse(made).take_secret()[1] is not None:
        raise Failed(
            "a secret on a command line stays in the shell's history, and others can see it: use "
            "`memstrata vault put`, or --file",
            code=2,
            name="UsageError",
        )
    receipt = call.scoped(
        lambda memory: memory.create(
            made, reason=reason, actor=actor, idempotency_key=idempotency_key
        )
    )
    show_receipt(call, receipt)


def _record(first: str, rest: Sequence[str]) -> Mapping[str, Any]:
    if not first.lstrip().startswith("{"):
        return {**assignments(rest, "field"), "kind": first}
    if rest:
        raise InvalidInput("a record given as JSON takes no fields beside it")
    return json_document(first, "the record")


def _create_file(call: Call, file: str, *, reason: str, actor: str, key: str | None) -> None:
    lines = read(file)

    async def each(memory: AsyncMemory) -> tuple[list[Receipt], list[dict[str, Any]]]:
        receipts: list[Receipt] = []
        refused: list[dict[str, Any]] = []
        for line in lines:
            try:
                if line.problem:
                    raise InvalidInput(line.problem)
                own = None if key is None else f"{key}#{line.number}"
                receipts.append(
                    await memory.create(
                        line.message, reason=reason, actor=actor, idempotency_key=own
                    )
                )
            except MemstrataError as error:
                problem = {"line": line.number, "type": type(error).__name__}
                refused.append({**problem, "message": str(error)})
        return receipts, refused

    receipts, refused = call.scoped(each)
    call.show(
        {"receipts": receipts, "refused": refused},
        lambda: "\n".join(render.receipt(receipt) for receipt in receipts),
    )
    for item in refused:
        say(f"line {item['line']}: {item['message']}")
    if refused:
        raise typer.Exit(1)


def update(
    call: Call,
    record_id: Annotated[str, typer.Argument(help="The record.", show_default=False)],
    fields: Annotated[
        list[str],
        typer.Argument(
            help="field=text or field:=JSON; field:=null takes one away.", show_default=False
        ),
    ],
    *,
    if_version: Annotated[
        int | None,
        typer.Option(help="Only if the record is still this version.", show_default=False),
    ] = None,
    reason: Reason = "",
    actor: Actor = "user",
    idempotency_key: OnceKey = None,
) -> None:
    """Change fields of a record, by its kind's rule; with valid_from, a fact gets a successor."""
    changed = _changed(fields, {"record_id", "if_version", *_OURS})
    receipt = call.scoped(
        lambda memory: memory.update(
            record_id,
            if_version=if_version,
            reason=reason,
            actor=actor,
            idempotency_key=idempotency_key,
            **changed,
        ),
        reads=True,
    )
    show_receipt(call, receipt)


def retire(
    call: Call,
    record_id: Annotated[str, typer.Argument(help="The record.", show_default=False)],
    *,
    reason: Reason = "",
    actor: Actor = "user",
    idempotency_key: OnceKey = None,
) -> None:
    """Stop believing a record; it stays in its history."""
    receipt = call.scoped(
        lambda memory: memory.retire(
            record_id, reason=reason, actor=actor, idempotency_key=idempotency_key
        ),
        reads=True,
    )
    show_receipt(call, receipt)


def _changed(fields: Sequence[str], taken: Set[str]) -> Mapping[str, Any]:
    """Fields to change; `taken` are the verb's own arguments, which no field is called by."""
    changed = assignments(fields, "field")
    clash = sorted(changed.keys() & taken)
    if clash:
        raise InvalidInput(f"a record has no field {', '.join(clash)}")
    return changed


def decide(
    call: Call,
    record_id: Annotated[str, typer.Argument(help="A record in review.", show_default=False)],
    decision: Annotated[
        str, typer.Argument(help="accept, correct, reject or merge.", show_default=False)
    ],
    fields: Annotated[
        list[str] | None,
        typer.Argument(help="With correct: field=text or field:=JSON.", show_default=False),
    ] = None,
    *,
    into: Annotated[
        str | None,
        typer.Option(help="With merge: the record that takes it in.", show_default=False),
    ] = None,
    reason: Reason = "",
    actor: Actor = "user",
    idempotency_key: OnceKey = None,
) -> None:
    """Decide on a record that waits in `review`; accepted, it ends what it contradicts."""
    taken = {"record_id", "decision", "into", *_OURS}
    changed = _changed(fields or (), taken)
    receipt = call.scoped(
        lambda memory: memory.decide(
            record_id,
            decision,  # pyright: ignore[reportArgumentType]  # the verb checks it
            into=into,
            reason=reason,
            actor=actor,
            idempotency_key=idempotency_key,
            **changed,
        ),
        reads=True,
    )
    show_receipt(call, receipt)


def undo(
    call: Call,
    batch_or_change: Annotated[
        str, typer.Argument(help="A batch, or one change.", show_default=False)
    ],
    *,
    cascade: Annotated[
        bool, typer.Option("--cascade", help="Take back what builds on it too.")
    ] = False,
    actor: Actor = "user",
    idempotency_key: OnceKey = None,
) -> None:
    """Take a batch or a change back; messages of an `add` are hidden, not erased."""
    receipt = call.scoped(
        lambda memory: memory.undo(
            batch_or_change, cascade=cascade, actor=actor, idempotency_key=idempotency_key
        ),
        reads=True,
    )
    show_receipt(call, receipt)


def forget(
    call: Call,
    ids: Annotated[
        list[str] | None, typer.Argument(help="Messages and records.", show_default=False)
    ] = None,
    *,
    filters_: Annotated[
        str | None,
        typer.Option("--filters", help="All that passes this filter (JSON).", show_default=False),
    ] = None,
    session: Annotated[
        str | None, typer.Option(help="A whole conversation.", show_default=False)
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="All that the user or agent has.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be erased.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    reason: Annotated[str, typer.Option(help="Why, for the audit log.", show_default=False)] = "",
    actor: Annotated[str, typer.Option(help="Who, for the audit log.")] = "user",
) -> None:
    """Erase for good; it cannot be undone. Asks first, unless --yes."""
    named: dict[str, Any] = {
        "ids": ids or None,
        "filters": filters(filters_),
        "session_id": session,
        "everything": everything,
    }

    def erased(dry_run: bool) -> ErasureReceipt:
        return call.scoped(
            lambda memory: memory.forget(**named, dry_run=dry_run, reason=reason, actor=actor),
            reads=True,
            embeds=not dry_run,
        )

    if not dry_run and not yes:
        if call.options.json:
            raise Failed("with --json, forget needs --yes or --dry-run", code=2, name="UsageError")
        typer.confirm(f"Erase {render.amounts(erased(True))} for good?", abort=True, err=True)
    done = erased(dry_run)
    call.show(done, lambda: render.erasure(done))


def set_user(
    call: Call,
    *,
    timezone: Annotated[
        str | None, typer.Option(help="IANA name, such as Europe/Lisbon.", show_default=False)
    ] = None,
    locale: Annotated[str | None, typer.Option(help="Such as pt-PT.", show_default=False)] = None,
) -> None:
    """Set the time zone and locale of a user; times are read and shown in it."""
    if timezone is None and locale is None:
        raise Failed("give --timezone, --locale or both", code=2, name="UsageError")
    done = call.scoped(
        lambda memory: memory.set_user(timezone=timezone, locale=locale), embeds=False
    )
    call.show(done, lambda: f"set for {call.settings.user}")
