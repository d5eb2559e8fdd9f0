"""MADial-Bench: what is asked at a turn, in both languages."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from memstrata.bench import madial
from memstrata.errors import InvalidInput

MEMORIES = [
    {"4": {"time": "2024-02-03", "event": "Ottilie broke her blue skates on the lake."}},
    {"2": {"time": "2024-01-02", "event": "Ottilie baked a plum cake with Fenno."}},
]
DIALOGUE = {
    "dialogue": [
        "<BOD>\n",
        '<Ottilie>: "Winter is back."\n',
        '<Assistant>: "So it is."\n',
        '<Ottilie>: "My skates went on the lake."\n',
        '<Assistant>: "As in February."\n',
        "<EOD>\n",
    ],
    "test-turn": [2, 4],
    "relevant-id": [4],
}
CHINESE = {
    "dialogue": ["<BOD>\n", '<阿榛>:"我想滑冰。"\n', '<Assistant>:"小心点。"\n'],
    "test-turn": [2],
    "relevant-id": [1],
}


def _write(folder: Path, language: str, memories: list[object], dialogues: list[object]) -> None:
    for name, lines in (("memory", memories), ("dialogue", dialogues)):
        text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
        path = folder / f"Small-{language}-{name}.json"
        path.write_text(text + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('<Ottilie>: "It snows!"\n', "It snows!"),
        ('<阿榛>:"下雪了！"\n', "下雪了！"),
        (" <Assistant>::“No.”", "No."),
        ('"Nobody said this"', "Nobody said this"),
        ("<Fenno>: I say <so>", "I say <so>"),
    ],
)
def test_a_turn_is_what_was_said(line: str, words: str) -> None:
    assert madial.said(line) == words


def test_each_test_turn_is_asked_with_what_was_said_before_it(tmp_path: Path) -> None:
    _write(tmp_path, "en", [*MEMORIES], [DIALOGUE])
    paths = madial.find_files(tmp_path, "en")
    assert paths is not None
    stack = madial.load(*paths, "en")
    assert [item.id for item in stack.items] == ["2", "4"], "in the order of their dates"
    whole = "Winter is back.\nSo it is.\nMy skates went on the lake."
    assert [(case.category, case.query) for case in stack.cases] == [
        ("en, last turn", "Winter is back."),
        ("en, dialogue", "Winter is back."),
        ("en, context", "Winter is back."),
        ("en, last turn", "My skates went on the lake."),
        ("en, dialogue", whole),
        ("en, context", whole),
    ]
    assert "\n".join(text for _, text in stack.cases[-1].turns) == whole
    assert [role for role, _ in stack.cases[-1].turns] == ["user", "assistant", "user"]
    assert {case.evidence for case in stack.cases} == {frozenset({"4"})}


def test_a_run_covers_the_languages_that_are_there(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=160)
    with pytest.raises(InvalidInput, match="give the folder"):
        madial.run_madial(tmp_path, None, "none", console=console)
    _write(tmp_path, "en", [*MEMORIES], [DIALOGUE])
    assert set(madial.run_madial(tmp_path, None, "none", console=console)["by_category"]) == {
        "en, context",
        "en, dialogue",
        "en, last turn",
    }
    _write(tmp_path, "zh", [{"1": {"time": "2024-02-03", "event": "阿榛去湖上滑冰。"}}], [CHINESE])
    out = tmp_path / "out.json"
    result = madial.run_madial(tmp_path, out, "fake", console=console)
    assert result["by_category"]["zh, last turn"]["recall@1"] == 1.0
    assert result["by_category"]["en, dialogue"]["questions"] == 2
    assert result["ledger"]["messages"] == 3
    assert json.loads(out.read_text(encoding="utf-8"))["overall"] == result["overall"]


def test_the_development_dialogues_load_whole(data_dir: Path) -> None:
    for language, memories, asked in (("en", 160, 263), ("zh", 171, 262)):
        paths = madial.find_files(data_dir, language)
        assert paths is not None
        stack = madial.load(*paths, language)
        assert len(stack.items) == memories
        assert set(Counter(case.category for case in stack.cases).values()) == {asked}
        known = {item.id for item in stack.items}
        for case in stack.cases:
            assert case.evidence <= known
            assert case.query
            assert not case.query.startswith("<")
