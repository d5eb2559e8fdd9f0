"""PrecisionMemBench: how beliefs become records, how cases are judged, and a run."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from memstrata.bench import precision_data
from memstrata.bench.precision_data import Case
from memstrata.bench.precisionmembench import Told, failures, record_of, run_precisionmembench
from memstrata.errors import InvalidInput


def _belief(name: str, content: str, **more: Any) -> dict[str, Any]:
    return {
        "_id": f"b-{name}",
        "user_id": "test-user",
        "type": "entity",
        "canonical_name": name,
        "aliases": [],
        "content": content,
        "why_it_matters": "Shapes advice.",
        "scope": ["domain:boats"],
        "created_at": "2025-02-01T00:00:00Z",
        "updated_at": "2025-02-01T00:00:00Z",
        **more,
    }


BELIEFS = [
    _belief("tone", "Wants terse replies.", scope=["user:universal"], pinned=True),
    _belief("hull_old", "The hull is oak.", superseded_by="b-hull_new",
            created_at="2025-01-01T00:00:00Z"),
    _belief("hull_new", "The hull is carbon.", pinned=True),
    _belief("winch", "The winch is a Velmor 40.", aliases=["capstan"]),
    _belief("sail", "The sail is patched.", scope=["domain:kites"]),
    _belief("rig", "The rig hangs on the winch.", type="relation",
            participants=["b-winch", "b-name", "b-sail", "b-hull_new"]),
    _belief("name", "How should the boat be called?", type="open_question", pinned=True),
    _belief("port", "Which port?", type="open_question", pinned=True,
            resolved_at="2025-02-02T00:00:00Z"),
]  # fmt: skip


def _case(name: str, query: str, expect: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "caseId": name,
        "category": "Naming",
        "description": "",
        "scope": ["domain:boats"],
        "query": query,
        "expect": expect,
        **more,
    }


CASES = [
    _case(
        "capstan",
        "Velmor capstan",
        {
            "relevantBeliefs": {"shouldOnlyInclude": ["b-winch"]},
            "pinnedFacts": {"mustInclude": ["b-hull_new"], "mustExclude": ["b-hull_old"]},
            "openQuestions": {"mustInclude": ["b-name"], "mustExclude": ["b-port"]},
            "personaPrelude": {"nonEmpty": True, "contains": ["terse"]},
        },
    ),
    _case("silence", "  ", {"relevantBeliefs": {"shouldOnlyInclude": []}}),
    _case("none", "winch", {"relevantBeliefs": {"shouldOnlyInclude": ["b-winch"]}},
          budget={"maxBeliefs": 0}),
    _case("stranger", "winch", {"personaPrelude": {"isNull": True},
                                "relevantBeliefs": {"shouldOnlyInclude": []}}, userId="nobody"),
    _case("rig", "On what does the rig hang?",
          {"relevantBeliefs": {"shouldOnlyInclude": ["b-rig", "b-winch"]}}),
]  # fmt: skip


def _judged(expect: dict[str, Any], told: Told) -> list[str]:
    return failures(Case.model_validate(_case("x", "winch", expect)), told)


def test_only_means_all_of_these_and_no_other() -> None:
    only = {"relevantBeliefs": {"shouldOnlyInclude": ["a", "b"]}}
    assert _judged(only, Told(relevant=("b", "a"))) == []
    assert _judged(only, Told(relevant=("a", "c"), pinned=("b",))) == ["missing b", "extra c"]
    assert _judged({"relevantBeliefs": {"shouldOnlyInclude": []}}, Told(pinned=("a",))) == []


def test_what_is_forbidden_counts_pinned_or_not() -> None:
    forbidden = {"relevantBeliefs": {"mustExclude": ["a"]}}
    assert _judged(forbidden, Told(pinned=("a",))) == ["forbidden a"]
    assert _judged(forbidden, Told(questions=("a",))) == []
    wanted = {"pinnedFacts": {"mustInclude": ["a"]}, "openQuestions": {"mustExclude": ["q"]}}
    assert _judged(wanted, Told(relevant=("a",), questions=("q",))) == [
        "missing pinned a",
        "forbidden question q",
    ]


def test_the_prelude_is_judged_by_its_words() -> None:
    prelude = {"personaPrelude": {"contains": ["terse"], "mustNotContain": ["loud"]}}
    assert _judged(prelude, Told(prelude="terse")) == []
    assert len(_judged(prelude, Told(prelude="loud"))) == 2
    assert _judged({"personaPrelude": {"isNull": True}}, Told(prelude="x")) != []
    assert _judged({"personaPrelude": {"nonEmpty": True}}, Told()) != []


def _write(folder: Path) -> Path:
    for name, content in (("beliefs.seed.json", BELIEFS), ("retrieval.cases.json", CASES)):
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_a_belief_is_a_record_with_its_names_and_scopes(tmp_path: Path) -> None:
    beliefs, cases = precision_data.load(_write(tmp_path))
    record = record_of(beliefs[3])
    assert record["name"] == "winch (capstan)"
    assert record["tags"] == ["domain:boats"]
    assert "Shapes" not in record["name"] + record["summary"]
    assert [case.active for case in cases] == [True, False, True, False, True]
    with pytest.raises(InvalidInput, match="give the folder"):
        precision_data.load(tmp_path / "none")


def test_a_run_judges_every_tier(tmp_path: Path) -> None:
    console, out = Console(file=io.StringIO(), width=160), tmp_path / "out.json"
    result = run_precisionmembench(_write(tmp_path), out, "none", threshold=0.05, console=console)
    wrong = {each["case"]: each["failures"] for each in result["failed"]}
    assert wrong == {"none": ["missing b-winch"]}, "a budget of nothing returns nothing"
    assert result["overall"]["passed"] == 4
    assert result["overall"]["active_passed"] == 2
    assert result["by_category"]["Naming"]["cases"] == 5
    strict = run_precisionmembench(tmp_path, out, "none", threshold=1.0, console=console)
    assert strict["overall"]["active_passed"] == 0
    assert strict["by_threshold"].keys() == result["by_threshold"].keys()


def test_the_development_cases_load_whole(data_dir: Path) -> None:
    beliefs, cases = precision_data.load(data_dir)
    assert len(beliefs) == 35
    assert len(cases) == 77
    assert sum(case.active for case in cases) == 43
    known = {belief.id for belief in beliefs}
    assert {name for case in cases for name in case.expected.relevant.only or ()} <= known
