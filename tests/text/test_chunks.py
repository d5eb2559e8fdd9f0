"""Passages of long texts."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from memstrata.errors import InvalidInput
from memstrata.records import Chunk
from memstrata.text.chunks import split

SENTENCE = "The quick brown fox jumps over the lazy dog. "
FAMILY = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"


def words(text: str) -> int:
    return len(text.split())


def bytes_(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def with_frame(text: str) -> int:
    """Like a tokeniser that adds its marks at both ends."""
    return 2 + len(regex.findall(r"\w{1,4}|[^\w\s]", text))


def pieces(text: str, chunks: list[Chunk]) -> list[str]:
    return [text[chunk.start : chunk.end] for chunk in chunks]


def test_a_short_text_is_one_passage_and_counted_once() -> None:
    calls: list[str] = []

    def count(text: str) -> int:
        calls.append(text)
        return words(text)

    assert split("Just this.", limit=10, count=count) == [Chunk(start=0, end=10)]
    assert calls == ["Just this."]


def test_an_empty_text_has_no_passage() -> None:
    assert split("", limit=10, count=len) == []


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="limit"):
        split("text", limit=0, count=len)


def test_paragraphs_come_before_sentences_and_sentences_before_words() -> None:
    text = f"{SENTENCE * 2}\n\n{SENTENCE * 2}"
    assert pieces(text, split(text, limit=20, count=words)) == [
        f"{SENTENCE * 2}\n\n",
        f"{SENTENCE * 2}",
    ]
    text = SENTENCE * 4
    assert pieces(text, split(text, limit=12, count=words)) == [SENTENCE] * 4
    text = "one two, three four five, six seven"
    assert pieces(text, split(text, limit=4, count=words)) == [
        "one two, ",
        "three four five, ",
        "six seven",
    ]


def test_chinese_sentences() -> None:
    text = "我昨天去了图书馆。借了三本书！晚上读到很晚，今天有点困。"
    found = pieces(text, split(text, limit=16, count=len))
    assert "".join(found) == text
    assert all(piece[-1] in "。！，" for piece in found)


def test_a_long_word_is_cut_between_characters() -> None:
    text = FAMILY * 9
    found = pieces(text, split(text, limit=12, count=len))
    assert "".join(found) == text
    assert set(found) <= {FAMILY, FAMILY * 2}


def test_a_single_cluster_over_the_limit_stays_whole() -> None:
    towering = "e" + "\N{COMBINING ACUTE ACCENT}" * 200
    text = f"ab{towering}cd"
    assert pieces(text, split(text, limit=5, count=len)) == ["ab", towering, "cd"]


def test_passages_are_about_equally_long() -> None:
    text = SENTENCE * 23
    lengths = [words(piece) for piece in pieces(text, split(text, limit=100, count=words))]
    assert len(lengths) == 3
    assert max(lengths) - min(lengths) <= 18


def test_a_fact_in_the_middle_of_a_very_long_message_is_in_a_passage() -> None:
    fact = "The code word for the garage is hollyhock. "
    text = SENTENCE * 400 + fact + SENTENCE * 400
    chunks = split(text, limit=500, count=with_frame)
    assert any(fact.strip() in piece for piece in pieces(text, chunks))
    assert all(with_frame(piece) <= 500 for piece in pieces(text, chunks))


def test_few_counts() -> None:
    calls = 0

    def count(text: str) -> int:
        nonlocal calls
        calls += 1
        return with_frame(text)

    text = (SENTENCE * 40 + "数据" * 300 + "supercalifragilistic" * 60) * 4
    chunks = split(text, limit=200, count=count)
    assert calls <= 4 * len(chunks) + 1


def test_a_count_that_does_not_grow_with_the_text() -> None:
    def odd(text: str) -> int:
        return len(text) + (40 if len(text) % 7 == 3 else 0)

    text = "abc def " * 200
    found = pieces(text, split(text, limit=50, count=odd))
    assert "".join(found) == text
    assert all(odd(piece) <= 50 for piece in found)


_TEXTS = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(
            [
                " ",
                "\n\n",
                "\r\n",
                ". ",
                "。",
                "，",
                "word",
                "字",
                FAMILY,
                "é",
                "e\u0301",
                "🇫🇷",
                "क्षि",
                "각",
            ]
        ),
    ),
    max_size=60,
).map("".join)


@given(
    text=_TEXTS, limit=st.integers(1, 40), count=st.sampled_from([len, bytes_, with_frame, words])
)
def test_passages_cover_the_text_within_the_limit(text: str, limit: int, count) -> None:
    chunks = split(text, limit=limit, count=count)
    found = pieces(text, chunks)
    assert "".join(found) == text
    assert [chunk.start for chunk in chunks[1:]] == [chunk.end for chunk in chunks[:-1]]
    ends = {match.end() for match in regex.finditer(r"\X", text)}
    assert all(chunk.end in ends for chunk in chunks)
    for piece in found:
        assert piece
        assert count(piece) <= limit or len(regex.findall(r"\X", piece)) == 1


def test_long_runs_without_a_place_to_cut() -> None:
    for text in ("a" * 200_000, " " * 100_000, "\n" * 100_000, "字" * 50_000, ". " * 50_000):
        chunks = split(text, limit=2_000, count=len)
        assert sum(chunk.end - chunk.start for chunk in chunks) == len(text)
        assert len(chunks) <= len(text) / 1_000
