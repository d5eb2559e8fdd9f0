"""What is distilled against what should be: the rule of matching, the counts, both sets."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from memstrata.bench import extract, extract_match, realmem
from memstrata.bench.extract import run_extract
from memstrata.bench.extract_match import Judge, content_words, match, shared
from memstrata.errors import InvalidInput, ModelFailed
from memstrata.models.fake import FakeChat, FakeEmbedder
from memstrata.records import Receipt, Skipped


def _point(content: str, turn: int, kind: str = "Dynamic") -> dict[str, Any]:
    return {"content": f"【Plans】 {content}", "type": kind, "source_turn": turn}


def _turns(*texts: str) -> list[dict[str, str]]:
    return [{"speaker": ("User", "Assistant")[at % 2], "content": t} for at, t in enumerate(texts)]


DIALOGUES = {
    "dialogues": [
        {
            "session_uuid": "s1",
            "current_time": "2026-03-02 (Monday)",
            "dialogue_turns": _turns(
                "I live in Ostrava and I play the oboe.", "Lovely.", "I am allergic to walnuts."
            ),
            "extracted_memory": [
                _point("User lives in Ostrava.", 1),
                _point("User is allergic to walnuts.", 3, "Static"),
                _point("User wants to sail around the world.", 0, "Static"),
            ],
        },
        {"session_uuid": "empty", "current_time": "", "dialogue_turns": []},
        {
            "session_uuid": "s2",
            "current_time": "2026-03-03 (Tuesday)",
            "dialogue_turns": _turns("Thanks!", "You are welcome."),
            "extracted_memory": None,
        },
    ]
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "Ada_Beran_dialogues_1k.json"
    path.write_text(json.dumps(DIALOGUES), encoding="utf-8")
    return path


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=200)


# ── matching ─────────────────────────────────────────────────────────────────────────────────


def test_content_words_are_shared_by_their_normal_forms() -> None:
    assert content_words("She is playing the oboes") == content_words("plays oboe")
    assert shared("User plays the oboe", "She played an oboe in Ostrava") == pytest.approx(2 / 3)
    assert shared("the of", "the of") == 0.0
    assert shared("我住在布拉格", "布拉格") > 0.0


def test_a_record_covers_a_point_that_is_near_and_has_its_words() -> None:
    records = ["Ada lives in Ostrava", "Ada plays the oboe in an orchestra on Mondays"]
    points = ["lives in Ostrava", "oboe", "sails around the world"]
    found = match(points, records, FakeEmbedder())
    # "oboe" is one word of nine: its cosine is 1/3, which is not near enough.
    assert found.by_point == (0, None, None)
    assert (found.matched, found.records, found.unjudged) == (1, 2, 0)
    assert match(points, [], FakeEmbedder()).by_point == (None, None, None)
    assert match([], records, FakeEmbedder()).by_point == ()


def test_a_judge_picks_from_the_nearest_records() -> None:
    kinds = ("oak", "teak", "birch", "steel", "cork", "reed", "linen", "copper")
    records = [f"Ada owns a boat of {kind}" for kind in kinds]
    model = FakeChat("2", "<think>1?</think> 0.", "I cannot say", ModelFailed("down"), "9")
    judge = Judge(model)
    found = match(["Ada owns a boat of linen"] * 5, records, FakeEmbedder(dimensions=4096), judge)
    first = model.prompts[0].turns[0].text
    assert "1. Ada owns a boat of linen\n" in first, "the nearest comes first"
    assert first.count("\n5. ") == 1 and "\n6. " not in first
    assert [one is not None for one in found.by_point] == [True, False, False, False, False]
    assert found.by_point[0] != 6
    assert found.unjudged == 3, "what cannot be read, what failed, what was not shown"
    assert judge.meter.ledger().model_calls == 4


def test_what_stands_in_a_point_is_no_place_to_fill() -> None:
    model = FakeChat("1")
    match(["{records}"], ["a {point} b"], FakeEmbedder(), Judge(model))
    assert "1. a {point} b" in model.prompts[0].turns[0].text


# ── runs ─────────────────────────────────────────────────────────────────────────────────────


def test_realmem_is_read_by_session(data: Path) -> None:
    first, second = realmem.load(data)
    assert [role for role, _ in first.turns] == ["user", "assistant", "user"]
    assert first.at.isoformat() == "2026-03-02T12:00:00+00:00"
    assert first.points[0] == realmem.Point("User lives in Ostrava.", "Dynamic", 1)
    assert not second.points
    assert realmem.find_files(data.parent) == [data]
    with pytest.raises(InvalidInput, match=r"no \*_dialogues_"):
        realmem.find_files(data.parent / "nowhere")


def test_local_rules_are_measured_against_the_points(data: Path, console: Console) -> None:
    out = data.parent / "out.json"
    result = run_extract(data, out, "fake", console=console)
    assert (result["messages"], result["points"]) == (5, 3)
    assert result["writer"] == "local rules"
    assert result["overall"]["recall"] == pytest.approx(2 / 3)
    assert result["by_category"]["Dynamic"] == {"points": 1, "recall": 1.0}
    assert result["by_category"]["Static"] == {"points": 2, "recall": 0.5}
    assert 0.0 < result["overall"]["records_with_a_match"] <= 1.0
    assert result["overall"]["records_without_evidence"] == 0
    assert result["overall"]["valid_proposals"] == 1.0
    assert result["per_message"]["model_calls"] == 0.0
    assert result["per_message"]["seconds"] > 0.0
    assert result["batches"] == {"done": 3}, "two messages and one, and two"
    assert json.loads(out.read_text(encoding="utf-8"))["overall"] == result["overall"]
    assert "valid proposals" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_judge_may_compare(data: Path, console: Console) -> None:
    judge = FakeChat(otherwise="0", id="fake-judge")
    result = run_extract(data, None, "fake", judge=judge, console=console)
    assert result["overall"]["recall"] == 0.0
    assert result["rule"].startswith("fake-judge says")
    assert [use["model"] for use in result["ledger"]["models"]] == ["fake-judge"]


def test_turns_cut_a_session_and_its_points(data: Path, console: Console) -> None:
    result = run_extract(data, None, "fake", turns=2, per_add=1, console=console)
    assert (result["messages"], result["points"]) == (2, 1)
    assert result["overall"]["recall"] == 1.0
    with pytest.raises(InvalidInput, match="at least 1 turn"):
        run_extract(data, None, "fake", turns=0, console=console)
    with pytest.raises(InvalidInput, match="no set 'dolma'"):
        run_extract(data, None, "fake", dataset="dolma", console=console)
    with pytest.raises(InvalidInput, match="name one"):
        run_extract(data, None, "none", console=console)


def test_refused_proposals_are_counted_by_reason() -> None:
    tally = extract._Tally()
    skipped = [
        Skipped(index=None, reason="refused proposal: the alias r9 was not shown"),
        Skipped(index=None, reason="refused proposal: the alias r9 was not shown"),
        Skipped(index=0, reason="said before"),
    ]
    extract._count(Receipt(batch_id="b", state="failed", reason="down", skipped=skipped), tally)
    assert tally.reasons["the alias r9 was not shown"] == 2
    assert tally.reasons.total() == 3, "and the reply as a whole"
    assert tally.failures == ["down"]
    tally.seconds.append(0.5)
    report = extract._report(tally, None)
    assert report["overall"]["valid_proposals"] == 0.0
    assert report["batches"] == {"failed": 1}


def test_locomo_has_turns_and_no_points(data_dir: Path, console: Console) -> None:
    result = run_extract(data_dir, None, "fake", dataset="locomo", turns=30, console=console)
    assert (result["messages"], result["points"]) == (30, 0)
    assert result["overall"]["recall"] is None
    assert result["overall"]["records_without_evidence"] == 0
    assert result["records"] > 0


def test_the_development_dialogues_load_whole(data_dir: Path) -> None:
    (path,) = realmem.find_files(data_dir)
    dialogues = realmem.load(path)
    points = [point.text for one in dialogues for point in one.points]
    assert (len(dialogues), len(points)) == (191, 424)
    assert points == realmem.realmem_points(path)
    assert sum(len(one.turns) for one in dialogues) == 1543
    assert extract_match.NEAR > 0
