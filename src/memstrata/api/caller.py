"""Who calls: the key of a request, and what it allows."""

from __future__ import annotations

import html
import ipaddress

from starlette.requests import HTTPConnection

from memstrata.access import Grant
from memstrata.api.problems import Refused
from memstrata.memory import AsyncMemory

__all__ = ["actor_of", "grant_of", "is_loopback", "key_of"]

_SCHEMES = ("bearer", "token")
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


async def grant_of(connection: HTTPConnection, memory: AsyncMemory) -> Grant:
    """What a request may do, by its key; without one `Refused` with 401.

    A store for which no key was ever made is open to programs on its own machine, and to nobody
    else: not to what a proxy forwards, nor to a page in a browser that reached us by a name of its
    own. Every request asks the store, so that a key that is revoked is so at once.
    """
    key = key_of(connection)
    if key is not None:
        grant = await memory.keys.grant(key)
        if grant is None:
            raise _unauthorized("the key is unknown, revoked or expired")
        return grant
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
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


def _is_local(connection: HTTPConnection) -> bool:
    client = connection.client
    if client is None or not is_loopback(client.host):
        return False
    if any(name in connection.headers for name in _FORWARDED):
        return False
    return is_loopback(connection.url.hostname or "")


def _unauthorized(detail: str) -> Refused:
    return Refused(401, "Unauthorized", detail, {"WWW-Authenticate": "Bearer"})
