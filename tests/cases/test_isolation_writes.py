"""What one writes, erases or takes back is nobody else's matter: not a row of theirs changes."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest
from cases.crowd import PLACES, QUESTION, Crowd, Place, everything_of, fill, known, rows_of

import memstrata
from memstrata import AsyncMemory, ModelFailed, NotFound, ScopeRequired
from memstrata.access import EVERYTHING, Grant
from memstrata.models.fake import FakeChat, FakeEmbedder
from memstrata.verbs import call

pytestmark = pytest.mark.anyio

OURS = Place("north", "ann", "desk")
OWNER = ("north", "ann", "desk")
FACT = {"kind": "semantic", "name": "The gate of Balvenhoek is red"}
NEWS = ["I moved to Porto.", "我搬到了波尔图。", "The gate code is 40719, and the door is red."]
PLAIN = "ghp_" + "Zq81" * 9


@asynccontextmanager
async def opened(path: Path, **options: Any) -> AsyncGenerator[AsyncMemory]:
    embedder = FakeEmbedder(dimensions=64)
    async with await memstrata.open_async(path, embedder=embedder, **options) as memory:
        yield memory


@pytest.fixture(scope="module")
async def filled(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A filled store, closed; in one message of each scope an older program left a secret."""
    path = tmp_path_factory.mktemp("crowd") / "memory.db"
    async with opened(path) as memory:
        await fill(memory)
    return path


@pytest.fixture
def path(filled: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(filled, tmp_path / "memory.db"))


class Ours(NamedTuple):
    """What a write has to do with: calls with our key, and our ids."""

    do: Callable[..., Awaitable[Any]]
    ids: dict[str, list[str]]
    path: Path

    @property
    def entry(self) -> str:
        """What is sealed here."""
        [found] = [each for each in self.ids["records"] if each.startswith("vault_")]
        return found

    async def records(self, **which: Any) -> list[str]:
        """Our own records, without what the user shares."""
        page = await self.do("list", **which)
        return [each.id for each in page if each.agent_id == OURS.agent]


async def _add(our: Ours) -> None:
    receipt = await our.do("add", messages=NEWS, session_id="mon", wait=False)
    assert (await our.do("wait_for", batch_id=receipt.batch_id)).state == "done"


async def _consolidate(our: Ours) -> None:
    await our.do("create", record=FACT)
    await our.do("create", record={**FACT, "name": "The gate of Balvenhoek is red!"})
    assert (await our.do("consolidate", rebuild_themes=True)).changes


async def _decide(our: Ours) -> None:
    [waiting] = await our.records(lifecycles=["review"])
    await our.do("decide", record_id=waiting, decision="accept")


async def _rotate(our: Ours) -> None:
    await our.do("vault.rotate", id=our.entry, secret="pear 8820")


async def _release(our: Ours) -> None:
    await our.do("vault.release", id=our.entry)


async def _forget_ids(our: Ours) -> None:
    receipt = await our.do("forget", ids=our.ids["messages"][:2])
    assert receipt.messages == 2


async def _forget_session(our: Ours) -> None:
    assert (await our.do("forget", session_id="mon")).messages == 4


async def _forget_filtered(our: Ours) -> None:
    assert (await our.do("forget", filters={"tags": {"exists": True}})).messages == 4


async def _forget_all(our: Ours) -> None:
    assert (await our.do("forget", everything=True)).messages == 4


async def _undo(our: Ours) -> None:
    [told] = [each for each in await our.do("batches") if each.verb == "add" and each.agent_id]
    await our.do("undo", batch_or_change=told.id, cascade=True)


async def _retry(our: Ours) -> None:
    receipt = await our.do("add", messages=NEWS)
    with closing(apsw.Connection(str(our.path))) as file, file:
        told = (receipt.batch_id,)
        file.execute("UPDATE batches SET state = 'failed', distilled = 0 WHERE id = ?", told)
    assert (await our.do("retry", batch_id=receipt.batch_id)).state == "done"


async def _seal(our: Ours) -> None:
    [found] = await our.do("audit_secrets", seal=True)
    assert found.id in our.ids["messages"]


def one(verb: str, **arguments: Any) -> Callable[[Ours], Awaitable[Any]]:
    return lambda our: our.do(verb, **arguments)


