"""Draw the themes of a small memory before and after the record that makes one of them split.

Writes `themes-before.svg` and `themes-after.svg` into a folder, `docs/img` by default, and prints
the same as text. The default embedder groups the records; nothing is fetched, nothing is random.

    python tools/draw_themes.py [FOLDER]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import memstrata
from memstrata.models.base import DEFAULT_EMBEDDER
from memstrata.records import Page, Scope, Theme
from memstrata.store.base import Store
from memstrata.store.sqlite.store import open_backend
from memstrata.store.themes import ThemeRows
from memstrata.themes.objective import objective, tightness

__all__ = ["RECORDS", "Leaf", "Tree", "as_svg", "as_text", "grow", "main", "pictures"]

RECORDS = (
    ("Mira", "Mira played a violin solo at the spring concert"),
    ("Mira", "Mira planted two plum trees in the garden"),
    ("Mira", "Mira takes a violin lesson every Thursday"),
    ("Mira", "Mira is allergic to walnuts"),
    ("米拉", "米拉每天早上在河边跑步"),
    ("Mira", "Mira glued a cracked violin top"),
    ("Mira", "Mira sowed beans and peas in the garden"),
    ("Mira", "Mira's orchestra gave a concert in the town hall"),
    ("米拉", "米拉星期天跑了十公里"),
    ("Mira", "Mira mends violins in a workshop by the canal"),
    ("Mira", "Mira pruned the plum trees in the garden"),
    ("Mira", "Mira cannot eat shellfish"),
    ("Mira", "Mira varnished a violin with spirit varnish"),
    ("米拉", "米拉买了一双新跑鞋"),
    ("Mira", "Mira waters the garden in the evening"),
    ("Mira", "Mira bought spruce for a violin top"),
    ("Mira", "Mira practises the violin for the summer concert"),
)
"""Whom each record is about and what it says, one a day from 1 March; the last sets off a split."""

_USER = "mira"
_FOLDER = Path(__file__).parents[1] / "docs" / "img"
_Vector = NDArray[np.float32]


def _sum(vectors: Iterable[_Vector]) -> _Vector:
    return np.asarray(np.sum(list(vectors), axis=0), np.float32)


def _unit(vector: _Vector) -> _Vector:
    return vector / np.float32(np.sqrt(vector @ vector))


# ── growing ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Leaf:
    """A theme of records."""

    name: str
    parent: str | None
    """The name of the theme it is under, if that has others."""
    members: tuple[tuple[str, float], ...]
    """What each record says, and its cosine to the centroid; the nearest first."""
    vectors: Mapping[str, _Vector]
    """By what it says."""

    @property
    def total(self) -> _Vector:
        """The sum of the members' vectors."""
        return _sum(self.vectors.values())

    @property
    def tight(self) -> float:
        """The mean cosine of its pairs."""
        return tightness(len(self.vectors), self.total)


@dataclass(frozen=True, slots=True)
class Tree:
    """The themes of a memory, as `themes` lists them."""

    leaves: tuple[Leaf, ...]
    news: str | None
    """The record that came last, where it is to stand out."""

    @property
    def changing(self) -> set[str]:
        """The names of the themes that the last record splits, or has split."""
        if self.news is None:
            return {max(self.leaves, key=lambda leaf: len(leaf.members)).name}
        (parent,) = {leaf.parent for leaf in self.leaves if self.news in leaf.vectors}
        return {leaf.name for leaf in self.leaves if leaf.parent == parent}


