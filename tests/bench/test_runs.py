"""Both benchmarks from end to end through the public verbs, small and with the fake embedder."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from memstrata.bench.locomo import run_locomo
from memstrata.bench.speed import Sizes, run_speed
from memstrata.errors import InvalidInput

CONVERSATION = {
    "sample_id": "conv-1",
    "conversation": {
        "session_1_date_time": "9:05 am on 3 March, 2024",
        "session_1": [
            {"speaker": "Odile", "dia_id": "D1:1", "text": "My canoe has a leak since Sunday."},
            {"speaker": "Viggo", "dia_id": "D1:2", "text": "The harbour sells resin for that."},
        ],
        "session_2_date_time": "7:40 pm on 9 April, 2024",
        "session_2": [
            {"speaker": "Viggo", "dia_id": "D2:1", "text": "I adopted a beagle, he is Pixel."},
            {"speaker": "Odile", "dia_id": "D2:2", "text": "Lovely! I finished my pottery course."},
        ],
    },
    "qa": [
        {"question": "What has a leak?", "evidence": ["D1:1"], "category": 4},
        {"question": "What is the name of the beagle?", "evidence": ["D2:1"], "category": 4},
        {"question": "Who sold the piano?", "evidence": ["D2:2"], "category": 5},
    ],
}


def _console() -> Console:
    return Console(file=io.StringIO(), width=160)


def _shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("embedder", ["fake", "none"])
def test_locomo_finds_the_evidence_of_plain_questions(tmp_path: Path, embedder: str) -> None:
    data, out = tmp_path / "locomo_small.json", tmp_path / "out.json"
    data.write_text(json.dumps([CONVERSATION]), encoding="utf-8")
    console = _console()
    result = run_locomo(data, out, embedder, console=console)
    assert result["overall"]["recall@1"] == 1.0
    assert result["overall"]["session_recall@10"] == 1.0
    assert result["adversarial"]["questions"] == 1
    assert result["ledger"]["messages"] == 4
    assert result["ledger"]["model_calls"] == 0
    assert json.loads(out.read_text(encoding="utf-8"))["overall"] == result["overall"]
    shown = _shown(console)
    assert "single-hop" in shown
    assert "4 messages" in shown


def test_data_that_asks_nothing_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "locomo_empty.json"
    data.write_text(json.dumps([CONVERSATION | {"qa": []}]), encoding="utf-8")
    with pytest.raises(InvalidInput, match="no question with evidence"):
        run_locomo(data, None, "none", console=_console())


def test_speed_measures_every_part(tmp_path: Path) -> None:
    out, console = tmp_path / "out.json", _console()
    sizes = Sizes(
        messages=(120,),
        queries=5,
        ingest=20,
        ingest_embedded=20,
        other_users=3,
        messages_of_a_user=120,
        messages_of_another=5,
    )
    result = run_speed(out, "fake", sizes=sizes, console=console)
    assert not result["import"]["numpy_loaded"]
    assert result["overall"]["ratio_to_bare@120"] > 0.0
    assert result["search"]["120"]["bytes_per_message"] > 0.0
    assert result["users"]["1"]["p50"] > 0.0
    assert result["users"]["4"]["p50"] > 0.0
    assert set(json.loads(out.read_text(encoding="utf-8"))) == set(result)
    assert "without embedding in batches" in _shown(console)


def test_an_unknown_peer_is_refused() -> None:
    with pytest.raises(InvalidInput, match="use 'mem0'"):
        run_speed(peer="mem9", console=_console())
