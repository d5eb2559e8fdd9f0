"""`memstrata mcp` as a host runs it: what stands on its outputs, and how it ends."""

from __future__ import annotations

import json
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from cli_shell import RUN
from mcp import Client, StdioServerParameters
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from mcp_server.speaking import (
    HELLO,
    MODES,
    Process,
    call,
    called,
    command,
    conversation,
    environment,
    hello,
    line,
    messages_in,
)

import memstrata
from memstrata.memory import AsyncMemory

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemory]:
    async with await memstrata.open_async(":memory:", embedder="fake") as opened:
        yield opened


@pytest.mark.parametrize("mode", [MODES[0], "auto"])
async def test_the_official_client_runs_the_command(tmp_path: Path, mode: str) -> None:
    host = StdioServerParameters(
        command=RUN[0], args=[*RUN[1:], "mcp"], env=environment(tmp_path), encoding="utf-8"
    )
    async with Client(host, mode=mode) as client:
        assert (await client.list_tools()).tools[0].name == "add"
        await call(client, "add", messages="我喜欢喝茶 🍵")
        found = await call(client, "search", query="喝茶")
        assert "喝茶" in found["hits"][0]["text"]
        assert client.server_info is not None and client.server_info.name == "memstrata"


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_every_older_protocol_version(memory: AsyncMemory, version: str) -> None:
    said = messages_in(
        await conversation(
            memory,
            hello(version)
            + line("tools/list", key=1)
            + called("add", 2, messages="I moved to Porto.")
            + line("prompts/list", key=3)
            + line("resources/list", key=4)
            + line("resources/read", {"uri": "memstrata://core"}, 5),
        )
    )
    assert said[0]["result"]["protocolVersion"] == version
    assert {tool["name"] for tool in said[1]["result"]["tools"]} >= {"add", "search", "forget"}
    assert json.loads(said[2]["result"]["content"][0]["text"])["state"] == "done"
    structured = version >= "2025-06-18"  # the first that has it
    assert ("structuredContent" in said[2]["result"]) is structured
    assert ("outputSchema" in said[1]["result"]["tools"][0]) is structured
    assert said[3]["result"]["prompts"] and said[4]["result"]["resources"]
    assert said[5]["result"]["contents"][0]["text"]


async def test_a_version_of_tomorrow_is_answered_with_one_that_is_spoken(
    memory: AsyncMemory,
) -> None:
    said = messages_in(await conversation(memory, hello("2099-01-01")))
    assert said[0]["result"]["protocolVersion"] in HANDSHAKE_PROTOCOL_VERSIONS


