"""`dump` and `load`: a store or a scope as JSON lines, and back."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from memstrata.errors import Conflict, InvalidInput, StoreUnavailable
from memstrata.ingest.narrate import narrator
from memstrata.ingest.work import drain
from memstrata.passages import limits_of, passages_of
from memstrata.records import Message, Record, Scope
from memstrata.runtime import Runtime, new_id, scope_of, zone_named
from memstrata.safety.incoming import admitted
from memstrata.store.apply import SecretKnown
from memstrata.store.loading import Loading
from memstrata.store.ports import NewBatch, Passage
from memstrata.store.rows import dumps
from memstrata.store.transfer import PARTS, Carried, Loadable, read_row

__all__ = ["dump", "load"]

FORMAT = 1
_GROUP = 1000
_TRIES = 5


async def dump(runtime: Runtime, tenant: str, scope: Scope | None, path: Path) -> int:
    """Write a scope, or all of a tenant's, beside the target first: it is whole or absent."""
    part = path.with_name(f"{path.name}.part")
    try:
        scopes = [scope] if scope else await _scopes(runtime, tenant)
        count = await _write(runtime, scopes, part)
        await anyio.Path(part).replace(path)
    except OSError as error:
        raise StoreUnavailable(f"{path}: the dump could not be written: {error}") from error
    finally:
        with contextlib.suppress(OSError), anyio.CancelScope(shield=True):
            await anyio.Path(part).unlink()  # there still, when it did not become the dump
    return count


async def _write(runtime: Runtime, scopes: Sequence[Scope], part: Path) -> int:
    count = 0
    async with await anyio.open_file(part, "w", encoding="utf-8", newline="\n") as file:
        await file.write(dumps({"memstrata": FORMAT}) + "\n")
        for each in scopes:
            await file.write(dumps(await _header(runtime, each)) + "\n")
            async for rows in _pages(runtime, each):
                await file.write("".join(dumps(row) + "\n" for row in rows))
                count += len(rows)
    return count


async def _scopes(runtime: Runtime, tenant: str) -> list[Scope]:
    rows = await runtime.store.scopes(tenant)
    return [scope_of(tenant, row["user_id"], row["agent_id"]) for row in rows]


async def _header(runtime: Runtime, scope: Scope) -> Carried:
    timezone, locale = await runtime.store.user_settings(
        Scope(tenant=scope.tenant, user_id=scope.user_id)
    )
    return {
        "type": "scope",
        "user_id": scope.user_id,
        "agent_id": scope.agent_id,
        "timezone": timezone,
        "locale": locale,
    }


async def _pages(runtime: Runtime, scope: Scope) -> AsyncIterator[list[Carried]]:
    for part in PARTS:
        after: int | None = 0
        while after is not None:
            rows, after = await runtime.store.dump_page(scope, part, after)
            yield rows


async def load(runtime: Runtime, tenant: str, path: Path) -> int:
    """Store what is not there yet, a thousand rows at a time; a killed load is simply run again."""
    limits = limits_of(runtime.embedder)

    def index(value: Message | Record) -> tuple[Passage, ...]:
        return passages_of(value, limits)

    count = 0
    using: dict[Scope, Loading] = {}
    groups = _groups(path)
    while (group := await anyio.to_thread.run_sync(next, groups, None)) is not None:
        header, rows = group
        scope = scope_of(tenant, header.get("user_id"), header.get("agent_id"))
        if scope.user_id and (header.get("timezone") or header.get("locale")):
            user = Scope(tenant=scope.tenant, user_id=scope.user_id)
            await runtime.store.set_user(user, header.get("timezone"), header.get("locale"))
            runtime.zones.pop(user, None)
        if scope not in using:
            using[scope] = Loading(index, narrator(await runtime.zone_of(scope)))
        stored = await _store(runtime, scope, rows, using[scope])
        count += stored
        if stored and runtime.model is not None:
            await _embed(runtime, scope)
    return count


async def _store(runtime: Runtime, scope: Scope, rows: Sequence[Loadable], using: Loading) -> int:
    attempt = 0
    while True:
        clean, found = await admitted(runtime, scope, rows)
        try:
            return await runtime.store.load_rows(scope, clean, using, runtime.now(), found)
        except SecretKnown as error:  # sealed by another call meanwhile
            attempt += 1
            if attempt == _TRIES:
                raise Conflict(str(error)) from error


async def _embed(runtime: Runtime, scope: Scope) -> None:
    """Compute the vectors of what was loaded, as a batch of its own."""
    batch = NewBatch(new_id("batch"), "load", "load", runtime.now(), "pending")
    await runtime.store.apply(scope, batch, [])
    await drain(runtime, scope, until=batch.id)


def _groups(path: Path) -> Iterator[tuple[Carried, list[Loadable]]]:
    """The file's rows by scope, in groups, each with the scope's header."""
    header: Carried | None = None
    rows: list[Loadable] = []
    for line, row in _lines(path):
        where = f"{path}, line {line}"
        if row.get("type") == "scope":
            if header is not None and rows:
                yield header, rows
            header, rows = _checked_header(row, where), []
            continue
        if header is None:
            raise InvalidInput(f"{where}: a row stands before any scope")
        rows.append(read_row(row, where))
        if len(rows) == _GROUP:
            yield header, rows
            rows = []
    if header is not None and rows:
        yield header, rows


def _checked_header(row: Carried, where: str) -> Carried:
    try:
        scope_of("", row.get("user_id"), row.get("agent_id"))
        if row.get("timezone") is not None:
            zone_named(row["timezone"])
        if not isinstance(row.get("locale"), str | None):
            raise InvalidInput("the locale is no text")
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from error
    return row


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    line = 0
    try:
        with path.open(encoding="utf-8") as file:
            for line, text in enumerate(file, 1):
                row = _parsed(path, line, text)
                if line == 1:
                    _check_format(path, row)
                else:
                    yield line, row
    except OSError as error:
        raise StoreUnavailable(f"{path}: cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is no UTF-8 text, so no memstrata dump") from error
    if not line:
        raise InvalidInput(f"{path} is no memstrata dump: it is empty")


def _parsed(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"{path}, line {line} is no JSON: {error}") from error
    if not isinstance(row, dict):
        raise InvalidInput(f"{path}, line {line} is no mapping")
    return row  # type: ignore[return-value]


def _check_format(path: Path, row: dict[str, Any]) -> None:
    if row.get("memstrata") != FORMAT:
        raise InvalidInput(
            f"{path} is no memstrata dump of format {FORMAT}: it begins with {dumps(row)[:80]}"
        )
