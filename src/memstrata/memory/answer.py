"""Verbs that answer from memory: a model that searches it, or without one the words said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memstrata.answers import Answer
from memstrata.arguments import check_flag, check_id, check_limit, check_text, moment
from memstrata.chat import agent, extractive
from memstrata.chat.learn import learn as learned
from memstrata.chat.learn import read_lesson
from memstrata.chat.progress import tell
from memstrata.errors import InvalidInput
from memstrata.handle import Handle
from memstrata.models.spending import Meter
from memstrata.records import Record, Scope
from memstrata.text.analyse import fold
from memstrata.turns import said_by

__all__ = ["Answering"]

_Messages = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
_When = datetime | str | None


class Answering(Handle):
    """Verbs that answer from memory."""

    async def ask(
        self,
        question: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        now: _When = None,
        max_tokens: int = 6000,
    ) -> Answer:
        """Answer a question from memory, with what the answer rests on; nothing is written.

        With a language model it searches by itself, in prompts of at most `max_tokens`, and says
        so where memory does not know. Without one the best supported sentences are quoted.
        """
        scope = self._scope(user_id, agent_id)
        text = check_text("question", question)
        if not fold(text).strip():
            raise InvalidInput("question is blank: give at least one character that can be seen")
        zone = await self._runtime.zone_of(scope)
        return await self._answer(
            scope,
            agent.Asked(
                turns=(("user", text),),
                zone=zone,
                now=moment("now", now, zone) or self._runtime.clock(),
                max_tokens=check_limit("max_tokens", max_tokens, most=1_000_000),
                wording="ask",
                note_reads=self._noting("ask", scope),
            ),
        )

    async def chat(
        self,
        messages: _Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        learn: bool = True,
        now: _When = None,
        max_tokens: int = 6000,
    ) -> Answer:
        """Answer the last turn of a conversation with memory in view, and learn from it.

        With `learn` the user's new messages and the reply are stored as `add` does it; with a
        `session_id` the whole history may be sent each time. `receipt` says what became of that,
        also where it failed.
        """
        scope = self._scope(user_id, agent_id)
        zone = await self._runtime.zone_of(scope)
        when = moment("now", now, zone)
        lesson = read_lesson(
            messages,
            session_id=check_id("session_id", session_id),
            occurred_at=when,
            zone=zone,
        )
        teaches = check_flag("learn", learn)
        answer = await self._answer(
            scope,
            agent.Asked(
                turns=tuple(said_by(lesson.messages)),
                zone=zone,
                now=when or self._runtime.clock(),
                max_tokens=check_limit("max_tokens", max_tokens, most=1_000_000),
                wording="chat",
                note_reads=self._noting("chat", scope),
            ),
        )
        if not teaches:
            return answer
        receipt = await learned(self._runtime, scope, zone, lesson, answer)
        await tell("receipt", receipt)
        return answer.model_copy(update={"receipt": receipt})

    async def _answer(self, scope: Scope, asked: agent.Asked) -> Answer:
        if self._runtime.llm is None:
            answer = await extractive.answer(self._runtime, scope, asked)
            await tell("answer", answer)
            return answer
        meter = Meter()
        notes: list[str] = []
        try:
            answer = await agent.answer(self._runtime, scope, asked, self._runtime.llm.chat, meter)
        finally:
            # What fails costs too.
            notes = await self._note_cost(scope, meter.ledger())
        answer = answer.model_copy(update={"notes": [*answer.notes, *notes]}) if notes else answer
        await tell("answer", answer)
        return answer

    def _noting(self, verb: str, scope: Scope) -> agent.Noting:
        async def note(records: Iterable[Record]) -> None:
            await self._note_reads(verb, scope, records)

        return note
