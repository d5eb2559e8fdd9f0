"""Resources and prompts through the official client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import TextContent, TextResourceContents
from mcp_server.speaking import MODES, speaking

import memstrata
from memstrata.access import Grant
from memstrata.mcp_server.arguments import SCHEMAS
from memstrata.mcp_server.prompting import PROMPTS
from memstrata.memory import AsyncMemory

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemory]:
    async with await memstrata.open_async(":memory:", embedder="fake") as opened:
        yield opened


async def read(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert content.uri == uri
    return content.text


@pytest.mark.parametrize("mode", MODES)
async def test_core_memory_and_the_profile_can_be_attached(memory: AsyncMemory, mode: str) -> None:
    block = {"kind": "core", "label": "human", "value": "姓名：安娜\nLikes plums."}
    await memory.create(block, user_id="ana")
    await memory.create({**block, "value": "Likes pears."}, user_id="bo/../x")
    await memory.add("I live in Porto. I love jasmine tea.", user_id="ana")
    async with speaking(memory, mode=mode) as client:
        listed = [str(each.uri) for each in (await client.list_resources()).resources]
        assert listed == ["memstrata://core", "memstrata://profile"]
        assert "human:\n姓名：安娜\nLikes plums." in await read(client, "memstrata://core")
        assert "no profile yet" in await read(client, "memstrata://profile")
        await memory.consolidate(user_id="ana")
        assert "Porto" in await read(client, "memstrata://profile")
        assert "Porto" in await read(client, "memstrata://core")
        other = f"memstrata://core/{quote('bo/../x', safe='')}"
        assert "pears" in await read(client, other)
        assert await read(client, "memstrata://core/nobody") == "Core memory is empty."


async def test_one_item_can_be_read_whole(memory: AsyncMemory) -> None:
    added = await memory.add("I live in Porto. 我住在波尔图。", user_id="ana")
    async with speaking(memory) as client:
        for key in (added.message_ids[0], added.record_ids[0]):
            for uri in (f"memstrata://items/{key}", f"memstrata://items/ana/{key}"):
                text = await read(client, uri)
                assert json.loads(text)["id"] == key and "\\u" not in text
        templates = (await client.list_resource_templates()).resource_templates
        assert {each.uri_template for each in templates} == {
            "memstrata://core/{user_id}",
            "memstrata://profile/{user_id}",
            "memstrata://items/{id}",
            "memstrata://items/{user_id}/{id}",
        }


@pytest.mark.parametrize(
    "uri",
    [
        "memstrata://nothing",
        "memstrata://items/sem_0",
        "memstrata://items",
        "memstrata://core/a/b",
        "file:///etc/hostname",
        "http://127.0.0.1:9/core",
        "memstrata://items/..%2F..%2Fetc%2Fpasswd",
    ],
)
async def test_an_address_that_is_none_of_ours(memory: AsyncMemory, uri: str) -> None:
    async with speaking(memory) as client:
        with pytest.raises(MCPError, match="NotFound") as caught:
            await client.read_resource(uri)
    assert caught.value.error.code == -32602


async def test_whose_core_it_is_follows_the_key(memory: AsyncMemory) -> None:
    for user, fruit in (("ana", "plums"), ("bo", "pears")):
        block = {"kind": "core", "label": "human", "value": f"Likes {fruit}."}
        await memory.create(block, user_id=user)
    bound = Grant(user_id="bo", permissions=frozenset({"read"}), key="bo's")
    async with speaking(memory, grant=bound, user="ana") as client:
        assert "pears" in await read(client, "memstrata://core")
        with pytest.raises(MCPError, match="PermissionDenied"):
            await read(client, "memstrata://core/ana")
    async with speaking(memory, user=None) as client:
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError, match="ScopeRequired"):
            await read(client, "memstrata://core")
    locked = Grant(permissions=frozenset(), key="none")
    async with speaking(memory, grant=locked) as client:
        assert (await client.list_resources()).resources == []
        assert (await client.list_resource_templates()).resource_templates == []
        with pytest.raises(MCPError, match="PermissionDenied"):
            await read(client, "memstrata://core")


async def text_of(client: Client, name: str, **arguments: str) -> str:
    (message,) = (await client.get_prompt(name, arguments)).messages
    assert message.role == "user" and isinstance(message.content, TextContent)
    return message.content.text


@pytest.mark.parametrize("mode", MODES)
async def test_every_prompt_in_both_languages(memory: AsyncMemory, mode: str) -> None:
    async with speaking(memory, mode=mode) as client:
        prompts = {each.name: each for each in (await client.list_prompts()).prompts}
        assert set(prompts) == set(PROMPTS)
        for name, prompt in prompts.items():
            own = [each for each in prompt.arguments or [] if each.required]
            given = {each.name: "the {about} plums; 'quoted'" for each in own}
            english = await text_of(client, name, **given)
            chinese = await text_of(client, name, **given, language="中文")
            assert english != chinese and "请" in chinese and "请" not in english
            for text in (english, chinese):
                assert [tool for tool in SCHEMAS if f"`{tool}`" in text]
                assert all(value in text for value in given.values())
                assert ("{about}" in text) is bool(given)
        asked = await text_of(client, "recall", question="我住在哪里？")
        assert "请" in asked  # in the language of the question


async def test_a_prompt_that_lacks_something_says_what(memory: AsyncMemory) -> None:
    async with speaking(memory) as client:
        with pytest.raises(MCPError, match="the prompt recall needs question"):
            await client.get_prompt("recall", {"question": " "})
        with pytest.raises(MCPError, match="no prompt 'greet': use remember_conversation"):
            await client.get_prompt("greet")
