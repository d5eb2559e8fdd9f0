"""Any language, any sign, any bytes: what is stored is found, and comes back as it was."""

from __future__ import annotations

import contextlib
import string
from pathlib import Path
from typing import Any, cast

import apsw
import pytest
from cases.support import FOREVER, found, python, texts

import memstrata
from memstrata import Memory
from memstrata.errors import InvalidInput, StoreUnavailable
from memstrata.models.fake import FakeEmbedder
from memstrata.records import Method

WORDS: tuple[Method, ...] = ("hybrid", "bm25", "string_match")

CHINESE = "后天陪外婆逛植物园，集合点在北门二号口"
JAPANESE = "昨日は水族館で弟の写真を撮った"
KOREAN = "내일 시장에서 배추를 살 것이다"
MIXED = "凌晨把deploy-k9脚本回滚完毕"
THAI = "พรุ่งนี้ไปตลาดกับยาย"
ACCENTED = "The Café Zürich closes at ten; señora Núñez has the key."
STORED = (CHINESE, JAPANESE, KOREAN, MIXED, THAI, ACCENTED, "Nothing else is said here.")
ASKED = [
    ("植物园", CHINESE),
    ("北门", CHINESE),
    ("园", CHINESE),
    ("水族館", JAPANESE),
    ("写真", JAPANESE),
    ("弟", JAPANESE),
    ("시장", KOREAN),
    ("배추", KOREAN),
    ("k9", MIXED),
    ("K9", MIXED),
    ("deploy", MIXED),
    ("回滚", MIXED),
    ("ตลาด", THAI),
    ("cafe", ACCENTED),
    ("zurich", ACCENTED),
    ("nunez", ACCENTED),
    ("NÚÑEZ", ACCENTED),
]


@pytest.fixture(scope="module")
def polyglot() -> Memory:
    """A store with a sentence of each language."""
    memory = memstrata.open(":memory:", embedder="none")
    memory.add(list(STORED), user_id="ottilie")
    return memory


@pytest.mark.parametrize("method", WORDS)
@pytest.mark.parametrize(("query", "sentence"), ASKED)
def test_r14_a_word_inside_a_longer_run_is_found(
    polyglot: Memory, query: str, sentence: str, method: Method
) -> None:
    """A run of Chinese, Japanese or Korean was one token, so that no word in it could be found
    (openclaw/openclaw #20730)."""
    hits = polyglot.search(query, user_id="ottilie", method=method)
    assert found(hits)[:1] == [sentence]
    assert hits[0].score > 0


LITERALS = (
    "half-baked",
    "crew's",
    "km/h",
    "2027-02-09",
    "post@nordhaus.example",
    "C++",
    "C#",
    "room:attic",
    'shout "ahoy',
    "AND",
    "OR NOT",
    "NEAR(",
    "*",
    "(",
    "{}",
    "where?",
    "v7.0.12",
    "salt, pepper",
    "order_no xq_90b 查快递",
    "100%",
    "a\\b",
    "__init__",
    "$HOME",
    "-",
    "'",
    '"',
    "''; --",
    "[x] done",
    "#17",
    "~/notes",
    "50 €",
    "👍🏽",
    "→",
)


@pytest.fixture(scope="module")
def signs() -> Memory:
    """A store with each literal in a sentence, and each sign inside a word."""
    memory = memstrata.open(":memory:", embedder="none")
    memory.add([sentence(literal) for literal in LITERALS], user_id="ottilie")
    memory.add([f"gamma{sign}delta" for sign in string.punctuation], user_id="punctual")
    return memory


def sentence(literal: str) -> str:
    """A sentence that no other literal's sentence contains."""
    return f"Note {LITERALS.index(literal) + 500} keeps {literal} as written"


@pytest.mark.parametrize("method", WORDS)
@pytest.mark.parametrize("literal", LITERALS)
def test_r15_signs_in_a_query_are_plain_text(signs: Memory, literal: str, method: Method) -> None:
    """Hyphens, quotes and operators reached the query language: an error, or an empty list with
    the error swallowed (basicmachines-co/basic-memory #178, MemTensor/MemOS #1247)."""
    hits = signs.search(literal, user_id="ottilie", method=method, limit=FOREVER)
    assert sentence(literal) in found(hits)
    if method == "string_match":
        assert all(literal.casefold() in text.casefold() for text in found(hits))


@pytest.mark.parametrize("sign", string.punctuation)
def test_r15_every_sign_inside_a_word(signs: Memory, sign: str) -> None:
    """Nearly every ASCII sign inside a word was a syntax error, the rest changed the meaning."""
    word = f"gamma{sign}delta"
    for method in WORDS:
        hits = signs.search(word, user_id="punctual", method=method, limit=FOREVER)
        assert word in found(hits), method
    assert found(signs.search(word, user_id="punctual", method="string_match")) == [word]


