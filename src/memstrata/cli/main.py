"""The outermost frame: UTF-8 in and out, and every way a command can end."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from memstrata.cli.app import app
from memstrata.cli.call import Failed
from memstrata.cli.output import as_json, in_our_words, say, use_utf8, write
from memstrata.errors import MemstrataError

__all__ = ["main"]

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    0 it worked, 1 it did not (`error: …` on standard error), 2 the command line is wrong,
    130 it was interrupted. With `--json` an error is also one JSON document on standard output.
    """
    use_utf8()
    given = [_as_utf8(each) for each in (sys.argv[1:] if arguments is None else arguments)]
    in_json = "--json" in given
    try:
        code = typer.main.get_command(app).main(given, prog_name="memstrata", standalone_mode=False)
        sys.stdout.flush()
        if code == _INTERRUPTED:
            return _end("interrupted", "Interrupted", code, in_json=in_json)
        return code if isinstance(code, int) else 0
    except MemstrataError as error:
        return _end(
            in_our_words(str(error) or type(error).__name__),
            type(error).__name__,
            1,
            in_json=in_json,
        )
    except Failed as error:
        return _end(str(error), error.name, error.code, in_json=in_json)
    except typer.Abort:
        return _end("stopped: nothing was done", "Aborted", 1, in_json=in_json)
    except typer.TyperException as error:
        return _wrong_usage(error, in_json=in_json)
    except BrokenPipeError:
        # Whoever read the output has gone: there is nobody to tell, now or at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _as_utf8(argument: str) -> str:
    """An argument as the UTF-8 it was given in, whatever the locale made of it."""
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeError:
        return argument


def _end(line: str, name: str, code: int, *, in_json: bool) -> int:
    say(f"error: {' '.join(line.split())}")
    if in_json:
        write(as_json({"error": {"type": name, "message": line}}))
    return code


def _wrong_usage(error: typer.TyperException, *, in_json: bool) -> int:
    """A wrong command line; without any command, the help instead."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        if message:
            say(message)
        return error.exit_code
    command = context.command_path if context is not None else "memstrata"
    return _end(
        f"{message.rstrip('.')}; see `{command} --help`",
        "UsageError",
        error.exit_code,
        in_json=in_json,
    )
