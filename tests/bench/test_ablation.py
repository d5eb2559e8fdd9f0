"""The ablation runner: its passes, and that each file is written once and searched in each pass."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import memstrata
from memstrata.bench import ablation
from memstrata.errors import InvalidInput
from memstrata.models.base import load_embedder
from memstrata.recall.score import WEIGHTS

CONVERSATION = {
    "sample_id": "conv-1",
    "conversation": {
        "session_1_date_time": "9:05 am on 3 March, 2024",
        "session_1": [
            {"speaker": "Odile", "dia_id": "D1:1", "text": "My canoe has a leak since Sunday."},
            {"speaker": "Viggo", "dia_id": "D1:2", "text": "The harbour sells resin for that."},
        ],
    },
    "qa": [
        {"question": "What has a leak?", "evidence": ["D1:1"], "category": 4},
        {"question": "Who sold the piano?", "evidence": ["D1:2"], "category": 5},
        {"question": "Why?", "evidence": [], "category": 3},
    ],
}


def _folder(path: Path) -> Path:
    (path / "locomo_small.json").write_text(json.dumps([CONVERSATION]), encoding="utf-8")
    return path


def test_each_signal_is_left_out_once() -> None:
    weights = {"coverage": 1.0, "speaker": 0.25, "asked": 0.3}
    passes = ablation.variants(weights)
    assert passes[ablation.FULL] == weights
    assert passes["coverage"] == weights | {"coverage": 0.0}
    assert passes["speaker and asked"] == weights | {"speaker": 0.0, "asked": 0.0}
    assert passes[ablation.MEM0] == {
        "coverage": 0.0, "speaker": 0.0, "asked": 0.0,
        "semantic": 0.4, "lexical": 0.4, "entity": 0.4,
    }  # fmt: skip
    assert len(passes) == 6


def test_only_questions_with_an_answer_are_asked(tmp_path: Path) -> None:
    (stack,) = ablation.find_stacks(_folder(tmp_path))
    assert [case.query for case in stack.cases] == ["What has a leak?"]
    with pytest.raises(InvalidInput, match="give the folder"):
        ablation.find_stacks(tmp_path / "nothing")


def test_a_query_is_embedded_once() -> None:
    model = load_embedder("fake")
    assert model is not None
    remembering = ablation.RememberingEmbedder(model)
    first = remembering.embed_query("Where is the canoe?")
    assert remembering.embed_query("Where is the canoe?") is first
    assert np.array_equal(first, model.embed_query("Where is the canoe?"))
    assert (remembering.id, remembering.max_tokens) == (model.id, model.max_tokens)


def test_weights_reach_the_searches_by_default(tmp_path: Path) -> None:
    shown = io.StringIO()
    console = Console(file=shown, width=200)
    result = ablation.run_ablation(_folder(tmp_path), None, "none", console=console)
    assert result["overall"]["LoCoMo"]["recall@1"] == 1.0
    assert result["by_category"][ablation.MEM0]["LoCoMo"]["recall@1"] == 1.0
    assert ablation.MEM0 in shown.getvalue()


def test_every_pass_searches_the_file_written_once(tmp_path: Path) -> None:
    opened: list[Mapping[str, float]] = []

    def opener(path: Path, weights: Mapping[str, float]) -> memstrata.Memory:
        opened.append(weights)
        return memstrata.open(str(path), embedder="none")

    console, out = Console(file=io.StringIO(), width=200), tmp_path / "out.json"
    result = ablation.run_ablation(_folder(tmp_path), out, "none", opener=opener, console=console)
    passes = ablation.variants()
    assert opened == [passes[ablation.FULL], *passes.values()]
    assert result["ledger"]["messages"] == 2
    assert result["ledger"]["questions"] == len(passes)
    assert set(WEIGHTS) < set(result["by_category"])
    assert result["overall"]["LoCoMo"]["recall@1"] == 1.0
    gains = {sets["LoCoMo"]["gain_recall@1"] for sets in result["by_category"].values()}
    assert gains == {0.0}, "this opener leaves the weights as they are"
    assert json.loads(out.read_text(encoding="utf-8"))["overall"] == result["overall"]


def test_held_out_takes_what_was_best_elsewhere() -> None:
    def scores(*values: float) -> list[dict[str, float]]:
        return [{"recall@10": value} for value in values]

    passes = {
        ablation.FULL: {"a": scores(1.0), "b": scores(0.5, 0.5)},
        "less": {"a": scores(0.0), "b": scores(1.0, 1.0)},
    }
    found = ablation.held_out(passes)
    assert found == {
        "recall@10": pytest.approx((0.0 + 0.5 + 0.5) / 3),
        "with_all_signals": pytest.approx(2 / 3),
        "chosen": {"a": "less", "b": ablation.FULL},
    }
    assert ablation.held_out({ablation.FULL: {"a": scores(1.0)}}) is None
