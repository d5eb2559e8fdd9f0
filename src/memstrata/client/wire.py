"""Requests to a server and what comes back: values, or errors as they are raised in process."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import anyio
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
_LIMITED, _UNAVAILABLE = 429, 503
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

    def __init__(self, url: str, key: str | None, *, timeout: float, **options: Any) -> None:
        headers = {"User-Agent": f"memstrata/{__version__}", "Accept": "application/json"}
        headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        self.url = url
        self._waits = _patience(timeout)
        self._urls: dict[str, httpx2.URL] = {}
        self._http = httpx2.AsyncClient(
            base_url=url,
            headers=headers,
            timeout=self._waits,
            limits=httpx2.Limits(
                max_connections=_MOST, max_keepalive_connections=_MOST, keepalive_expiry=_KEEP
            ),
            **options,
        )

    def _at(self, path: str) -> httpx2.URL:
        """A path of the server; put together once, for that takes as long as sending does."""
        if path not in self._urls:
            self._urls[path] = httpx2.URL(self.url.rstrip("/") + path)
        return self._urls[path]

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

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
        waits = self._waits
        if timeout is not None:
            waits = _patience(None if timeout == math.inf else timeout)
        request = self._http.build_request(
            "GET" if arguments is None else "POST",
            self._at(path),
            content=None if arguments is None else _encoded(arguments),
            headers=headers,
            timeout=waits,
        )
        for left in reversed(range(_TRIES)):
            try:
                response = await self._http.send(request)
            except httpx2.HTTPError as error:
                # What found no server has done nothing there.
                if not left or not (again or isinstance(error, httpx2.ConnectError)):
                    raise self._lost(error, again) from error
                await anyio.sleep(0.1 * (_TRIES - left))
                continue
            early = response.status_code == _LIMITED  # refused before anything was done
            if not left or not (early or (again and response.status_code == _UNAVAILABLE)):
                return _checked(response).content
            await anyio.sleep(_asked_wait(response))
        raise AssertionError("every try ends")

    async def fetch(
        self, path: str, arguments: Mapping[str, Any], target: Path, headers: Mapping[str, str]
    ) -> int:
        """Write an answer to a file, which is whole or absent; how many rows it has."""
        part = anyio.Path(target.with_name(f"{target.name}.part"))
        body = _encoded(arguments)
        try:
            async with self._http.stream(
                "POST", self._at(path), content=body, headers=headers
            ) as answer:
                if not answer.is_success:
                    await answer.aread()
                _checked(answer)
                async with await part.open("wb") as file:
                    async for chunk in answer.aiter_bytes():
                        await file.write(chunk)
            await part.replace(target)
        except httpx2.HTTPError as error:
            raise self._lost(error, again=True) from error
        except OSError as error:
            raise StoreUnavailable(f"{target}: the dump could not be written: {error}") from error
        finally:
            with contextlib.suppress(OSError), anyio.CancelScope(shield=True):
                await part.unlink()  # there still, when it did not become the dump
        return int(answer.headers.get("memstrata-rows", "0"))

    async def send(self, path: str, source: Path, headers: Mapping[str, str]) -> bytes:
        """The answer to the contents of a file."""
        sent = {"Content-Type": "application/x-ndjson", **headers}
        try:
            async with await anyio.open_file(source, "rb") as file:
                response = await self._http.post(
                    self._at(path),
                    content=_chunks(file),
                    headers=sent,
                    timeout=_patience(None),
                )
        except httpx2.HTTPError as error:
            raise self._lost(error, again=True) from error
        except OSError as error:
            raise InvalidInput(f"{source}: the file cannot be read: {error}") from error
        return _checked(response).content

    def _lost(self, error: httpx2.HTTPError, again: bool) -> StoreUnavailable:
        why = str(error) or type(error).__name__
        if isinstance(error, httpx2.ConnectError):
            return StoreUnavailable(f"no server answers at {self.url}: {why}")
        if again:
            return StoreUnavailable(f"the server at {self.url} gave no answer: {why}")
        return StoreUnavailable(
            f"the server at {self.url} gave no answer, and may have done what was asked: {why}; "
            "with an idempotency_key a call can be sent again"
        )


def _patience(seconds: float | None) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=5.0, pool=None)


async def _chunks(file: anyio.AsyncFile[bytes]) -> AsyncIterator[bytes]:
    while chunk := await file.read(_CHUNK):
        yield chunk


def _asked_wait(response: httpx2.Response) -> float:
    try:
        wait = float(response.headers.get("retry-after", "1"))
    except ValueError:
        wait = 1.0
    return min(max(wait, 0.0), _LONGEST_WAIT)


def _checked(response: httpx2.Response) -> httpx2.Response:
    """The response, if it is none of an error."""
    if response.is_success:
        return response
    name, detail = _said(response)
    kind = _NAMED.get(name) or _OF_THE_WIRE.get(response.status_code, StoreUnavailable)
    raise kind(detail)


def _said(response: httpx2.Response) -> tuple[str, str]:
    """What kind of problem it is, and in words."""
    try:
        problem = response.json()
        kind, detail = str(problem["type"]), str(problem["detail"])
    except (ValueError, LookupError, TypeError):
        return "", f"the server answered {response.status_code}, and not as memstrata does"
    return kind.rpartition(":")[2], detail
