"""Who calls: the key of a request, and what it allows."""

from __future__ import annotations

import html
import ipaddress
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from memstrata.access import Grant
from memstrata.api.limits import guard_of
from memstrata.api.problems import Refused
from memstrata.memory import AsyncMemory

__all__ = ["actor_of", "grant_of", "is_loopback", "key_of"]

_SCHEMES = ("bearer", "token")
_FORWARDED = frozenset(
    (
        "cf-connecting-ip", "client-ip", "fly-client-ip", "forwarded", "true-client-ip", "via",
        "x-client-ip", "x-cluster-client-ip", "x-original-forwarded-for", "x-original-host",
        "x-real-ip",
    )
)  # fmt: skip
"""What proxies say of whom they speak for, beside `X-Forwarded-…`."""


async def grant_of(connection: HTTPConnection, memory: AsyncMemory) -> Grant:
    """What a request may do, by its key; without one `Refused` with 401.

    A store for which no key was ever made is open to programs on its own machine, and to nobody
    else: not to what a proxy forwards, nor to a page in a browser. Every request asks the store,
    so that a key that is revoked is so at once. `Refused` with 429 or 503 for too much of one.
    """
    guard = guard_of(connection)
    try:
        grant = await _granted(connection, memory)
    except Refused as refused:
        if guard is not None and refused.status in (401, 403):
            guard.refused("auth")
        raise
    if guard is not None:
        guard.admit(connection, grant)
    return grant


async def _granted(connection: HTTPConnection, memory: AsyncMemory) -> Grant:
    key = key_of(connection)
    if key is not None:
        return await _by_key(connection, memory, key)
    if await memory.keys.required():
        raise _unauthorized("this server wants a key: send it as Authorization: Bearer KEY")
    if not _is_local(connection):
        raise Refused(
            403,
            "Forbidden",
            "without keys this server answers only programs on its own machine, by a loopback "
            "address: make a key with `memstrata keys create`",
        )
    return Grant(tenant=memory.tenant)


async def _by_key(connection: HTTPConnection, memory: AsyncMemory, key: str) -> Grant:
    guard = guard_of(connection)
    if guard is not None:
        guard.attempt(connection, key)
    grant = await memory.keys.grant(key)
    if grant is None:
        raise _unauthorized("the key is unknown, revoked or expired")
    if guard is not None:
        guard.passed(connection, key)
    return grant


def key_of(connection: HTTPConnection) -> str | None:
    """The key a request brings, however it is spelt; None without one."""
    scheme, _, rest = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() in _SCHEMES and rest.strip():
        return rest.strip()
    return connection.headers.get("x-api-key")


def actor_of(connection: HTTPConnection) -> str | None:
    """Who reads, for the audit log, as the caller says of itself."""
    said = connection.headers.get("memstrata-actor", "").strip()
    return html.unescape(said) or None


def is_loopback(host: str) -> bool:
    """Whether a name or address is the machine itself."""
    bare = host.strip("[]").lower()
    if bare == "localhost":
        return True
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _is_local(connection: HTTPConnection) -> bool:
    """Whether it is a program on this machine that asks, for itself."""
    client = connection.client
    if client is None or not is_loopback(client.host):
        return False
    if any(name in _FORWARDED or name.startswith("x-forwarded-") for name in connection.headers):
        return False
    if connection.scope.get("http_version") == "1.0":
        return False  # what a proxy speaks that adds no header of its own
    return _is_called_locally(connection) and not _is_of_a_page(connection)


def _is_called_locally(connection: HTTPConnection) -> bool:
    """Whether the name it was reached by is the machine's own, and no other that leads to it."""
    named = connection.headers.getlist("host")
    return len(named) == 1 and is_loopback(_host(named[0]) or "")


def _is_of_a_page(connection: HTTPConnection) -> bool:
    """Whether a browser sends it for a page that is not the server's own."""
    origin, host = connection.headers.get("origin"), connection.headers.get("host", "")
    if origin is not None and origin.lower() != f"{connection.scope['scheme']}://{host.lower()}":
        return True
    return connection.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _host(authority: str) -> str | None:
    """The host of `HOST:PORT`; None for what is not just that."""
    if not authority or set(authority) & set("/@?#\\ \t,"):
        return None
    try:
        parts = urlsplit(f"//{authority}")
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname


def _unauthorized(detail: str) -> Refused:
    return Refused(401, "Unauthorized", detail, {"WWW-Authenticate": "Bearer"})
