from __future__ import annotations

import struct
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.text.analyse import (
    QueryTerm,
    fold,
    pack_terms,
    query_terms,
    repair,
    term_hash,
    terms,
)


def asked(question: str) -> dict[str, float]:
    return {term: weight for term, weight in query_terms(question)}


# ── folding ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cafe\u0301", "CAFÉ"),
        ("Zoë Ångström", "zoe angstrom"),
        ("Łódź", "lodz"),
        ("Straße", "STRASSE"),
        ("ﬁlter", "filter"),
        ("ΆΛΦΑ", "αλφα"),
        ("İzmir", "izmir"),
        ("ＡＢＣ１２", "abc12"),
        ("ﾀﾞﾝｽ", "ダンス"),
        ("각", "\u1100\u1161\u11a8"),
        ("the team’s", "the team's"),
        ("co\u00adoperate", "cooperate"),
        ("“quoted”", '"quoted"'),
        ("x\u0302\u0323", "x"),
    ],
)
def test_spellings_a_reader_takes_for_the_same_fold_to_the_same(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("か", "が"), ("は", "ぱ"), ("и", "й"), ("가", "까")])
def test_marks_that_are_spelling_are_kept(one: str, other: str) -> None:
    assert fold(one) != fold(other)


def test_repair_replaces_what_no_store_can_hold_and_counts_it() -> None:
    assert repair("a\x00b\ud83dc 🍵") == ("a\ufffdb\ufffdc 🍵", 2)
    assert repair("nothing wrong") == ("nothing wrong", 0)


# ── terms ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t", []),
        ("* ( ) ?! … —", []),
        ("Tomás went sailing", ["toma", "go", "sail"]),
        ("the children’s feet", ["the", "child", "foot"]),
        ("the boys' bikes", ["the", "boy", "bicycl"]),
        ("I didn't, she won't", ["i", "do", "she", "will"]),
        ("O'Hara", ["o", "hara", "ohara"]),
        ("Mom's pics", ["mother", "photo"]),
        ("twenty of 1,250", ["20", "of", "1250"]),
        ("on the 5th at 7pm", ["on", "the", "5", "at", "7", "pm", "7pm"]),
        ("re-test v2.10.3", ["re", "test", "re-test", "v2", "10", "3", "v2.10.3"]),
        ("2031-04-09", ["2031", "04", "09", "2031-04-09"]),
        ("job_id __main__", ["job", "id", "job_id", "main"]),
        ("mira@post.example", ["mira", "post", "exampl", "mira@post.example"]),
        ("e-mail", ["e", "mail", "email"]),
        ("MB/s role:admin", ["mb", "s", "mb/s", "role", "admin", "role:admin"]),
        ("C++, C# and .NET", ["c", "c++", "c", "c#", "and", "net", ".net"]),
        ("c++17", ["c", "c++", "17"]),
        ("修复srv-k9前", ["修", "修复", "复", "srv", "k9", "srv-k9", "前"]),
        ("猫カフェ", ["猫", "猫カ", "カ", "カフ", "フ", "フェ", "ェ"]),
        ("학교에", ["학", "학교", "교", "교에", "에"]),
        ("книги Анны", ["книг", "ан"]),
        ("हिन्दी", ["हिन्दी"]),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("she studies", "she studied"),
        ("they bought it", "they buy it"),
        ("two puppies", "2 dogs"),
        ("my favourite movie", "my favorite films"),
        ("the 3rd of June", "the 3 of June"),
        ("naïve", "naive"),
    ],
)
def test_forms_of_one_word_are_one_term(one: str, other: str) -> None:
    assert terms(one) == terms(other)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("周五和陈老师去植物园二层", "植物园"),
        ("周五和陈老师去植物园二层", "二层"),
        ("周五和陈老师去植物园二层", "园"),
        ("昨日は水族館で待ち合わせ", "水族館"),
        ("어제 수영장에서 연습을 했다", "수영장"),
        ("修复srv-k9前不要合并", "k9"),
        ("the post-mortem is written", "post-mortem"),
        ("moved 40 MB/s", "MB/s"),
        ("written in C++", "C++"),
        ("deployed on .NET", ".NET"),
        ("role:admin only", "role:admin"),
        ('he said "stop', 'said "stop'),
        ("salt AND pepper", "AND"),
        ("so who?", "who?"),
        ("fixed in v2.10.3", "v2.10.3"),
        ("job_id xyz_77q 我想试试", "job_id xyz_77q 我想试试"),
    ],
)
def test_a_literal_shares_a_term_with_the_text_that_holds_it(text: str, question: str) -> None:
    assert set(asked(question)) & set(terms(text))


