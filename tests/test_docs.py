"""The documentation is true: its blocks run, its links lead somewhere, and nothing is left out."""

from __future__ import annotations

import inspect
import io
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import memstrata
from memstrata import errors
from memstrata.cli import main
from memstrata.cli.app import app
from memstrata.config import Settings
from memstrata.kinds import KINDS, KindModel
from memstrata.kinds.attributes import ATTRIBUTES
from memstrata.memory import AsyncMemory
from memstrata.memory.keys import AsyncKeys
from memstrata.memory.vault import AsyncVault
from memstrata.recall.score import WEIGHTS
from memstrata.records import Results
from memstrata.store.filters import FIELDS, OPERATORS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
# What a page is by itself; the figures in it are checked by what makes them.
WRITTEN = tuple(page for page in PAGES if page.name != "benchmarks.md")

_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#([\w-]+))?\)")
_PIPED = re.compile(r"printf '([^']*)' \| (?=memstrata)")
_IDS = ("RECORD_ID", "MESSAGE_ID", "BATCH_ID", "CHANGE_ID", "ENTRY_ID", "KEY_ID")


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(path: Path, *languages: str) -> list[str]:
    found = _BLOCK.findall(path.read_text(encoding="utf-8"))
    return [body for language, info, body in found if language in languages and not info.strip()]