def grow() -> tuple[Tree, Tree, tuple[float, float]]:
    """The themes before the last record, those after it, and the objective of both choices: had
    the theme it joined stayed whole, and as it is."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "memory.db")
        with memstrata.open(
            path, embedder=DEFAULT_EMBEDDER, timezone="UTC", vault_key="none"
        ) as memory:
            mine = memory.scoped(user_id=_USER)
            for day in range(1, len(RECORDS)):
                _remember(mine, day)
            before = Tree(tuple(_leaves(path, mine)), None)
            _remember(mine, len(RECORDS))
            after = Tree(tuple(_leaves(path, mine)), RECORDS[-1][1])
    return before, after, _choices(before, after)


def _remember(mine: memstrata.Memory, day: int) -> None:
    subject, text = RECORDS[day - 1]
    fact = {"kind": "semantic", "name": text, "subject": subject}
    mine.create({**fact, "valid_from": f"2026-03-{day:02d}"})


def _leaves(path: str, mine: memstrata.Memory) -> Iterator[Leaf]:
    vectors, texts = _vectors(path), {record.id: record.text for record in mine.list()}
    for theme in mine.themes():
        below: Page[Theme] | list[Theme] = mine.themes(theme.id) if theme.children else [theme]
        for leaf in below:
            own = {texts[each]: vectors[each] for each in leaf.record_ids}
            centroid = _unit(_sum(own.values()))
            members = [(text, float(vector @ centroid)) for text, vector in own.items()]
            members.sort(key=lambda member: -member[1])
            parent = theme.name if theme.children else None
            yield Leaf(leaf.name, parent, tuple(members), own)


def _vectors(path: str) -> dict[str, _Vector]:
    """The vector of every record that is in a theme."""

    def read(rows: ThemeRows) -> dict[str, _Vector]:
        leaves = [theme.seq for theme in rows.all() if theme.level == 0]
        return {name: vector for seq in leaves for name, vector in rows.members(seq).items()}

    async def ask() -> dict[str, _Vector]:
        store = Store(open_backend(path))
        try:
            return await store.with_themes(Scope(tenant="default", user_id=_USER), 0, read)
        finally:
            await store.close()

    return asyncio.run(ask())


def _choices(before: Tree, after: Tree) -> tuple[float, float]:
    new = next(leaf.vectors[RECORDS[-1][1]] for leaf in after.leaves if after.news in leaf.vectors)
    sizes = np.array([len(leaf.vectors) for leaf in before.leaves], np.float64)
    sums = np.stack([leaf.total for leaf in before.leaves])
    joined = int(np.argmax([_unit(leaf.total) @ new for leaf in before.leaves]))
    sizes[joined] += 1
    sums[joined] += new
    split = np.array([len(leaf.vectors) for leaf in after.leaves], np.float64)
    return (
        objective(sizes, sums),
        objective(split, np.stack([leaf.total for leaf in after.leaves])),
    )


def _apart(tree: Tree, leaf: Leaf) -> float:
    """The cosine of a theme's centroid to that of the nearest other one."""
    own = _unit(leaf.total)
    return max(float(own @ _unit(one.total)) for one in tree.leaves if one.name != leaf.name)


# ── writing ──────────────────────────────────────────────────────────────────────────────────


def _about(tree: Tree, leaf: Leaf) -> str:
    return f"pairs {leaf.tight:.2f} · next {_apart(tree, leaf):.2f}"


def _roots(tree: Tree) -> dict[str | None, list[Leaf]]:
    """The leaves under each parent; those without one under None, first."""
    found: dict[str | None, list[Leaf]] = {None: []}
    for leaf in tree.leaves:
        found.setdefault(leaf.parent, []).append(leaf)
    return found


def as_text(tree: Tree) -> str:
    """The tree in lines."""
    lines: list[str] = []
    for parent, leaves in _roots(tree).items():
        lines += [parent] if parent else []
        indent = "    " if parent else ""
        for leaf in leaves:
            lines.append(f"{indent}{leaf.name}  ({_about(tree, leaf)})")
            for text, cosine in leaf.members:
                mark = "+" if text == tree.news else " "
                lines.append(f"{indent}  {mark} {cosine:.2f}  {text}")
    return "\n".join(lines)


_WIDTH, _EDGE, _THEME, _LINE, _HEAD, _GAP = 900, 20, 380, 21, 46, 16
_ROOT, _PARENT = (20, 134), (164, 350)
"""From where to where the boxes reach that stand before the themes."""
_KEY = "pairs: mean cosine of two of its records · next: cosine to the nearest other theme"
_STYLE = """  <style>
    .paper { fill: #ffffff }
    .box { fill: #f6f8fa; stroke: #8c959f }
    .turn { fill: #fff4e5; stroke: #b35900; stroke-width: 1.6 }
    .line { stroke: #8c959f; fill: none }
    text { fill: #1f2328 }
    .name { font-weight: 600 }
    .small { font-size: 12px; fill: #57606a }
    .new { fill: #b35900; font-weight: 600 }
  </style>"""