WRITES: dict[str, Callable[[Ours], Awaitable[Any]]] = {
    "add": _add,
    "audit_secrets": _seal,
    "chat": one("chat", messages="I moved to Porto.", session_id="mon"),
    "consolidate": _consolidate,
    "create": one("create", record=FACT),
    "decide": _decide,
    "forget of ids": _forget_ids,
    "forget of a session": _forget_session,
    "forget of a tag": _forget_filtered,
    "forget everything": _forget_all,
    "retire": lambda our: _of_a_record(our, "retire"),
    "retry": _retry,
    "set_user": one("set_user", timezone="Asia/Tokyo"),
    "undo": _undo,
    "update": lambda our: _of_a_record(our, "update", changes={"title": "Goats", "tags": ["x"]}),
    "vault.put": one("vault.put", secret="plum Balvenhoek", caption="gate"),
    "vault.release": _release,
    "vault.rotate": _rotate,
}
"""By an agent of a user, with a key that is bound to both."""


async def _of_a_record(our: Ours, verb: str, **arguments: Any) -> None:
    own = await our.records(kinds=["semantic"])
    await our.do(verb, record_id=own[0], **arguments)


def leave_secrets(path: Path, crowd: Crowd) -> None:
    """In the first message of each scope, as they are."""
    with closing(apsw.Connection(str(path))) as file, file:
        for found in crowd.of.values():
            file.execute(
                "UPDATE messages SET content = content || ? WHERE id = ?",
                (f" {PLAIN}", found["messages"][0]),
            )


@pytest.mark.parametrize("name", WRITES)
async def test_not_a_row_of_another_changes(path: Path, name: str) -> None:
    """R32, R34: every row of every table, but for those of whom it was done."""
    crowd = known(path)
    if name == "audit_secrets":
        leave_secrets(path, crowd)
    async with opened(path) as memory:
        made = await memory.for_tenant("north").keys.create(
            "ours", user_id="ann", agent_id="desk", permissions=sorted(EVERYTHING)
        )
        grant = await memory.keys.grant(made.secret)
        assert grant is not None
        before = rows_of(path)

        async def do(verb: str, **arguments: Any) -> Any:
            return await call(memory, grant, verb, arguments)

        await WRITES[name](Ours(do, crowd.of[OURS], path))
    after = rows_of(path)
    changed = {who for who in before | after if before.get(who) != after.get(who)} - {()}
    assert changed == ({("north", "ann")} if name == "set_user" else {OWNER})


async def _load(do: Callable[..., Awaitable[Any]], folder: Path, memory: AsyncMemory) -> None:
    dump = str(folder / "south.jsonl")
    await call(memory, everything_of("south"), "dump", {"path": dump, "user_id": "ann"})
    assert await do("load", path=dump) > 0


async def _revoke(do: Callable[..., Awaitable[Any]], folder: Path, memory: AsyncMemory) -> None:
    made = await do("keys.create", name="x")
    await do("keys.revoke", id=made.id)


WHOLE: dict[str, Callable[..., Awaitable[Any]]] = {
    "configure": lambda do, folder, memory: do("configure", managers=["semantic"]),
    "keys.create": lambda do, folder, memory: do("keys.create", name="x", user_id="ann"),
    "keys.revoke": _revoke,
    "load": _load,
}


@pytest.mark.parametrize("name", WHOLE)
async def test_not_a_row_of_another_tenant_changes(path: Path, tmp_path: Path, name: str) -> None:
    async with opened(path) as memory:
        grant = everything_of("north")
        await call(memory, grant, "configure", {"instructions": "Be brief."})
        before = rows_of(path)

        async def do(verb: str, **arguments: Any) -> Any:
            return await call(memory, grant, verb, arguments)

        await WHOLE[name](do, tmp_path, memory)
    after = rows_of(path)
    changed = {who for who in before | after if before.get(who) != after.get(who)} - {()}
    if name == "load":  # that a dump was made is on record where it was made
        changed -= {("south", "ann", "")}
        before.pop(("south", "ann", ""))
    assert changed and {who[0] for who in changed} == {"north"}


