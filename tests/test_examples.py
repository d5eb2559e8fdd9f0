"""The examples run as a newcomer runs them, twice, with no key and nothing downloaded."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(*arguments: str | Path, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *arguments], input=given, capture_output=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def answers(printed: str) -> dict[str, list[str]]:
    """The lines under each question of the tour."""
    parts = re.split(r"^\? ", printed, flags=re.MULTILINE)[1:]
    return {part.split("   (", 1)[0]: part.splitlines()[1:] for part in parts}


def test_the_tour_twice(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    printed = run(EXAMPLES / "tour.py", "--url", store)
    found = answers(printed)
    assert len(found) == 6
    firsts = [under[1].strip() for under in found.values()][:5]
    for first, expected in zip(
        firsts,
        ("Mira's home is in Bruges", "林然对芒果过敏", "How to lock up", "", "Lending rules"),
        strict=True,
    ):
        assert expected in first
    assert "Tom glued his first bass bar" in "\n".join(found["What did Tom do last week?"])
    assert "as of 15 March: Mira's home is in Ghent" in printed
    assert "it is on 12 April" in printed.split("<memory>")[1]
    assert f"--url {store} --user mira" in printed

    again = run(EXAMPLES / "tour.py", "--url", store)
    assert again.splitlines()[0] == printed.splitlines()[0]
    assert "38 messages and 4 records" in again


def test_the_agent_loop_remembers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    loop, store = EXAMPLES / "agent_loop.py", str(tmp_path / "memory.db")
    monkeypatch.setenv("MEMSTRATA_EMBEDDER", "fake")
    run(loop, "--url", store, "--user", "ana", given="My boat is called Marigold.\n\n")
    printed = run(loop, "--url", store, "--user", "ana", given="What is my boat called?\n\n")
    assert "My boat is called Marigold." in printed
    assert "Marigold" not in run(
        loop, "--url", store, "--user", "bo", given="What is my boat called?\n\n"
    )


def test_the_conversation_is_what_the_documentation_says() -> None:
    text = (EXAMPLES / "conversation.jsonl").read_text(encoding="utf-8")
    turns = [json.loads(line) for line in text.splitlines()]
    assert len(turns) == 38
    assert [turn["occurred_at"] for turn in turns] == sorted(turn["occurred_at"] for turn in turns)
    assert {"Mira", "Juno"} == {turn["name"] for turn in turns}
    assert any(re.search(r"[\u4e00-\u9fff]", turn["content"]) for turn in turns)
