"""Commands that run a store: batches, counts, checks, dumps, and the benchmarks."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from memstrata.cli import render
from memstrata.cli.bulk import progress
from memstrata.cli.call import Call, Failed, is_missing
from memstrata.cli.output import bold, columns, indented, join, plural, safe
from memstrata.cli.reading import read_text
from memstrata.errors import MemstrataError

__all__ = [
    "Data",
    "Out",
    "batches",
    "bench_ablation",
    "bench_locomo",
    "bench_longmemeval",
    "bench_madial",
    "bench_precisionmembench",
    "bench_redaction",
    "bench_speed",
    "bench_themes",
    "bench_tokens",
    "beside",
    "configure",
    "consolidate",
    "doctor",
    "dump",
    "figures",
    "kinds",
    "load",
    "retry",
    "scopes",
    "stats",
    "verify",
    "wait_for",
]

BatchId = Annotated[str, typer.Argument(help="The batch.", show_default=False)]
Out = Annotated[
    Path | None, typer.Option(help="Write the figures to this file as JSON.", show_default=False)
]

Data = Annotated[
    Path,
    typer.Option(
        help="The data set: a file of it, or a folder that has it.",
        envvar="MEMSTRATA_DATA",
        show_default=False,
    ),
]
Depth = Annotated[int, typer.Option(help="How many messages each search returns.")]
Infer = Annotated[bool, typer.Option(help="Make records and episodes of the messages too.")]


def batches(
    call: Call,
    *,
    state: Annotated[
        str | None,
        typer.Option(help="pending, running, done, failed or undone.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option(help="At most so many.")] = 100,
    cursor: Annotated[
        str | None, typer.Option(help="Go on where the last page ended.", show_default=False)
    ] = None,
) -> None:
    """List the calls that wrote, newest first, and how far each has got."""
    page, zone = call.zoned(lambda memory: memory.batches(state=state, limit=limit, cursor=cursor))
    call.show(page, lambda: render.batches(page, zone))


def wait_for(
    call: Call,
    batch_id: BatchId,
    *,
    timeout: Annotated[
        float | None, typer.Option(help="At most so many seconds.", show_default=False)
    ] = None,
) -> None:
    """Work a batch off and wait until it has ended; exit code 1 if it is not done then."""
    batch, zone = call.zoned(lambda memory: memory.wait_for(batch_id, timeout=timeout), embeds=True)
    call.show(batch, lambda: render.one_batch(batch, zone))
    if batch.state not in ("done", "undone"):
        raise typer.Exit(1)


def retry(call: Call, batch_id: BatchId) -> None:
    """Do again what a failed batch left undone; nothing is stored twice."""
    batch, zone = call.zoned(lambda memory: memory.retry(batch_id), embeds=True)
    call.show(batch, lambda: render.one_batch(batch, zone))
    if batch.state != "done":
        raise typer.Exit(1)


def consolidate(
    call: Call,
    *,
    rebuild_themes: Annotated[
        bool, typer.Option("--rebuild-themes", help="Let every record find its theme anew.")
    ] = False,
) -> None:
    """Tidy a memory: duplicates, plans whose time is over, digests, the profile, themes, pages."""
    done = call.scoped(lambda memory: memory.consolidate(rebuild_themes=rebuild_themes), reads=True)
    call.show(done, lambda: render.consolidation(done))
    for note in done.notes:
        call.note(note)
    if done.state != "done":
        raise Failed(
            f"not done: {done.reason}; go on with `memstrata retry {done.batch_id}`",
            name="ModelFailed",
        )


def scopes(call: Call) -> None:
    """List the users and agents in the store."""
    rows = call.store(lambda memory: memory.scopes(), reads=True, embeds=False)
    head = ("user", "agent", "messages", "records")
    table = [(row["user_id"], row["agent_id"], row["messages"], row["records"]) for row in rows]
    call.show(rows, lambda: columns(table, head=head) if table else "nobody is in the store yet")


def stats(call: Call) -> None:
    """Count what a user or agent has."""
    counted = call.scoped(lambda memory: memory.stats(), reads=True, embeds=False)
    call.show(counted, lambda: _stats(counted))


def _stats(counted: dict[str, Any]) -> str:
    rows: list[tuple[str, Any]] = []
    for name, value in counted.items():
        if name == "records":
            rows += [
                (join([kind, "" if lifecycle == "current" else lifecycle], " "), count)
                for kind, by_lifecycle in value.items()
                for lifecycle, count in by_lifecycle.items()
            ]
        elif name == "models":
            rows += [
                (f"{purpose}: {use['model']}", render.spent(use, use["calls"]))
                for purpose, uses in value.items()
                for use in uses
            ]
        else:
            rows += _flat(name, value)
    width = max(len(name) for name, _ in rows)
    return "\n".join(
        f"{name:{width}}  {value:,}" if isinstance(value, int) else f"{name:{width}}  {value}"
        for name, value in rows
    )


def _flat(name: str, value: Any) -> list[tuple[str, Any]]:
    """A figure, or those under one name, each with all its names."""
    if not isinstance(value, dict):
        return [(name.replace("_", " "), value)]
    inside = cast("dict[str, Any]", value)
    return [row for key, one in inside.items() for row in _flat(f"{name}: {key}", one)]


def doctor(call: Call) -> None:
    """Try every part and say what works; exit code 1 if something does not."""
    try:
        if is_missing(url := call.settings.url):
            checks = call.without_store(lambda memory: memory.doctor())
            none = f"there is none at {url} yet: the first `memstrata add` makes it"
            checks = [
                {**item, "detail": none} if item["check"] == "store" else item for item in checks
            ]
        else:
            checks = call.store(lambda memory: memory.doctor(), reads=True)
    except MemstrataError as error:
        checks = [{"check": "open", "ok": False, "detail": str(error)}]
    call.show(
        checks,
        lambda: "\n".join(
            safe(f"{'ok  ' if item['ok'] else 'FAIL'}  {item['check']:9} {item['detail']}")
            for item in checks
        ),
    )
    if not all(item["ok"] for item in checks):
        raise typer.Exit(1)


def verify(
    call: Call,
    *,
    erased: Annotated[
        list[str] | None,
        typer.Option(
            help="Look for what is left of this id instead; repeatable.", show_default=False
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            help="`-`: look for a text, given on standard input, in all the files' bytes.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Check the whole store, or with --user one user; exit code 1 if something is wrong."""
    if text not in (None, "-"):
        # Arguments are seen by others on the machine, and kept by the shell.
        raise Failed("--text takes `-`: give the text on standard input", code=2, name="UsageError")
    sought = None if text is None else read_text("-").rstrip("\r\n")
    looks = erased is not None or sought is not None
    asked: dict[str, Any] = {"erased": erased, "text": sought} if looks else {}
    problems = call.store(
        lambda memory: memory.verify(**asked, **call.owner), reads=True, embeds=False
    )
    well = "nothing of it is left in the store" if looks else "the store is sound"
    call.show(problems, lambda: safe("\n".join(problems)) or well)
    if problems:
        raise typer.Exit(1)


