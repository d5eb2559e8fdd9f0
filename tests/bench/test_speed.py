"""What speed is measured with: the texts, the bare baselines, the rules of the comparison."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from memstrata.bench import bare, peer_mem0, texts
from memstrata.errors import InvalidInput, StoreUnavailable
from memstrata.text.analyse import pack_terms, term_hash, terms


def _texts(count: int, *, seed: int) -> list[str]:
    return [fact.text for fact in texts.facts(count, seed=seed)]


def test_texts_are_the_same_for_the_same_seed_and_all_different() -> None:
    written = _texts(400, seed=1)
    assert written == _texts(400, seed=1)
    assert written[:300] == _texts(300, seed=1)
    assert written != _texts(400, seed=2)
    assert len(set(written)) == 400


def test_words_follow_zipf_so_that_a_few_are_common_and_most_are_rare() -> None:
    words = Counter(re.findall(r"\w+", " ".join(_texts(5000, seed=1)).lower()))
    counts = sorted(words.values(), reverse=True)
    assert len(counts) > 1500
    assert counts[0] > 1000
    assert sum(count <= 5 for count in counts) > len(counts) / 3


def test_every_question_is_about_a_fact() -> None:
    facts = texts.facts(300, seed=1)
    asked = texts.questions(facts, 100, seed=1)
    assert len(set(asked)) == 100
    assert set(asked) <= {fact.question for fact in facts}
    assert asked == texts.questions(facts, 100, seed=1)
    written = [set(terms(fact.text)) for fact in facts]
    for question in asked:
        assert any(len(set(terms(question)) & words) >= 2 for words in written), question


def _bm25(written: list[str], query: str) -> list[float]:
    documents = [Counter(terms(text)) for text in written]
    mean = sum(map(Counter.total, documents)) / len(documents)
    scores: list[float] = []
    for document in documents:
        score = 0.0
        for term in dict.fromkeys(terms(query)):
            found = sum(term in other for other in documents)
            idf = math.log(1 + (len(documents) - found + 0.5) / (found + 0.5))
            tf = document[term]
            score += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * document.total() / mean))
        scores.append(score)
    return scores


def test_the_bare_bm25_finds_what_the_formula_finds() -> None:
    facts = texts.facts(300, seed=4)
    written = [fact.text for fact in facts]
    index = bare.BM25(list(map(pack_terms, written)))
    for query in texts.questions(facts, 20, seed=4):
        hashes = [term_hash(term) for term in dict.fromkeys(terms(query))]
        scores = _bm25(written, query)
        worst = min(scores[int(at)] for at in index.search(hashes))
        assert worst == pytest.approx(sorted(scores, reverse=True)[59], rel=1e-4)


def test_the_bare_scan_finds_the_nearest_rows() -> None:
    matrix = np.random.default_rng(1).standard_normal((500, 8), dtype=np.float32)
    found = bare.scan(matrix, matrix[7])
    assert set(map(int, found)) == set(np.argsort(matrix @ matrix[7])[-60:].tolist())
    assert sorted(bare.scan(matrix[:5], matrix[0])) == [0, 1, 2, 3, 4]


def test_a_question_is_answered_by_any_memory_it_was_made_for() -> None:
    facts = [texts.Fact("A", "q?"), texts.Fact("B", "q?"), texts.Fact("C", "r?")]
    assert peer_mem0.answered(facts, ["q?", "r?"], [["X", "B"], ["A", "B"]]) == 0.5


def test_a_comparison_without_bm25_is_refused() -> None:
    active = {"bm25_score": 0.4, "max_possible_score": 2.0}
    elsewhere = {"bm25_score": 0.0, "max_possible_score": 2.5}
    silent = {"bm25_score": 0.0, "max_possible_score": 1.0}
    share = peer_mem0.bm25_share(["a", "b"], [[active, elsewhere], [elsewhere]])
    assert share == 0.5
    with pytest.raises(StoreUnavailable, match=r"without BM25.*who"):
        peer_mem0.bm25_share(["what", "who"], [[active], [active, silent]])
    with pytest.raises(StoreUnavailable, match="without BM25"):
        peer_mem0.bm25_share(["what"], [[]])


def test_a_side_that_ends_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    with (
        peer_mem0.Worker("nobody", Path(sys.executable), tmp_path) as worker,
        pytest.raises(StoreUnavailable, match=r"(?s)nobody side.*KeyError"),
    ):
        worker.ask("versions")


def test_plans_that_measure_nothing_are_refused() -> None:
    with pytest.raises(InvalidInput, match="one_by_one"):
        peer_mem0.Plan(memories=100, one_by_one=100)
    with pytest.raises(InvalidInput, match="queries"):
        peer_mem0.Plan(queries=0)
