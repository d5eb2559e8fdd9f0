"""`docs/http.md`: its commands do what the page says, against a server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from surfaces.serving import serving

from memstrata.api.problems import STATUS

PAGE = Path(__file__).parents[2] / "docs/http.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = [block for block in re.findall(r"^```sh\n(.*?)^```", TEXT, re.M | re.S)]


@pytest.mark.skipif(shutil.which("curl") is None and not os.environ.get("CI"), reason="needs curl")
def test_every_command_of_the_page_is_answered(tmp_path: Path) -> None:
    told: list[str] = []
    with serving(str(tmp_path / "memory.db"), embedder="fake") as url:
        for block in BLOCKS:
            lines = "".join(
                line
                for line in block.splitlines(keepends=True)
                if not line.startswith(("pip ", "memstrata serve"))
            )
            done = subprocess.run(
                ["bash", "-e", "-c", lines.replace("http://127.0.0.1:8283", url)],
                capture_output=True,
                check=False,
                encoding="utf-8",
                timeout=60,
            )
            assert done.returncode == 0, f"{lines}\n{done.stderr}"
            told.append(done.stdout)
    answers = "".join(told)
    assert "I moved to Lisbon last month." in answers
    assert '"title": "InvalidInput"' in answers and answers.count("urn:memstrata") == 1
    assert "the same call was done before, as batch" in answers
    assert "event: ready" in answers and "event: change" in answers
    assert re.search(
        r"event: search\n.*event: answer\n.*event: receipt\n.*event: end", answers, re.S
    )


def test_the_table_of_statuses_is_that_of_the_server() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| `(\w+)` \| \w", TEXT, re.M)[: len(STATUS)])
    assert rows == {str(status): error.__name__ for error, status in STATUS.items()}


def test_the_problem_that_is_shown_is_a_problem() -> None:
    (shown,) = re.findall(r"^```json\n(.*?)^```", TEXT, re.M | re.S)
    assert json.loads(shown)["status"] == 422
