"""The LoCoMo loader: on a small file of the same format, and on the data itself where it is."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memstrata.bench import data
from memstrata.errors import InvalidInput

SAMPLE: dict[str, Any] = {
    "sample_id": "conv-26",
    "conversation": {
        "speaker_a": "Odile",
        "speaker_b": "Viggo",
        "session_1_date_time": "9:05 am on 3 March, 2024",
        "session_1": [
            {"speaker": "Odile", "dia_id": "D1:1", "text": "My canoe has a leak."},
            {
                "speaker": "Viggo",
                "dia_id": "D1:2",
                "text": "Mine too, look.",
                "img_url": ["x"],
                "blip_caption": "a canoe on a lawn",
            },
        ],
        "session_10_date_time": "12:30 am on 21 December, 2024",
        "session_10": [{"speaker": "Odile", "dia_id": "D10:1", "text": "It floats again."}],
        "session_2_date_time": "12:00 pm on 4 March, 2024",
        "session_2": [{"speaker": "Viggo", "dia_id": "D2:1", "text": "I bought glue."}],
        "session_11_date_time": "1:00 pm on 22 December, 2024",
    },
    "qa": [
        {"question": "Whose canoe leaks?", "answer": 2, "evidence": ["D1:1"], "category": 1},
        {"question": "Who has glue?", "evidence": ["D2:1; D10:01", "D:1:2", "D"], "category": 4},
        {"question": "Who sold it?", "adversarial_answer": "x", "evidence": [], "category": 5},
    ],
}
CORRECTION = {
    "question_id": "locomo_0_qa0",
    "question": "Whose canoe leaks?",
    "correct_evidence": ["D1:1", "D1:2"],
    "reasoning": "both",
}


def _write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_turns_come_in_the_order_of_the_sessions_with_their_dates(tmp_path: Path) -> None:
    (one,) = data.load(_write(tmp_path / "locomo.json", [SAMPLE]))
    assert [turn.id for turn in one.turns] == ["D1:1", "D1:2", "D2:1", "D10:1"]
    assert list(one.sessions()) == ["session_1", "session_2", "session_10"]
    assert one.turns[0].occurred_at == datetime(2024, 3, 3, 9, 5, tzinfo=UTC)
    assert one.turns[2].occurred_at == datetime(2024, 3, 4, 12, 0, tzinfo=UTC)
    assert one.turns[3].occurred_at == datetime(2024, 12, 21, 0, 30, tzinfo=UTC)


def test_the_content_has_the_caption_but_not_the_speaker(tmp_path: Path) -> None:
    (one,) = data.load(_write(tmp_path / "locomo.json", [SAMPLE]))
    assert one.turns[0].content == "My canoe has a leak."
    assert one.turns[1].content == "Mine too, look. [image: a canoe on a lawn]"
    assert one.turns[1].speaker == "Viggo"


def test_evidence_is_read_however_untidy_and_corrected_by_the_audit(tmp_path: Path) -> None:
    path = _write(tmp_path / "locomo.json", [SAMPLE])
    audit = _write(tmp_path / "audit.json", [CORRECTION])
    (one,) = data.load(path, audit)
    first, second, third = one.questions
    assert first.evidence == {"D1:1"}
    assert first.audited == {"D1:1", "D1:2"}
    assert second.evidence == second.audited == {"D2:1", "D10:1", "D1:2"}
    assert third.evidence == frozenset()
    assert third.category == data.ADVERSARIAL


def test_an_audit_counts_conversations_as_published(tmp_path: Path) -> None:
    later = SAMPLE | {"sample_id": "conv-44"}
    path = _write(tmp_path / "locomo.json", [later])
    of_another = _write(tmp_path / "first.json", [CORRECTION])
    (one,) = data.load(path, of_another)
    assert one.questions[0].audited == one.questions[0].evidence
    own = _write(tmp_path / "own.json", [CORRECTION | {"question_id": "locomo_5_qa0"}])
    (one,) = data.load(path, own)
    assert one.questions[0].audited == {"D1:1", "D1:2"}


def test_an_audit_of_other_questions_is_refused(tmp_path: Path) -> None:
    path = _write(tmp_path / "locomo.json", [SAMPLE])
    wrong = _write(tmp_path / "audit.json", [CORRECTION | {"question_id": "locomo_0_qa1"}])
    with pytest.raises(InvalidInput, match="locomo_0_qa1 is another question"):
        data.load(path, wrong)


def test_files_are_found_in_a_folder_or_its_locomo_folder(tmp_path: Path) -> None:
    folder = tmp_path / "locomo"
    folder.mkdir()
    path = _write(folder / "locomo_dev.json", [SAMPLE])
    assert data.find_files(tmp_path) == (path, None)
    audit = _write(folder / "audit_dev.json", [])
    assert data.find_files(tmp_path) == data.find_files(folder) == data.find_files(path)
    assert data.find_files(path) == (path, audit)


def test_what_is_no_data_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no locomo"):
        data.find_files(tmp_path)
    with pytest.raises(InvalidInput, match="cannot read"):
        data.load(tmp_path / "missing.json")
    with pytest.raises(InvalidInput, match="another format"):
        data.load(_write(tmp_path / "object.json", {"a": 1}))
    undated = SAMPLE | {"conversation": {"session_1": []}}
    with pytest.raises(InvalidInput, match="session_1 has no date"):
        data.load(_write(tmp_path / "undated.json", [undated]))
    with pytest.raises(InvalidInput, match="not a session date"):
        data.session_time("yesterday")


def test_the_development_conversations_load_whole(data_dir: Path) -> None:
    conversations = data.load(*data.find_files(data_dir))
    assert [one.id for one in conversations] == [f"conv-{n}" for n in (26, 30, 41, 42, 43)]
    assert sum(len(one.turns) for one in conversations) == 2760
    questions = [question for one in conversations for question in one.questions]
    with_evidence = Counter(question.category for question in questions if question.evidence)
    assert with_evidence == {1: 142, 2: 156, 3: 44, 4: 418, 5: 237}
    assert sum(question.audited != question.evidence for question in questions) == 58


def test_every_turn_is_in_the_session_its_id_names(data_dir: Path) -> None:
    for one in data.load(*data.find_files(data_dir)):
        for turn in one.turns:
            assert turn.id.startswith(f"D{turn.session.removeprefix('session_')}:")
        known = {turn.id for turn in one.turns}
        for question in one.questions:
            assert question.audited <= known, question.text
            assert len(question.evidence - known) <= 1, "one id in the data names no turn"
