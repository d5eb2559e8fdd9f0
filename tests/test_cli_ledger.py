"""Commands say in words what models have cost, where they have cost anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_shell import Shell

import memstrata
from memstrata.cli import render
from memstrata.models.chat import Reply
from memstrata.models.fake import FakeChat
from memstrata.records import Ledger, ModelUse, Receipt

USE = ModelUse(
    model="shed-7b",
    calls=1,
    input_tokens=1900,
    output_tokens=30,
    cached_tokens=600,
    milliseconds=12.5,
    cost=0.000_25,
)


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell.fresh(tmp_path, monkeypatch, capsys)


def test_without_a_model_nothing_is_said_of_it(shell: Shell) -> None:
    assert "model" not in shell.ok("add", "I keep two hens.").out
    assert "model" not in shell.ok("batches").out
    assert "model" not in shell.ok("stats").out
    (batch,) = shell.ok("batches", "--json").json["items"]
    assert (batch["ledger"]["model_calls"], batch["ledger"]["embedding_calls"]) == (0, 1)
    assert shell.ok("stats", "--json").json["models"] == {"writing": [], "reading": []}


def test_with_a_model_its_calls_tokens_and_price_are(shell: Shell) -> None:
    chat = FakeChat(otherwise=Reply("I would rather not say.", USE))
    with memstrata.open("memory.db", embedder="fake", llm=chat) as memory:
        receipt = memory.add("I moved to Porto and I keep two hens.", user_id="ana")
    calls = len(chat.prompts)
    assert calls >= 2
    said = f"{calls} model calls, {1900 * calls:,} tokens in ({600 * calls:,} of them cached), "
    assert said in shell.ok("batches").out
    assert f"${0.00025 * calls:.6f}".rstrip("0") in shell.ok("batches").out
    assert said in " ".join(shell.ok("stats").out.split())
    assert "writing: shed-7b" in shell.ok("stats").out
    (use,) = shell.ok("stats", "--json").json["models"]["writing"]
    assert (use["calls"], use["cost"]) == (calls, pytest.approx(0.00025 * calls))
    (batch,) = shell.ok("batches", "--json").json["items"]
    assert batch["ledger"]["models"][0]["input_tokens"] == 1900 * calls
    assert said in shell("wait-for", receipt.batch_id).out
    assert said in render.receipt(receipt)


def test_one_call_whose_price_is_not_known() -> None:
    free = USE.model_copy(update={"cached_tokens": 0, "cost": None, "input_tokens": 1})
    done = Receipt(
        batch_id="batch_1", state="done", message_ids=["msg_1"], ledger=Ledger.of([free])
    )
    assert "1 model call, 1 token in, 30 out" in render.receipt(done)
    assert "$" not in render.receipt(done)
