"""LongMemEval: both formats, what counts as an update found, and a run from end to end."""

from __future__ import annotations

import io
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from memstrata.bench import longmemeval, longmemeval_data
from memstrata.bench.haystack import Found
from memstrata.bench.longmemeval import Answer, newest_first, report, run_longmemeval
from memstrata.errors import InvalidInput


def _turn(content: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": content}


UPDATE: dict[str, Any] = {
    "question_id": "q1",
    "question_type": "knowledge-update",
    "abstention": False,
    "question": "Which colour is my kayak?",
    "question_date": "2024/05/02 (Thu) 09:30",
    "answer": "green",
    "evidence_sessions": [
        {"date": "2024/03/01 (Fri) 10:00", "evidence_turns": [_turn("My kayak is red.")]},
        {
            "date": "2024/04/01 (Mon) 10:00",
            "evidence_turns": [_turn("I painted it."), _turn("My kayak is green now.")],
        },
    ],
}
PLAIN: dict[str, Any] = {
    "question_id": "q2",
    "question_type": "single-session-assistant",
    "abstention": False,
    "question": "Which glue did you name for the violin?",
    "question_date": "2024/05/03 (Fri) 09:30",
    "answer": 7,
    "evidence_sessions": [
        {
            "date": "2024/02/01 (Thu) 08:00",
            "evidence_turns": [_turn("Use hide glue on a violin.", "assistant")],
        }
    ],
}
ABSTAINS: dict[str, Any] = {
    "question_id": "q3_abs",
    "question_type": "knowledge-update",
    "abstention": True,
    "question": "What is the name of my parrot?",
    "question_date": None,
    "answer": "never said",
    "evidence_sessions": [],
}


def _write(folder: Path, *questions: dict[str, Any]) -> Path:
    path = folder / "evidence_small.jsonl"
    path.write_text("\n".join(map(json.dumps, questions)) + "\n\n", encoding="utf-8")
    return path


def test_turns_are_known_by_question_session_and_place(tmp_path: Path) -> None:
    first, _, third = longmemeval_data.load(_write(tmp_path, UPDATE, PLAIN, ABSTAINS))
    assert [session.id for session in first.sessions] == ["q1/1", "q1/2"]
    assert first.evidence == {"q1/1:1", "q1/2:1", "q1/2:2"}
    assert first.at == datetime(2024, 5, 2, 9, 30, tzinfo=UTC)
    assert third.at is None
    assert third.abstention
    assert not third.evidence


def test_the_published_format_keeps_what_holds_an_answer(tmp_path: Path) -> None:
    published = {
        "question_id": "q9_abs",
        "question_type": "multi-session",
        "question": "Who won?",
        "question_date": "2024/05/02 (Thu) 09:30",
        "haystack_dates": ["2024/03/01 (Fri) 10:00", "2024/03/02 (Sat) 10:00"],
        "haystack_sessions": [
            [_turn("Hello."), _turn("Ida lost.") | {"has_answer": True}],
            [_turn("Nothing here.")],
        ],
    }
    path = tmp_path / "longmemeval_tiny.json"
    path.write_text(json.dumps([published]), encoding="utf-8")
    assert longmemeval_data.find_file(tmp_path) == path
    (one,) = longmemeval_data.load(path)
    assert one.abstention
    assert [[turn.content for turn in s.turns] for s in one.sessions] == [["Ida lost."]]


def test_sessions_are_added_by_date_and_questions_asked_at_theirs(tmp_path: Path) -> None:
    pool = longmemeval.haystack_of(longmemeval_data.load(_write(tmp_path, UPDATE, PLAIN, ABSTAINS)))
    assert [item.id for item in pool.items] == ["q2/1:1", "q1/1:1", "q1/2:1", "q1/2:2"]
    assert pool.items[0].role == "assistant"
    assert [case.now.isoformat()[:10] for case in pool.cases] == [
        "2024-05-02",
        "2024-05-03",
        "2024-04-02",
    ]


@pytest.mark.parametrize(
    ("ranked", "first"),
    [
        (["x:1", "q1/2:2", "q1/1:1"], True),
        (["q1/2:1"], True),
        (["q1/1:1", "q1/2:2", "q1/2:1"], False),
        (["x:1"], False),
    ],
)
def test_the_best_turn_of_the_newest_session_stands_above_all_older(
    tmp_path: Path, ranked: list[str], *, first: bool
) -> None:
    question, plain = longmemeval_data.load(_write(tmp_path, UPDATE, PLAIN))
    assert newest_first(question, ranked) is first
    assert newest_first(plain, ranked) is None, "there is nothing older"


def test_the_report_keeps_abstention_apart(tmp_path: Path) -> None:
    update, plain, abstains = longmemeval_data.load(_write(tmp_path, UPDATE, PLAIN, ABSTAINS))
    result = report(
        [
            Answer(update, Found(("q1/2:2", "q1/1:1"), 0.9, True)),
            Answer(plain, Found(("q1/1:1",), 0.4, False)),
            Answer(abstains, Found(("q1/1:1",), 0.6, True)),
        ]
    )
    assert result["questions"] == 2
    assert result["by_category"]["knowledge-update"]["recall@10"] == pytest.approx(2 / 3)
    assert result["overall"]["session_any@5"] == 0.5
    assert result["updates"] == {"questions": 1, "newest_first": 1.0}
    assert result["abstention"]["questions"] == 1
    assert result["abstention"]["answerable_share"] == 1.0
    assert result["abstention"]["confidence_auroc"] == 0.5


def test_a_run_finds_plain_evidence(tmp_path: Path) -> None:
    path = _write(tmp_path, UPDATE, PLAIN, ABSTAINS)
    out, console = tmp_path / "out.json", Console(file=io.StringIO(), width=160)
    result = run_longmemeval(tmp_path, out, "fake", console=console)
    assert result["by_category"]["single-session-assistant"]["recall@1"] == 1.0
    assert result["ledger"]["messages"] == 4
    assert json.loads(out.read_text(encoding="utf-8"))["overall"] == result["overall"]
    with pytest.raises(InvalidInput, match="nothing to measure"):
        run_longmemeval(_write(tmp_path, ABSTAINS), None, "none", console=console)
    path.write_text("{}\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="line 1: "):
        longmemeval_data.load(path)
    with pytest.raises(InvalidInput, match="not a date"):
        longmemeval_data.moment("tomorrow")


def test_the_development_questions_load_whole(data_dir: Path) -> None:
    questions = longmemeval_data.load(longmemeval_data.find_file(data_dir))
    assert Counter(q.abstention for q in questions) == {False: 234, True: 15}
    assert sum(len(q.evidence) for q in questions) == 450
    assert sum(q.type == longmemeval_data.UPDATE and len(q.sessions) > 1 for q in questions) == 36
    pool = longmemeval.haystack_of(questions)
    times = [item.occurred_at for item in pool.items]
    assert times == sorted(times)
    assert len({item.id for item in pool.items}) == len(times)