def test_r15_a_failing_store_is_no_empty_result(memory: Memory, path: Path) -> None:
    """An engine failure was reported as `nothing found`."""
    memory.add("The spare fuse is in the tea tin.", user_id="ottilie")
    other = apsw.Connection(str(path))
    other.execute("ALTER TABLE items RENAME TO stolen")
    for method in WORDS:
        with pytest.raises(StoreUnavailable, match="items"):
            memory.search("fuse", user_id="ottilie", method=method)
    with pytest.raises(StoreUnavailable, match="items"):
        memory.context("fuse", user_id="ottilie")

    other.execute("ALTER TABLE stolen RENAME TO items")
    other.close()
    assert len(memory.search("fuse", user_id="ottilie")) == 1
    memory.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        memory.search("fuse", user_id="ottilie")


HOSTILE = ("fine before", "ok \ud83d half", "left\x00right", "fine after")


def test_r17_bad_characters_are_replaced_and_reported(memory: Memory) -> None:
    """Half surrogate pairs crashed the write and NUL lost the record; neighbours in the same
    call went with them (MemTensor/MemOS #1904)."""
    receipt = memory.add(list(HOSTILE), user_id="ottilie", infer=False)

    assert len(receipt.message_ids) == 4
    assert [(item.index, item.stored) for item in receipt.skipped] == [(1, True), (2, True)]
    assert texts(memory.messages(user_id="ottilie")) == [
        "fine before",
        "ok \ufffd half",
        "left\ufffdright",
        "fine after",
    ]
    assert found(memory.search("right", user_id="ottilie")) == ["left\ufffdright"]
    assert found(memory.search("half", user_id="ottilie")) == ["ok \ufffd half"]


@pytest.mark.parametrize("bad", ["\x00", "\ud83d", "\udc00"])
def test_r17_bad_characters_anywhere_else(memory: Memory, bad: str) -> None:
    """Wherever text goes in, it is repaired or refused by name; nothing of it crashes."""
    [record_id] = memory.create({"kind": "semantic", "name": "x"}, user_id="ottilie").record_ids
    changes = {"name": f"y{bad}", "tags": [bad], "metadata": {bad: {bad: bad}}}
    for name, value in changes.items():
        change: dict[str, Any] = {name: value}
        try:
            memory.update(record_id, user_id="ottilie", **change)
        except InvalidInput as error:
            assert name in str(error)
    stored = memory.get(record_id, user_id="ottilie").model_dump_json()
    assert "\\u0000" not in stored and "\x00" not in stored

    said = {"role": "user", "content": f"a {bad} b", "metadata": {bad: [bad]}, "tags": [bad]}
    memory.add(said, user_id="ottilie", metadata={"k": bad})
    [message] = memory.messages(user_id="ottilie")
    assert (message.content, message.tags) == ("a \ufffd b", ["\ufffd"])
    assert message.metadata == {"k": "\ufffd", "\ufffd": ["\ufffd"]}

    for query in (f"a {bad} b", f"{bad}b"):
        for method in WORDS:
            memory.search(query, user_id="ottilie", method=method)
        memory.context(query, user_id="ottilie")
    for named, refused in {
        "user_id": lambda: memory.add("x", user_id=f"u{bad}"),
        "session_id": lambda: memory.add("x", user_id="u", session_id=f"s{bad}"),
        "idempotency_key": lambda: memory.add("x", user_id="u", idempotency_key=f"k{bad}"),
        "reason": lambda: memory.retire(record_id, user_id="ottilie", reason=bad),
        "actor": lambda: memory.retire(record_id, user_id="ottilie", actor=f"me{bad}"),
    }.items():
        with pytest.raises(InvalidInput, match=named):
            refused()
    assert memory.verify() == []


@pytest.mark.parametrize("bad", ["\x00", "\ud83d"])
def test_r17_a_bad_name_does_not_take_the_others_with_it(memory: Memory, bad: str) -> None:
    """What cannot be repaired is reported by its place in the list."""
    said = [
        {"role": "user", "content": "one", "name": f"Mo{bad}"},
        {"role": f"user{bad}", "content": "two"},
        {"role": "user", "content": "three", "id": f"id{bad}"},
        {"role": "user", "content": "four", "name": "Mo"},
    ]
    receipt = memory.add(said, user_id="ottilie", infer=False)
    missing = {item.index for item in receipt.skipped if not item.stored}
    assert missing <= {0, 1, 2} and len(receipt.message_ids) == 4 - len(missing)
    for message in memory.messages(user_id="ottilie"):
        assert bad not in f"{message.name} {message.role} {message.external_id}"
    assert texts(memory.messages(user_id="ottilie"))[-1] == "four"


