"""What the tests of `memstrata vault` and `memstrata audit` share."""

from __future__ import annotations

import os
from pathlib import Path

from cli_shell import Shell

__all__ = ["NAMED", "ONE", "SECRET", "TWO", "actions", "key_file", "put", "refused", "revealed"]

SECRET = "plum-7719 密码 \\x1b \x1b[31m"
ONE, TWO = "11" * 32, "22" * 32
NAMED = "The gate is green, its password: Quince-40-Gate"


def key_file() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"], "memstrata", "vault.key")


def put(shell: Shell, secret: str = SECRET, *options: str) -> str:
    done = shell.ok("vault", "put", "Mail", "--stdin", "--json", *options, given=secret)
    assert secret not in done.out + done.err
    return done.json["record_ids"][0]


def revealed(shell: Shell, entry: str) -> str:
    return shell.ok("vault", "reveal", entry, "--reason", "asked", "--json").json["secret"]


def actions(shell: Shell, *options: str) -> list[str]:
    page = shell.ok("audit", "list", "--json", *options).json
    return [row["action"] for row in reversed(page["items"])]


def refused(shell: Shell, *arguments: str, given: str = "") -> str:
    """The error of a command that finds no vault."""
    done = shell(*arguments, "--json", given=given)
    assert (done.code, done.json["error"]["type"]) == (1, "VaultUnavailable"), done
    assert done.err.startswith("error: ") and done.err.count("\n") == 1
    assert "plum" not in done.out + done.err
    return done.err
