"""The verbs as data: what each takes, gives and needs, for surfaces that are not Python.

The signatures in `memory/` are the only place that says what a verb takes; names are checked
against them here, values by the verbs themselves, so that an error is the same on every surface.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast, get_args, get_type_hints

from pydantic import TypeAdapter

from memstrata.access import Grant, Permission
from memstrata.arguments import check_choices
from memstrata.errors import InvalidInput, PermissionDenied
from memstrata.memory import AsyncMemory
from memstrata.memory.keys import AsyncKeys
from memstrata.memory.vault import AsyncVault

__all__ = ["VERBS", "Verb", "call", "expect_allowed", "handle_of"]


@dataclass(frozen=True)
class Verb:
    """One verb, whichever way it is called."""

    name: str
    """As it is written on a memory: `search`, `vault.put`."""
    function: Callable[..., Awaitable[Any]]
    needs: Permission
    reads_with: tuple[str, object] | None = None
    """An argument and its value with which `read` is enough."""
    whole: bool = False
    """It is about the tenant as a whole: nothing for a key bound to a user or an agent."""
    local: bool | frozenset[str] = False
    """It reaches past the tenant, always or with these arguments: for the store's operator."""
    gives: str | None = None
    """An argument with permissions that it gives to others: none but the caller's own."""

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """What it takes, by name, in order; what it takes by any name is one mapping."""
        taken = inspect.signature(self.function).parameters
        return MappingProxyType({name: each for name, each in taken.items() if name != "self"})

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """The types of its parameters, and of what it returns as `return`."""
        return MappingProxyType(get_type_hints(self.function))

    @cached_property
    def result(self) -> TypeAdapter[Any]:
        """What it returns, to and from JSON."""
        return TypeAdapter(self.hints["return"])

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as keywords; one that is unknown or missing is `InvalidInput`."""
        if unknown := [name for name in arguments if name not in self.parameters]:
            known = ", ".join(self.parameters) or "no arguments"
            raise InvalidInput(f"{self.name} has no argument {unknown[0][:80]!r}: use {known}")
        for name, parameter in self.parameters.items():
            required = parameter.default is parameter.empty
            if required and name not in arguments and parameter.kind is not parameter.VAR_KEYWORD:
                raise InvalidInput(f"{self.name} needs {name}")
        bound = dict(arguments)
        for name, parameter in self.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD and name in bound:
                bound.update(self._spread(name, bound.pop(name), bound))
        return bound

    def _spread(self, name: str, given: object, others: Mapping[str, Any]) -> dict[str, Any]:
        """What was given as one mapping, and the verb takes as keywords of any name."""
        if not isinstance(given, Mapping):
            raise InvalidInput(f"{name} is a mapping of field names to values")
        fields = {str(key): value for key, value in cast("Mapping[Any, Any]", given).items()}
        if clash := sorted(fields.keys() & {*self.parameters, *others, "self"}):
            raise InvalidInput(f"{name}: a record has no field {', '.join(clash)}")
        return fields


_K, _M, _V = AsyncKeys, AsyncMemory, AsyncVault

_TABLE = (
    Verb("add", _M.add, "write"),
    Verb("ask", _M.ask, "read"),
    Verb("audit", _M.audit, "admin"),
    Verb("audit_secrets", _M.audit_secrets, "admin"),
    Verb("backup", _M.backup, "admin", local=True),
    Verb("batches", _M.batches, "read"),
    Verb("changes", _M.changes, "read"),
    Verb("chat", _M.chat, "write", reads_with=("learn", False)),
    Verb("configure", _M.configure, "admin", whole=True),
    Verb("consolidate", _M.consolidate, "write"),
    Verb("context", _M.context, "read"),
    Verb("count", _M.count, "read"),
    Verb("create", _M.create, "write"),
    Verb("decide", _M.decide, "write"),
    Verb("doctor", _M.doctor, "admin", local=True),
    Verb("dump", _M.dump, "admin"),
    Verb("entities", _M.entities, "read"),
    Verb("episodes", _M.episodes, "read"),
    Verb("forget", _M.forget, "write", reads_with=("dry_run", True)),
    Verb("get", _M.get, "read"),
    Verb("history", _M.history, "read"),
    Verb("kinds", _M.kinds, "read"),
    Verb("list", _M.list, "read"),
    Verb("load", _M.load, "admin", whole=True),
    Verb("messages", _M.messages, "read"),
    Verb("retire", _M.retire, "write"),
    Verb("retry", _M.retry, "write"),
    Verb("review", _M.review, "read"),
    Verb("scopes", _M.scopes, "admin", whole=True),
    Verb("search", _M.search, "read"),
    Verb("set_user", _M.set_user, "write"),
    Verb("stats", _M.stats, "read"),
    Verb("themes", _M.themes, "read"),
    Verb("timeline", _M.timeline, "read"),
    Verb("undo", _M.undo, "write"),
    Verb("update", _M.update, "write"),
    Verb("verify", _M.verify, "admin", local=frozenset(("erased", "text"))),
    Verb("wait_for", _M.wait_for, "read"),
    Verb("keys.create", _K.create, "admin", whole=True, gives="permissions"),
    Verb("keys.list", _K.list, "admin", whole=True),
    Verb("keys.revoke", _K.revoke, "admin", whole=True),
    Verb("vault.list", _V.list, "read"),
    Verb("vault.put", _V.put, "write"),
    Verb("vault.release", _V.release, "vault:reveal"),
    Verb("vault.reveal", _V.reveal, "vault:reveal"),
    Verb("vault.rotate", _V.rotate, "write"),
    Verb("vault.rotate_key", _V.rotate_key, "admin", local=True),
)
VERBS: Mapping[str, Verb] = MappingProxyType({verb.name: verb for verb in _TABLE})
"""Every verb by its name."""


async def call(
    memory: AsyncMemory,
    grant: Grant,
    name: str,
    arguments: Mapping[str, Any],
    *,
    actor: str | None = None,
) -> Any:
    """Do a verb on a store for who holds `grant`; `PermissionDenied` where that does not allow it.

    `memory` is the store's own handle. What is put on record names the key; `actor` is who reads,
    as the caller says of itself.
    """
    verb = VERBS[name]
    bound = verb.bind(arguments)
    _check(grant, verb, bound)
    if grant.key is not None and "actor" in verb.parameters:
        said = bound.get("actor", "user")
        bound["actor"] = _actor(grant, said) if isinstance(said, str) else said
    handle: Any = handle_of(memory, grant, actor=actor)
    owner, _, rest = name.rpartition(".")
    return await getattr(getattr(handle, owner) if owner else handle, rest)(**bound)


def expect_allowed(grant: Grant, name: str, arguments: Mapping[str, Any]) -> None:
    """`PermissionDenied` or `InvalidInput` where `call` would raise it before it does anything."""
    verb = VERBS[name]
    _check(grant, verb, verb.bind(arguments))


def handle_of(memory: AsyncMemory, grant: Grant, *, actor: str | None = None) -> AsyncMemory:
    """The part of a store that a grant is about; it knows nothing of permissions."""
    handle = memory.for_tenant(grant.tenant, actor=_actor(grant, actor))
    if grant.user_id is None and grant.agent_id is None:
        return handle
    return handle.scoped(user_id=grant.user_id, agent_id=grant.agent_id)


def _actor(grant: Grant, said: str | None) -> str | None:
    """Who the log says it was: what the caller says of itself, and the key, which is known."""
    if grant.key is None:
        return said
    return f"key {grant.key}" if said in (None, "user") else f"{said} with key {grant.key}"


def _check(grant: Grant, verb: Verb, arguments: Mapping[str, Any]) -> None:
    needed = verb.needs
    if verb.reads_with is not None and arguments.get(verb.reads_with[0]) is verb.reads_with[1]:
        needed = "read"
    if needed not in grant.permissions:
        raise PermissionDenied(f"{verb.name} needs the permission {needed}, which the key has not")
    for name, bound in (("user_id", grant.user_id), ("agent_id", grant.agent_id)):
        given = arguments.get(name)
        if bound is not None and given is not None and given != bound:
            raise PermissionDenied(f"the key is bound to another {name} than {str(given)[:80]!r}")
    if verb.whole and (grant.user_id is not None or grant.agent_id is not None):
        raise PermissionDenied(f"{verb.name} is about all users, and the key is bound to one")
    if beyond := _given(verb, arguments) - grant.permissions:
        raise PermissionDenied(
            f"the key has not the permission {', '.join(sorted(beyond))}, so it cannot give it"
        )
    if grant.key is not None and _reaches_past(verb, arguments):
        raise PermissionDenied(
            f"{verb.name} reaches past the tenant that a key is of: run it where the store is, "
            "with the command line"
        )


def _reaches_past(verb: Verb, arguments: Mapping[str, Any]) -> bool:
    if isinstance(verb.local, bool):
        return verb.local
    return any(arguments.get(name) is not None for name in verb.local)


def _given(verb: Verb, arguments: Mapping[str, Any]) -> set[str]:
    """The permissions that a call would give, read exactly as the verb will read them."""
    if verb.gives is None:
        return set()
    given = arguments.get(verb.gives, verb.parameters[verb.gives].default)
    return set(check_choices(verb.gives, given, get_args(Permission)))
