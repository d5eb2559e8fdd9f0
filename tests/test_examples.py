"""The examples run as a newcomer runs them, twice, with no key and nothing downloaded."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
        ("Mira lives in Bruges", "林然对芒果过敏", "How to lock up", "", "Lending rules"),
        strict=True,
    ):
        assert expected in first
    assert "Tom glued his first bass bar" in "\n".join(found["What did Tom do last week?"])
    assert "as of 15 March: Mira lives in Ghent" in printed
    assert "it is on 12 April" in printed.split("<memory>")[1]
    assert f"--url {store} --user mira" in printed

    again = run(EXAMPLES / "tour.py", "--url", store)
    assert again.splitlines()[0] == printed.splitlines()[0]
    assert "38 messages and " in again
    made = printed.split("What was made of the messages")[1].split("\n? ")[0]
    assert "episode  2 March 2026: Mira and Juno on " in made
    assert "Mira is allergic to walnuts   “" in made and "“林然对芒果过敏”" in made
    assert "Mira lives in Ghent until 2026-04-03, then Mira lives in Bruges" in made


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


class _Model(BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint that says how often it was told of the boat."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        told = asked["messages"][0]["content"].count("Marigold")
        reply = {"choices": [{"message": {"content": f"told {told} times by {self.path}"}}]}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


def test_the_agent_loop_asks_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("MEMSTRATA_EMBEDDER", "fake")
        loop = (EXAMPLES / "agent_loop.py", "--url", str(tmp_path / "memory.db"))
        assert "told 0 times" in run(*loop, given="My boat is called Marigold.\n\n")
        assert "told 1 times by /v1/chat" in run(*loop, given="What is my boat called?\n\n")
        server.shutdown()


def test_the_conversation_is_what_the_documentation_says() -> None:
    text = (EXAMPLES / "conversation.jsonl").read_text(encoding="utf-8")
    turns = [json.loads(line) for line in text.splitlines()]
    assert len(turns) == 38
    assert [turn["occurred_at"] for turn in turns] == sorted(turn["occurred_at"] for turn in turns)
    assert {"Mira", "Juno"} == {turn["name"] for turn in turns}
    assert any(re.search(r"[\u4e00-\u9fff]", turn["content"]) for turn in turns)
