"""The command line, mostly in process: `main` with arguments, its exit code, and what it prints."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli_shell import RUN, Shell, lines

import memstrata
from memstrata.cli import main
from memstrata.cli.output import columns, safe, shorten
from memstrata.memory import AsyncMemory
from memstrata.models.fake import FakeEmbedder


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell.fresh(tmp_path, monkeypatch, capsys)


# ── the frame ────────────────────────────────────────────────────────────────────────────────


def test_every_verb_has_a_command_of_the_same_name(shell: Shell) -> None:
    verbs = {
        name.replace("_", "-")
        for name in dir(AsyncMemory)
        if not name.startswith("_") and callable(getattr(AsyncMemory, name))
    } - {"close", "scoped", "for-tenant", "audit-secrets"}  # `--tenant`, `audit secrets`
    shown = shell.ok("--help").out
    assert [verb for verb in sorted(verbs) if not re.search(rf"^│ {verb} ", shown, re.M)] == []
    assert shell.ok().out.split() == shown.split()


def test_version(shell: Shell) -> None:
    assert shell.ok("--version").out == f"memstrata {memstrata.__version__}\n"
    assert shell.ok("--json", "--version").json == {"memstrata": memstrata.__version__}


def test_help_loads_neither_numpy_nor_the_engine() -> None:
    script = (
        "import sys; from memstrata.cli import main; main(['search', '--help'])\n"
        "sys.exit({'numpy', 'apsw', 'anyio', 'memstrata.memory'} & set(sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_shared_options_go_before_or_after_the_command(shell: Shell) -> None:
    before = shell.ok("--url", "a.db", "--user", "bo", "--json", "add", "The kettle sings.")
    after = shell.ok("add", "The kettle sings.", "--url", "b.db", "--user", "bo", "--json")
    assert before.json.keys() == after.json.keys()
    for store in ("a.db", "b.db"):
        assert shell.ok("scopes", "--url", store, "--json").json[0]["user_id"] == "bo"
    assert not Path("memory.db").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "kind", "says"),
    [
        (["get", "msg_0"], 1, "NotFound", "msg_0"),
        (["search", "  "], 1, "InvalidInput", "query is blank"),
        (["search", "x", "--filters", "{"], 1, "InvalidInput", "--filters is no JSON"),
        (["search", "x", "--user", ""], 1, "InvalidInput", "--user is blank"),
        (["search", "x", "--url", "."], 1, "StoreUnavailable", "is a folder"),
        (["search", "x", "--url", "no.db"], 1, "StoreUnavailable", "there is no store"),
        (["search", "x", "--limit", "many"], 2, "UsageError", "--limit"),
        (["search", "--loudly", "x"], 2, "UsageError", "--loudly"),
        (["sing"], 2, "UsageError", "sing"),
        (["add"], 2, "UsageError", "either one message or --file"),
        (["add", "--file", "gone.txt"], 1, "InvalidInput", "gone.txt: cannot be read"),
        (["update", "sem_0", "name"], 1, "InvalidInput", "no key=text and no key:=JSON"),
        (["update", "sem_0", "reason=x"], 1, "InvalidInput", "no field reason"),
        (["decide", "sem_0", "accept", "into=y"], 1, "InvalidInput", "no field into"),
        (["decide", "sem_0", "perhaps"], 1, "InvalidInput", "decision"),
        (["decide", "sem_0", "accept"], 1, "NotFound", "sem_0"),
        (["timeline", " "], 1, "InvalidInput", "query is blank"),
        (["count", ""], 1, "InvalidInput", "query is blank"),
        (["entities", "--type", "cloud"], 1, "InvalidInput", "type"),
        (["episodes", "--since", "soon"], 1, "InvalidInput", "since"),
        (["forget", "--everything"], 2, "UsageError", "--yes"),
        (["bench", "locomo", "--data", "gone"], 1, "InvalidInput", "gone"),
    ],
)
def test_an_error_is_one_line_and_one_document(
    shell: Shell, arguments: list[str], code: int, kind: str, says: str
) -> None:
    shell.ok("add", "The kettle sings.")
    done = shell(*arguments, "--json")
    assert done.code == code
    assert done.json["error"]["type"] == kind
    assert says in done.json["error"]["message"]
    assert done.err.startswith("error: ") and done.err.count("\n") == 1


def test_a_call_without_a_scope_makes_no_file(shell: Shell) -> None:
    shell.patch.delenv("MEMSTRATA_USER")
    done = shell("add", "Whose is this?")
    assert done.code == 1
    assert "give --user, --agent, or both" in done.err
    assert not Path("memory.db").exists()
    assert shell.ok("add", "It is the robot's.", "--agent", "robot").out.startswith("stored msg_")


def test_whatever_the_locale_utf8_goes_in_and_comes_out(tmp_path: Path) -> None:
    text = "我喜欢喝茶 🍵"
    base = {name: value for name, value in os.environ.items() if not name.startswith("LC_")}
    base |= {"MEMSTRATA_URL": str(tmp_path / "m.db"), "MEMSTRATA_EMBEDDER": "fake"}
    base |= {"MEMSTRATA_USER": "ana"}

    def run(arguments: Sequence[str | bytes], **hostile: str) -> str:
        done = subprocess.run(
            [*RUN, *arguments], env={**base, **hostile}, capture_output=True, check=True
        )
        return done.stdout.decode("utf-8")

    run(["add", text.encode()], LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    run(["add", b"half \xff a letter"], LC_ALL="C", PYTHONIOENCODING="cp936")
    shown = run(["--json", "messages"], LC_ALL="C", PYTHONIOENCODING="cp936")
    assert text in shown and "\\u" not in shown
    assert "half \N{REPLACEMENT CHARACTER} a letter" in shown
    assert text in run(["messages"], LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")


def test_output_that_nobody_reads_is_no_error(shell: Shell, tmp_path: Path) -> None:
    shell.ok("add", "--file", "-", given=lines(*({"content": f"{n} plums"} for n in range(200))))
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*RUN, "messages", "--json"], stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


# ── add ──────────────────────────────────────────────────────────────────────────────────────


def test_add_and_search(shell: Shell) -> None:
    added = shell.ok(
        *("add", "The kettle sings at six.", "--session", "kitchen", "--tag", "home"),
        *("--occurred-at", "2026-05-08T09:00:00+01:00", "--name", "Ana", "--trust", "tool"),
        *("--metadata", "loud:=2", "--metadata", "room=2"),
    )
    assert "stored msg_" in added.out and added.err == ""
    found = shell.ok("search", "when does the kettle sing?", "--json").json["hits"][0]["message"]
    assert found["metadata"] == {"loud": 2, "room": "2"}
    assert (found["name"], found["tags"], found["trust"]) == ("Ana", ["home"], "tool")
    assert found["occurred_at"] == "2026-05-08T08:00:00Z"
    text = shell.ok("search", "when does the kettle sing?", "--explain").out
    assert "Ana  session kitchen  2026-05-08 08:00+00:00" in text
    assert "The kettle sings at six." in text
    assert "lexical" in text and '"mode": "lookup"' in text


def test_times_are_shown_in_the_users_zone(shell: Shell) -> None:
    shell.ok("set-user", "--timezone", "Asia/Shanghai")
    shell.ok("add", "The pills are taken.", "--occurred-at", "2026-05-08T12:45")
    assert "2026-05-08 12:45+08:00" in shell.ok("messages").out
    assert shell.ok("messages", "--json").json["items"][0]["occurred_at"] == "2026-05-08T04:45:00Z"
    assert "2026-05-08 12:45+08:00" in shell.ok("context", "pills").out


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("first\n\n  second  \r\n", ["first", "second"]),
        ("\N{ZERO WIDTH NO-BREAK SPACE}with a mark\n", ["with a mark"]),
        ("[10:05] Ana: hello\n[10:06] Bo: hi\n", ["[10:05] Ana: hello", "[10:06] Bo: hi"]),
        (lines({"content": "one\N{LINE SEPARATOR}line"}, {"content": "two"}), None),
        (json.dumps([{"content": "a"}, "b"], indent=2), ["a", "b"]),
        (json.dumps({"content": "alone"}, indent=2), ["alone"]),
        (json.dumps({"session_id": "s", "messages": [{"content": "m"}]}), ["m"]),
    ],
)
def test_files_of_messages(shell: Shell, content: str, expected: list[str] | None) -> None:
    Path("file").write_text(content, encoding="utf-8")
    done = shell.ok("add", "--file", "file", "--json").json
    assert shell.texts() == (expected or ["one\N{LINE SEPARATOR}line", "two"])
    assert done["stored"] == done["lines"] == len(shell.texts())
    assert done["state"] == "done"


def test_a_line_may_name_its_session(shell: Shell) -> None:
    content = lines(
        {"content": "one", "session_id": "a", "name": "Ana"},
        {"content": "two", "session_id": "a", "role": "assistant"},
        {"content": "three"},
    )
    shell.ok("add", "-", "--session", "rest", "--name", "Bo", given=content)
    stored = shell.ok("messages", "--json").json["items"]
    assert [each["session_id"] for each in stored] == ["a", "a", "rest"]
    assert [each["name"] for each in stored] == ["Ana", "Bo", "Bo"]
    assert len(shell.ok("batches", "--json").json["items"]) == 2


def test_bad_lines_are_reported_and_the_rest_is_stored(shell: Shell) -> None:
    content = '{"content": "good"}\n\n{"content"\n{"content": " "}\n7\n{"content": "fine"}\n'
    done = shell.ok("add", "--file", "-", "--json", given=content).json
    assert shell.texts() == ["good", "fine"]
    assert [item["line"] for item in done["skipped"]] == [3, 4, 5]
    assert "line 3: not stored: this is no JSON" in shell.ok("add", "-", given=content).out


def test_a_file_with_nothing_good_in_it_is_an_error(shell: Shell) -> None:
    done = shell("add", "--file", "-", "--json", given="[1, 2]")
    assert (done.code, done.json["error"]["type"]) == (1, "InvalidInput")
    begins = shell("add", "--file", "-", given="{broken\n")
    assert begins.code == 1 and "--plain" in begins.err
    assert shell.ok("add", "--file", "-", "--plain", given="{broken\n").code == 0
    assert "line 2: this is no UTF-8 text" in shell("add", "-", given=b"fine\n\xff\xfe\n").err


def test_many_lines_are_stored_in_groups_and_once(shell: Shell) -> None:
    content = lines(*({"content": f"plum {n}", "session_id": "s"} for n in range(2500)))
    first = shell.ok("add", "--file", "-", "--json", given=content).json
    assert (first["stored"], len(first["batch_ids"])) == (2500, 3)
    again = shell.ok("add", "--file", "-", "--json", given=content).json
    assert (again["stored"], again["known"]) == (0, 2500)
    assert shell.ok("stats", "--json").json["messages"] == 2500


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_an_interrupted_file_is_whole_groups_and_goes_on(shell: Shell) -> None:
    Path("file").write_text(
        lines(*({"content": f"plum {n} " * 9, "session_id": "s"} for n in range(8000)))
    )
    command = [*RUN, "add", "--file", "file", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with memstrata.open("memory.db") as memory:
        while memory.stats(user_id="ana")["messages"] == 0:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert json.loads(out)["error"]["type"] == "Interrupted"
    assert err.startswith("error: interrupted: ") and "run the same command again" in err
    stored = shell.ok("stats", "--json").json
    assert 0 < stored["messages"] < 8000 and stored["messages"] % 1000 == 0
    assert shell.ok("verify").out == "the store is sound\n"
    done = shell.ok("add", "--file", "file", "--json").json
    assert done["known"] == stored["messages"]
    after = shell.ok("stats", "--json").json
    assert (after["messages"], after["items_without_vector"]) == (8000, 0)


def test_consolidate_says_what_it_did(shell: Shell) -> None:
    shell.ok("add", "I live in Lisbon.", "--occurred-at", "2026-05-05T09:00:00Z")
    done = shell.ok("consolidate")
    assert re.fullmatch(r"1 digest made, the profile made, as batch batch_\w+\n", done.out)
    assert shell.ok("consolidate").out == "there was nothing to tidy\n"
    assert shell.ok("consolidate", "--json").json["digests"] == 0


def test_vectors_may_come_later(shell: Shell) -> None:
    added = shell.ok("add", "The kettle sings.", "--no-wait", "--no-infer")
    (batch_id,) = re.findall(r"memstrata wait-for (batch_\w+)", added.err)
    assert "done" in shell.ok("wait-for", batch_id).out
    assert shell.ok("stats", "--json").json["items_without_vector"] == 0


def test_a_failed_batch_is_retried(shell: Shell) -> None:
    embedder = FakeEmbedder()
    with memstrata.open("memory.db", embedder=embedder) as memory:
        embedder.fail_next()
        failed = memory.add("The kettle sings.", user_id="ana")
    assert failed.state == "failed"
    assert failed.batch_id in shell.ok("batches", "--state", "failed").out
    assert shell("doctor").code == 1
    assert shell.ok("retry", failed.batch_id, "--json").json["state"] == "done"
    assert shell.ok("doctor").out.count("ok  ") == len(shell.ok("doctor").out.splitlines())


# ── records ──────────────────────────────────────────────────────────────────────────────────


def created(shell: Shell, *arguments: str) -> str:
    return shell.ok("create", *arguments, "--json").json["record_ids"][0]


def test_records_by_hand(shell: Shell) -> None:
    fact = created(shell, "semantic", "name=The tree is a plum", "value=plum", 'tags:=["garden"]')
    shell.ok("update", fact, "value=cherry", "name=The tree is a cherry", "--reason", "it bloomed")
    shell.ok("update", fact, "metadata:={}", "tags:=null", "details=white blossoms")
    history = shell.ok("history", fact).out
    assert "it bloomed" in history
    assert "- The tree is a plum" in history and "+ The tree is a cherry" in history
    assert 'tags: ["garden"] → []' in history
    assert "The tree is a cherry" in shell.ok("list").out
    assert "white blossoms" in shell.ok("get", fact).out
    shell.ok("retire", fact)
    assert shell.ok("list").out == "no records\n"
    retired = shell.ok("list", "--lifecycle", "retired", "--json").json["items"]
    assert retired[0]["fields"]["value"] == "cherry"
    shell.ok("undo", retired[0]["batch_id"])
    assert "The tree is a cherry" in shell.ok("list", "--kind", "semantic").out
    stale = shell("update", fact, "value=fig", "--if-version", "1", "--json")
    assert (stale.code, stale.json["error"]["type"]) == (1, "Conflict")


def test_a_fact_that_changes_gets_a_successor(shell: Shell) -> None:
    fact = created(shell, "semantic", "name=The well is full", "value=full")
    shell.ok("update", fact, "name=The well is dry", "value=dry", "valid_from=2026-07-01")
    asked = ["search", "the well", "--kind", "semantic", "--now", "2026-08-01", "--json"]
    assert [hit["record"]["title"] for hit in shell.ok(*asked).json["hits"]] == ["The well is dry"]
    past = shell.ok(*asked, "--as-of", "2026-06-01").json["hits"]
    assert [hit["record"]["title"] for hit in past] == ["The well is full"]


def test_records_from_json_and_files(shell: Shell) -> None:
    created(shell, '{"kind": "core", "label": "human", "value": "Ana keeps bees."}')
    content = lines({"kind": "episodic", "summary": "The hive swarmed"}, {"kind": "song"}, 5)
    done = shell("create", "--file", "-", "--json", given=content)
    assert done.code == 1
    assert len(done.json["receipts"]) == 1
    assert [item["line"] for item in done.json["refused"]] == [2, 3]
    assert "Ana keeps bees." in shell.ok("context", "bees").out
    shell.patch.setenv("MEMSTRATA_VAULT_KEY", "none")
    shown = shell("create", "vault", "entry_type=password", "caption=hive", "secret=x", "--json")
    assert (shown.code, shown.json["error"]["type"]) == (2, "UsageError")
    entry = lines({"kind": "vault", "entry_type": "password", "caption": "hive", "secret": "x"})
    sealed = shell("create", "--file", "-", "--json", given=entry)
    assert sealed.code == 1
    assert "the vault is off" in str(sealed.json["refused"])


def test_kinds_need_no_store(shell: Shell) -> None:
    assert [kind["kind"] for kind in shell.ok("kinds", "--json").json] == [
        *("core", "episodic", "semantic", "procedural", "resource", "vault")
    ]
    assert "fields: " in shell.ok("kinds").out
    assert not Path("memory.db").exists()


# ── forget, and running a store ──────────────────────────────────────────────────────────────


def test_forget_asks(shell: Shell) -> None:
    shell.ok("add", "The key is under the mat.", "--session", "door")
    refused = shell("forget", "--session", "door", given="n\n")
    assert refused.code == 1 and "Erase 1 message" in refused.err
    assert shell.texts() == ["The key is under the mat."]
    assert shell("forget", "--session", "door").code == 1  # nobody answers
    assert "would erase 1 message" in shell.ok("forget", "--session", "door", "--dry-run").out
    assert "erased 1 message" in shell.ok("forget", "--session", "door", given="y\n").out
    assert shell.texts() == []


def test_forget_by_id_and_filter(shell: Shell) -> None:
    for text, tag in (("one", "a"), ("two", "b"), ("three", "b")):
        shell.ok("add", text, "--tag", tag)
    (first, *_) = shell.ok("messages", "--json").json["items"]
    assert shell.ok("forget", first["id"], "--yes", "--json").json["messages"] == 1
    filters = '{"tags": {"contains": "b"}}'
    assert shell.ok("forget", "--filters", filters, "-y", "--json").json["messages"] == 2
    assert shell("forget", "--yes").code == 1


def test_forget_says_who_and_why_and_verify_that_it_is_gone(shell: Shell) -> None:
    shell.ok("add", "My sister Olga lives in Ghent.", "--session", "door")
    (said,) = shell.ok("messages", "--json").json["items"]
    asked = ("verify", "--erased", said["id"], "--text", "-")
    stands = shell(*asked, given="sister Olga\n")
    assert stands.code == 1
    assert f"{said['id']} is still stored" in stands.out
    assert "the text still stands in a row (messages.content)" in stands.out
    assert "Olga" not in stands.out + stands.err
    erased = shell.ok("forget", said["id"], "-y", "--actor", "nurse", "--reason", "asked", "--json")
    assert erased.json["batch_id"] and erased.json["rebuilding"] == 0
    assert "nothing of it is left" in shell.ok(*asked, given="sister Olga\n").out
    assert shell.ok(*asked, "--json", given="Olga").json == []
    assert shell("verify", "--text", "Olga").code == 2


def test_dump_and_verify_are_of_the_whole_store(shell: Shell) -> None:
    shell.ok("add", "Ana's plum.")
    shell.ok("add", "Bo's plum.", "--user", "bo")
    shell.ok("dump", "all.jsonl")
    assert "of user bo to bo.jsonl" in shell.ok("dump", "bo.jsonl", "--user", "bo").out
    assert "Ana" not in Path("bo.jsonl").read_text("utf-8")
    assert shell.ok("load", "all.jsonl", "--url", "copy.db", "--json").json["new"] > 0
    assert shell.ok("load", "all.jsonl", "--url", "copy.db").out == "0 rows were new\n"
    users = [row["user_id"] for row in shell.ok("scopes", "--url", "copy.db", "--json").json]
    assert users == ["ana", "bo"]
    assert "bo" in shell.ok("scopes").out
    assert shell.ok("verify", "--json").json == []


def test_doctor_tells_of_a_store_that_does_not_open(shell: Shell) -> None:
    Path("memory.db").write_text("this is a diary, not a database")
    done = shell("doctor", "--json")
    assert done.code == 1
    assert done.json[0]["ok"] is False and "memory.db" in done.json[0]["detail"]
    assert shell("doctor").out.startswith("FAIL")


def test_pages_go_on(shell: Shell) -> None:
    shell.ok("add", "--file", "-", given="one\ntwo\nthree\n")
    first = shell.ok("messages", "--limit", "2", "--json").json
    rest = shell.ok("messages", "--limit", "2", "--cursor", first["next"], "--json").json
    assert [each["content"] for each in rest["items"]] == ["three"]
    assert "--cursor" in shell.ok("messages", "--limit", "2").out


# ── what is printed ──────────────────────────────────────────────────────────────────────────


def test_what_was_remembered_cannot_steer_the_terminal(shell: Shell) -> None:
    shell.ok("add", "--file", "-", given="red \x1b[31m and a bell \x07 and \x9b2J\n")
    for command in (["messages"], ["search", "bell"], ["context", "bell"]):
        out = shell.ok(*command).out
        assert "\x1b[31m" not in out and "\x07" not in out and "\x9b" not in out
        # A prompt is for a model, and leaves out what a person would not see.
        shown = "red [31m and a bell" if command[0] == "context" else "red ␛[31m and a bell ␇"
        assert shown in out
    assert safe("tab\tand\r\nline") == "tab\tand\nline"


def test_columns_are_aligned_for_wide_characters() -> None:
    table = columns([("林然", 12), ("Ana", 1234)], head=("who", "count"))
    rows = [re.sub("\x1b\\[\\d*m", "", row) for row in table.splitlines()]
    assert rows == ["who   count", "林然     12", "Ana   1,234"]


def test_a_long_text_says_what_is_left_out() -> None:
    assert shorten("short", 10) == "short"
    assert shorten("x" * 100, 10) == "xxxxxxxxxx … (+90 characters)"


def test_context_is_ready_for_a_pipe(shell: Shell) -> None:
    shell.ok("add", "The kettle sings at six.")
    done = shell.ok("context", "-", "--max-tokens", "200", given="when does the kettle sing?")
    assert done.out.startswith("<memory>\n") and done.out.endswith("</memory>\n")
    assert done.err == ""
    assert "nothing is remembered" in shell.ok("context", "kettle", "--user", "bo").err


def test_a_store_of_another_model_says_so(shell: Shell) -> None:
    shell.ok("add", "The kettle sings.")
    done = shell.ok("search", "kettle", "--embedder", "none")
    assert "The kettle sings." in done.out
    assert done.err.startswith("note: ") and "keyword" in done.err


def test_arguments_as_a_list_of_any_sort(shell: Shell) -> None:
    given: Sequence[str] = ("kinds", "--json")
    assert main(given) == 0


def test_doctor_before_there_is_a_store(shell: Shell) -> None:
    """Whoever has just installed it asks first; nothing is made by asking."""
    done = shell.ok("doctor", "--url", "later.db", "--json")
    store = next(check for check in done.json if check["check"] == "store")
    assert store["ok"] and "later.db yet" in store["detail"]
    assert not Path("later.db").exists()