# ── packing ──────────────────────────────────────────────────────────────────────────────────


def unpack(blob: bytes) -> list[tuple[int, int]]:
    assert len(blob) % 10 == 0
    return [struct.unpack_from("<QH", blob, at) for at in range(0, len(blob), 10)]


def test_packed_terms_are_hashes_and_frequencies_in_order_of_the_hash() -> None:
    text = "tea and more tea, 红茶"
    pairs = unpack(pack_terms(text))
    assert pairs == sorted(pairs)
    assert dict(pairs) == {term_hash(term): n for term, n in Counter(terms(text)).items()}
    assert dict(pairs)[term_hash("tea")] == 2


def test_packing_nothing_gives_nothing_and_a_frequency_stops_at_sixteen_bits() -> None:
    assert pack_terms("?!") == b""
    assert dict(unpack(pack_terms("la " * 70_000 + "end"))) == {
        term_hash("la"): 65535,
        term_hash("end"): 1,
    }


def test_the_hash_of_a_term_never_changes() -> None:
    # Stores hold these: another value here makes every stored text unfindable.
    assert term_hash("tea") == 0x90C484BBC18765BA
    assert term_hash("\ud800") != term_hash("?")


# ── questions ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where does Mira's brother live?", {"mira": 1.0, "brother": 1.0, "live": 1.0}),
        ("What kind of tea did she mention?", {"kind": 0.5, "tea": 1.0, "mention": 0.5}),
        ("tea, TEA and teas", {"tea": 1.0}),
        ("C++?", {"c++": 1.0}),
        ("the re-test", {"re": 1.0, "test": 1.0, "re-test": 0.5}),
        ("我的茶叫什么名字？", {"茶": 1.0, "名字": 1.0, "名": 0.2, "字": 0.2}),
        ("谁养了仓鼠", {"养": 1.0, "仓鼠": 1.0, "仓": 0.2, "鼠": 0.2}),
        ("水族館で", {"水族": 1.0, "族館": 1.0, "館で": 1.0}),
        ("どこですか", {"どこ": 0.3, "こで": 0.3, "です": 0.3, "すか": 0.3}),
    ],
)
def test_a_question_keeps_what_its_answer_may_share(
    question: str, expected: dict[str, float]
) -> None:
    assert asked(question) == expected


@pytest.mark.parametrize(
    "question", ["Who are you?", "what was it", "什么？", "to be or not to be"]
)
def test_a_question_of_stop_words_alone_keeps_them(question: str) -> None:
    assert query_terms(question) == [QueryTerm(term) for term in dict.fromkeys(terms(question))]


@pytest.mark.parametrize("question", ["", "  \n", "*", "(", "?!", "🍵"])
def test_a_question_without_words_has_no_terms(question: str) -> None:
    assert query_terms(question) == []


def test_padding_changes_nothing() -> None:
    assert query_terms("  tea \n") == query_terms("tea")


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=60))
def test_any_question_is_harmless_and_its_terms_are_terms_of_its_text(question: str) -> None:
    found = query_terms(question)
    written = terms(question)
    assert {term for term, _ in found} <= set(written)
    assert bool(found) == bool(written)
    assert len({term for term, _ in found}) == len(found)
    assert all(0 <= term_hash(term) < 2**64 for term in written)


@given(st.text(alphabet="ab1 .-_/@'+#c,图书がㄱ가ж\u0301", max_size=40))
def test_connectors_and_mixed_scripts_are_harmless(text: str) -> None:
    assert {term for term, _ in query_terms(text)} <= set(terms(text))
    assert len(pack_terms(text)) == 10 * len(set(terms(text)))
