"""`AsyncClient`: one line per verb, derived from `AsyncMemory`."""

from __future__ import annotations

import functools
import inspect
import ssl
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any, TypeVar, cast

import anyio

from memstrata.access import Grant
from memstrata.arguments import check_path, check_words
from memstrata.client.wire import Wire
from memstrata.errors import InvalidInput, PermissionDenied, StoreUnavailable
from memstrata.memory import AsyncMemory
from memstrata.memory.keys import AsyncKeys
from memstrata.memory.vault import AsyncVault
from memstrata.receipts import Backup
from memstrata.records import Scope
from memstrata.verbs import VERBS, Verb

__all__ = ["AsyncClient", "open_client"]

V = TypeVar("V", bound=Callable[..., Any])

_TIMEOUT = 300.0
_PREFIX = "/api/v1"


class _Remote:
    """What a handle at a server knows: where it is, and what its calls are bound to."""

    _wire: Wire
    _bound: Scope | None
    _actor: str | None

    def _place(self, wire: Wire, tenant: str, bound: Scope | None, actor: str | None) -> None:
        self._wire = wire
        self._tenant = tenant
        self._bound = bound
        self._actor = actor

    def _filled(self, verb: Verb, given: dict[str, Any]) -> dict[str, Any]:
        """What was given, and the scope that the handle is bound to."""
        if self._bound is None:
            return given
        if verb.whole:
            raise InvalidInput(f"this handle is bound to one scope: {verb.name} is not")
        filled = dict(given)
        for name, bound in (("user_id", self._bound.user_id), ("agent_id", self._bound.agent_id)):
            said = given.get(name)
            if bound is not None and said is not None and said != bound:
                raise InvalidInput(f"this handle is bound to {name} {bound!r}, not {said!r}")
            if bound is not None and name in verb.parameters:
                filled[name] = bound
        return filled

    async def _ask(self, verb: Verb, given: dict[str, Any]) -> Any:
        arguments = self._filled(verb, given)
        answer = await self._wire.ask(
            f"{_PREFIX}/{verb.name.replace('.', '/')}",
            arguments,
            again=_may_repeat(verb, arguments),
            headers=self._headers(),
            timeout=_patience(verb, arguments),
        )
        try:
            return verb.result.validate_json(answer)
        except ValueError as error:
            raise StoreUnavailable(
                f"the server at {self._wire.url} answered {verb.name} as no memstrata of this "
                f"version does: {error}"
            ) from error

    def _headers(self) -> dict[str, str]:
        if self._actor is None:
            return {}
        said = "".join(c if " " <= c <= "~" and c != "&" else f"&#{ord(c)};" for c in self._actor)
        return {"Memstrata-Actor": said}


def _may_repeat(verb: Verb, arguments: dict[str, Any]) -> bool:
    """Whether doing it twice is as doing it once."""
    if verb.reads_with is not None and arguments.get(verb.reads_with[0]) is verb.reads_with[1]:
        return True
    return verb.needs == "read" or arguments.get("idempotency_key") is not None


def _patience(verb: Verb, arguments: dict[str, Any]) -> float | None:
    """How long the answer may take, where that is not as ever."""
    if verb.name != "wait_for":
        return None
    wait = arguments.get("timeout")
    return wait + _TIMEOUT if isinstance(wait, int | float) else inf


