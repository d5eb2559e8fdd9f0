"""One small story, in which every verb is called once: the examples of the OpenAPI.

`python tests/api/story.py` plays it on a new store and writes what was sent and answered to
`src/memstrata/api/examples.json`. `$name` stands for something that an earlier answer had in it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2

import memstrata
from memstrata.api import make_app
from memstrata.api.routes import path_of
from memstrata.models.fake import FakeEmbedder

__all__ = ["STORY", "Call", "play"]

FILE = Path(__file__).parents[2] / "src/memstrata/api/examples.json"
ANA = {"user_id": "ana"}


@dataclass(frozen=True)
class Call:
    """One call, and what of its answer later ones need: a name, and where it stands."""

    verb: str
    request: Mapping[str, Any]
    keep: Mapping[str, tuple[str | int, ...]] = field(default_factory=dict)


def call(verb: str, *, keep: Mapping[str, tuple[str | int, ...]] | None = None, **given: Any):
    """A call about Ana."""
    return Call(verb, {**given, **ANA}, keep or {})


MOVED = [
    {"role": "user", "content": "I moved to Lisbon last month. I can't eat peanuts."},
    {"role": "assistant", "content": "How do you like Lisbon?"},
]
SAME_DAY = {"session_id": "family", "occurred_at": "2026-05-08T09:00:00+01:00"}
NEW_KEY: dict[str, Any] = {"name": "kitchen", "permissions": ["read", "write", "admin"]}
STORY = (
    call(
        "add",
        messages=MOVED,
        session_id="s1",
        occurred_at="2026-05-08T09:00:00+01:00",
        idempotency_key="chat-1",
        keep={"message": ("message_ids", 0), "added": ("batch_id",)},
    ),
    call(
        "create",
        record={"kind": "semantic", "name": "Ana takes line 28", "tags": ["way"]},
        keep={"record": ("record_ids", 0), "made": ("batch_id",)},
    ),
    call("update", record_id="$record", changes={"summary": "By the school"}, if_version=1),
    call("get", id="$record"),
    call("history", id="$record"),
    call("search", query="where does Ana live?", limit=2),
    call("context", query="plan dinner for Ana", max_tokens=800),
    call("timeline", query="when did Ana move?", now="2026-06-01"),
    call("count", query="how many lines does Ana take?"),
    call("ask", question="Where does Ana live?"),
    call("chat", messages="Where do I live?", learn=False),
    call("list", kinds=["semantic"], limit=1),
    call("messages", session_id="s1", limit=1),
    call("episodes", limit=1),
    call("themes", limit=1),
    call("entities", limit=1),
    call("changes", limit=2),
    call("batches", limit=1),
    call("wait_for", batch_id="$added", timeout=10),
    # An embedder that is down is not in the story: whoever plays it sees to that.
    call("add", messages="The plums are ripe.", session_id="s2", keep={"failed": ("batch_id",)}),
    call("retry", batch_id="$failed"),
    call("retire", record_id="$record", reason="the line was closed", keep={"gone": ("batch_id",)}),
    call("undo", batch_or_change="$gone"),
    call("add", messages="My sister Lena lives in Harrowgate.", **SAME_DAY),
    call("add", messages="My sister Lena lives in Dunmere.", **SAME_DAY),
    call("review", limit=1),
    call("decide", record_id="$waiting", decision="accept"),
    call(
        "vault.put",
        secret="Quince-40",
        caption="Orchard gate",
        entry_type="code",
        keep={"entry": ("record_ids", 0)},
    ),
    call("vault.list", limit=1),
    call("vault.reveal", id="$entry", reason="the gate is shut"),
    call("vault.rotate", id="$entry", secret="Quince-41", reason="a new lock"),
    call(
        "vault.put",
        secret="A-42",
        caption="Shelf",
        entry_type="code",
        keep={"shelf": ("record_ids", 0)},
    ),
    call("vault.release", id="$shelf", reason="it is the number of a shelf"),
    Call("vault.rotate_key", {"reason": "yearly"}),
    call("set_user", timezone="Europe/Lisbon", locale="pt-PT"),
    call("consolidate"),
    call("forget", ids=["$message"], dry_run=True),
    call("stats"),
    call("verify"),
    call("audit", limit=1),
    call("audit_secrets"),
    Call("scopes", {}),
    Call("configure", {"strategy": "single"}),
    Call("kinds", {}),
    Call("doctor", {}),
    Call("keys.create", NEW_KEY, {"key": ("id",), "secret": ("secret",)}),
    Call("keys.list", {}),
    Call("keys.revoke", {"id": "$key", "reason": "the kitchen is closed"}),
)


async def play(http: httpx2.AsyncClient, embedder: FakeEmbedder) -> dict[str, dict[str, Any]]:
    """What was sent and answered, by verb; the first call of each. It is all right, or fails."""
    told: dict[str, dict[str, Any]] = {}
    names: dict[str, Any] = {}
    for each in STORY:
        request = _filled(each.request, names)
        if "failed" in each.keep:
            embedder.fail_next()
        secret = names.get("secret")
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        response = await http.post(path_of(each.verb), json=request, headers=headers)
        assert response.status_code == 200, f"{each.verb}: {response.text}"
        answer = response.json()
        for name, where in each.keep.items():
            names[name] = _at(answer, where)
        if each.verb == "review":
            names["waiting"] = answer["items"][0]["record"]["id"]
        told.setdefault(each.verb, {"request": request, "response": answer})
    return told


def _at(value: Any, where: tuple[str | int, ...]) -> Any:
    for step in where:
        value = value[step]
    return value


def _filled(value: Any, names: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        return names[value[1:]]
    if isinstance(value, list):
        return [_filled(item, names) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, names) for key, item in value.items()}
    return value


def _as_written(told: Any, folder: str) -> Any:
    """Without what is this machine's, and without what looks like a key that opens something."""
    text = json.dumps(told, ensure_ascii=False, indent=1).replace(f"{folder}/", "")
    told = json.loads(text)
    told["keys.create"]["response"]["secret"] = f"mst_{'0' * 16}_{'0' * 64}"
    told["doctor"]["response"] = told["doctor"]["response"][:1]
    return told


async def _write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = Path(folder, "memory.db")
        embedder = FakeEmbedder()
        async with await memstrata.open_async(url, embedder=embedder) as memory:
            transport = httpx2.ASGITransport(make_app(memory))
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                told = await play(http, embedder)
        text = json.dumps(_as_written(told, folder), ensure_ascii=False, indent=1, sort_keys=True)
    FILE.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    anyio.run(_write)
