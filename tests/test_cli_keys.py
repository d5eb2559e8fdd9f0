"""`memstrata keys`, and the tenant that a command is about."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_shell import Shell

import memstrata


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell.fresh(tmp_path, monkeypatch, capsys)


def test_a_key_is_made_shown_once_and_revoked(shell: Shell) -> None:
    made = shell.ok("keys", "create", "phone", "--for-user", "ana")
    *_, secret = made.out.split()
    assert "shown once" in made.err and secret not in made.err
    with memstrata.open() as memory:
        grant = memory.keys.grant(secret)
    assert grant is not None and (grant.user_id, grant.key) == ("ana", "phone")
    listed = shell.ok("keys", "list")
    assert "phone" in listed.out and "read, write" in listed.out and "in force" in listed.out
    key_id = secret.split("_")[1]
    gone = shell.ok("keys", "revoke", key_id, "--reason", "lost", "--actor", "ops")
    assert "revoked" in gone.out
    assert shell.ok("keys", "list").out == "there is no key\n"
    assert key_id in shell.ok("keys", "list", "--revoked").out
    log = shell.ok("audit", "list")
    assert "revoke key  ops" in log.out and "lost" in log.out
    for done in (listed, gone, log, shell.ok("keys", "list", "--revoked", "--json")):
        assert secret[-64:] not in done.out + done.err
    with memstrata.open() as memory:
        assert memory.keys.grant(secret) is None


def test_a_key_as_json(shell: Shell) -> None:
    made = shell.ok(
        *("keys", "create", "ops", "--permission", "admin", "--permission", "read"),
        *("--for-agent", "cook", "--expires-at", "2099-01-01", "--json"),
    ).json
    assert made["permissions"] == ["read", "admin"] and made["secret"].startswith("mst_")
    assert (made["user_id"], made["agent_id"]) == (None, "cook")
    assert made["expires_at"] == "2099-01-01T00:00:00Z"
    listed = shell.ok("keys", "list", "--json").json
    del made["secret"]
    assert listed == {"items": [made], "next": None}
    assert shell.ok("keys", "revoke", made["id"], "--json").json["revoked_at"]


def test_the_default_user_binds_no_key(shell: Shell) -> None:
    """Nor does --user, which says another thing: it is refused, for what it seemed to say."""
    shell.ok("keys", "create", "all")
    assert shell.ok("keys", "list", "--json").json["items"][0]["user_id"] is None
    for option in ("--user", "--agent"):
        for command in (["create", "x"], ["list"], ["revoke", "x"]):
            done = shell("keys", *command, option, "ana")
            assert done.code == 2 and "--for-user" in done.err
    assert len(shell.ok("keys", "list", "--json").json["items"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create", "desk"], "'desk' already"),
        (["create", " "], "name is blank"),
        (["create", "x", "--permission", "boss"], "'boss' is none of"),
        (["create", "x", "--expires-at", "2001-01-01"], "over already"),
        (["create", "x", "--for-user", ""], "user_id is blank"),
        (["revoke", "nosuch"], "no key 'nosuch'"),
        (["list", "--cursor", "x"], "cursor"),
        (["list", "--tenant", ""], "tenant is blank"),
        (["list", "--url", "missing.db"], "there is no store"),
    ],
)
def test_what_is_wrong_is_said(shell: Shell, arguments: list[str], said: str) -> None:
    shell.ok("keys", "create", "desk")
    done = shell("keys", *arguments)
    assert done.code == 1 and said in done.err
    assert done.err.startswith("error: ") and done.err.count("\n") == 1


def test_a_command_is_about_the_tenant_it_names(shell: Shell) -> None:
    shell.ok("add", "The plums are ripe.", "--tenant", "north")
    shell.ok("--tenant", "north", "keys", "create", "desk")
    assert [each["content"] for each in shell.ok("messages", "--json").json["items"]] == []
    assert shell.ok("keys", "list").out == "there is no key\n"
    assert "The plums are ripe." in shell.ok("messages", "--tenant", "north").out
    [key] = shell.ok("keys", "list", "--tenant", "north", "--json").json["items"]
    assert key["tenant"] == "north"
    assert shell("keys", "revoke", key["id"]).code == 1
    shell.ok("keys", "revoke", key["id"], "--tenant", "north")


def test_what_a_key_is_called_cannot_steer_a_terminal(shell: Shell) -> None:
    with memstrata.open() as memory:
        memory.keys.create("a\u202eb", user_id="\u009bana")
    assert "\u009b" not in shell.ok("keys", "list").out