async def test_the_newest_version_needs_no_handshake(memory: AsyncMemory) -> None:
    about = {
        "io.modelcontextprotocol/protocolVersion": MODERN_PROTOCOL_VERSIONS[-1],
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    said = messages_in(await conversation(memory, line("tools/list", {"_meta": about}, 1)))
    assert said[1]["result"]["tools"]


def test_characters_are_themselves_whatever_the_locale(tmp_path: Path) -> None:
    text = "我喜欢喝茶 🍵 " * 50
    with memstrata.open(tmp_path / "memory.db", embedder="fake") as memory:
        memory.add(text, user_id="ana", infer=False)
    given = HELLO + called("search", 2, query="喝茶")
    done = command(tmp_path, given, LC_ALL="C", PYTHONIOENCODING="cp936", PYTHONUTF8="0")
    assert done.returncode == 0
    raw = done.stdout.splitlines()[-1]
    assert raw.count(text.strip().encode()) == 2 and b"\\u" not in raw
    # Twice: as data, and as text for hosts that know no other.
    assert len(raw) < 3 * len(text.encode())


async def test_a_malformed_request_is_answered_and_the_next_one_served(memory: AsyncMemory) -> None:
    given = (
        HELLO
        + "\n{broken\n"
        + "[1, 2]\n"
        + '{"jsonrpc": "2.0", "id": "a", "method": 5}\n'
        + '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":'
        + '{"messages":"half \\ud83d"}}}\n'
        + ("[" * 100_000 + "\n")
        + line("no/such", {}, 2)
        + line("tools/call", {"arguments": {}}, 3)
        + line("tools/call", {"name": "search", "arguments": "tea"}, 4)
        + called("no_such_tool", 5)
        + called("add", 6, messages="x" * 300_000, infer=False)
        + called("search", 8, query="tea")
    )
    said = messages_in(await conversation(memory, given))
    assert said[None]["error"]["code"] == -32700
    assert {said[key]["error"]["code"] for key in ("a", 7)} == {-32600}
    assert said[2]["error"]["code"] == -32601
    assert {said[key]["error"]["code"] for key in (3, 4, 5)} == {-32602}
    assert "use add, search" in said[5]["error"]["message"]
    assert "error" not in said[6] and said[8]["result"]["structuredContent"]["hits"] == []


async def test_what_is_under_way_when_the_input_ends_is_answered(memory: AsyncMemory) -> None:
    given = HELLO + "".join(called("add", key, messages=f"Note {key}.") for key in range(1, 9))
    assert set(messages_in(await conversation(memory, given))) == set(range(9))
    assert len((await memory.messages(user_id="ana")).items) == 8


async def test_a_request_that_was_taken_back_is_not_waited_for(memory: AsyncMemory) -> None:
    given = HELLO + called("search", 1, query="tea")
    given += line("notifications/cancelled", {"requestId": 1}) + line("prompts/list", key=2)
    with anyio.fail_after(8):  # less than the patience at the end of the input
        assert {0, 2} <= set(messages_in(await conversation(memory, given)))


def test_what_warns_or_prints_does_so_on_standard_error(tmp_path: Path) -> None:
    """The store warns, for it was made with another embedder; and a library prints."""
    with memstrata.open(tmp_path / "memory.db", embedder="none") as memory:
        memory.add("The plums are ripe.", user_id="ana")
    noisy = tmp_path / "site"
    noisy.mkdir()
    (noisy / "sitecustomize.py").write_text(
        "import atexit, os, threading, warnings\n"
        "import memstrata.config as config\n"
        "opening = config.open_async\n"
        "async def noisy(*args, **kwargs):\n"
        "    print('printed before'); os.write(1, b'written before\\n')\n"
        "    warnings.warn('warned before'); os.system('echo said by a child')\n"
        "    return await opening(*args, **kwargs)\n"
        "config.open_async = noisy\n",
        encoding="utf-8",
    )
    done = command(tmp_path, HELLO + called("search", 1, query="plums"), PYTHONPATH=str(noisy))
    assert set(messages_in(done.stdout)) == {0, 1}
    for noise in (b"printed before", b"written before", b"warned before", b"said by a child"):
        assert noise in done.stderr


@pytest.mark.parametrize(
    ("arguments", "more", "says"),
    [
        ([], {"MEMSTRATA_URL": "ftp://example.org/x"}, "no store is known for ftp://"),
        ([], {"MEMSTRATA_TZ": "Mars/Olympus"}, "unknown time zone"),
        (["--user", " "], {}, "--user is blank"),
        (["--http", "0.0.0.0:0"], {}, "memstrata keys create"),
        (["--http", "127.0.0.1:0", "--url", "http://127.0.0.1:9"], {}, "point the agent there"),
        (["--frobnicate"], {}, "No such option"),
    ],
)
def test_wrong_settings_are_an_error_beside_the_protocol(
    tmp_path: Path, arguments: list[str], more: dict[str, str], says: str
) -> None:
    done = command(tmp_path, HELLO, *arguments, **more)
    assert done.returncode != 0
    assert done.stdout == b""
    assert says in done.stderr.decode() and b"Traceback" not in done.stderr


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    blocked = tmp_path / "site"
    blocked.mkdir()
    (blocked / "mcp.py").write_text("raise ModuleNotFoundError('no mcp', name='mcp')\n", "utf-8")
    for arguments in ([], ["--http", "127.0.0.1:0"]):
        done = command(tmp_path, HELLO, *arguments, PYTHONPATH=str(blocked))
        assert done.returncode == 1 and done.stdout == b""
        assert "pip install 'memstrata[server]'" in done.stderr.decode()


@pytest.mark.parametrize(
    ("by", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)], ids=["interrupted", "terminated"]
)
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_ends_it_with_the_store_closed(
    tmp_path: Path, by: signal.Signals, code: int
) -> None:
    with Process.started(tmp_path) as process:
        process.say(hello("2025-11-25"))
        assert process.heard()["id"] == 0
        added = process.asked("tools/call", {"name": "add", "arguments": {"messages": "Row two."}})
        assert not added["result"].get("isError")
        assert process.interrupted(by) == code
        assert process.out.empty()
    # Closed: nothing is left to be written back from the journal.
    assert not list(tmp_path.glob("memory.db-wal"))
    with sqlite3.connect(tmp_path / "memory.db") as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()


def test_a_host_that_goes_away_ends_it(tmp_path: Path) -> None:
    with Process.started(tmp_path) as process:
        process.say(HELLO)
        assert process.heard()["id"] == 0
        assert process.running.stdin is not None
        process.running.stdin.close()
        assert process.running.wait(60) == 0
    assert not list(tmp_path.glob("memory.db-wal"))
