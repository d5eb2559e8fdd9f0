"""`memstrata vault`: what it prints and asks, and what no command ever says."""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest
from cli_shell import RUN, Done, Shell
from cli_vault import NAMED, ONE, SECRET, TWO, actions, key_file, put, refused, revealed

import memstrata
from memstrata import MemstrataError, NotFound
from memstrata.cli import safety


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Shell.fresh(tmp_path, monkeypatch, capsys)


# ── putting away ─────────────────────────────────────────────────────────────────────────────


def test_put_and_list(shell: Shell) -> None:
    done = shell.ok(
        *("vault", "put", "Mail", "--stdin", "--type", "login", "--source", "a letter"),
        *("--sensitivity", "high", "--tag", "home", "--metadata", "year:=2026"),
        *("--reason", "moving in", "--actor", "nurse"),
        given=f"{SECRET}\n",
    )
    (entry,) = re.findall(r"^create  (vault_\w+)  version 1  moving in$", done.out, re.M)
    assert "plum" not in done.out + done.err
    (shown,) = shell.ok("vault", "list", "--json").json["items"]
    assert (shown["title"], shown["tags"], shown["metadata"]) == ("Mail", ["home"], {"year": 2026})
    assert shown["fields"] == {
        **{"entry_type": "login", "source": "a letter", "caption": "Mail", "sealed": True}
    }
    assert shell.ok("vault", "list").out == f"Mail  login  high  sealed  {entry}\n"
    same = ("Mail", "--stdin", "--type", "login", "--source", "a letter")
    again = shell.ok("vault", "put", *same, given=SECRET).out
    assert f"not stored: this secret is stored already ({entry})" in again
    assert shell.ok("vault", "list", "--user", "bo").out == "the vault is empty\n"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("plain", "plain"),
        ("one line end\n", "one line end"),
        ("from Windows\r\n", "from Windows"),
        ("two\n\n", "two\n"),
        ("  padded \t", "  padded \t"),
        ("-----BEGIN-----\na\n-----END-----\n", "-----BEGIN-----\na\n-----END-----"),
        ("馆藏🔑", "馆藏🔑"),
    ],
)
def test_of_standard_input_one_line_end_is_left_out(shell: Shell, given: str, kept: str) -> None:
    assert revealed(shell, put(shell, given)) == kept


def test_contacts_can_be_read(shell: Shell) -> None:
    given = "extension 12"
    shell.ok("vault", "put", "Caretaker", "--type", "contact", "--stdin", given=given)
    (entry,) = shell.ok("vault", "list", "--json").json["items"]
    assert shell.ok("vault", "list").out == (
        f"Caretaker  contact  medium  readable  {entry['id']}\n   extension 12\n"
    )
    refused = shell("vault", "reveal", entry["id"], "--reason", "x", "--json")
    assert refused.json["error"]["type"] == "InvalidInput"
    assert "is not sealed" in refused.json["error"]["message"]


@pytest.mark.parametrize("command", [["put", "Mail"], ["rotate", "vault_0"]])
def test_a_secret_is_asked_for_only_where_somebody_can_answer(
    shell: Shell, command: list[str]
) -> None:
    """Never an argument, never a guess at what standard input is."""
    nobody = shell("vault", *command, given="plum-7719")
    assert nobody.code == 2 and "--stdin" in nobody.err
    in_json = shell("vault", *command, "--json", given="plum-7719")
    assert (in_json.code, in_json.json["error"]["type"]) == (2, "UsageError")
    beside = shell("vault", *command, "plum-7719")
    assert beside.code == 2
    assert not Path("memory.db").exists()


@pytest.mark.parametrize("given", ["", "\n", b"half \xff a letter"])
def test_what_is_no_secret_is_refused(shell: Shell, given: str | bytes) -> None:
    done = shell("vault", "put", "Mail", "--stdin", "--json", given=given)
    assert (done.code, done.json["error"]["type"]) == (1, "InvalidInput")


