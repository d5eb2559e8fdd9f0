"""docs/mcp.md is true: what is to be pasted works, and nothing is left out."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from mcp.types.version import KNOWN_PROTOCOL_VERSIONS

from memstrata.cli.app import app
from memstrata.config import Settings
from memstrata.mcp_server.arguments import SCHEMAS
from memstrata.mcp_server.prompting import PROMPTS

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
ROOTS = ("mcpServers", "servers", "context_servers", "mcp_servers")


def servers() -> Iterator[dict[str, Any]]:
    """Every server that a block to be pasted names."""
    for language, body in BLOCKS:
        if language in ("json", "toml"):
            read = json.loads(body) if language == "json" else tomllib.loads(body)
            (root,) = set(read) & set(ROOTS)
            assert set(read) <= {root, "inputs"}
            assert set(read[root]) == {"memstrata"}
            yield read[root]["memstrata"]


def parsed(words: list[str]) -> dict[str, Any]:
    """The options of a command line, as the command reads them; a wrong one raises."""
    assert words[:2] == ["memstrata", "mcp"]
    command = typer.main.get_command(app).commands["mcp"]  # type: ignore[attr-defined]
    return command.make_context("mcp", words[2:]).params


SERVERS = list(servers())


def test_there_is_a_block_for_every_host() -> None:
    assert len(SERVERS) >= 14
    assert sum("command" in each for each in SERVERS) >= 5


@pytest.mark.parametrize("server", SERVERS, ids=lambda each: next(iter(each)))
def test_what_is_pasted_is_what_we_take(server: dict[str, Any]) -> None:
    if "command" in server:
        options = parsed([server["command"], *server["args"]])
        assert options["user"] == "ana"
        assert server.get("type", "stdio") == "stdio"
        known = {f"MEMSTRATA_{name.upper()}" for name in Settings.__dataclass_fields__}
        assert set(server.get("env", {})) <= known | {"MEMSTRATA_API_KEY"}
        return
    (url,) = {server[name] for name in ("url", "httpUrl", "serverUrl") if name in server}
    assert url.endswith("/mcp")
    if "headers" in server:
        assert re.fullmatch(r"Bearer (KEY|\$\S+)", server["headers"]["Authorization"])
    else:
        assert server["bearer_token_env_var"] == "MEMSTRATA_API_KEY"


def test_commands_are_what_we_take() -> None:
    shown = [line for language, body in BLOCKS if language == "sh" for line in body.splitlines()]
    lines = [line[line.index("memstrata mcp") :] for line in shown if "memstrata mcp" in line]
    assert len(lines) >= 2
    for line in lines:
        assert parsed(shlex.split(line))["user"] == "ana"


def test_every_tool_argument_prompt_and_version_is_named() -> None:
    tools = PAGE.partition("\n## Tools\n")[2].partition("\n## ")[0]
    for name, schema in SCHEMAS.items():
        row = re.search(rf"^\| `{name}` \|.*$", tools, re.MULTILINE)
        assert row is not None, name
        properties: Any = schema["properties"]
        own = [each for each in properties if each not in ("user_id", "agent_id")]
        assert [each for each in own if f"`{each}`" not in row[0]] == []
    assert [name for name in PROMPTS if f"| `{name}` |" not in PAGE] == []
    assert [version for version in KNOWN_PROTOCOL_VERSIONS if version not in PAGE] == []
