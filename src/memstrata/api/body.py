"""The JSON a request brings."""

from __future__ import annotations

import json
from typing import Any, NoReturn, cast

from starlette.requests import Request

from memstrata.api.problems import Refused

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
        body = json.loads(raw, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise _no_json("the body is no JSON in UTF-8, or is nested too deeply") from None
    if not isinstance(body, dict):
        raise _no_json('the body is a JSON object of arguments, such as {"user_id": "ana"}')
    return cast("dict[str, Any]", body)


def _no_json(detail: str) -> Refused:
    return Refused(400, "BadRequest", detail)


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)
