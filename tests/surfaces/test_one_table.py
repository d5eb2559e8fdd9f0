"""The same calls through every surface have the same results, and fail with the same words."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from cli_shell import Shell
from surfaces import drivers
from surfaces.drivers import Driver
from surfaces.normal import Normal, shared
from surfaces.steps import STEPS

from memstrata.cli.output import in_our_words
from memstrata.verbs import VERBS

pytestmark = pytest.mark.anyio

SURFACES = [drivers.blocking, drivers.client, drivers.blocking_client, drivers.wire]
ELSEWHERE = {
    "audit_secrets", "backup", "decide", "doctor", "dump", "keys.create", "keys.list",
    "keys.revoke", "load", "vault.release", "vault.rotate", "vault.rotate_key",
}  # fmt: skip
"""Verbs of which a run says more about the machine than about the call; tested by themselves."""


def _filled(value: Any, kept: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(item, kept) for name, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, kept) for item in value]
    return kept[value[1:]] if isinstance(value, str) and value[1:] in kept else value


async def run(driver: Driver, *, as_agents: bool = False) -> list[Any]:
    """The results of all steps, made comparable; agents ask now, and are shown fewer things."""
    kept: dict[str, Any] = {}
    normal = Normal(numbered=not as_agents)
    results: list[Any] = []
    for step in STEPS:
        given = {k: v for k, v in step.given.items() if not (as_agents and k == "now")}
        result = await driver.do(step.verb, _filled(given, kept))
        failed = result["error"]["type"] if isinstance(result, dict) and "error" in result else None
        assert failed == step.fails, (step, result)
        for name, path in step.keep.items():
            value = result
            for part in path:
                value = value[part]
            kept[name] = value
        results.append(normal.of(result))
    return results


async def reference(folder: Path, *, as_agents: bool = False) -> list[Any]:
    """What `AsyncMemory` gives."""
    folder.mkdir()  # noqa: ASYNC240
    async with drivers.in_process(folder) as driver:
        return await run(driver, as_agents=as_agents)


def test_the_table_has_every_verb() -> None:
    """A new verb is not done until it is asked for in every way."""
    assert {step.verb for step in STEPS} | ELSEWHERE == set(VERBS)


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.__name__)
async def test_a_surface_is_as_the_engine(
    surface: Callable[[Path], AbstractAsyncContextManager[Driver]], tmp_path: Path
) -> None:
    expected = await reference(tmp_path / "reference")
    (tmp_path / "own").mkdir()
    async with surface(tmp_path / "own") as driver:
        got = await run(driver)
    for step, one, other in zip(STEPS, got, expected, strict=True):
        assert one == other, (step, shared(one, other))


async def test_the_command_line_is_as_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = await reference(tmp_path / "reference")
    (tmp_path / "own").mkdir()
    shell = Shell.fresh(tmp_path / "own", monkeypatch, capsys)
    monkeypatch.delenv("MEMSTRATA_USER")
    async with drivers.command_line(tmp_path / "own", shell) as driver:
        got = await run(driver)
    for step, one, other in zip(STEPS, got, expected, strict=True):
        if step.fails == "ScopeRequired":
            continue  # the command line names its options
        if step.fails:
            other["error"]["message"] = in_our_words(other["error"]["message"])
        # Counting loads no embedder, and says so.
        same = not shared(one, other) if step.verb == "stats" else one == other
        assert same, (step, shared(one, other))


async def test_the_tools_of_agents_are_as_the_engine(tmp_path: Path) -> None:
    """They give less of each thing, and nothing else."""
    expected = await reference(tmp_path / "reference", as_agents=True)
    (tmp_path / "own").mkdir()
    async with drivers.mcp_tools(tmp_path / "own") as driver:
        got = await run(driver, as_agents=True)
    for step, one, other in zip(STEPS, got, expected, strict=True):
        part = one["events"] if step.verb == "timeline" else one
        whole = {"secret": other} if step.verb == "vault.reveal" and not step.fails else other
        if step.verb == "add" and not step.fails:
            part.pop("reason", None)  # an agent is told in words that nothing was written
        assert not shared(part, whole), step