@pytest.mark.parametrize("bad", ["\x00", "\ud83d"])
def test_r17_bad_characters_in_what_is_looked_up(memory: Memory, bad: str) -> None:
    """No stored id or value has them, so that such a look-up is an error of ours or finds none."""
    memory.add("a b", user_id="ottilie")
    for look_up in (
        lambda: memory.get(f"msg_{bad}", user_id="ottilie"),
        lambda: memory.history(f"msg_{bad}", user_id="ottilie"),
        lambda: memory.forget(ids=[f"msg_{bad}"], user_id="ottilie"),
        lambda: memory.undo(f"batch_{bad}", user_id="ottilie"),
        lambda: memory.wait_for(f"batch_{bad}", user_id="ottilie"),
        lambda: memory.messages(cursor=bad, user_id="ottilie"),
        lambda: memory.batches(cursor=bad, user_id="ottilie"),
        lambda: memory.list(cursor=f"1:{bad}", user_id="ottilie"),
    ):
        with pytest.raises(memstrata.MemstrataError):
            look_up()
    for value in ({"name": bad}, {"metadata.k": {"in": [bad]}}, {"tags": {"contains": bad}}):
        with contextlib.suppress(InvalidInput):
            assert texts(memory.messages(user_id="ottilie", filters=value)) == []


def test_r17_both_spellings_of_an_accent_find_each_other(memory: Memory) -> None:
    """`é` as one character and as two are the same letter to whoever types it."""
    one, two = "caf\u00e9 on the pier", "cafe\u0301 by the lock"
    memory.add([one, two], user_id="ottilie")

    assert texts(memory.messages(user_id="ottilie")) == [one, two]
    for query in ("caf\u00e9", "cafe\u0301", "CAFE"):
        for method in WORDS:
            assert set(found(memory.search(query, user_id="ottilie", method=method))) == {one, two}


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
LETTER = "o\u0308\u0323"


@pytest.mark.parametrize("cluster", [FAMILY, LETTER, "\U0001f1f5\U0001f1f9", "கி"])
def test_r17_nothing_is_cut_inside_a_character(path: Path, cluster: str) -> None:
    """A limit that counted code points left half a character at its edge."""
    with memstrata.open(path, embedder=FakeEmbedder(max_tokens=64)) as memory:
        memory.add(cluster * 400, user_id="ottilie")
        memory.create({"kind": "semantic", "name": "x" + cluster * 300}, user_id="ottilie")
        [record] = memory.list(user_id="ottilie")
    cuts = apsw.Connection(str(path)).execute(
        "SELECT start, stop FROM items i JOIN messages m ON m.seq = i.owner ORDER BY start"
    )
    passages = cast("list[tuple[int, int]]", cuts.fetchall())
    edges = [edge for passage in passages for edge in passage]
    assert len(edges) > 4 and edges[0] == 0 and edges[-1] == 400 * len(cluster)
    assert all(edge % len(cluster) == 0 for edge in edges)
    assert record.title.removeprefix("x").replace(cluster, "") == "…"


def test_r17_the_title_made_for_a_document_is_cut_between_characters(memory: Memory) -> None:
    """The same where the beginning of a text stands for a title it does not have."""
    memory.create({"kind": "resource", "content": f"x{FAMILY * 300}"}, user_id="ottilie")
    [record] = memory.list(user_id="ottilie")
    assert record.title.removeprefix("x").replace(FAMILY, "") in ("", "…")


SPEAK = """
import sys, memstrata
path, dump, back = sys.argv[1:]
with memstrata.open(path, embedder="none") as memory:
    memory.add("\\u6d4b\\u8bd5\\u4e2d\\u6587\\uff0c\\u8336\\U0001f375", user_id="\\u5f20\\u4e09")
    memory.dump(dump)
with memstrata.open(back, embedder="none") as memory:
    memory.load(dump)
"""
COMMAND = "import sys; from memstrata.cli import main; sys.exit(main())"
OLD_SYSTEM = {
    "LC_ALL": "C",
    "PYTHONIOENCODING": "cp936",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
}


def test_r17_text_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    """Chinese text went through the system's code page and came back as other characters
    (MemTensor/MemOS #1904)."""
    path, dump, back = (tmp_path / name for name in ("a.db", "a.jsonl", "b.db"))
    python(SPEAK, str(path), str(dump), str(back), env=OLD_SYSTEM)

    assert "测试中文，茶🍵" in dump.read_bytes().decode("utf-8")
    for store in (path, back):
        assert "测试中文，茶🍵".encode() in store.read_bytes()
        with memstrata.open(store, embedder="none") as memory:
            assert found(memory.search("中文", user_id="张三")) == ["测试中文，茶🍵"]


def test_r17_the_command_line_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    """The same bytes out as in, through arguments and standard output."""
    place = ("--url", str(tmp_path / "a.db"), "--user", "张三", "--embedder", "none", "--json")
    python(COMMAND, "add", "测试中文，茶🍵", *place, env=OLD_SYSTEM)

    assert '"测试中文，茶🍵"' in python(COMMAND, "messages", *place, env=OLD_SYSTEM)
    with memstrata.open(tmp_path / "a.db", embedder="none") as memory:
        assert texts(memory.messages(user_id="张三")) == ["测试中文，茶🍵"]
