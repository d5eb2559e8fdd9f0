"""Commands for themes, and for what `context` selects."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_shell import Shell, lines

from memstrata.cli.render import consolidation
from memstrata.receipts import Consolidation
from memstrata.records import Ledger, ModelUse


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell.fresh(tmp_path, monkeypatch, capsys)


FACTS = (
    ("2026-03-02", "Lena keeps bees in the orchard"),
    ("2026-03-05", "Lena keeps bees in the orchard and sells honey"),
    ("2026-03-09", "蓝娜在河边跑步"),
    ("2026-04-01", "The press needs new felt"),
)


@pytest.fixture
def grouped(shell: Shell) -> Shell:
    facts = [{"kind": "semantic", "name": name, "valid_from": day} for day, name in FACTS]
    shell.ok("create", "--file", "-", given=lines(*facts))
    return shell


def test_themes_are_a_tree(grouped: Shell) -> None:
    page = grouped.ok("themes", "--json").json
    sizes = sorted((len(each["record_ids"]) for each in page["items"]), reverse=True)
    assert sizes == [2, 1, 1] and page["next"] is None
    bees = max(page["items"], key=lambda each: len(each["record_ids"]))
    shown = grouped.ok("themes").out
    assert f"2 records  2026-03-02 until 2026-03-05  {bees['id']}" in shown
    assert "\n   Lena keeps bees in the orchard\n" in shown and "蓝娜在河边跑步" in shown
    assert "1 record  2026-04-01  theme_" in shown
    assert "there are more: --cursor" in grouped.ok("themes", "--limit", "1").out
    assert grouped.ok("themes", bees["id"]).out == "no themes\n"
    assert grouped.ok("themes", "--user", "bo").out == "no themes\n"


def test_themes_under_a_theme(shell: Shell) -> None:
    """Under a parent its themes are indented; only they are listed when it is named."""
    crops = ("plums", "pears", "quinces", "medlars", "figs", "cherries", "grapes", "currants")
    places = ("orchard", "garden", "meadow", "yard")
    facts = [
        {"kind": "semantic", "name": f"Lena grows {crop} in the {place} by the old mill"}
        for place in places
        for crop in crops
    ]
    shell.ok("create", "--file", "-", given=lines(*facts))
    page = shell.ok("themes", "--json").json
    parent = next(each for each in page["items"] if each["children"])
    children = shell.ok("themes", parent["id"], "--json").json["items"]
    assert len(children) == parent["children"] > 1
    assert {each["parent_id"] for each in children} == {parent["id"]}
    shown = shell.ok("themes").out
    inside = sum(len(child["record_ids"]) for child in children)
    assert f"{parent['name']}  {len(children)} themes  {inside} records  " in shown
    for child in children:
        assert f"\n   {child['name']}  {len(child['record_ids'])} records  " in shown
    below = shell.ok("themes", parent["id"]).out
    assert parent["id"] not in below and all(child["id"] in below for child in children)


def test_get_and_search_a_theme(grouped: Shell) -> None:
    bees = grouped.ok("themes", "--json").json["items"][0]
    shown = grouped.ok("get", bees["id"]).out
    assert all(each in shown for each in bees["record_ids"])
    assert bees["name"] in shown and shown.endswith(bees["summary"] + "\n")
    found = grouped.ok("search", "bees", "--stratum", "themes")
    assert "theme  2 records  2026-03-05" in found.out and bees["id"] in found.out
    (hit, *_) = grouped.ok("search", "bees", "--stratum", "themes", "--json").json["hits"]
    assert (hit["stratum"], hit["theme"]["id"]) == ("themes", bees["id"])


def test_a_theme_that_is_not_there(grouped: Shell) -> None:
    record = grouped.ok("list", "--json").json["items"][0]["id"]
    for given, error in (("theme_0", "NotFound"), (record, "InvalidInput"), (" ", "InvalidInput")):
        done = grouped("themes", given, "--json")
        assert (done.code, done.json["error"]["type"]) == (1, error)


def test_consolidate_makes_themes_anew(grouped: Shell) -> None:
    before = grouped.ok("themes", "--json").json
    done = grouped.ok("consolidate", "--rebuild-themes", "--json").json
    assert done["themes"] == {"moved": 0}
    after = grouped.ok("themes", "--json").json
    assert [each["id"] for each in after["items"]] == [each["id"] for each in before["items"]]


def test_consolidate_says_what_a_model_cost_and_left() -> None:
    use = ModelUse(model="fake", calls=2, input_tokens=900, output_tokens=40)
    done = Consolidation(
        batch_id="batch_1",
        state="done",
        contradictions=1,
        notes=["left by the language model: 3 digests\x1b[2J"],
        ledger=Ledger.of([use]),
    )
    first, note, cost = consolidation(done).splitlines()
    assert first == "1 contradiction found, as batch batch_1"
    assert note.startswith("note: left by the language model: 3 digests") and "\x1b" not in note
    assert cost.startswith("2 ") and "900" in cost
    nothing = Consolidation(batch_id="batch_1", state="done", notes=["x"])
    assert consolidation(nothing).splitlines() == ["nothing was changed", "note: x"]
    assert consolidation(Consolidation(batch_id="", state="done")) == "there was nothing to tidy"


def test_context_selects(grouped: Shell) -> None:
    """Everything with a gain of 0 and by score alone; with the defaults what repeats is left."""
    every = grouped.ok(
        "context", "bees in the orchard", "--select", "relevance", "--gain", "0", "--json"
    )
    few = grouped.ok("context", "bees in the orchard", "--gain", "0.5", "--json")
    assert len(every.json["items"]) > len(few.json["items"]) == 1
    assert few.json["dropped"] and all(item["reason"] for item in few.json["dropped"])
    # What adds nothing is no note: only what the budget cut off.
    assert grouped.ok("context", "bees", "--gain", "0.5").err == ""
    for wrong in (("--select", "magic"), ("--gain", "2"), ("--gain", "-1")):
        done = grouped("context", "bees", *wrong, "--json")
        assert (done.code, done.json["error"]["type"]) == (1, "InvalidInput")
        assert wrong[0].strip("-") in done.json["error"]["message"]
