"""Commands that answer: `ask`, `chat`."""

from __future__ import annotations

import importlib
import os
import sys
from datetime import tzinfo
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memstrata.cli.call import Call, zone_of
from memstrata.cli.output import dim, indented, join, one_line, safe, say, shorten, stamp, write
from memstrata.cli.reading import read_text
from memstrata.cli.recall import Now, Session
from memstrata.errors import BudgetExceeded, ModelFailed

if TYPE_CHECKING:
    from memstrata.answers import Answer, Citation
    from memstrata.memory import AsyncMemory

__all__ = ["ask", "chat"]

_LONG = 200
_TURNS = 40
"""Turns of a conversation at the terminal that are sent along."""

Budget = Annotated[
    int, typer.Option(help="At most so many tokens in a prompt of the language model.")
]


def ask(
    call: Call,
    question: Annotated[
        str, typer.Argument(help="The question; `-` is standard input.", show_default=False)
    ],
    *,
    now: Now = None,
    max_tokens: Budget = 6000,
) -> None:
    """Answer a question from memory, with what the answer rests on."""
    words = read_text("-") if question == "-" else question
    answer, zone = call.zoned(
        lambda memory: memory.ask(words, now=now, max_tokens=max_tokens), embeds=True
    )
    call.show(answer, lambda: _answer(answer, zone))
    for note in answer.notes:
        call.note(note)


def chat(
    call: Call,
    message: Annotated[
        str | None,
        typer.Argument(
            help="What you say. Without it, a conversation at the terminal, or standard input.",
            show_default=False,
        ),
    ] = None,
    *,
    session: Session = None,
    learn: Annotated[
        bool, typer.Option("--learn/--no-learn", help="Whether to remember what is said.")
    ] = True,
    now: Now = None,
    max_tokens: Budget = 6000,
) -> None:
    """Talk with memory in view; what you say is remembered."""
    asked: dict[str, Any] = {"learn": learn, "now": now, "max_tokens": max_tokens}
    if message is None and sys.stdin.isatty() and not call.options.json:
        call.zoned(lambda memory: _converse(call, memory, session, asked), reads=False, embeds=True)
        return
    said = read_text("-") if message in (None, "-") else message
    answer, zone = call.zoned(
        lambda memory: memory.chat(said or "", session_id=session, **asked),
        reads=not learn,
        embeds=True,
    )
    call.show(answer, lambda: _answer(answer, zone))
    _notes(call, answer)


async def _converse(
    call: Call, memory: AsyncMemory, session: str | None, asked: dict[str, Any]
) -> None:
    """Turn by turn until the input ends; all of one session."""
    anyio = importlib.import_module("anyio")
    zone = await zone_of(memory)
    session = session or importlib.import_module("memstrata.runtime").new_id("chat")
    call.note("an empty line or Ctrl-D ends the conversation")
    turns: list[dict[str, str]] = []
    while said := await _turn(anyio):
        turns.append({"role": "user", "content": said})
        try:
            answer = await memory.chat(turns[-_TURNS:], session_id=session, **asked)
        except (ModelFailed, BudgetExceeded) as error:
            # What was said is not answered nor learned; the conversation need not end.
            turns.pop()
            say(f"error: {error}")
            continue
        turns.append({"role": "assistant", "content": answer.text})
        write(_answer(answer, zone))
        _notes(call, answer)


async def _turn(anyio: Any) -> str:
    """What the person at the terminal says; nothing when they are done."""
    typer.echo("> ", nl=False)
    # A thread that waits for a line would keep Ctrl-C waiting for it, too. Elsewhere than on POSIX
    # only sockets can be waited for.
    if os.name == "posix":
        await anyio.wait_readable(sys.stdin)
        return sys.stdin.readline().strip()
    line = await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
    return line.strip()


def _notes(call: Call, answer: Answer) -> None:
    for note in answer.notes:
        call.note(note)
    receipt = answer.receipt
    if receipt is not None and receipt.state != "done":
        call.note(f"learning is {receipt.state}: {receipt.reason or receipt.batch_id}")


def _answer(answer: Answer, zone: tzinfo) -> str:
    """The answer, and under it a line for each thing it rests on."""
    lines = [safe(answer.text)]
    lines += [indented(dim(_citation(one, zone))) for one in answer.citations]
    return "\n".join(lines)


def _citation(citation: Citation, zone: tzinfo) -> str:
    words = shorten(one_line(citation.text), _LONG)
    return join(
        [
            citation.id,
            stamp(citation.occurred_at, zone),
            citation.speaker and one_line(citation.speaker),
            words,
        ]
    )