def dump(
    call: Call,
    path: Annotated[Path, typer.Argument(help="The file to write.", show_default=False)],
) -> None:
    """Write the whole store, or with --user one user, as JSON lines."""
    with progress("writing", None):
        count = call.store(lambda memory: memory.dump(path, **call.owner), reads=True, embeds=False)
    whose = join([f"{k.partition('_')[0]} {v}" for k, v in call.owner.items() if v], ", ")
    call.show(
        {"path": str(path), "rows": count},
        lambda: f"wrote {plural(count, 'row')} of {whose or 'the whole store'} to {path}",
    )


def load(
    call: Call,
    path: Annotated[Path, typer.Argument(help="A file that `dump` wrote.", show_default=False)],
) -> None:
    """Read a dump; what is there already is left alone."""
    with progress("reading", None):
        count = call.store(lambda memory: memory.load(path))
    call.show({"path": str(path), "new": count}, lambda: f"{plural(count, 'row')} were new")


def configure(
    call: Call,
    *,
    manager: Annotated[
        list[str] | None,
        typer.Option(help="A kind that is written; repeat it for more.", show_default=False),
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help="single or managers.", show_default=False)
    ] = None,
    instructions: Annotated[
        str | None,
        typer.Option(help="What the managers are told besides.", show_default=False),
    ] = None,
) -> None:
    """Set what holds for all memory of the tenant, and show what is in force."""
    done = call.store(
        lambda memory: memory.configure(
            managers=manager,
            strategy=cast("Any", strategy),
            instructions=instructions,
        ),
        embeds=False,
    )
    told = done["instructions"] or "none"
    call.show(
        done,
        lambda: (
            f"managers: {', '.join(done['managers'])}\nstrategy: {done['strategy']}\n"
            f"instructions: {told}"
        ),
    )


