"""The JSON a request brings."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn, cast

from starlette.requests import Request

from memstrata.api.problems import Refused
from memstrata.arguments import DEEPEST, is_deep

__all__ = ["arguments_of", "check_type"]


def check_type(request: Request, *wanted: str) -> None:
    """`Refused` with 415 for what is not said to be of a wanted type.

    A page in a browser can send other types to us without asking first, and no JSON.
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in wanted:
        raise Refused(415, "UnsupportedMediaType", f"send {wanted[0]}, and say so in Content-Type")


async def arguments_of(request: Request) -> dict[str, Any]:
    """The arguments in the body, a JSON object; an empty body is an empty one."""
    raw = await request.body()
    if not raw:
        return {}
    check_type(request, "application/json")
    try:
        body = json.loads(
            raw.decode("utf-8"),  # of bytes it would guess
            parse_constant=_no_number,
            parse_float=_finite,
            object_pairs_hook=_each_once,
        )
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise _no_json("the body is no JSON in UTF-8, or names one key twice") from None
    if raw.count(b"{") + raw.count(b"[") > DEEPEST and is_deep(body):
        raise _too_deep()
    if not isinstance(body, dict):
        raise _no_json('the body is a JSON object of arguments, such as {"user_id": "ana"}')
    return cast("dict[str, Any]", body)


def _too_deep() -> Refused:
    return _no_json(f"the body is nested more than {DEEPEST} deep: flatten it")


def _no_json(detail: str) -> Refused:
    return Refused(400, "BadRequest", detail)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object none of whose keys is there twice: who checks one must not miss the other."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)
