"""What a conversation teaches: the user's new messages and the reply go to `add`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from memstrata.answers import Answer
from memstrata.arguments import moment
from memstrata.chat.shown import ANSWERED_FROM
from memstrata.errors import InvalidInput, MemstrataError
from memstrata.ingest import add as adding
from memstrata.records import JsonObject, Receipt, Scope
from memstrata.runtime import Runtime
from memstrata.turns import as_list, read_turn, split_content

__all__ = ["Lesson", "learn", "read_lesson"]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A conversation as it was given."""

    messages: Sequence[Any]
    session_id: str | None
    occurred_at: datetime | None


def read_lesson(
    messages: object, *, session_id: str | None, occurred_at: datetime | None, zone: tzinfo
) -> Lesson:
    """The conversation, checked; `InvalidInput` names the message that is wrong.

    Nothing may be wrong with it after it was answered.
    """
    given = as_list(messages)
    for index, one in enumerate(given):
        try:
            turn = read_turn(one)
            moment("occurred_at", turn.occurred_at, zone)
            split_content(turn)
        except InvalidInput as error:
            raise InvalidInput(f"messages[{index}]: {error}") from error
    if not given or not split_content(read_turn(given[-1]))[0].strip():
        raise InvalidInput("messages has no last turn with a text in it to answer")
    return Lesson(given, session_id, occurred_at)


async def learn(
    runtime: Runtime, scope: Scope, zone: tzinfo, lesson: Lesson, answer: Answer
) -> Receipt:
    """Store what is new. Never raises one of our errors: the answer must not be lost by it.

    With a session the whole history goes to `add`, which keeps what it does not have yet; without
    one, what came after the last reply. The reply says what it was answered from, by which it is
    known again: what only repeats memory is no evidence for it.
    """
    cited: JsonObject = {ANSWERED_FROM: [one.id for one in answer.citations]}
    reply = {"role": "assistant", "content": answer.text, "metadata": cited}
    said = [*_new(lesson), reply]
    request = adding.Request(
        messages=said,
        session_id=lesson.session_id,
        occurred_at=lesson.occurred_at,
        metadata={},
        tags=(),
        trust=None,
        kinds=None,
        infer=True,
        wait=True,
        idempotency_key=None,
    )
    try:
        return await adding.add(runtime, scope, zone, request)
    except MemstrataError as error:
        reason = f"nothing was learned from this turn: {error}"
        return Receipt(batch_id="", state="failed", reason=reason)


def _new(lesson: Lesson) -> Sequence[Any]:
    if lesson.session_id is not None:
        return lesson.messages
    replies = [
        place for place, one in enumerate(lesson.messages) if read_turn(one).role == "assistant"
    ]
    return lesson.messages[replies[-1] + 1 :] if replies else lesson.messages
