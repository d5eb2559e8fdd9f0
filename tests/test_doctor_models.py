"""`doctor` makes a real round trip to every model, and says in words what came of it."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from models.endpoint_server import chat, serving, status, stuck

import memstrata
from memstrata.cli import main
from memstrata.errors import InvalidInput
from memstrata.models.endpoint import Endpoint, missing_extra
from memstrata.models.fake import FakeChat
from memstrata.models.pace import Retries

READY = '{"ready": true, "language": "English"}'
KEY = "pear-7719-plum-4402-quince"


def told(**models: Any) -> dict[str, dict[str, Any]]:
    with memstrata.open(":memory:", embedder="none", **models) as memory:
        return {check["check"]: check for check in memory.doctor()}


def named(url: str, name: str = "scripted", **more: Any) -> Endpoint:
    return Endpoint(name, base_url=url, **{"retries": Retries(tries=1), **more})


def test_without_a_language_model_there_is_nothing_to_try() -> None:
    assert not [name for name in told() if name.startswith("llm")]


def test_what_works() -> None:
    good = chat(READY, logprobs=[("{", -0.1, {"{": -0.1})])
    with serving(good) as server:
        found = told(llm=named(server.url))["llm"]
    assert found["ok"]
    detail = found["detail"]
    host = server.url.split("/")[2]
    assert detail.startswith(f"scripted@{host} answered in ")
    assert "11 tokens in, 7 out; JSON as its schema asks; log-probabilities; price" in detail


def test_what_the_endpoint_lacks_is_no_failure() -> None:
    with serving(status(400, "logprobs"), status(400, "response_format"), chat(READY)) as server:
        found = told(llm=named(server.url))["llm"]
    assert found["ok"]
    assert "stated in the prompt" in found["detail"]
    assert "no log-probabilities" in found["detail"]


def test_a_model_that_does_not_do_as_it_is_asked() -> None:
    with serving(chat("I am always ready!")) as server:
        found = told(llm=named(server.url))["llm"]
    assert not found["ok"]
    assert "not as it was asked to" in found["detail"]
    assert "larger model" in found["detail"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (status(401, f"bad key {KEY}"), "401 (the key is missing or wrong)"),
        (status(404, "no such model"), "it offers medlar-2, quince-1"),
        (status(429, retry_after="900"), "try again in 900 seconds"),
        (status(500, "the cellar is flooded"), "the cellar is flooded"),
    ],
    ids=range(4),
)
def test_what_is_wrong_in_words(answer: Any, says: str) -> None:
    with serving(answer, models=["quince-1", "medlar-2"]) as server:
        found = told(llm=named(server.url, api_key=KEY))["llm"]
    assert not found["ok"]
    assert says in found["detail"]
    assert KEY not in found["detail"]


def test_nobody_listens_and_nobody_answers() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        assert f"no connection to {url}" in told(llm=named(url))["llm"]["detail"]
    with serving(stuck()) as server:
        detail = told(llm=named(server.url, timeout=0.05))["llm"]["detail"]
    assert "did not answer within 0.05 seconds" in detail


def test_each_model_once_with_what_it_is_for() -> None:
    one, other = FakeChat(READY, id="one"), FakeChat(READY, id="other")
    found = told(llm=one, llm_judge=other)
    assert {"llm (extract, chat)", "llm (judge)"} <= set(found)
    assert found["llm (judge)"]["detail"].startswith("other answered")
    assert len(one.prompts) == len(other.prompts) == 1


def test_by_settings_and_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.toml"
    monkeypatch.setenv("MEMSTRATA_CONFIG", str(file))
    monkeypatch.setenv("MEMSTRATA_URL", str(tmp_path / "m.db"))
    with serving(*[chat(READY)] * 2, *[status(401, "who are you?")] * 2) as server:
        file.write_text(
            f'llm = "scripted:7b"\nllm_base_url = "{server.url}"\nllm_api_key = "{KEY}"\n'
            'llm_judge = "judge:7b"\nllm_timeout = 9\nllm_concurrency = 1\nembedder = "fake"\n'
        )
        memstrata.open().close()
        assert main(["doctor"]) in (0, 1)
        out = capsys.readouterr().out
        assert "scripted:7b@" in out
        assert "llm (judge)" in out
        assert main(["--json", "doctor"]) == 1
    found = {check["check"]: check for check in json.loads(capsys.readouterr().out)}
    assert "who are you?" in found["llm (judge)"]["detail"]
    assert [request.body["model"] for request in server.requests] == ["scripted:7b", "judge:7b"] * 2
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}


def test_a_key_goes_to_its_own_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("MEMSTRATA_LLM_API_KEY", KEY)
    with serving(chat(READY)) as ours, serving(chat(READY)) as theirs:
        found = told(llm=f"scripted@{ours.url}", llm_judge=f"judge@{theirs.url}")
    assert found["llm (judge)"]["ok"]
    assert ours.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(theirs.requests[0].headers)


def test_settings_show_no_key() -> None:
    from memstrata.config import load_settings  # noqa: PLC0415

    settings = load_settings(llm_api_key=KEY, embedder_api_key=KEY, vault_key=KEY)
    assert settings.llm_api_key == KEY
    assert KEY not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("LLM", "gpt-5-mini", "provider:model"),
        ("LLM_TIMEOUT", "soon", "llm_timeout is a number above 0"),
        ("LLM_CONCURRENCY", "1.5", "llm_concurrency is a whole number above 0"),
        ("LLM_BUDGET", "pears=3", "no limit 'pears'"),
        ("LLM_BASE_URL", "https://ana:key@host", "llm_api_key"),
        ("EMBEDDER", "plum", "no embedder named"),
    ],
)
def test_settings_that_are_wrong(
    name: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSTRATA_LLM", "openai:gpt-5-mini")
    monkeypatch.setenv("MEMSTRATA_EMBEDDER", "none")
    monkeypatch.setenv(f"MEMSTRATA_{name}", value)
    with pytest.raises(InvalidInput, match=says):
        memstrata.open(":memory:")


def test_none_turns_a_setting_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSTRATA_LLM", "openai:gpt-5-mini")
    assert "llm" not in told(llm="none")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is named with what to do, when the store is opened."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert missing_extra() is not None
    for given in ({"llm": "openai:gpt-5-mini"}, {"embedder": "openai:text-embedding-3-small"}):
        with pytest.raises(InvalidInput, match=r"pip install \"memstrata\[llm\]\""):
            memstrata.open(":memory:", **{"embedder": "none", **given})
