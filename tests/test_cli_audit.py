"""`memstrata audit`: the log, its export, and secrets that stand in plain text."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest
from cli_shell import Shell
from cli_vault import NAMED, actions, put, refused, revealed

from memstrata.cli import safety


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Shell.fresh(tmp_path, monkeypatch, capsys)


# ── the audit log ────────────────────────────────────────────────────────────────────────────


def test_the_log_is_of_the_whole_store_or_of_one_user(shell: Shell) -> None:
    entry = put(shell)
    revealed(shell, entry)
    theirs = put(shell, "pear", "--user", "bo", "--agent", "helper")
    shell.ok(
        *("vault", "reveal", theirs, "--reason", "tea\ntime \x1b[31m", "--user", "bo"),
        *("--agent", "helper", "--actor", "helper"),
    )
    shell.ok("dump", "all.jsonl")
    text = shell.ok("audit", "list").out
    head, *rows = text.splitlines()
    assert head.split() == ["at", "action", "by", "whose", "of", "what", "why"]
    assert [row.split()[2] for row in rows] == ["export", "reveal", "seal", "reveal", "seal"]
    assert "bo, agent helper" in rows[1] and "tea time ␛[31m" in rows[1]
    for whose in (("--user", "ana"), ("--user", "bo", "--agent", "helper")):
        assert sorted(actions(shell, *whose)) == ["reveal", "seal"]
    assert shell.ok("audit", "list", "--user", "cy").out == "nothing is in the audit log\n"
    page = shell.ok("audit", "list", "--limit", "2", "--json").json
    more = ("--limit", "3", "--cursor", page["next"])
    rest = shell.ok("audit", "list", *more, "--json").json
    assert [len(page["items"]), len(rest["items"]), rest["next"]] == [2, 3, None]
    assert "--cursor" in shell.ok("audit", "list", "--limit", "2").out


def test_the_log_between_two_moments_and_in_the_users_zone(shell: Shell) -> None:
    shell.ok("set-user", "--timezone", "Asia/Tokyo")
    revealed(shell, put(shell))
    assert "+09:00" in shell.ok("audit", "list", "--user", "ana").out
    assert "+00:00" in shell.ok("audit", "list").out
    assert actions(shell, "--until", "2020-01-01") == []
    assert sorted(actions(shell, "--since", "2020-01-01")) == ["reveal", "seal"]
    wrong = shell("audit", "list", "--since", "soon", "--json")
    assert wrong.json["error"]["type"] == "InvalidInput"


def test_the_log_is_exported_whole_and_oldest_first(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safety, "PAGE", 2)
    entry = put(shell)
    reasons = [f"reason {number} 馆" for number in range(5)]
    for reason in reasons:
        shell.ok("vault", "reveal", entry, "--reason", reason)
    shell.ok("audit", "list", "--user", "ana")
    assert shell.ok("audit", "export", "log.jsonl").out == "wrote 6 rows to log.jsonl\n"
    rows = [json.loads(line) for line in Path("log.jsonl").read_text("utf-8").splitlines()]
    assert [row["reason"] for row in rows] == ["", *reasons]
    listed = shell.ok("audit", "list", "--json").json["items"]
    assert rows == list(reversed(listed))
    done = shell.ok("audit", "export", "bo.jsonl", "--user", "bo", "--json")
    assert done.json == {"path": "bo.jsonl", "rows": 0}
    assert Path("bo.jsonl").read_bytes() == b""
    assert "plum" not in Path("log.jsonl").read_text("utf-8")


def test_an_export_is_whole_or_absent(shell: Shell) -> None:
    revealed(shell, put(shell))
    nowhere = shell("audit", "export", "no/such/log.jsonl", "--json")
    assert (nowhere.code, nowhere.json["error"]["type"]) == (1, "StoreUnavailable")
    Path("folder").mkdir()
    assert shell("audit", "export", "folder").code == 1
    assert list(Path().glob("*.part")) == []
    assert shell("audit", "export", "log", "--url", "gone.db").code == 1
    assert not Path("log").exists() and not Path("gone.db").exists()


# ── secrets in plain text ────────────────────────────────────────────────────────────────────


def in_plain_text(shell: Shell) -> str:
    """A message as a program without redaction would have stored it."""
    shell.ok("add", "The gate is green.", "--user", "bo")
    (message,) = shell.ok("messages", "--user", "bo", "--json").json["items"]
    with sqlite3.connect("memory.db") as connection:
        connection.execute("UPDATE messages SET content = ?", (NAMED,))
    connection.close()
    return message["id"]


def test_secrets_in_plain_text_are_found_and_sealed(shell: Shell) -> None:
    message = in_plain_text(shell)
    found = shell("audit", "secrets")
    assert found.code == 1
    assert re.search(rf"^{message}  bo     password", found.out, re.M)
    assert "memstrata audit secrets --seal" in found.out
    in_json = shell("audit", "secrets", "--json")
    assert (in_json.code, in_json.json[0]["id"]) == (1, message)
    assert in_json.json[0]["captions"] == ["password"]
    assert shell.ok("audit", "secrets", "--user", "ana").out == "no secret stands in plain text\n"
    sealed = shell.ok("audit", "secrets", "--seal", "--reason", "moved here", "--actor", "ops")
    assert "sealed what stood in 1 place" in sealed.out
    assert shell.ok("audit", "secrets").out == "no secret stands in plain text\n"
    assert shell.ok("audit", "secrets", "--json").json == []
    for done in (found, in_json, sealed):
        assert "Quince" not in done.out + done.err
    (entry,) = shell.ok("vault", "list", "--user", "bo", "--json").json["items"]
    opened = shell.ok("vault", "reveal", entry["id"], "--user", "bo", "--reason", "x")
    assert opened.out == "Quince-40-Gate\n"
    rows = shell.ok("audit", "list", "--json").json["items"]
    assert [(row["actor"], row["reason"]) for row in rows if row["action"] == "seal"] == [
        ("ops", "moved here")
    ]
    assert shell.ok("verify").out == "the store is sound\n"


def test_without_a_vault_plain_text_is_found_and_not_sealed(shell: Shell) -> None:
    in_plain_text(shell)
    shell.patch.setenv("MEMSTRATA_VAULT_KEY", "none")
    assert shell("audit", "secrets").code == 1
    assert "the vault is off" in refused(shell, "audit", "secrets", "--seal")
