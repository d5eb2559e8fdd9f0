"""Answering questions: prompts, resuming, controls, and runs from end to end."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_shell import Shell
from models import local_model
from rich.console import Console

from memstrata.bench import qa_data, qa_prompts
from memstrata.bench.qa import Plan, run_qa
from memstrata.bench.qa_journal import Journal, key_of
from memstrata.bench.qa_read import Limits
from memstrata.errors import BudgetExceeded, InvalidInput, ModelFailed
from memstrata.models.chat import Prompt
from memstrata.models.fake import FakeChat

CONVERSATION: dict[str, Any] = {
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
            {"speaker": "Odile", "dia_id": "D2:2", "text": "Lovely! I finished pottery school."},
        ],
    },
    "qa": [
        {"question": "What leaks?", "answer": "the canoe", "evidence": ["D1:1"], "category": 4},
        {"question": "What is Viggo's dog called?", "answer": "Pixel", "category": 1},
        {
            "question": "What did Viggo finish?",
            "adversarial_answer": "pottery school",
            "evidence": ["D2:2"],
            "category": 5,
        },
    ],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "locomo_small.json"
    path.write_text(json.dumps([CONVERSATION]), encoding="utf-8")
    return path


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=200)


def _answers(prompt: Prompt) -> str:
    text = prompt.turns[-1].text
    if "leaks?" in text:
        return "<think>a boat</think>The canoe."
    return "(a)" if "(a)" in text else "Rex"


def _judges(prompt: Prompt) -> dict[str, str]:
    text = prompt.turns[-1].text
    return {"label": "CORRECT" if "canoe." in text else "WRONG"}


def _plan(**settings: Any) -> Plan:
    return Plan(conditions=("context", "full", "rag"), runs=2, **settings)


def _run(data: Path, console: Console, **settings: Any) -> tuple[Any, FakeChat, FakeChat]:
    given: dict[str, Any] = {
        "plan": _plan(),
        "answerer": FakeChat(otherwise=_answers, id="fake-answerer"),
        "judge": FakeChat(otherwise=_judges, id="fake-judge-2026"),
        "work": data.parent / "work",
    } | settings
    result = run_qa(data, None, "fake", console=console, **given)
    return result, given["answerer"], given["judge"]


# ── questions ────────────────────────────────────────────────────────────────────────────────


def test_adversarial_questions_offer_two_answers(data: Path) -> None:
    (story,) = qa_data.load(data, "locomo")
    *_, trap = story.asked
    assert trap.gold == qa_data.NOT_MENTIONED
    assert set(trap.choices or ()) == {qa_data.NOT_MENTIONED, "pottery school"}
    assert "(a)" in trap.wording and "(b)" in trap.wording
    assert [len(s.asked) for s in qa_data.load(data, "locomo", limit=2)] == [2]
    with pytest.raises(InvalidInput, match=r"no audit\*\.json"):
        qa_data.load(data, "locomo", audited=True)
    with pytest.raises(InvalidInput, match="no set 'hotpot'"):
        qa_data.load(data, "hotpot")


@pytest.fixture
def histories(tmp_path: Path) -> Path:
    """Two questions with the same whole history, one of them without an answer."""
    turns = [
        {"role": "user", "content": "My kayak is green.", "has_answer": True},
        {"role": "assistant", "content": "A fine colour."},
    ]
    published = {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which colour is my kayak?",
        "question_date": "2024/05/02 (Thu) 09:30",
        "answer": "green",
        "haystack_dates": ["2024/03/01 (Fri) 10:00"],
        "haystack_sessions": [turns],
    }
    unanswered = published | {"question_id": "q2_abs", "answer": "never said"}
    path = tmp_path / "longmemeval_tiny.json"
    path.write_text(json.dumps([published, unanswered]), encoding="utf-8")
    return path


def test_a_whole_history_is_a_memory_of_its_own(histories: Path) -> None:
    one, two = qa_data.load(histories, "longmemeval")
    assert [item.content for item in one.items] == ["My kayak is green.", "A fine colour."]
    assert {item.user_id for item in two.items} == {"q2_abs"}
    assert [s.asked[0].category for s in (one, two)] == ["single-session-user", "abstention"]


# ── prompts ──────────────────────────────────────────────────────────────────────────────────


def test_every_prompt_has_its_places() -> None:
    for name in qa_data.SETS:
        ours = qa_prompts.OURS[name]
        assert all("{context}" in text for text in (ours.answer, ours.adversarial or ours.answer))
        assert "{question}" in ours.answer
        for category in ("", "temporal-reasoning", "abstention", "single-hop"):
            made = qa_prompts.filled(
                ours.judge_of(category), question="Q{answer}", answer="G", response="R"
            )
            assert "Q{answer}" in made, "what is filled in is not filled again"
            assert "{response}" not in made
    kinds = qa_prompts.OURS["longmemeval"].judge
    assert len(set(kinds.values())) == 5


OFFICIAL = """
def get_anscheck_prompt(task, question, answer, response, abstention=False):
    if not abstention:
        if task in ['single-session-user', 'multi-session']:
            template = "Plain? {} / {} / {}"
            prompt = template.format(question, answer, response)
        elif task == 'temporal-reasoning':
            template = "Time? {} / {} / {}"
            prompt = template.format(question, answer, response)
        else:
            raise NotImplementedError
    else:
        template = "Unsaid? {} / {} / {}"
    return prompt