def _at_server(name: str, verb: V) -> V:
    """The same verb, done by the server."""
    takes = inspect.signature(verb)
    table = VERBS[name]

    @functools.wraps(verb)
    async def ask(memory: _Remote, *args: Any, **kwargs: Any) -> Any:
        try:
            given = takes.bind(memory, *args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        del given["self"]
        return await memory._ask(table, given)  # pyright: ignore[reportPrivateUsage]

    return cast("V", ask)


class AsyncClientVault(_Remote, AsyncVault):
    """What is sealed in a memory at a server."""

    def __init__(self, wire: Wire, tenant: str, bound: Scope | None, actor: str | None) -> None:
        self._place(wire, tenant, bound, actor)

    list = _at_server("vault.list", AsyncVault.list)
    put = _at_server("vault.put", AsyncVault.put)
    release = _at_server("vault.release", AsyncVault.release)
    reveal = _at_server("vault.reveal", AsyncVault.reveal)
    rotate = _at_server("vault.rotate", AsyncVault.rotate)
    rotate_key = _at_server("vault.rotate_key", AsyncVault.rotate_key)


class AsyncClientKeys(_Remote, AsyncKeys):
    """The keys of a tenant at a server."""

    def __init__(self, wire: Wire, tenant: str, bound: Scope | None, actor: str | None) -> None:
        self._place(wire, tenant, bound, actor)

    create = _at_server("keys.create", AsyncKeys.create)
    list = _at_server("keys.list", AsyncKeys.list)
    revoke = _at_server("keys.revoke", AsyncKeys.revoke)

    async def grant(self, secret: object) -> Grant | None:
        """Not to be had: what a key allows is for the server to say."""
        raise InvalidInput("a server looks keys up itself: open it with the key")

    async def required(self) -> bool:
        """Not to be had: whether a key is wanted is for the server to say."""
        raise InvalidInput("a server looks itself whether it wants a key")


class AsyncClient(_Remote, AsyncMemory):
    """A memory at a server, opened by `open_async("http://…")`; its tenant is that of the key."""

    def __init__(
        self,
        wire: Wire,
        tenant: str,
        bound: Scope | None = None,
        actor: str | None = None,
        *,
        lent: bool = False,
    ) -> None:
        self._place(wire, tenant, bound, actor)
        self._lent = lent

    add = _at_server("add", AsyncMemory.add)
    ask = _at_server("ask", AsyncMemory.ask)
    audit = _at_server("audit", AsyncMemory.audit)
    audit_secrets = _at_server("audit_secrets", AsyncMemory.audit_secrets)
    batches = _at_server("batches", AsyncMemory.batches)
    changes = _at_server("changes", AsyncMemory.changes)
    chat = _at_server("chat", AsyncMemory.chat)
    configure = _at_server("configure", AsyncMemory.configure)
    consolidate = _at_server("consolidate", AsyncMemory.consolidate)
    context = _at_server("context", AsyncMemory.context)
    count = _at_server("count", AsyncMemory.count)
    create = _at_server("create", AsyncMemory.create)
    decide = _at_server("decide", AsyncMemory.decide)
    doctor = _at_server("doctor", AsyncMemory.doctor)
    entities = _at_server("entities", AsyncMemory.entities)
    episodes = _at_server("episodes", AsyncMemory.episodes)
    forget = _at_server("forget", AsyncMemory.forget)
    get = _at_server("get", AsyncMemory.get)
    history = _at_server("history", AsyncMemory.history)
    kinds = _at_server("kinds", AsyncMemory.kinds)
    list = _at_server("list", AsyncMemory.list)
    messages = _at_server("messages", AsyncMemory.messages)
    retire = _at_server("retire", AsyncMemory.retire)
    retry = _at_server("retry", AsyncMemory.retry)
    review = _at_server("review", AsyncMemory.review)
    scopes = _at_server("scopes", AsyncMemory.scopes)
    search = _at_server("search", AsyncMemory.search)
    set_user = _at_server("set_user", AsyncMemory.set_user)
    stats = _at_server("stats", AsyncMemory.stats)
    themes = _at_server("themes", AsyncMemory.themes)
    timeline = _at_server("timeline", AsyncMemory.timeline)
    undo = _at_server("undo", AsyncMemory.undo)
    update = _at_server("update", AsyncMemory.update)
    verify = _at_server("verify", AsyncMemory.verify)
    wait_for = _at_server("wait_for", AsyncMemory.wait_for)

    async def backup(self, path: str | Path, *, force: bool = False) -> Backup:
        """Not to be had: a backup holds all tenants, and is made where the store is."""
        raise PermissionDenied(
            "a backup holds all tenants: make it where the store is, with `memstrata backup`; "
            "`dump` writes what the key reaches"
        )

    async def dump(
        self, path: str | Path, *, user_id: str | None = None, agent_id: str | None = None
    ) -> int:
        """Write a scope, or all of the tenant's, as JSON lines to a file here."""
        target = check_path("path", path)
        given = {"user_id": user_id, "agent_id": agent_id}
        arguments = self._filled(VERBS["dump"], {k: v for k, v in given.items() if v is not None})
        return await self._wire.fetch(f"{_PREFIX}/dump", arguments, target, self._headers())

    async def load(self, path: str | Path) -> int:
        """Send a file written by `dump` to the server; see `AsyncMemory`."""
        source = check_path("path", path)
        self._filled(VERBS["load"], {})
        return int(await self._wire.send(f"{_PREFIX}/load", source, self._headers()))

    def scoped(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str | None = None,
    ) -> AsyncClient:
        """The same memory for one user or agent, so that calls need not name it."""
        scope = self._scope(user_id, agent_id)
        who = self._actor if actor is None else check_words("actor", actor)
        return AsyncClient(self._wire, self._tenant, scope, who, lent=True)

    def for_tenant(self, tenant: str, *, actor: str | None = None) -> AsyncMemory:
        """Its own tenant only: a key is of one."""
        if tenant != self._tenant:
            raise InvalidInput("a key is of one tenant: open the server with another tenant's key")
        return AsyncClient(self._wire, tenant, self._bound, actor or self._actor, lent=True)

    @property
    def vault(self) -> AsyncClientVault:
        """What is sealed, and the verbs for it."""
        return AsyncClientVault(self._wire, self._tenant, self._bound, self._actor)

    @property
    def keys(self) -> AsyncClientKeys:
        """The keys to the service, and the verbs for them."""
        return AsyncClientKeys(self._wire, self._tenant, self._bound, self._actor)

    async def close(self) -> None:
        """Close the connections; on a handle made from another one: nothing."""
        if not self._lent:
            await self._wire.close()

    def __repr__(self) -> str:
        whose = "" if self._bound is None else f", {self._bound.user_id or self._bound.agent_id}"
        return f"AsyncMemory({self._wire.url!r}{whose})"


async def open_client(
    url: str,
    *,
    api_key: str | None = None,
    timeout: float = _TIMEOUT,  # noqa: ASYNC109 - of one answer, on the wire
    ssl_context: ssl.SSLContext | None = None,
) -> AsyncClient:
    """The memory at a server; whether it answers, and takes the key, is asked at once.

    `timeout` is how many seconds one answer may take, `ssl_context` what an `https` server is held
    to, where that is not the usual.
    """
    wire = Wire(url, api_key, timeout=timeout, ssl_context=ssl_context)
    try:
        with anyio.fail_after(30):
            answer = await wire.ask(f"{_PREFIX}/whoami", None, again=True)
        return AsyncClient(wire, Grant.model_validate_json(answer).tenant)
    except ValueError as error:
        await wire.close()
        raise StoreUnavailable(f"what answers at {url} is no memstrata: {error}") from error
    except TimeoutError:
        await wire.close()
        raise StoreUnavailable(f"the server at {url} gave no answer in 30 seconds") from None
    except BaseException:
        await wire.close()
        raise
