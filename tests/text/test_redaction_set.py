"""The detector on the frozen set of labelled texts, and on what stands for a secret."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memstrata.bench.redaction import load_set, score
from memstrata.text.secrets import find

ROOT = Path(__file__).parents[2]
SET = ROOT / "tests" / "fixtures" / "redaction"
PLACED = re.compile(r"\[(?:vault:|secret removed:)[^\]\n]*\]")


def test_the_floors() -> None:
    tally = score(load_set(SET))
    assert tally.secrets > 300
    assert tally.found / tally.secrets >= 0.97
    assert tally.right / tally.detected >= 0.97


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_what_stands_for_a_secret_in_the_docs_is_none(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    places = [match.span() for match in PLACED.finditer(text)]
    for one in find(text):
        assert not any(start < one.end and one.start < end for start, end in places)
