"""`memstrata ask` and `memstrata chat`: one-shot, piped, and at a terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest
from cli_shell import RUN, Shell


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    shell = Shell.fresh(tmp_path, monkeypatch, capsys)
    shell.ok("add", "Yesterday I saw an otter.", "--occurred-at", "2026-05-04T09:00")
    return shell


def test_ask_prints_the_answer_and_what_it_rests_on(shell: Shell) -> None:
    lines = shell.ok("ask", "When did I see an otter?").out.splitlines()
    assert "Yesterday I saw an otter." in lines[0] and "2026-05-03" in lines[0]
    assert re.match(r" +(msg|epi)_\w+  2026-05-0\d", lines[1])
    assert shell.ok("ask", "-", given="When did I see an otter?").out.splitlines() == lines


def test_ask_in_json(shell: Shell) -> None:
    answer = shell.ok("ask", "When did I see an otter?", "--now", "2026-06-01", "--json").json
    assert answer["known"] is True and answer["citations"][0]["occurred_at"]
    assert answer["receipt"] is None and answer["ledger"]["model_calls"] == 0


def test_what_is_not_known(shell: Shell) -> None:
    assert shell.ok("ask", "What is the mayor called?").out == "Memory does not know.\n"
    assert shell("ask", "  ").code == 1


def test_reading_makes_no_file(shell: Shell) -> None:
    for command in (["ask", "Where?"], ["chat", "Where?", "--no-learn"]):
        done = shell(*command, "--url", "no.db")
        assert done.code == 1 and "there is no store" in done.err
    assert not Path("no.db").exists()


def test_chat_learns(shell: Shell) -> None:
    done = shell.ok("chat", "I moved to Braga.", "--session", "s")
    assert done.out == "All right.\n" and done.err == ""
    assert "Braga" in shell.ok("ask", "Where do I live?").out
    assert shell.texts()[1:] == ["I moved to Braga.", "All right."]


def test_chat_from_a_pipe(shell: Shell) -> None:
    shell.ok("chat", given="I moved to Braga.\n")
    before = shell.texts()
    assert "I moved to Braga." in before[1]
    said = shell.ok("chat", "--no-learn", "--json", given="When did I see an otter?").json
    assert said["known"] and said["receipt"] is None
    assert shell.texts() == before


def test_controls_in_memory_do_not_steer_the_terminal(shell: Shell) -> None:
    shell.ok("add", "The kettle is \x1b[31mred\x1b[0m and old.")
    assert "\x1b" not in shell.ok("ask", "Which kettle is red and old?").out


def at_terminal(folder: Path, typed: bytes, *, interrupt: bool = False) -> tuple[int, str, str]:
    """How a conversation ended in which this was typed."""
    control, terminal = pty.openpty()
    environment = {**os.environ, "MEMSTRATA_URL": str(folder / "memory.db"), "NO_COLOR": "1"}
    process = subprocess.Popen(
        [*RUN, "chat"],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )
    with process:
        os.close(terminal)
        assert process.stderr is not None
        first = process.stderr.readline()
        os.write(control, typed)
        if interrupt:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    os.close(control)
    return process.returncode, out, first + err


def test_a_conversation_at_a_terminal(shell: Shell, tmp_path: Path) -> None:
    """Turn by turn until an empty line, all of one session."""
    code, out, err = at_terminal(tmp_path, b"I moved to Braga.\nWhere do I live?\n\n")
    assert code == 0, err
    assert "All right." in out and "“I moved to Braga.”" in out
    stored = shell.ok("messages", "--json").json["items"][1:]
    assert [each["role"] for each in stored] == ["user", "assistant"] * 2
    assert len({each["session_id"] for each in stored}) == 1


def test_ctrl_d_and_ctrl_c_end_a_conversation(shell: Shell, tmp_path: Path) -> None:
    assert at_terminal(tmp_path, b"\x04")[0] == 0
    assert at_terminal(tmp_path, b"", interrupt=True)[0] == 130
    assert len(shell.texts()) == 1