def as_svg(tree: Tree, title: str, note: str) -> str:
    """The tree as a picture."""
    boxes: list[str] = []
    tops: list[tuple[int, int]] = []
    top = 70
    for parent, leaves in _roots(tree).items():
        middles: list[int] = []
        for leaf in leaves:
            height = _HEAD + _LINE * len(leaf.members)
            boxes += _theme(tree, leaf, top, height)
            middles.append(top + height // 2)
            top += height + _GAP
        if parent:
            middle = sum(middles) // len(middles)
            boxes += _branches(_PARENT, middle, [(each, _THEME) for each in middles])
            boxes += _box(_PARENT, middle, parent)
            tops.append((middle, _PARENT[0]))
        else:
            tops += [(each, _THEME) for each in middles]
    middle = sum(each for each, _ in tops) // len(tops)
    count = sum(len(leaf.members) for leaf in tree.leaves)
    boxes += [*_branches(_ROOT, middle, tops), *_box(_ROOT, middle, f"{count} records")]
    return _page(boxes, top + 34, title, note, f"{as_text(tree)}\n{note}")


def _page(shapes: Sequence[str], height: int, title: str, note: str, told: str) -> str:
    right = _WIDTH - _EDGE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img" aria-labelledby="title desc" '
        "font-family=\"system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', 'Noto Sans CJK SC', "
        'sans-serif" font-size="14">'
    )
    return "\n".join(
        [
            head,
            f'  <title id="title">{escape(title)}</title>',
            f'  <desc id="desc">{escape(told)}</desc>',
            _STYLE,
            f'  <rect class="paper" width="{_WIDTH}" height="{height}"/>',
            f'  <text class="name" x="{_EDGE}" y="28" font-size="16">{escape(title)}</text>',
            f'  <text class="small" x="{_EDGE}" y="52">{_KEY}</text>',
            f'  <text class="small" x="{right}" y="52" text-anchor="end">'
            "cosine of each to its theme</text>",
            *shapes,
            f'  <text class="small" x="{_EDGE}" y="{height - 18}">{escape(note)}</text>',
            "</svg>\n",
        ]
    )


def _theme(tree: Tree, leaf: Leaf, top: int, height: int) -> Iterator[str]:
    style = "turn" if leaf.name in tree.changing else "box"
    left, right = _THEME + 14, _WIDTH - _EDGE - 14
    width = _WIDTH - _THEME - _EDGE
    yield (
        f'  <rect class="{style}" x="{_THEME}" y="{top}" width="{width}" height="{height}" rx="6"/>'
    )
    yield f'  <text class="name" x="{left}" y="{top + 25}">{escape(leaf.name)}</text>'
    about = _about(tree, leaf)
    yield f'  <text class="small" x="{right}" y="{top + 25}" text-anchor="end">{about}</text>'
    for row, (text, cosine) in enumerate(leaf.members):
        y = top + _HEAD + 4 + _LINE * row
        new = ' class="new"' if text == tree.news else ""
        yield f'  <text{new} x="{left}" y="{y}">{escape(text)}</text>'
        yield f'  <text{new} x="{right}" y="{y}" text-anchor="end">{cosine:.2f}</text>'


def _box(span: tuple[int, int], middle: int, text: str) -> Iterator[str]:
    left, right = span
    shape = f'x="{left}" y="{middle - 20}" width="{right - left}" height="40" rx="6"'
    yield f'  <rect class="box" {shape}/>'
    yield f'  <text class="name" x="{left + 14}" y="{middle + 5}">{escape(text)}</text>'


def _branches(span: tuple[int, int], middle: int, ends: Iterable[tuple[int, int]]) -> Iterator[str]:
    """Lines from a box to where others begin."""
    for y, x in ends:
        yield f'  <path class="line" d="M{span[1]} {middle}h15V{y}H{x}"/>'


def pictures() -> dict[str, tuple[str, str]]:
    """By file name the picture, and the same as text."""
    before, after, (whole, split) = grow()
    notes = (
        "The theme in orange will be split by the next record.",
        "The new record is the eighth of a loose theme. With that theme whole the objective would "
        f"be {whole:.2f}, with two it is {split:.2f}.",
    )
    titles = ("Themes before a record", "Themes after that record")
    found: dict[str, tuple[str, str]] = {}
    for when, tree, title, note in zip(
        ("before", "after"), (before, after), titles, notes, strict=True
    ):
        text = f"{title}\n\n{as_text(tree)}\n\n{note}\n"
        found[f"themes-{when}.svg"] = (as_svg(tree, title, note), text)
    return found


def main(arguments: Sequence[str]) -> None:
    """Write the pictures, and print the same."""
    folder = Path(*arguments[:1]) if arguments else _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, (picture, text) in pictures().items():
        (folder / name).write_text(picture, encoding="utf-8")
        print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
