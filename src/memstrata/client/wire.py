"""Requests to a server and what comes back: values, or errors as they are raised in process."""

from __future__ import annotations

import contextlib
import json
import math
import ssl
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import anyio
import httpcore2
import httpx2
from pydantic import BaseModel

from memstrata import errors
from memstrata._version import __version__
from memstrata.errors import InvalidInput, MemstrataError, PermissionDenied, StoreUnavailable

__all__ = ["Wire"]

_TRIES = 3
_LONGEST_WAIT = 30.0
"""Seconds that a server may ask to wait before a request is sent again."""
_KEEP = 30.0
"""Seconds that an idle connection is kept: less than a server does, which would close it on us."""
_MOST = 256
_REDIRECTED, _LIMITED, _UNAVAILABLE = 300, 429, 503
_NOBODY = (httpcore2.ConnectError, httpcore2.ConnectTimeout)
_FOREIGN = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
)
_CHUNK = 2**16
_OF_THE_WIRE: Mapping[int, type[MemstrataError]] = MappingProxyType(
    {401: PermissionDenied, 403: PermissionDenied, 413: InvalidInput, 400: InvalidInput}
)
_NAMED = {name: getattr(errors, name) for name in errors.__all__}


def _encoded(arguments: Mapping[str, Any]) -> bytes:
    """Arguments as JSON; one that has no form in JSON is `InvalidInput`, by name."""
    parts: list[str] = []
    for name, value in arguments.items():
        try:
            text = json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"{name} cannot be sent to a server: {error}") from None
        parts.append(f"{json.dumps(name)}:{text}")
    body = "{" + ",".join(parts) + "}"
    try:
        return body.encode()
    except UnicodeEncodeError:  # half a surrogate pair goes as it is written in JSON
        return "".join(
            f"\\u{ord(one):04x}" if "\ud800" <= one <= "\udfff" else one for one in body
        ).encode()


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        given = value.model_dump(mode="json", exclude_unset=True)
        kind = getattr(value, "kind", None)
        return given if kind is None else {**given, "kind": kind}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(cast("Mapping[Any, Any]", value))
    raise TypeError(f"it has a {type(value).__name__} in it")