def kinds(call: Call) -> None:
    """Describe the six kinds of memory and their fields."""
    described = importlib.import_module("memstrata.kinds").describe()
    call.show(
        described,
        lambda: "\n\n".join(
            f"{bold(kind['kind'])}\n{indented(inspect.cleandoc(kind['about']))}\n"
            f"{indented('fields: ' + ', '.join(kind['fields']))}"
            for kind in described
        ),
    )


def bench_locomo(
    call: Call,
    *,
    data: Data,
    out: Out = None,
    limit: Depth = 50,
    foreign: Annotated[
        int, typer.Option(help="How many questions of the others each memory is asked.")
    ] = 100,
    infer: Infer = True,
) -> None:
    """Measure how well evidence is found, on the LoCoMo conversations."""
    _bench(call, "locomo", data, out, limit=limit, foreign=foreign, infer=infer)


def bench_longmemeval(
    call: Call, *, data: Data, out: Out = None, limit: Depth = 50, infer: Infer = True
) -> None:
    """Measure how well evidence is found, on all LongMemEval sessions as one memory."""
    _bench(call, "longmemeval", data, out, limit=limit, infer=infer)


def bench_madial(
    call: Call, *, data: Data, out: Out = None, limit: Depth = 50, infer: Infer = True
) -> None:
    """Measure what a dialogue brings to mind, on MADial-Bench in English and Chinese."""
    _bench(call, "madial", data, out, limit=limit, infer=infer)


def bench_precisionmembench(
    call: Call,
    *,
    data: Data,
    out: Out = None,
    threshold: Annotated[
        float, typer.Option(help="The score from which a belief counts as found.")
    ] = 0.2,
) -> None:
    """Measure whether what is about a query is returned and nothing else, on PrecisionMemBench."""
    _bench(call, "precisionmembench", data, out, threshold=threshold)


def bench_ablation(call: Call, *, data: Data, out: Out = None, infer: Infer = True) -> None:
    """Measure what each signal of recall is worth, on LoCoMo, LongMemEval and MADial-Bench."""
    _bench(call, "ablation", data, out, infer=infer)


def bench_themes(call: Call, *, data: Data, out: Out = None) -> None:
    """Measure how fast themes reorganise themselves, and how much that depends on the way."""
    _bench(call, "themes", data, out)


def bench_tokens(call: Call, *, data: Data, out: Out = None) -> None:
    """Measure evidence against tokens: top-k, selection, the gate, and what themes lead to."""
    _bench(call, "tokens", data, out)


def bench_redaction(
    call: Call,
    *,
    data: Data,
    labelled: Annotated[
        Path | None,
        typer.Option(
            "--set",
            help="A folder with positives.jsonl and negatives.jsonl.",
            show_default=False,
        ),
    ] = None,
    out: Out = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print the shapes of what was found wrongly.")
    ] = False,
) -> None:
    """Measure how many secrets are found, what else is, and what that costs."""
    _bench(call, "redaction", data, out, labelled=labelled, show=show)


def _bench(
    call: Call, name: str, data: Path, out: Path | None, **settings: float | Path | None
) -> None:
    """Run the benchmark of this name; what it measures with is loaded only now."""
    run = getattr(importlib.import_module(f"memstrata.bench.{name}"), f"run_{name}")
    made = run(data, out, call.settings.embedder, console=beside(call), **settings)
    figures(call, made)


def bench_speed(
    call: Call,
    *,
    out: Out = None,
    peer: Annotated[
        str | None, typer.Option(help="Measure this one too: mem0.", show_default=False)
    ] = None,
    peer_env: Annotated[
        Path | None,
        typer.Option(help="The folder of the peer's environment.", show_default=False),
    ] = None,
    peer_threads: Annotated[
        int, typer.Option(help="Threads for the model beside the peer, on each side.")
    ] = 1,
) -> None:
    """Measure speed, size and memory on this machine."""
    speed = importlib.import_module("memstrata.bench.speed")
    plan = importlib.import_module("memstrata.bench.peer_mem0").Plan(threads=peer_threads)
    made = speed.run_speed(
        out,
        call.settings.embedder,
        peer=peer,
        peer_env=peer_env,
        peer_plan=plan,
        console=beside(call),
    )
    figures(call, made)


def beside(call: Call) -> object:
    """Tables go to standard error when standard output is for JSON."""
    return importlib.import_module("rich.console").Console(stderr=call.options.json)


def figures(call: Call, made: object) -> None:
    """As JSON, if that is wanted; the tables are printed already."""
    if call.options.json:
        call.show(made, str)
