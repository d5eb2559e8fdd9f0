"""`memstrata changes`: the log, and following it as others write."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_shell import RUN, Shell

import memstrata


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell.fresh(tmp_path, monkeypatch, capsys)


def test_the_log_is_a_line_for_each_change_and_goes_on_from_a_cursor(shell: Shell) -> None:
    for name in ("The mill has two wheels", "The mill is for sale", "The miller is away"):
        shell.ok("create", "semantic", f"name={name}", "--reason", "a walk")
    lines = shell.ok("changes").out.splitlines()
    assert len(lines) == 3 and all("  create  sem_" in line for line in lines), lines
    first = shell.ok("changes", "--limit", "2", "--json").json
    rest = shell.ok("changes", "--cursor", first["next"], "--json").json
    assert [c["op"] for c in (*first["items"], *rest["items"])] == ["create"] * 3
    assert "--cursor" in shell.ok("changes", "--limit", "2").out
    assert shell.ok("changes", "--cursor", rest["items"][-1]["cursor"]).out == "no changes\n"
    assert shell("changes", "--cursor", "soon").code == 1


def test_a_command_with_a_key_is_done_once(shell: Shell) -> None:
    made = shell.ok("create", "semantic", "name=Plums", "--idempotency-key", "k", "--json").json
    shell.ok("create", "semantic", "name=Plums", "--idempotency-key", "k")
    record = made["record_ids"][0]
    for _ in range(2):
        shell.ok("update", record, "summary=ripe", "--idempotency-key", "k2")
        shell.ok("retire", record, "--idempotency-key", "k3")
    log = shell.ok("changes", "--json").json["items"]
    assert [change["op"] for change in log] == ["create", "update", "retire"]
    other = shell("create", "semantic", "name=Pears", "--idempotency-key", "k")
    assert other.code == 1 and "idempotency_key 'k' was used for other content" in other.err
    assert shell("update", record, "idempotency_key=x").code == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_following_tells_what_others_write_until_it_is_interrupted(shell: Shell) -> None:
    shell.ok("create", "semantic", "name=The mill has two wheels")
    command = [*RUN, "changes", "--follow", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    before = json.loads(process.stdout.readline())
    with memstrata.open("memory.db", embedder="fake") as memory:
        made = memory.create({"kind": "semantic", "name": "It is for sale"}, user_id="ana")
    after = json.loads(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert before["op"] == after["op"] == "create"
    assert after["target_id"] == made.record_ids[0] != before["target_id"]