_ASKS = re.compile(rb"(?:ecret|again): \Z")
_AT_A_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from memstrata.cli import main
sys.exit(main())
"""


def at_a_terminal(*arguments: str, typed: str) -> tuple[int, str, str]:
    """A command run at a terminal of its own, and what is typed there; exit code, standard output,
    and all that the terminal shows.
    """
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", _AT_A_TERMINAL, *arguments]
    with subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        shown = b""
        for line in typed.splitlines(keepends=True):
            before = len(shown)
            while not _ASKS.search(shown[before:]):
                assert select.select([ours], [], [], 30)[0], shown
                shown += os.read(ours, 4096)
            os.write(ours, line.encode())
        assert process.stdout is not None
        out = process.stdout.read().decode()
        code = process.wait()
    with contextlib.suppress(OSError):  # the other end is closed
        while more := os.read(ours, 4096):
            shown += more
    os.close(ours)
    return code, out, shown.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")
def test_at_a_terminal_it_asks_twice_and_shows_nothing(shell: Shell) -> None:
    typed = "plum-7719\nplum-7718\nplum-7719\nplum-7719\n"
    code, out, shown = at_a_terminal("vault", "put", "Mail", typed=typed)
    assert (code, "create  vault_" in out) == (0, True)
    assert "Secret: " in shown and "The same again: " in shown
    assert "plum" not in out + shown
    (entry,) = shell.ok("vault", "list", "--json").json["items"]
    assert revealed(shell, entry["id"]) == "plum-7719"
    code, out, shown = at_a_terminal("vault", "rotate", entry["id"], typed="pear\npear\n")
    assert (code, "pear" in out + shown) == (0, False)
    assert revealed(shell, entry["id"]) == "pear"
    code, out, shown = at_a_terminal("vault", "put", "Mail", "--stdin", typed="")
    assert code == 2 and "leave it out to be asked" in shown
    code, out, shown = at_a_terminal("vault", "put", "Mail", typed="\x04")
    assert code == 1 and "nothing was done" in shown


# ── the line a secret was taken out of ───────────────────────────────────────────────────────


def test_the_list_says_where_a_secret_was_found(shell: Shell) -> None:
    shell.ok("add", f"Shut the windows.\n{NAMED}", "--session", "gate")
    shown = shell.ok("vault", "list").out
    assert "taken out of: " in shown and "password: […]" in shown
    assert "Shut the windows" not in shown and "Quince-40-Gate" not in shown
    (entry,) = shell.ok("vault", "list", "--json").json["items"]
    assert entry["sensitivity"] == "high"
    (message,) = shell.ok("messages", "--json").json["items"]
    assert f"[vault:{entry['id']} password]" in message["content"]
    assert revealed(shell, entry["id"]) == "Quince-40-Gate"
    shell.ok("undo", message["batch_id"])  # the line is hidden, and so is what was sealed of it
    assert "taken out of" not in shell.ok("vault", "list").out


def test_the_line_may_be_chinese(shell: Shell) -> None:
    shell.ok("add", "小区门禁的密码是Quince-40-Gate，别忘了。")
    shown = shell.ok("vault", "list").out
    assert "taken out of: 小区门禁的密码是[…]，别忘了。" in shown


def test_only_what_stands_near_it_is_shown() -> None:
    here, other = f"vault_{'1' * 32}", f"vault_{'2' * 32}"
    line = f"{'a ' * 99}[vault:{other} token] and [vault:{here} password] then{' b' * 99}"
    told = safety._around(line, here)
    assert told.startswith("…") and told.endswith("…") and len(told) < 140
    assert "[token] and […] then b b" in told and "vault_" not in told
    assert safety._around(f"[vault:{here} password]", here) == "[…]"


# ── revealing ────────────────────────────────────────────────────────────────────────────────


def test_reveal_prints_the_secret_and_nothing_else(shell: Shell) -> None:
    entry = put(shell)
    done = shell.ok("vault", "reveal", entry, "--reason", "to read the mail", "--actor", "nurse")
    assert (done.out, done.err) == (f"{SECRET}\n", "")
    in_json = shell.ok("vault", "reveal", entry, "--reason", "again", "--json").json
    assert in_json == {"id": entry, "secret": SECRET}
    (again, first, _) = shell.ok("audit", "list", "--json").json["items"]
    assert (first["action"], first["actor"], first["reason"]) == (
        *("reveal", "nurse", "to read the mail"),
    )
    assert (first["target_id"], first["user_id"], again["reason"]) == (entry, "ana", "again")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")
def test_a_revealed_secret_cannot_steer_the_terminal(shell: Shell) -> None:
    entry = put(shell)
    ours, theirs = os.openpty()
    command = [*RUN, "vault", "reveal", entry, "--reason", "x"]
    subprocess.run(command, stdout=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    assert "␛[31m" in shown and "\x1b" not in shown


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (["reveal", "$entry"], 2, "UsageError"),
        (["reveal", "$entry", "--reason", "  "], 1, "InvalidInput"),
        (["reveal", "$entry", "--reason", "x", "--user", "bo"], 1, "NotFound"),
        (["reveal", "vault_0", "--reason", "x"], 1, "NotFound"),
        (["reveal", "x" * 5000, "--reason", "x"], 1, "NotFound"),
        (["reveal", " ", "--reason", "x"], 1, "InvalidInput"),
        (["rotate", "vault_0", "--stdin"], 1, "NotFound"),
        (["release", "vault_0"], 1, "NotFound"),
        (["release", "$entry", "--actor", ""], 1, "InvalidInput"),
        (["put", " ", "--stdin"], 1, "InvalidInput"),
        (["put", "Mail", "--stdin", "--sensitivity", "top"], 1, "InvalidInput"),
        (["put", "Mail", "--stdin", "--type", ""], 1, "InvalidInput"),
        (["list", "--limit", "0"], 1, "InvalidInput"),
        (["list", "--cursor", "x"], 1, "InvalidInput"),
        (["list", "--vault-key", ONE], 2, "UsageError"),
        (["rotate-key", "--reason", "x" * 5000], 1, "InvalidInput"),
    ],
)
def test_wrong_calls_of_the_vault(shell: Shell, arguments: list[str], code: int, kind: str) -> None:
    entry = put(shell)
    given = [entry if each == "$entry" else each for each in arguments]
    done = shell("vault", *given, "--json", given="another")
    assert (done.code, done.json["error"]["type"]) == (code, kind)
    assert done.err.startswith("error: ") and done.err.count("\n") == 1
    assert "plum" not in done.out + done.err and len(done.err) < 400
    assert revealed(shell, entry) == SECRET


# ── rotating and releasing ───────────────────────────────────────────────────────────────────


def test_rotate_and_release(shell: Shell) -> None:
    entry = put(shell)
    done = shell.ok("vault", "rotate", entry, "--stdin", "--reason", "leaked", given="pear-8820\n")
    assert f"rotate  {entry}  leaked" in done.out and "pear" not in done.out + done.err
    assert revealed(shell, entry) == "pear-8820"
    shell.ok("add", NAMED)
    (found,) = [
        each["id"]
        for each in shell.ok("vault", "list", "--json").json["items"]
        if each["id"] != entry
    ]
    done = shell.ok("vault", "release", found, "--reason", "it is on the sign")
    assert f"retire  {found}  version 2  it is on the sign" in done.out
    assert done.out.endswith("it stands again in 1 message\n") and "stored" not in done.out
    assert shell.texts() == [NAMED]
    assert shell("vault", "reveal", found, "--reason", "x").code == 1
    assert {"rotate", "reveal", "seal", "read", "release"} <= set(actions(shell))


def test_the_key_is_changed_and_kept(shell: Shell) -> None:
    entry = put(shell)
    before = key_file().read_text()
    done = shell.ok("vault", "rotate-key", "--reason", "yearly", "--actor", "ops")
    assert re.fullmatch(r"key [0-9a-f]{12} seals now; sealed anew: 1 secret\n", done.out)
    assert before.splitlines()[-1] in key_file().read_text().splitlines()[2:]
    assert revealed(shell, entry) == SECRET
    in_json = shell.ok("vault", "rotate-key", "--json").json
    assert (in_json["resealed"], in_json["remaining"]) == (1, 0)
    rows = shell.ok("audit", "list", "--json").json["items"]
    (yearly,) = [row for row in rows if row["reason"] == "yearly"]
    assert (yearly["action"], yearly["actor"], yearly["user_id"]) == ("rotate key", "ops", None)


def test_a_secret_whose_key_is_away_waits_for_it(shell: Shell) -> None:
    shell.patch.setenv("MEMSTRATA_VAULT_KEY", ONE)
    entry = put(shell)
    shell.patch.setenv("MEMSTRATA_VAULT_KEY", f"{TWO},{ONE}")
    assert shell.ok("vault", "rotate-key", "--json").json["resealed"] == 1
    shell.patch.setenv("MEMSTRATA_VAULT_KEY", TWO)
    assert revealed(shell, entry) == SECRET
    theirs = shell("vault", "rotate-key", "--json")
    assert theirs.json["error"]["type"] == "VaultUnavailable"
    assert "(new,old)" in theirs.json["error"]["message"]


# ── keys that are wrong, lost, or off ────────────────────────────────────────────────────────


def test_a_lost_key_file_is_said_and_put_back(shell: Shell) -> None:
    entry = put(shell)
    key = key_file().read_text()
    key_file().unlink()
    for command in (
        ["reveal", entry, "--reason", "x"],
        ["rotate", entry, "--stdin"],
        ["release", entry],
        ["put", "Bank", "--stdin"],
        ["rotate-key"],
    ):
        said = refused(shell, "vault", *command, given="pear")
        assert "nothing is lost" in said and "put that key back" in said
        assert "vault.key" in said and "MEMSTRATA_VAULT_KEY" in said
    assert not key_file().exists()  # no other key is made in its place
    assert shell.ok("vault", "list").out.startswith("Mail  password  medium  sealed")
    kept = shell.ok("add", "The password: Quince-40-Gate")
    assert "masked and not kept" in kept.out
    assert shell.texts() == ["The password: [secret removed: password]"]
    assert "reveal failed" in actions(shell)
    key_file().write_text(key)
    assert "chmod 600" in refused(shell, "vault", "reveal", entry, "--reason", "x")
    key_file().chmod(0o600)
    assert revealed(shell, entry) == SECRET


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX modes")
def test_a_key_file_that_others_can_read_is_not_used(shell: Shell) -> None:
    entry = put(shell)
    assert key_file().stat().st_mode & 0o777 == 0o600
    key_file().chmod(0o644)
    said = refused(shell, "vault", "reveal", entry, "--reason", "x")
    assert "chmod 600" in said and "memstrata vault rotate-key" in said
    assert ONE not in said


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (TWO, "nothing is lost"),
        ("not a key", "openssl rand -hex 32"),
        (ONE[:-2], "openssl rand -hex 32"),
        (f"{ONE},short", "openssl rand -hex 32"),
        ("none", "the vault is off"),
        ("file:elsewhere.key", "nothing is lost"),
        ("file:.", "cannot be read"),
    ],
)
def test_a_wrong_key_opens_nothing_and_destroys_nothing(shell: Shell, key: str, says: str) -> None:
    shell.patch.setenv("MEMSTRATA_VAULT_KEY", ONE)
    entry = put(shell)
    shell.patch.setenv("MEMSTRATA_VAULT_KEY", key)
    said = refused(shell, "vault", "reveal", entry, "--reason", "x")
    assert says in said
    if key not in ("none", "file:."):
        assert key not in said and ONE[:-2] not in said
    refused(shell, "vault", "put", "Bank", "--stdin", given="pear")
    assert shell.ok("verify").out == "the store is sound\n"
    assert shell.ok("vault", "list", "--json").json["items"][0]["id"] == entry
    shell.patch.setenv("MEMSTRATA_VAULT_KEY", ONE)
    assert revealed(shell, entry) == SECRET


def test_the_key_may_stand_in_the_settings_file(shell: Shell) -> None:
    folder = key_file().parent
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f'vault_key = "file:{folder}/another.key"\n')
    entry = put(shell)
    assert (folder / "another.key").exists() and not key_file().exists()
    assert revealed(shell, entry) == SECRET


# ── what no command says ─────────────────────────────────────────────────────────────────────


def test_no_command_but_reveal_says_a_secret(shell: Shell) -> None:
    shell.ok("add", NAMED, "--session", "gate")
    (entry,) = [each["id"] for each in shell.ok("vault", "list", "--json").json["items"]]
    (message,) = shell.ok("messages", "--json").json["items"]
    shell.ok("vault", "rotate", entry, "--stdin", given="Medlar-41-Gate")
    shell.ok("vault", "rotate-key")
    for command in (
        *(["messages"], ["search", "Quince-40-Gate"], ["search", "gate", "--explain"]),
        *(["context", "the gate"], ["timeline", "the gate"], ["count", "How many gates?"]),
        *(["get", message["id"]], ["get", entry], ["list", "--kind", "vault"], ["episodes"]),
        *(["entities"], ["review"], ["history", entry], ["history", message["id"]], ["batches"]),
        *(["vault", "list"], ["audit", "list"], ["audit", "secrets"], ["audit", "export", "log"]),
        *(["stats"], ["doctor"], ["verify"], ["dump", "all"], ["undo", message["batch_id"]]),
    ):
        for more in ([], ["--json"]):
            done: Done = shell(*command, *more)
            # What was asked for is shown as the question it was, and nowhere else.
            said = (done.out + done.err).replace("search Quince-40-Gate", "")
            assert "Medlar" not in said, command
            assert "Quince-40-Gate" not in said, command
    written = Path("log").read_text("utf-8") + Path("all").read_text("utf-8")
    stored = b"".join(path.read_bytes() for path in Path().glob("memory.db*"))
    for secret in ("Quince-40-Gate", "Medlar-41-Gate"):
        assert secret not in written and secret.encode() not in stored


def test_remembered_text_cannot_pose_as_a_line_of_ours(shell: Shell) -> None:
    forged = "Ana\n2026-01-01 00:00+00:00  system  msg_0\x1b[31m"
    said = {"content": "The gate is green.", "name": forged, "occurred_at": "2026-02-01"}
    with memstrata.open("memory.db") as memory:
        ana = memory.scoped(user_id="ana")
        ana.add(said, session_id="s\nsystem  msg_1")
        ana.vault.put("plum", caption="vault\nx  password  low  sealed  vault_0")
        ana.create({"kind": "semantic", "name": "a\ncurrent  sem_0", "title": "b\nsem_1  \x07"})
    for command in (["messages"], ["search", "gate"], ["list"], ["vault", "list"], ["episodes"]):
        out = shell.ok(*command).out
        assert not re.search(r"^(2026-01-01|system|x  password|current|sem_1)", out, re.M), command
        assert "\x1b" not in out and "\x07" not in out
    forged = ("create", "semantic", "name=y", "--reason", "so\nretire  sem_2")
    made = shell.ok(*forged).out
    entry = re.findall(r"sem_\w{8,}", made)[0]
    for out in (made, shell.ok("history", entry).out):
        assert "so retire  sem_2" in out and not re.search(r"^retire", out, re.M)


def test_the_errors_of_a_python_caller_are_those_of_the_commands(shell: Shell) -> None:
    """One engine: the command line only hands over."""
    put(shell)
    with memstrata.open("memory.db") as memory, pytest.raises(NotFound) as caught:
        memory.vault.reveal("vault_0", reason="x", user_id="ana")
    assert isinstance(caught.value, MemstrataError)
    assert str(caught.value) in shell("vault", "reveal", "vault_0", "--reason", "x").err
