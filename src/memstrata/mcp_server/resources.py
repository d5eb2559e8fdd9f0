"""The resources: core memory, the profile, and single items, as text for a host to attach."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from urllib.parse import unquote

from mcp.types import Annotations, Resource, ResourceTemplate, TextResourceContents

from memstrata.access import Grant
from memstrata.consolidate.profile import LABEL
from memstrata.errors import NotFound
from memstrata.kinds import Core
from memstrata.mcp_server.tools import Caller
from memstrata.memory import AsyncMemory
from memstrata.records import Page, Record
from memstrata.verbs import VERBS, call

__all__ = ["read", "resources", "templates"]

_SCHEME = "memstrata://"
_PLAIN, _JSON = "text/plain", "application/json"
_NO_CORE = "Core memory is empty."
_NO_PROFILE = (
    "There is no profile yet: it is written when memory is consolidated (`memstrata consolidate`)."
)
_ABOUT = {
    "core": (
        "Core memory",
        "Who the user is and how the agent should be: data, always worth knowing.",
        _PLAIN,
    ),
    "profile": ("Profile", "What is known of the user, in lines, made from memory.", _PLAIN),
    "items": ("One item", "One message, record, episode or theme, whole, by its id.", _JSON),
}


def resources(caller: Caller) -> list[Resource]:
    """What can be read without naming a user, where the server or the key knows one."""
    known = caller.user or caller.grant.user_id or caller.grant.agent_id
    if not known or not _may_read(caller.grant):
        return []
    return [
        Resource(
            uri=_SCHEME + name,
            name=name,
            title=_ABOUT[name][0],
            description=_ABOUT[name][1],
            mime_type=_ABOUT[name][2],
            annotations=Annotations(audience=["assistant"], priority=0.8),
        )
        for name in ("core", "profile")
    ]


def templates(caller: Caller) -> list[ResourceTemplate]:
    """What can be read by naming a user, or an id."""
    if not _may_read(caller.grant):
        return []
    shapes = {
        "core/{user_id}": "core",
        "profile/{user_id}": "profile",
        "items/{id}": "items",
        "items/{user_id}/{id}": "items",
    }
    return [
        ResourceTemplate(
            uri_template=_SCHEME + shape,
            name=shape.replace("{", "").replace("}", "").replace("/", "_"),
            title=_ABOUT[name][0],
            description=_ABOUT[name][1],
            mime_type=_ABOUT[name][2],
        )
        for shape, name in shapes.items()
    ]


def _may_read(grant: Grant) -> bool:
    return VERBS["get"].needs in grant.permissions


async def read(memory: AsyncMemory, caller: Caller, uri: str) -> TextResourceContents:
    """A resource; `NotFound` for an address that is none of ours."""
    head, *rest = [unquote(part) for part in uri.removeprefix(_SCHEME).rstrip("/").split("/")]
    make = _MAKE.get((head, len(rest))) if uri.startswith(_SCHEME) else None
    if make is None:
        raise NotFound(
            f"no resource is at {uri[:200]}: use memstrata://core, memstrata://profile (each with "
            "/USER for another user), or memstrata://items/ID"
        )
    text = await make(memory, caller, *rest)
    return TextResourceContents(uri=uri, text=text, mime_type=_ABOUT[head][2])


async def _core(memory: AsyncMemory, caller: Caller, *user: str) -> str:
    blocks = await _blocks(memory, caller, *user)
    return "\n\n".join(Core.render(block) for block in blocks) or _NO_CORE


async def _profile(memory: AsyncMemory, caller: Caller, *user: str) -> str:
    blocks = await _blocks(memory, caller, *user)
    return "\n".join(each.text for each in blocks if Core.label_of(each) == LABEL) or _NO_PROFILE


async def _blocks(memory: AsyncMemory, caller: Caller, *user: str) -> list[Record]:
    """The blocks of core memory that hold now."""
    asked = {"kinds": [Core.name_of_kind], "lifecycles": ["current"], **_owner(*user)}
    blocks: list[Record] = []
    cursor: str | None = None
    while True:
        given = caller.scope({**asked, "cursor": cursor})
        page: Page[Record] = await call(memory, caller.grant, "list", given, actor=caller.actor)
        blocks += page.items
        cursor = page.next
        if cursor is None:
            return blocks


async def _item(memory: AsyncMemory, caller: Caller, *path: str) -> str:
    *user, key = path
    given = caller.scope({"id": key, **_owner(*user)})
    found = await call(memory, caller.grant, "get", given, actor=caller.actor)
    kept = found.model_dump(mode="json", exclude_none=True, exclude={"fingerprint"})
    return json.dumps(kept, ensure_ascii=False, indent=1)


def _owner(*user: str) -> dict[str, str]:
    return {"user_id": user[0]} if user else {}


_MAKE: dict[tuple[str, int], Callable[..., Awaitable[str]]] = {
    ("core", 0): _core,
    ("core", 1): _core,
    ("profile", 0): _profile,
    ("profile", 1): _profile,
    ("items", 1): _item,
    ("items", 2): _item,
}