raise SystemExit("this file is read, never run")
"""


def test_the_original_judges_are_read_from_their_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no evaluate_qa"):
        qa_prompts.official("longmemeval", tmp_path)
    (tmp_path / "evaluate_qa.py").write_text(OFFICIAL, encoding="utf-8")
    made = qa_prompts.official("longmemeval", tmp_path)
    assert made.judge_of("multi-session") == "Plain? {question} / {answer} / {response}"
    assert made.judge_of("temporal-reasoning").startswith("Time?")
    assert made.judge_of("abstention").startswith("Unsaid?")
    assert made.sources["judge"].startswith("evaluate_qa.py, sha256 ")
    assert made.digest != qa_prompts.OURS["longmemeval"].digest
    (tmp_path / "evaluate_qa.py").write_text("x = 1", encoding="utf-8")
    with pytest.raises(InvalidInput, match="no templates by type"):
        qa_prompts.official("longmemeval", tmp_path)


def test_the_original_prompts_of_locomo_are_read_from_two_files(tmp_path: Path) -> None:
    judge = 'ACCURACY_PROMPT = """Q {question} G {gold_answer} A {generated_answer}"""\n'
    (tmp_path / "llm_judge.py").write_text(judge, encoding="utf-8")
    made = qa_prompts.official("locomo", tmp_path)
    assert made.judge_of("single-hop") == "Q {question} G {answer} A {response}"
    assert made.answer == qa_prompts.OURS["locomo"].answer, "only the judge was given"
    answers = 'QA_PROMPT = "Briefly: {}"\nQA_PROMPT_CAT_5 = "Choose: {}"\n'
    (tmp_path / "evaluate_gpts.py").write_text(answers, encoding="utf-8")
    made = qa_prompts.official("locomo", tmp_path)
    assert (made.answer, made.adversarial) == (
        "{context}\n\nBriefly: {question}",
        "{context}\n\nChoose: {question}",
    )
    (tmp_path / "llm_judge.py").write_text('ACCURACY_PROMPT = "Q {question}"', encoding="utf-8")
    with pytest.raises(InvalidInput, match="no place for"):
        qa_prompts.official("locomo", tmp_path)
    (tmp_path / "llm_judge.py").write_text("def (", encoding="utf-8")
    with pytest.raises(InvalidInput, match="cannot be read as Python"):
        qa_prompts.official("locomo", tmp_path)


# ── the journal ──────────────────────────────────────────────────────────────────────────────


def test_a_journal_outlives_a_line_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    Journal(path).put("one", {"answer": "é\ud800"})
    with path.open("ab") as file:
        file.write(b'{"key": "two", "ans')
    again = Journal(path)
    assert len(again) == 1
    again.put("three", {"answer": "yes"})
    third = Journal(path)
    assert [entry["answer"] for entry in third] == ["é\ud800", "yes"]
    path.write_text("[]\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="line 1: not an entry"):
        Journal(path)
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1}) != key_of({"a": 1, "b": 3})


# ── runs ─────────────────────────────────────────────────────────────────────────────────────


def test_a_run_answers_in_every_condition_and_is_judged(data: Path, console: Console) -> None:
    result, answerer, judge = _run(data, console)
    assert (result["answerer"], result["judge"]) == ("fake-answerer", "fake-judge-2026")
    assert (result["questions"], result["runs"]) == (3, 2)
    assert set(result["overall"]) == {"context", "full", "rag"}
    for block in result["overall"].values():
        assert block["questions"] == 2
        assert (block["judge"], block["f1"]) == (0.5, 0.5)
        assert block["spread"]["judge"] == {"std": 0.0, "runs": [0.5, 0.5]}
        assert block["model_calls"] == 1
        assert block["input_tokens"] > block["context_tokens"] > 0
        assert (block["failed"], block["unjudged"]) == (0, 0)
    assert result["by_category"]["single-hop"]["full"]["judge"] == 1.0
    assert result["by_category"]["multi-hop"]["full"]["judge"] == 0.0
    asked = Counter(prompt.purpose for prompt in [*answerer.prompts, *judge.prompts])
    assert asked == {"answer": 3 * 3 * 2, "judge": 2 * 3 * 2}, "adversarial ones need no judge"
    models = {use["model"]: use["calls"] for use in result["ledger"]["models"]}
    assert models == {"fake-answerer": 18, "fake-judge-2026": 12}
    right = float("(a) Not" in qa_data.load(data, "locomo")[0].asked[2].wording)
    assert result["adversarial"]["full"]["f1"] == right


def test_a_second_start_asks_nothing_and_reports_the_same(data: Path, console: Console) -> None:
    first, *_ = _run(data, console)
    second, answerer, judge = _run(data, console)
    assert not answerer.prompts and not judge.prompts
    assert second["overall"] == first["overall"]
    assert second["ledger"]["models"] == first["ledger"]["models"]
    judge = FakeChat(otherwise=_judges, id="another-judge")
    _, answerer, other = _run(data, console, judge=judge)
    assert not answerer.prompts, "answers stand, only judgements are made anew"
    assert len(other.prompts) == 12
    _, answerer, _ = _run(data, console, plan=_plan(limits=Limits(context=50)))
    assert len(answerer.prompts) == 18, "other settings are other answers"


def test_a_run_that_breaks_off_goes_on_where_it_was(data: Path, console: Console) -> None:
    def until(count: int) -> Callable[[Prompt], Any]:
        left = [count]

        def reply(prompt: Prompt) -> Any:
            left[0] -= 1
            return _answers(prompt) if left[0] >= 0 else BudgetExceeded("used up")

        return reply

    with pytest.raises(BudgetExceeded):
        _run(data, console, answerer=FakeChat(otherwise=until(7), id="fake-answerer"))
    result, answerer, _ = _run(data, console)
    assert len(answerer.prompts) == 18 - 7
    assert result["overall"]["rag"]["failed"] == 0
    kept = (data.parent / "work" / "answers.jsonl").read_text(encoding="utf-8")
    entries = list(map(json.loads, kept.splitlines()))
    assert sum(entry["what"] == "memory" for entry in entries) == 1


def test_an_answer_that_fails_is_wrong_and_tried_again(data: Path, console: Console) -> None:
    plan = Plan(conditions=("full",), runs=1)
    broken = FakeChat(ModelFailed("down"), otherwise=_answers, id="fake-answerer")
    mute = FakeChat({"label": "?"}, otherwise=_judges, id="fake-judge-2026")
    result, *_ = _run(data, console, plan=plan, answerer=broken, judge=mute)
    block = result["overall"]["full"]
    assert (block["failed"], block["unjudged"], block["judge"]) == (1, 1, 0.0)
    assert "1 answers failed" in console.file.getvalue()  # type: ignore[attr-defined]
    result, answerer, judge = _run(data, console, plan=plan)
    assert (len(answerer.prompts), len(judge.prompts)) == (1, 2)
    assert result["overall"]["full"]["failed"] == result["overall"]["full"]["unjudged"] == 0


def test_the_agent_answers_by_itself(data: Path, console: Console) -> None:
    def agent(prompt: Prompt) -> Any:
        return {"answer": "The canoe.", "cites": ["m1"], "known": True}

    plan = Plan(conditions=("ask",), runs=1, limit=2)
    result, answerer, judge = _run(data, console, plan=plan, answerer=FakeChat(otherwise=agent))
    assert {prompt.purpose for prompt in answerer.prompts} == {"ask"}
    assert result["overall"]["ask"]["failed"] == 0
    assert result["overall"]["ask"]["model_calls"] >= 1
    assert result["overall"]["ask"]["input_tokens"] > 0
    assert judge.prompts


def test_a_model_may_write_the_memory(data: Path, console: Console) -> None:
    writer = FakeChat(otherwise={"memories": []}, id="fake-writer")
    plan = Plan(conditions=("context",), runs=1, limit=1)
    result, answerer, _ = _run(data, console, plan=plan, writer=writer)
    assert result["writer"] == "fake-writer"
    assert writer.prompts
    assert result["ledger"]["writing"]["model_calls"] == len(writer.prompts)
    _run(data, console, plan=plan, writer=FakeChat(id="fake-writer"))  # asks nothing
    _, again, _ = _run(data, console, plan=plan)
    assert len(answerer.prompts) == len(again.prompts) == 1, "another writer, another memory"


def test_longmemeval_is_judged_by_yes_and_no(histories: Path, console: Console) -> None:
    judge = FakeChat("Yes, it does.", "no")
    plan = Plan("longmemeval", conditions=("full",), runs=1)
    answerer = FakeChat(otherwise="It is green.")
    result, *_ = _run(histories, console, plan=plan, judge=judge, answerer=answerer)
    assert result["by_category"]["single-session-user"]["full"]["judge"] == 1.0
    assert result["by_category"]["abstention"]["full"]["judge"] == 0.0
    assert result["overall"]["full"]["judge"] == 0.5, "abstention counts, as in its own figures"
    assert "Today is Thursday, 2 May 2024, 09:30" in answerer.prompts[0].turns[0].text
    first, second = (prompt.turns[0].text for prompt in judge.prompts)
    assert "cannot be answered" in second
    assert "cannot be answered" not in first
    assert judge.prompts[0].schema is None


def test_a_writer_that_fails_leaves_what_rules_find(data: Path, console: Console) -> None:
    plan = Plan(conditions=("context",), runs=1)
    result, *_ = _run(data, console, plan=plan, writer=FakeChat(otherwise="no JSON at all"))
    assert result["overall"]["context"]["failed"] == 0
    failed = result["ledger"]["not_distilled"]
    assert failed[0].startswith("session_1: ")
    assert f"failed on {len(failed)} sessions" in console.file.getvalue()  # type: ignore[attr-defined]


def test_controls_show_all_or_the_nearest_in_order(data: Path, console: Console) -> None:
    whole = Plan(conditions=("full", "rag"), runs=1, limits=Limits(chunks=1))
    _, answerer, _ = _run(data, console, plan=whole)
    full, rag = answerer.prompts[0].turns[0].text, answerer.prompts[3].turns[0].text
    said = ["Sunday, 3 March 2024", "canoe has", "harbour", "9 April 2024", "beagle", "pottery"]
    places = [full.index(one) for one in said]
    assert places == sorted(places)
    assert "canoe has" in rag
    assert "beagle" not in rag
    cut = Plan(conditions=("full",), runs=1, limits=Limits(window=30))
    result, answerer, _ = _run(data, console, plan=cut)
    text = answerer.prompts[0].turns[0].text
    assert "pottery" in text
    assert "canoe has" not in text, "the oldest is dropped"
    assert result["overall"]["full"]["messages_left_out"] == 2
    assert "the oldest 2 messages did not fit" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_real_model_answers_and_judges(data: Path, console: Console, local_endpoint: str) -> None:
    model = f"{local_model.MODEL}@{local_endpoint}"
    plan = Plan(conditions=("full",), runs=1, limit=2)
    result, *_ = _run(data, console, plan=plan, answerer=model, judge=model)
    block = result["overall"]["full"]
    assert block["failed"] == 0
    assert block["unjudged"] == 0, "a schema leaves no third label"
    (use,) = result["ledger"]["models"]
    assert use["calls"] == 3, "two answers, and one to judge"
    assert use["input_tokens"] > 100
    assert use["model"].startswith(local_model.MODEL)
    assert block["answer_ms"]["p50"] > 0.0


def test_the_command_asks_the_models_it_is_given(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shell = Shell.fresh(tmp_path, monkeypatch, capsys)
    command = ("bench", "qa", "--data", str(data), "--conditions", "full")
    done = shell(*command)
    assert done.code == 1
    assert "name the models: --answerer and --judge" in done.err
    done = shell(*command, "--answerer", "nobody", "--judge", "nobody")
    assert done.code == 1
    assert "nobody is known to serve 'nobody'" in done.err
    done = shell("bench", "extract", "--data", str(data), "--set", "locomo", "--json")
    assert done.json["messages"] == 4
    assert done.json["writer"] == "local rules"


def test_local_rules_write_whatever_the_settings_name(
    data: Path, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSTRATA_LLM", "nothing@http://127.0.0.1:9/v1")
    monkeypatch.setenv("MEMSTRATA_LLM_BUDGET", "calls=2")
    plan = Plan(conditions=("full",), runs=1)
    with pytest.raises(BudgetExceeded, match="2 calls"):
        _run(data, console, plan=plan)
    monkeypatch.delenv("MEMSTRATA_LLM_BUDGET")
    result, answerer, _ = _run(data, console, plan=plan)
    assert result["ledger"]["writing"]["model_calls"] == 0
    assert len(answerer.prompts) == 2, "one was answered before the budget was used up"


def test_nothing_to_do_is_refused(data: Path, console: Console) -> None:
    for plan, why in (
        (Plan(conditions=("guess",)), "not guess"),
        (Plan(conditions=()), "conditions are"),
        (Plan(runs=0), "at least 1 run"),
        (Plan(limit=0), "at least 1 question"),
    ):
        with pytest.raises(InvalidInput, match=why):
            _run(data, console, plan=plan)


def test_the_development_questions_have_answers(data_dir: Path) -> None:
    stories = qa_data.load(data_dir, "locomo", audited=True)
    counts = Counter(asked.category for story in stories for asked in story.asked)
    assert counts["adversarial"] == 237
    assert sum(counts.values()) == 999
    published = qa_data.load(data_dir, "locomo")
    pairs = zip(stories, published, strict=True)
    changed = [a.id for s, p in pairs for a, b in zip(s.asked, p.asked, strict=True) if a != b]
    assert 10 < len(changed) < 85
    (pool,) = qa_data.load(data_dir, "longmemeval")
    assert Counter(a.category == "abstention" for a in pool.asked) == {False: 234, True: 15}
    (one,) = qa_data.load(data_dir / "longmemeval/longmemeval_s_e47becba.json", "longmemeval")
    assert (len(one.items), one.asked[0].gold) == (550, "Business Administration")