def as_code(name: str, text: str) -> bool:
    """Whether a name stands in the text as code: `name`, or at the start of `name(…)`."""
    return re.search(rf"`(?:memstrata )?{re.escape(name)}(?![\w-])", text) is not None


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the examples in it, and an embedder that needs no model."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMSTRATA_EMBEDDER", "fake")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_blocks_run(
    path: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Python of a page in one namespace, then its commands."""
    namespace: dict[str, object] = {"__name__": path.stem}
    for number, body in enumerate(blocks(path, "python")):
        exec(compile(body, f"{path.name}, block {number}", "exec"), namespace)
    for line in lines_of(path):
        for name, value in re.findall(r"(MEMSTRATA_\w+)=(\S+)", line):
            monkeypatch.setenv(name, value)
        piped = _PIPED.match(line)
        if piped is not None:
            data = io.BytesIO(piped[1].encode())
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data, encoding="utf-8"))
            line = line[piped.end() :]
        if line.startswith("memstrata"):
            given = [filled_in(word) for word in shlex.split(line, comments=True)[1:]]
            code = main(given)
            assert code == 0, f"{line}\n{capsys.readouterr().err}"


def lines_of(path: Path) -> Iterator[str]:
    for body in blocks(path, "shell"):
        yield from re.sub(r"\\\n\s*", "", body).splitlines()


def filled_in(word: str) -> str:
    """The word, or for a placeholder the newest id of its sort."""
    if word not in _IDS:
        return word
    with memstrata.open() as memory:
        mine = memory.scoped(user_id=os.environ["MEMSTRATA_USER"])
        if word == "KEY_ID":
            return list(memory.keys.list())[-1].id
        if word == "ENTRY_ID":
            return list(mine.vault.list())[-1].id
        if word == "RECORD_ID":
            return list(mine.list())[-1].id
        if word == "MESSAGE_ID":
            return list(mine.messages())[-1].id
        return mine.batches(limit=1).items[0].id


def test_first_pages_run_with_the_real_model(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MEMSTRATA_EMBEDDER")
    namespace: dict[str, object] = {}
    for body in blocks(ROOT / "README.md", "python"):
        exec(compile(body, "README.md", "exec"), namespace)
    printed = capsys.readouterr().out
    assert "I can't eat peanuts." in printed
    assert "past Ana lives in Lisbon <- I moved to Lisbon." in printed
    assert "current Ana lives in Porto <- I moved to Porto." in printed


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    broken: list[str] = []
    for target, anchor in _LINK.findall(path.read_text(encoding="utf-8")):
        if re.match(r"\w+:", target):
            continue
        file = path.parent / target
        # The figures are written when they are measured.
        if not file.exists():
            broken += [] if file.name == "benchmarks.md" else [target]
        elif anchor and anchor not in anchors(file):
            broken.append(f"{target}#{anchor}")
    assert broken == []


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads}


def test_every_page_is_in_the_contents() -> None:
    listed = set(re.findall(r"\(([\w-]+\.md)\)", page("index.md")))
    assert {path.name for path in DOCS.glob("*.md")} - {"index.md"} <= listed


def test_every_verb_is_documented() -> None:
    verbs = {
        f"{prefix}{name}": getattr(surface, name)
        for prefix, surface in (("", AsyncMemory), ("keys.", AsyncKeys), ("vault.", AsyncVault))
        for name in dir(surface)
        if not name.startswith("_") and callable(getattr(surface, name))
    }
    assert len(verbs) > 30
    text = page("verbs.md")
    assert [verb for verb in verbs if f"### `{verb}`" not in text] == []
    missing = [
        f"{verb}({name})"
        for verb, function in verbs.items()
        for name in inspect.signature(function).parameters
        if name not in ("self", "user_id", "agent_id", "changes") and name not in section(verb)
    ]
    assert missing == []


def section(verb: str) -> str:
    start = page("verbs.md").index(f"### `{verb}`")
    return re.split(r"^#+ ", page("verbs.md")[start + 4 :], maxsplit=1, flags=re.MULTILINE)[0]


def test_every_setting_is_documented() -> None:
    text = page("settings.md")
    names = list(Settings.__dataclass_fields__)
    assert [name for name in names if not as_code(name, text)] == []
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    variables = {f"MEMSTRATA_{name.upper()}" for name in names}
    variables |= set(re.findall(r"MEMSTRATA_[A-Z]+(?:_[A-Z]+)*", source))
    assert [name for name in sorted(variables) if not as_code(name, text)] == []


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command with its options."""
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", {"": command})
        options = [
            option
            for each in inner.values()
            for parameter in each.params
            for option in [*parameter.opts, *parameter.secondary_opts]
            if option.startswith("-")
        ]
        yield name, options


def test_every_command_and_option_is_documented() -> None:
    text = page("cli.md")
    everywhere = text.split("## Remember", 1)[0]
    found = dict(commands())
    assert len(found) > 20
    missing: list[str] = []
    for name, options in found.items():
        _, head, rest = text.partition(f"### memstrata {name}\n")
        assert head, f"{name} has no section"
        own = rest.split("\n### ", 1)[0]
        missing += [
            f"{name} {option}"
            for option in options
            if not as_code(option, own) and not as_code(option, everywhere)
        ]
    assert missing == []


def test_every_error_is_documented() -> None:
    text = page("errors.md")
    assert [name for name in errors.__all__ if not as_code(name, text)] == []


def test_every_kind_and_field_is_documented() -> None:
    text = page("kinds.md")
    common, *_ = text.split("\n## core", 1)
    assert [name for name in common_fields() if not as_code(name, common)] == []
    for name, kind in KINDS.items():
        _, head, rest = text.partition(f"\n## {name}\n")
        assert head, f"{name} has no section"
        own = rest.split("\n## ", 1)[0]
        assert [field for field in kind.own_fields() if not as_code(field, own)] == []
        assert f"<{kind.block}>" in own


def common_fields() -> list[str]:
    return list(KindModel.model_fields)


def test_every_filter_operator_and_field_is_documented() -> None:
    text = page("filters.md")
    names = [*OPERATORS, *FIELDS, "and", "or", "not"]
    assert [name for name in names if not as_code(name, text)] == []


def test_every_signal_is_documented(workplace: Path) -> None:
    with memstrata.open(":memory:") as memory:
        memory.add("The plums are ripe.", user_id="ana")
        results = memory.search("Are the plums ripe?", user_id="ana")
    assert isinstance(results, Results)
    text = page("how-it-works.md")
    assert [name for name in results[0].signals if not as_code(name, text)] == []


def test_every_weight_of_ranking_is_documented() -> None:
    """With its value: a row of the table for each, and a word on what it is."""
    explained, _, table = page("ranking.md").partition("## The sum")
    assert [name for name in (*WEIGHTS, "lexical") if name not in explained] == []
    rows = [
        re.search(rf"^\| `{name}` \| {value} \|", table, re.M) for name, value in WEIGHTS.items()
    ]
    assert [name for name, row in zip(WEIGHTS, rows, strict=True) if row is None] == []


def test_every_attribute_is_documented() -> None:
    attributes = page("kinds.md").partition("### Attributes")[2].split("\n## ", 1)[0]
    exclusive = attributes.split("\n- ")[1]
    assert [name for name in ATTRIBUTES if not as_code(name, attributes)] == []
    assert [
        name for name, one in ATTRIBUTES.items() if one.exclusive != as_code(name, exclusive)
    ] == []


def test_pages_speak_of_the_project_alone() -> None:
    for path in WRITTEN:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/work/|/tmp/|issue \d|localhost:\d", text), path.name
