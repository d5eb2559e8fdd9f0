"""Commands for what was distilled: episodes, entities, timeline, count, review and decide."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_shell import Shell, lines


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell.fresh(tmp_path, monkeypatch, capsys)


TALK = (
    ("one", "2026-03-02T09:00Z", "I live in Harrowgate."),
    ("one", "2026-03-02T09:01Z", "I have a cat. 我喜欢喝茶。"),
    ("two", "2026-05-02T09:00Z", "I moved to Dunmere on 27 April 2026."),
)


@pytest.fixture
def told(shell: Shell) -> Shell:
    said = [
        {"session_id": session, "occurred_at": when, "content": text}
        for session, when, text in TALK
    ]
    shell.ok("add", "--file", "-", "--name", "Iva", given=lines(*said))
    return shell


def test_episodes(told: Shell) -> None:
    first, second = told.ok("episodes", "--json").json["items"]
    assert (first["session_id"], len(first["message_ids"])) == ("one", 2)
    assert "Harrowgate" in first["title"] + first["summary"]
    shown = told.ok("episodes", "--session", "two", "--since", "2026-04-01").out
    assert second["id"] in shown and first["id"] not in shown
    assert "session two  2026-05-02 09:00+00:00" in shown and "1 message" in shown
    assert told.ok("episodes", "--until", "2026-01-01").out == "no episodes\n"
    assert "--cursor" in told.ok("episodes", "--limit", "1").out
    one = told.ok("get", first["id"]).out
    assert "message_ids" in one and one.count("I live in Harrowgate.") == 1
    found = told.ok("search", "Harrowgate", "--stratum", "episodes")
    assert "episode  session one" in found.out and first["id"] in found.out


def test_entities(told: Shell) -> None:
    (place,) = told.ok("entities", "harrowgate", "--json").json["items"]
    assert (place["name"], place["type"]) == ("Harrowgate", "place")
    shown = told.ok("entities", "--type", "place").out
    assert "Harrowgate  place  " in shown and "Dunmere" in shown and "Iva" not in shown
    assert all(source in told.ok("entities", "Harrowgate").out for source in place["sources"])
    assert told.ok("entities", "Nowhere").out == "no entities\n"


def test_timeline(told: Shell) -> None:
    events = told.ok("timeline", "Where does Iva live?", "--json").json
    assert [event["when"] for event in events] == sorted(event["when"] for event in events)
    assert "I moved to Dunmere" in "".join(event["text"] for event in events)
    shown = told.ok("timeline", "Where does Iva live?", "--since", "2026-04-01").out
    assert "2026-04-27 00:00+00:00" in shown and "Harrowgate" not in shown
    assert len(told.ok("timeline", "-", "--limit", "1", "--json", given="Iva").json) == 1
    assert "no dated events" in told.ok("timeline", "Iva", "--until", "2020-01-01").out


def test_count(told: Shell) -> None:
    given = ("count", "How many cats does Iva have?")
    counted = told.ok(*given, "--json").json
    assert (counted["value"], len(counted["items"])) == (1, 1)
    shown = told.ok(*given, "--now", "2026-06-01").out
    assert shown.startswith("1\n1. ") and "“I have a cat.”" in shown
    assert counted["items"][0]["ids"][0] in shown and counted["note"] in shown
    unknown = told.ok("count", "-", given="How many boats does Iva have?").out
    assert unknown.startswith("cannot tell\n") and unknown.count("cannot tell") == 1


def doubtful(shell: Shell) -> str:
    """A record that waits: of two homes told at one moment, neither can be preferred."""
    at = ("--occurred-at", "2026-03-02T09:00Z", "--session", "one")
    shell.ok("add", "My sister Lena lives in Harrowgate.", *at)
    shell.ok("add", "My sister Lena lives in Dunmere.", *at)
    (waiting,) = shell.ok("review", "--json").json["items"]
    return waiting["record"]["id"]


def titles(shell: Shell, lifecycle: str) -> list[str]:
    listed = shell.ok("list", "--kind", "semantic", "--lifecycle", lifecycle, "--json")
    return [record["title"] for record in listed.json["items"]]


def test_review(shell: Shell) -> None:
    record = doubtful(shell)
    shown = shell.ok("review").out
    assert "Lena lives in Dunmere  review" in shown and record in shown
    assert "waits: " in shown and "“My sister Lena lives in Dunmere.”" in shown
    assert "against " in shown and "Lena lives in Harrowgate" in shown
    shell.ok("decide", record, "reject", "--reason", "a slip", "--actor", "Iva")
    assert "a slip" in shell.ok("history", record).out
    assert titles(shell, "retired") == ["Lena lives in Dunmere"]
    assert shell.ok("review").out == "nothing waits for a decision\n"
    again = shell("decide", record, "accept", "--json")
    assert (again.code, again.json["error"]["type"]) == (1, "Conflict")


def test_decide_accept_and_correct(shell: Shell) -> None:
    record = doubtful(shell)
    wanted = ("name=Lena lives in Oxley", "value=Oxley")
    refused = shell("decide", record, "accept", *wanted, "--json")
    assert (refused.code, refused.json["error"]["type"]) == (1, "InvalidInput")
    shell.ok("decide", record, "correct", *wanted)
    assert "Lena lives in Oxley" in titles(shell, "current")
    assert "Lena lives in Harrowgate" not in titles(shell, "current")
    assert shell.ok("review", "--json").json["items"] == []


def test_decide_merge(shell: Shell) -> None:
    record = doubtful(shell)
    (rival,) = shell.ok("review", "--json").json["items"][0]["rivals"]
    shell.ok("decide", record, "merge", "--into", rival["id"])
    merged = shell.ok("get", rival["id"], "--json").json
    assert "My sister Lena lives in Dunmere." in [each["quote"] for each in merged["evidence"]]
    assert titles(shell, "retired") == ["Lena lives in Dunmere"]
