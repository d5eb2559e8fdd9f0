"""Errors as problem details (RFC 9457), with one status for each of ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from starlette.requests import Request
from starlette.responses import Response

from memstrata import errors
from memstrata.errors import MemstrataError

__all__ = ["MEDIA_TYPE", "STATUS", "Refused", "problem", "problem_of", "status_of"]

MEDIA_TYPE = "application/problem+json"
STATUS: Mapping[type[MemstrataError], int] = MappingProxyType(
    {
        errors.InvalidInput: 422,
        errors.ScopeRequired: 400,
        errors.NotFound: 404,
        errors.Conflict: 409,
        errors.PermissionDenied: 403,
        errors.StoreUnavailable: 503,
        errors.SchemaTooNew: 501,
        errors.ModelFailed: 502,
        errors.BudgetExceeded: 402,
        errors.VaultUnavailable: 424,
        MemstrataError: 500,
    }
)


class Refused(Exception):
    """A request that is refused before it comes to memory: the wire is wrong, not the call."""

    def __init__(
        self, status: int, name: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.name = name
        self.headers = headers or {}


def status_of(error: MemstrataError) -> int:
    """The status that stands for an error, by its nearest class."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def problem_of(request: Request, error: MemstrataError) -> Response:
    """An error of ours as a response."""
    status = status_of(error)
    headers = {"Retry-After": "1"} if status == 503 else {}
    return problem(request, status, type(error).__name__, str(error), headers)


def problem(
    request: Request,
    status: int,
    name: str,
    detail: str,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A problem as a response: what kind, in words, and the request it concerns."""
    body = {
        "type": f"urn:memstrata:error:{name}",
        "title": name,
        "status": status,
        "detail": detail,
        "instance": request.url.path,
        "request_id": request.scope.get("state", {}).get("request_id", ""),
    }
    # An error may quote half a surrogate pair of the caller's; it is no reason for another one.
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(content, status, dict(headers or {}), MEDIA_TYPE)
