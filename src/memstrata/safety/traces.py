"""`verify` after an erasure: whether anything is left of ids, or of a text, anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from memstrata.errors import InvalidInput
from memstrata.runtime import Runtime
from memstrata.store.ports import Trace

__all__ = ["left_of"]

_ID = re.compile(r"[a-z]{1,16}_[0-9a-f]{32}")
_OWN = frozenset(f"{table}.id" for table in ("messages", "records", "episodes", "entities"))
"""Where what has an id itself stands."""


async def left_of(runtime: Runtime, ids: Sequence[str], text: str | None) -> list[str]:
    """Where something stands that was erased, in words that repeat nothing of the text."""
    for key in ids:
        if not _ID.fullmatch(key):
            raise InvalidInput(f"erased: {key[:80]!r} is no id of a message, record or episode")
    names = {key.encode(): key for key in ids}
    names.update({form: "the text" for form in _forms(text)} if text is not None else {})
    if not names:
        return []
    found: dict[str, list[Trace]] = {}
    for trace in await runtime.store.traces(list(names)):
        found.setdefault(names[trace.needle], []).append(trace)
    return [line for name, traces in found.items() for line in _told(name, traces)]


def _forms(text: str) -> set[bytes]:
    """A text as it stands in a column, and as it stands in one that holds JSON."""
    written = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    return {form.encode("utf-8", "surrogatepass") for form in written}


def _told(name: str, traces: Sequence[Trace]) -> Iterator[str]:
    """What stands in rows is in the files too, which then goes without saying."""
    rows = dict.fromkeys(trace.where for trace in traces if trace.row)
    own = [where for where in rows if where in _OWN and name != "the text"]
    if own:
        yield f"{name} is still stored ({', '.join(own)})"
        return
    for where in rows:
        yield f"{name} still stands in a row ({where})"
    if not rows:
        yield from dict.fromkeys(f"{name} still stands in {trace.where}" for trace in traces)
