"""The redaction benchmark: what counts as found, and a small run from end to end."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from memstrata.bench import redaction
from memstrata.bench.redaction import Labelled
from memstrata.errors import InvalidInput

KEY = "sk-TEST00000000000000000000"
CONVERSATION = {
    "sample_id": "conv-1",
    "conversation": {
        "session_1_date_time": "9:05 am on 3 March, 2024",
        "session_1": [
            {"speaker": "Odile", "dia_id": "D1:1", "text": "My canoe has a leak since Sunday."},
            {"speaker": "Viggo", "dia_id": "D1:2", "text": "My password is Tulip2020, write it."},
        ],
    },
    "qa": [],
}


def _labelled(text: str, *secrets: str) -> Labelled:
    return Labelled(text=text, kind="key", lang="en", part="dev", secrets=list(secrets))


def test_a_secret_counts_as_found_when_the_find_fits_it() -> None:
    tally = redaction.score([_labelled(f"use {KEY} there", KEY)])
    assert (tally.found, tally.right, tally.detected) == (1, 1, 1)
    # The find goes far beyond what is labelled: neither found nor right.
    tally = redaction.score([_labelled(f"use {KEY} there", KEY[:-4])])
    assert (tally.found, tally.right, tally.detected) == (0, 0, 1)
    # The find lies within what is labelled: right, but the secret is not found.
    tally = redaction.score([_labelled(f"use {KEY} there", f"use {KEY} there")])
    assert (tally.found, tally.right, tally.detected) == (0, 1, 1)
    tally = redaction.score([_labelled("nothing here")])
    assert tally.to_dict()["recall"] is None


def test_each_label_has_a_place_of_its_own() -> None:
    assert redaction.placed(_labelled("aa bb aa", "aa", "aa")) == [(0, 2), (6, 8)]
    with pytest.raises(InvalidInput, match="not in its text"):
        redaction.placed(_labelled("aa", "bb"))


def test_what_was_said_is_found_in_any_document() -> None:
    document = {
        "id": "x1",
        "turns": [{"text": "a"}, {"content": "b", "name": "n"}],
        "dialogue": ["c", " "],
    }
    assert list(redaction.said(document)) == ["a", "b", "c"]


def test_a_shape_tells_nothing() -> None:
    assert redaction.shape("Tulip_20 密码!") == "aaaaa_99 字字!"


def test_a_small_run(tmp_path: Path) -> None:
    folder = tmp_path / "locomo"
    folder.mkdir()
    (folder / "locomo.json").write_text(json.dumps([CONVERSATION]), encoding="utf-8")
    labelled = tmp_path / "set"
    labelled.mkdir()
    lines = {"positives": _labelled(f"use {KEY}", KEY), "negatives": _labelled("use it")}
    for name, line in lines.items():
        path = labelled / f"{name}.jsonl"
        path.write_text(line.model_dump_json() + "\n", encoding="utf-8")
    console = Console(file=io.StringIO(), width=120)
    out = tmp_path / "redaction.json"
    result = redaction.run_redaction(
        tmp_path, out, "fake", labelled=labelled, show=True, rounds=1, console=console
    )
    assert json.loads(out.read_text(encoding="utf-8")) == result
    assert result["set"]["overall"]["recall"] == result["set"]["overall"]["precision"] == 1.0
    assert set(result["set"]["by_kind"]) == {"key"}
    assert result["conversations"]["messages"] == 2
    assert result["conversations"]["hits_per_10000"] == 5000.0
    assert set(result["cost"]) == {"none", "fake"}
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "locomo.json: password: aaaaa9999" in shown
    assert "Tulip" not in shown


def test_a_folder_without_conversations(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="none of everos_chat"):
        redaction.run_redaction(tmp_path, console=Console(file=io.StringIO()))
