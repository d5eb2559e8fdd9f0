"""The benchmarks that ask language models, or a server."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated

import typer

from memstrata.cli.call import Call
from memstrata.cli.operate import Data, Out, beside, figures
from memstrata.errors import InvalidInput

__all__ = ["bench_extract", "bench_qa", "bench_service"]

Writer = Annotated[
    str | None,
    typer.Option(
        "--llm",
        help="The model that distils memory; without it local rules do.",
        show_default=False,
    ),
]


def bench_qa(
    call: Call,
    *,
    data: Data,
    answerer: Annotated[
        str | None,
        typer.Option(help="Who answers (MEMSTRATA_LLM_CHAT, MEMSTRATA_LLM).", show_default=False),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(help="Who judges (MEMSTRATA_LLM_JUDGE, MEMSTRATA_LLM).", show_default=False),
    ] = None,
    dataset: Annotated[str, typer.Option("--set", help="locomo or longmemeval.")] = "locomo",
    out: Out = None,
    work: Annotated[
        Path, typer.Option(help="The folder for memories and answers; a second start goes on.")
    ] = Path("memstrata-qa"),
    llm: Writer = None,
    runs: Annotated[int, typer.Option(help="How often every question is answered.")] = 3,
    limit: Annotated[
        int | None, typer.Option(help="Ask so many questions, not all.", show_default=False)
    ] = None,
    conditions: Annotated[
        str, typer.Option(help="Which of these, parted by commas.")
    ] = "context,ask,full,rag",
    max_tokens: Annotated[int, typer.Option(help="Tokens of the memory's context.")] = 6000,
    window: Annotated[
        int, typer.Option(help="Tokens of the whole conversation, the oldest cut.")
    ] = 100_000,
    chunks: Annotated[int, typer.Option(help="Chunks of the naive RAG control.")] = 20,
    audited: Annotated[
        bool, typer.Option("--audited", help="Correct LoCoMo's answers by the audit.")
    ] = False,
    prompts: Annotated[
        Path | None,
        typer.Option(help="The folder of the set's original prompts.", show_default=False),
    ] = None,
) -> None:
    """Measure answers from memory: judged, by F1 and BLEU-1, beside full context and naive RAG."""
    qa, settings = importlib.import_module("memstrata.bench.qa"), call.settings
    answers = answerer or settings.llm_chat or settings.llm
    judges = judge or settings.llm_judge or settings.llm
    if answers is None or judges is None:
        raise InvalidInput("name the models: --answerer and --judge, or set MEMSTRATA_LLM")
    limits = importlib.import_module("memstrata.bench.qa_read").Limits(max_tokens, window, chunks)
    asked = tuple(name.strip() for name in conditions.split(",") if name.strip())
    plan = qa.Plan(dataset, asked, runs, limit, limits, audited, prompts)
    models = {"answerer": answers, "judge": judges, "writer": llm}
    embedder, console = settings.embedder, beside(call)
    figures(call, qa.run_qa(data, out, embedder, plan=plan, work=work, console=console, **models))


def bench_extract(
    call: Call,
    *,
    data: Data,
    dataset: Annotated[str, typer.Option("--set", help="realmem or locomo.")] = "realmem",
    out: Out = None,
    llm: Writer = None,
    judge: Annotated[
        str | None,
        typer.Option(help="The model that compares; else nearness and words.", show_default=False),
    ] = None,
    turns: Annotated[
        int | None, typer.Option(help="Add so many messages, not all.", show_default=False)
    ] = None,
    per_add: Annotated[int, typer.Option(help="How many messages each call adds.")] = 2,
) -> None:
    """Measure what is distilled of dialogues against what should be, and what that costs."""
    run = importlib.import_module("memstrata.bench.extract").run_extract
    asked = {"dataset": dataset, "llm": llm, "judge": judge, "turns": turns, "per_add": per_add}
    figures(call, run(data, out, call.settings.embedder, console=beside(call), **asked))


def bench_service(
    call: Call,
    *,
    out: Out = None,
    clients: Annotated[int, typer.Option(help="How many clients at once.")] = 200,
    seconds: Annotated[float, typer.Option(help="For how long, each of two times.")] = 60.0,
) -> None:
    """Measure the service: what HTTP adds, many clients at once, kill -9 under load."""
    service = importlib.import_module("memstrata.bench.service")
    load = service.Load(clients=clients, seconds=seconds)
    embedder, console = call.settings.embedder, beside(call)
    figures(call, service.run_service(out, embedder, load=load, console=console))