class Wire:
    """One server, by its URL and a key."""

    def __init__(
        self,
        url: str,
        key: str | None,
        *,
        timeout: float,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self.url = url
        self._timeout = timeout
        self._base = _base(url)
        self._headers = {
            "Host": self._base.netloc.decode("ascii"),
            "User-Agent": f"memstrata/{__version__}",
            "Accept": "application/json",
        }
        if key is not None:
            if not all("!" <= character <= "~" for character in key):
                raise InvalidInput("api_key is no key: it has blanks or signs that none has")
            self._headers["Authorization"] = f"Bearer {key}"
        # What httpx2 is made of: what that does for each request besides takes half as long again.
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=ssl_context or httpx2.create_ssl_context(),
            proxy=_proxy(self._base),
            max_connections=_MOST,
            max_keepalive_connections=_MOST,
            keepalive_expiry=_KEEP,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.aclose()

    async def ask(
        self,
        path: str,
        arguments: Mapping[str, Any] | None,
        *,
        again: bool,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - of one answer, on the wire
    ) -> bytes:
        """The answer to a request; `again` if it may be sent twice, no arguments for a `GET`.

        `timeout` is in seconds, `math.inf` for as long as it takes. Raises what the verb raised
        there; `StoreUnavailable` where no answer came.
        """
        seconds = self._timeout if timeout is None else timeout
        body = None if arguments is None else _encoded(arguments)
        for left in reversed(range(_TRIES)):
            try:
                async with self._sent(path, body, headers, seconds) as response:
                    content = await response.aread()
            except _FOREIGN as error:
                # What found no server has done nothing there.
                if not left or not (again or isinstance(error, _NOBODY)):
                    raise self._lost(error, again) from error
                await anyio.sleep(0.1 * (_TRIES - left))
                continue
            early = response.status == _LIMITED  # refused before anything was done
            if not left or not (early or (again and response.status == _UNAVAILABLE)):
                _check(response.status, content)
                return content
            await anyio.sleep(_asked_wait(response))
        raise AssertionError("every try ends")

    async def fetch(
        self, path: str, arguments: Mapping[str, Any], target: Path, headers: Mapping[str, str]
    ) -> int:
        """Write an answer to a file, which is whole or absent; how many rows it has."""
        part = anyio.Path(target.with_name(f"{target.name}.part"))
        body = _encoded(arguments)
        try:
            async with self._sent(path, body, headers, self._timeout) as response:
                if response.status >= _REDIRECTED:
                    _check(response.status, await response.aread())
                async with await part.open("wb") as file:
                    async for chunk in response.aiter_stream():
                        await file.write(chunk)
            await part.replace(target)
        except _FOREIGN as error:
            raise self._lost(error, again=True) from error
        except OSError as error:
            raise StoreUnavailable(f"{target}: the dump could not be written: {error}") from error
        finally:
            with contextlib.suppress(OSError), anyio.CancelScope(shield=True):
                await part.unlink()  # there still, when it did not become the dump
        return int(_header(response, b"memstrata-rows") or 0)

    async def send(self, path: str, source: Path, headers: Mapping[str, str]) -> bytes:
        """The answer to the contents of a file."""
        lines = {**headers, "Content-Type": "application/x-ndjson"}
        try:
            size = (await anyio.Path(source).stat()).st_size
            async with (
                await anyio.open_file(source, "rb") as file,
                self._sent(path, _chunks(file), lines, math.inf, size) as response,
            ):
                content = await response.aread()
        except _FOREIGN as error:
            raise self._lost(error, again=True) from error
        except OSError as error:
            raise InvalidInput(f"{source}: the file cannot be read: {error}") from error
        _check(response.status, content)
        return content

    def _sent(
        self,
        path: str,
        body: bytes | AsyncIterator[bytes] | None,
        headers: Mapping[str, str] | None,
        seconds: float,
        size: int | None = None,
    ) -> AbstractAsyncContextManager[httpcore2.Response]:
        """A request, and its answer as it comes."""
        sent = {**self._headers, **(headers or {})}
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
            sent["Content-Length"] = str(len(body) if isinstance(body, bytes) else size)
        wait = None if seconds == math.inf else seconds
        base = self._base
        return self._pool.stream(
            "GET" if body is None else "POST",
            httpcore2.URL(
                scheme=base.raw_scheme,
                host=base.raw_host,
                port=base.port,
                target=base.raw_path.rstrip(b"/") + path.encode(),
            ),
            headers=list(sent.items()),
            content=body,
            extensions={"timeout": {"connect": 5.0, "read": wait, "write": wait, "pool": None}},
        )

    def _lost(self, error: Exception, again: bool) -> StoreUnavailable:
        why = str(error) or type(error).__name__
        if isinstance(error, _NOBODY):
            return StoreUnavailable(f"no server answers at {self.url}: {why}")
        if again:
            return StoreUnavailable(f"the server at {self.url} gave no answer: {why}")
        return StoreUnavailable(
            f"the server at {self.url} gave no answer, and may have done what was asked: {why}; "
            "with an idempotency_key a call can be sent again"
        )


def _base(url: str) -> httpx2.URL:
    try:
        base = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError) as error:
        raise InvalidInput(f"{url!r} is no address of a server: {error}") from error
    if not base.host:
        raise InvalidInput(f"{url!r} names no server: give http://HOST:PORT")
    return base


def _proxy(base: httpx2.URL) -> httpcore2.Proxy | None:
    """The proxy that the environment names for a server."""
    if urllib.request.proxy_bypass(base.host):
        return None
    named = urllib.request.getproxies().get(base.scheme)
    return None if named is None else httpcore2.Proxy(named)


async def _chunks(file: anyio.AsyncFile[bytes]) -> AsyncIterator[bytes]:
    while chunk := await file.read(_CHUNK):
        yield chunk


def _header(response: httpcore2.Response, name: bytes) -> str | None:
    found = [value for given, value in response.headers if given.lower() == name]
    return found[0].decode("latin-1") if found else None


def _asked_wait(response: httpcore2.Response) -> float:
    try:
        wait = float(_header(response, b"retry-after") or "1")
    except ValueError:
        wait = 1.0
    return min(max(wait, 0.0), _LONGEST_WAIT)


def _check(status: int, content: bytes) -> None:
    """Raise the error that an answer is, if it is one."""
    if status < _REDIRECTED:
        return
    name, detail = _said(status, content)
    kind = _NAMED.get(name) or _OF_THE_WIRE.get(status, StoreUnavailable)
    raise kind(detail)


def _said(status: int, content: bytes) -> tuple[str, str]:
    """What kind of problem it is, and in words."""
    try:
        problem = json.loads(content)
        kind, detail = str(problem["type"]), str(problem["detail"])
    except (ValueError, LookupError, TypeError):
        return "", f"the server answered {status}, and not as memstrata does"
    return kind.rpartition(":")[2], detail
