"""The command line: backup and restore."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_shell import Shell


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell.fresh(tmp_path, monkeypatch, capsys)


def test_a_store_is_backed_up_checked_and_restored(shell: Shell) -> None:
    shell.ok("add", "The plum is ripe.", "--no-infer")
    assert shell.ok("backup", "monday.db").out == "wrote 1 message and 0 records to monday.db\n"
    shell.ok("add", "Too late.", "--no-infer")
    assert shell.ok("verify", "--url", "monday.db").out == "the store is sound\n"
    refused = shell("restore", "monday.db")
    assert refused.code == 1 and "memory.db is there already" in refused.err
    done = shell.ok("restore", "monday.db", "--force")
    assert done.out == "memory.db has 1 message and 0 records\n"
    assert "note: the store that was there is" in done.err and ".replaced-" in done.err
    assert "Too late" not in shell.ok("messages").out
    assert "The plum is ripe" in shell.ok("messages").out


def test_json_has_what_the_verbs_return(shell: Shell) -> None:
    shell.ok("vault", "put", "Wi-Fi", "--stdin", given="Plum-7719")
    made = shell.ok("backup", "monday.db", "--json")
    assert {*made.json} == {"path", "at", "bytes", "messages", "records", "vault_key"}
    assert f"needs the vault's key {made.json['vault_key']}" in made.err.replace("need ", "needs ")
    back = shell.ok("restore", "monday.db", "--url", "copy.db", "--json").json
    assert (back["path"], back["replaced"], back["records"]) == ("copy.db", None, 1)
    assert back["vault_key"] == made.json["vault_key"]


def test_a_mistyped_store_is_no_empty_backup(shell: Shell) -> None:
    wrong = shell("backup", "monday.db", "--url", "memry.db")
    assert wrong.code == 1 and "there is no store" in wrong.err
    shell.ok("add", "x", "--no-infer")
    assert shell("backup", "memory.db", "--force").code == 1
    assert shell.ok("backup", "monday.db").code == 0
    again = shell("backup", "monday.db")
    assert again.code == 1 and "give another, or force it" in again.err
    assert shell.ok("backup", "monday.db", "--force").code == 0
    assert [each.name for each in Path().iterdir() if "memry" in each.name] == []