async def test_background_work_keeps_to_its_own(tmp_path: Path) -> None:
    """While all are still being worked off, one is forgotten and another taken back."""
    places = [place for place in PLACES if place.tenant != "south"]
    gone, undone = places[1], places[4]
    path = tmp_path / "memory.db"
    async with opened(path) as memory:
        batches: dict[Place, str] = {}
        for place in places:
            said = {"messages": [f"I live in {place.word}.", f"我在{place.word}养羊。"]}
            told = {**said, "session_id": "mon", "wait": False, **place.scope}
            receipt = await call(memory, everything_of(place.tenant), "add", told)
            batches[place] = receipt.batch_id
        for verb, place, arguments in (
            ("forget", gone, {"everything": True}),
            ("undo", undone, {"batch_or_change": batches[undone]}),
        ):
            await call(memory, everything_of(place.tenant), verb, {**arguments, **place.scope})
        for place in places:
            if place not in (gone, undone):
                asked = {"batch_id": batches[place], **place.scope}
                done = await call(memory, everything_of(place.tenant), "wait_for", asked)
                assert done.state == "done", done
                await call(memory, everything_of(place.tenant), "consolidate", place.scope)
        crowd = known(path)
        for place in places:
            seen: set[Place] = set()
            for verb, arguments in (
                ("list", {}),
                ("messages", {}),
                ("episodes", {}),
                ("entities", {}),
                ("search", {"query": QUESTION, "limit": 999}),
                ("context", {"query": QUESTION}),
            ):
                asked = {**arguments, **place.scope}
                found = await call(memory, everything_of(place.tenant), verb, asked)
                seen |= {one for one in crowd.seen_in(found) if one.word in str(found)}
            assert seen == place.view - {gone, undone}, place
        assert await memory.verify() == []


async def test_a_model_is_shown_what_its_scope_may_see(path: Path) -> None:
    """Whatever is sent: to distil, to compare, to sum up, to answer."""
    crowd, chat = known(path), FakeChat(otherwise={"memories": []})
    places = [OURS, OURS.shared, Place("north", None, "road"), Place("south", "cem", "road")]
    purposes: set[str] = set()
    async with opened(path, llm=chat) as memory:
        for place in places:
            for verb, arguments in (
                ("add", {"messages": NEWS}),
                ("consolidate", {"rebuild_themes": True}),
                ("ask", {"question": "Where do I live?"}),
                ("chat", {"messages": "Where do I live?"}),
                ("search", {"query": QUESTION}),
                ("context", {"query": QUESTION}),
            ):
                chat.prompts.clear()
                with contextlib.suppress(ModelFailed):
                    asked = {**arguments, **place.scope}
                    await call(memory, everything_of(place.tenant), verb, asked)
                purposes |= {prompt.purpose for prompt in chat.prompts}
                shown = [(prompt.system, prompt.turns) for prompt in chat.prompts]
                assert crowd.seen_in(shown) <= place.view, (verb, place)
    assert len(purposes) >= 3


async def test_r34_everything_of_one_goes_and_nothing_of_another(tmp_path: Path) -> None:
    """Only the first page went, or everybody's (mem0ai/mem0 #6627, #4869, #3785)."""
    counts = {"a": 250, "b": 7}
    async with opened(tmp_path / "memory.db") as memory:
        for user, count in counts.items():
            grant = Grant(user_id=user, permissions=EVERYTHING, key=user)
            said = {"messages": [f"Crate {n} of {user} is here." for n in range(count)]}
            await call(memory, grant, "add", {**said, "infer": False})
        with pytest.raises(ScopeRequired):
            await call(memory, everything_of("default"), "forget", {"everything": True})
        a, b = (Grant(user_id=user, permissions=EVERYTHING, key=user) for user in "ab")
        dry = await call(memory, a, "forget", {"everything": True, "dry_run": True})
        assert (dry.messages, (await call(memory, a, "stats", {}))["messages"]) == (250, 250)
        receipt = await call(memory, a, "forget", {"everything": True})
        assert receipt.messages == 250
        left = [(await call(memory, grant, "stats", {}))["messages"] for grant in (a, b)]
        assert left == [0, 7]
        assert len(await call(memory, b, "messages", {})) == 7
        with pytest.raises(ScopeRequired):
            await call(memory, everything_of("default"), "forget", {"everything": True})
        with pytest.raises(NotFound):
            [message, *_] = await call(memory, b, "messages", {})
            await call(memory, a, "forget", {"ids": [message.id]})
