"""Reading messages into drafts: shapes, identities, digests; and aligning a re-sent history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memstrata.errors import InvalidInput
from memstrata.ingest.messages import EMPTY, Defaults, Prepared, prepare
from memstrata.passages import Limits
from memstrata.records import Scope
from memstrata.safety.redact import Redactor
from memstrata.store.append import overlaps
from memstrata.turns import as_list, read_turn, split_content, texts_of
from memstrata.vault_keys import open_keys

NOW = datetime(2026, 5, 8, 9, 0, tzinfo=UTC)
SOFIA = timezone(timedelta(hours=3))


def words(text: str) -> int:
    return len(text.split())


def defaults(**values: Any) -> Defaults:
    given: dict[str, Any] = {
        "batch_id": "batch_1",
        "now": NOW,
        "zone": UTC,
        "user_id": "ivo",
        "agent_id": None,
        "session_id": None,
        "occurred_at": None,
        "metadata": {},
        "tags": (),
        "trust": None,
        "limits": Limits(50, words),
        **values,
    }
    return Defaults(**given)


def prepared(*messages: Any, **values: Any) -> Prepared:
    redactor = Redactor(Scope(user_id="ivo"), open_keys("none"), None, {})
    redactor.reason = "the vault is off"
    return prepare(messages, defaults(**values), redactor)


# ── shapes ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content", "text", "parts"),
    [
        ("plain", "plain", []),
        (None, "", []),
        ([], "", []),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb", []),
        (["a", "b"], "a\nb", []),
        ([{"type": "input_text", "text": "a"}], "a", [{"type": "input_text", "text": "a"}]),
        ([{"type": "image", "source": "AA"}], "", [{"type": "image", "source": "AA"}]),
        (
            [{"type": "tool_result", "content": [{"type": "text", "text": "a"}]}],
            "a",
            [{"type": "tool_result", "content": [{"type": "text", "text": "a"}]}],
        ),
        (
            [{"type": "tool_result", "content": "a"}],
            "a",
            [{"type": "tool_result", "content": "a"}],
        ),
        (
            [{"type": "tool_use", "name": "w", "input": {"x": 1}}],
            "",
            [{"type": "tool_use", "name": "w", "input": {"x": 1}}],
        ),
    ],
)  # fmt: skip
def test_text_and_what_is_not_text(content: Any, text: str, parts: list[Any]) -> None:
    assert split_content(read_turn({"role": "user", "content": content})) == (text, parts)


def test_keys_of_other_formats_are_kept_as_parts() -> None:
    turn = read_turn(
        {"role": "assistant", "content": "x", "tool_calls": [{"id": "c"}], "refusal": None}
    )
    assert split_content(turn) == ("x", [{"tool_calls": [{"id": "c"}]}])


def test_a_list_is_made_of_whatever_comes() -> None:
    assert as_list("x") == ["x"]
    assert as_list({"content": "x"}) == [{"content": "x"}]
    assert as_list(("x", "y")) == ["x", "y"]
    for wrong in (None, 5, b"x", {"x"}, iter(["x"])):
        with pytest.raises(InvalidInput, match="messages"):
            as_list(wrong)


def test_texts_of_a_conversation() -> None:
    assert texts_of([{"role": "user", "content": "a"}, "b"]) == ["a", "b"]
    assert texts_of("a") == ["a"]


def test_a_misspelt_key_is_said() -> None:
    (note,) = prepared({"role": "user", "content": "x", "ocurred_at": "2026-01-01"}).skipped
    assert note.stored
    assert "ocurred_at" in note.reason


def test_what_is_wrong_is_said_without_repeating_it() -> None:
    (skipped,) = prepared({"role": "user", "content": "x", "trust": "hunter2-test"}).skipped
    assert "trust" in skipped.reason
    assert "hunter2" not in skipped.reason


@pytest.mark.parametrize("blank", ["", "  \n", [], None, [{"type": "text", "text": ""}]])
def test_nothing_said_is_nothing_stored(blank: Any) -> None:
    made = prepared({"role": "user", "content": blank})
    assert made.drafts == []
    assert [(item.index, item.reason) for item in made.skipped] == [(0, EMPTY)]


# ── what makes it the same ───────────────────────────────────────────────────────────────────


def identity(message: Any, **values: Any) -> bytes | None:
    (draft,) = prepared(message, **values).drafts
    return draft.identity


def test_an_id_is_an_identity_wherever_it_is_said_in_the_session() -> None:
    one = identity({"id": "1", "content": "x"}, session_id="s1")
    assert one is not None
    assert one == identity({"id": "1", "content": "other words"}, session_id="s1")
    assert one != identity({"id": "2", "content": "x"}, session_id="s1")
    assert one != identity({"id": "1", "content": "x"}, session_id="s2")
    assert identity({"id": "1", "content": "x"}) is not None


def test_a_time_of_its_own_is_an_identity_in_a_session() -> None:
    said: dict[str, Any] = {"content": "x", "occurred_at": "2026-05-08T09:00:00Z"}
    one = identity(said, session_id="s1")
    assert one is not None
    assert one == identity({**said, "occurred_at": "2026-05-08T12:00:00+03:00"}, session_id="s1")
    assert one == identity({**said, "occurred_at": "2026-05-08T12:00"}, session_id="s1", zone=SOFIA)
    for other in ({"content": "y"}, {"name": "Mira"}, {"occurred_at": "2026-05-08T09:00:01Z"}):
        assert one != identity({**said, **other}, session_id="s1")
    assert identity(said) is None
    assert identity("x", session_id="s1", occurred_at=NOW) is None


def test_a_digest_is_of_speaker_and_stored_text() -> None:
    def digest(message: Any, **values: Any) -> bytes:
        return prepared(message, **values).drafts[0].digest

    plain = digest({"role": "user", "content": "my key is AKIAQ7TESTBOATS23KXE"})
    assert plain == digest("my key is AKIAQ7TESTBOATS23KXE", session_id="s", occurred_at=NOW)
    assert plain == digest("my key is AKIAQ7TESTBOATS23KXF"), "it would tell the secret"
    assert plain != digest("your key is AKIAQ7TESTBOATS23KXE")
    assert digest({"name": "Ana", "content": "x"}) != digest({"name": "Bob", "content": "x"})
    assert digest({"role": "user", "content": "ab"}) != digest({"role": "usera", "content": "b"})


def test_a_calls_digest_tells_calls_apart() -> None:
    same = prepared("a", "b").digest
    assert same == prepared("a", "b", tags=("x",)).digest
    for other in (
        prepared("b", "a"),
        prepared("a"),
        prepared("a", "b", "c"),
        prepared("ab"),
        prepared("a", "b", session_id="s"),
        prepared("a", "b", occurred_at=NOW),
        prepared("a", {"content": "b", "id": "1"}),
        prepared("a", {"content": "b", "occurred_at": "2026-05-08T09:00:00Z"}),
    ):
        assert other.digest != same


def test_twice_in_a_row_is_once_without_a_session_only() -> None:
    assert len(prepared("a", "a", "b", "a").drafts) == 3
    assert len(prepared("a", "a", session_id="s").drafts) == 2
    timed = [{"content": "a", "occurred_at": f"2026-05-08T09:0{n}:00Z"} for n in range(2)]
    assert len(prepared(*timed).drafts) == 2


# ── passages and times ───────────────────────────────────────────────────────────────────────


def test_a_long_message_is_cut_into_passages_that_cover_it() -> None:
    text = " ".join(f"word{n}" for n in range(400))
    (draft,) = prepared(text).drafts
    assert len(draft.passages) > 8
    assert draft.passages[0].start == 0
    assert draft.passages[-1].stop == len(text)
    for one, after in zip(draft.passages, draft.passages[1:], strict=False):
        assert one.stop == after.start
    assert all(words(text[p.start : p.stop]) <= 50 for p in draft.passages)


def test_a_short_message_is_one_passage() -> None:
    (draft,) = prepared("short and sweet").drafts
    assert [(p.start, p.stop) for p in draft.passages] == [(0, 15)]


def test_time_expressions_are_read_from_when_it_was_said() -> None:
    (draft,) = prepared("we met yesterday", occurred_at=NOW, zone=SOFIA).drafts
    (span,) = draft.message.spans
    assert span.start == datetime(2026, 5, 7, tzinfo=SOFIA)
    assert span.end == datetime(2026, 5, 8, tzinfo=SOFIA)


# ── overlap ──────────────────────────────────────────────────────────────────────────────────


def slow_overlaps(stored: Sequence[bytes], sent: Sequence[bytes]) -> list[int]:
    """The definition, tried from the longest down."""
    lengths = range(min(len(stored), len(sent)), 0, -1)
    return [n for n in lengths if list(stored[-n:]) == list(sent[:n])]


HISTORY = st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=12)


@given(stored=HISTORY, sent=HISTORY)
@example(stored=[b"a"] * 5, sent=[b"a"] * 7)
@example(stored=[b"a", b"b", b"a"], sent=[b"a", b"b", b"a", b"c"])
@example(stored=[], sent=[b"a"])
@example(stored=[b"a"], sent=[])
def test_overlaps_are_beginnings_that_stand_at_the_end(
    stored: list[bytes], sent: list[bytes]
) -> None:
    assert list(overlaps(stored, sent)) == slow_overlaps(stored, sent)


def test_overlap_takes_linear_time_where_it_is_hardest() -> None:
    stored = [b"a"] * 20_000 + [b"b"]
    assert next(overlaps(stored, [b"a"] * 20_000), 0) == 0
    assert next(overlaps(stored, [*stored, b"c"])) == len(stored)
