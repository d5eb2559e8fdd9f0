"""The chat agent with a model: what memory seems to hold first, then searches of its own.

Each round the model replies with one JSON object: up to three searches, whose hits it is shown, or
an answer with the aliases of what it rests on. The number of rounds is bounded, and so is the
prompt. What an answer cites must have been shown; an answer that claims to know and cites nothing
is given back once, and then counts as not known.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo

import anyio

from memstrata.answers import Answer, Searched
from memstrata.chat.progress import tell
from memstrata.chat.protocol import (
    ANSWER_SCHEMA,
    SCHEMA,
    Search,
    Step,
    read_again,
    read_step,
    to_search,
)
from memstrata.chat.shown import Shown, cited
from memstrata.errors import InvalidInput, ModelFailed
from memstrata.models.chat import ChatModel, Prompt, Said
from memstrata.models.spending import Meter
from memstrata.models.typed import obtain
from memstrata.models.wording import Language, Wording, language_of, wording
from memstrata.passages import limits_of
from memstrata.recall import context as contexts
from memstrata.recall import find as finding
from memstrata.recall.intent import read_intent
from memstrata.recall.rewrite import conversation
from memstrata.records import Hit, Record, Scope
from memstrata.runtime import Runtime
from memstrata.store.items import STRATA
from memstrata.text.clean import clean_text
from memstrata.text.untrusted import as_data

__all__ = ["UNKNOWN", "Asked", "Noting", "answer"]

ROUNDS = 4
"""Replies of the model; in the last one it must answer."""
SEARCHES = 3
"""Searches in one reply."""
_REPLY = 800
"""Tokens of a reply."""
_COARSE = 0.6
"""The share of the room for memory that what is found first may take."""
_MARGIN = 300
"""Tokens kept for the words around items and for what the model says itself."""
_BESIDE = 8
"""How many messages, episodes and themes are shown first beside what the turns call for: a record
stands for what it was drawn from, and may not say all of it."""
_BACK = 10
"""Turns before the last."""

Noting = Callable[[Iterable[Record]], Awaitable[None]]
"""Told of records before they are shown."""

UNKNOWN: dict[Language, str] = {"en": "Memory does not know.", "zh": "记忆中没有相关内容。"}


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of `ask` or `chat`, checked."""

    turns: tuple[tuple[str, str], ...]
    """As (role, text), oldest first; the last one is to be answered."""
    zone: tzinfo
    now: datetime
    max_tokens: int
    wording: str
    """The name of the prompt: `ask` or `chat`."""
    note_reads: Noting

    @property
    def last(self) -> str:
        """What is to be answered."""
        return self.turns[-1][1]


@dataclass(slots=True)
class _Talk:
    """One question being answered."""

    runtime: Runtime
    scope: Scope
    asked: Asked
    model: ChatModel
    meter: Meter
    words: Wording
    shown: Shown
    count: Callable[[str], int]
    searches: list[Searched] = field(default_factory=list[Searched])
    made: set[Search] = field(default_factory=set[Search])
    notes: list[str] = field(default_factory=list[str])
    confidence: float = 0.0

    async def searched(self, search: Searched) -> None:
        """Note a search that was made."""
        self.searches.append(search)
        await tell("search", search)

    def room(self, prompt: Prompt | None = None) -> int:
        """The tokens that are left for memory, with room for a reply."""
        said = [turn.text for turn in prompt.turns] if prompt is not None else []
        used = sum(map(self.count, [self.words.text, *said]))
        return self.asked.max_tokens - used - _MARGIN

    async def show(self, hits: Sequence[Hit], room: int) -> str:
        """Put hits before the model, on record where they are highly sensitive."""
        text, fresh = self.shown.show(hits, room)
        await self.asked.note_reads([hit.record for hit in fresh if hit.record is not None])
        return text


async def answer(
    runtime: Runtime, scope: Scope, asked: Asked, model: ChatModel, meter: Meter
) -> Answer:
    """Answer the last turn from memory; what it costs is noted in `meter`.

    Raises `ModelFailed` and `BudgetExceeded` as the model does.
    """
    started = anyio.current_time()
    asked = replace(asked, turns=tuple((role, clean_text(text).text) for role, text in asked.turns))
    count = limits_of(runtime.embedder).count
    words = wording("memstrata.chat", asked.wording, language_of(asked.last))
    talk = _Talk(runtime, scope, asked, model, meter, words, Shown(asked.zone, count), count)
    prompt = await _first(talk)
    step, prompt = await _searched(talk, prompt)
    hits: list[Hit] = []
    if step is not None:
        step, hits = await _checked(talk, prompt, step)
    known = step is not None and step.known and bool(hits)
    unknown = UNKNOWN[language_of(asked.last)]
    text = unknown if step is None or (step.known and not hits) else (step.answer or unknown)
    best = max([talk.confidence, *(hit.score for hit in hits)])
    return Answer(
        text=text.strip(),
        known=known,
        confidence=min(best, 1.0) if known else 0.0,
        citations=[cited(hit) for hit in hits],
        searches=talk.searches,
        items=talk.shown.items,
        wording=words.name,
        notes=talk.notes,
        ledger=talk.meter.ledger((anyio.current_time() - started) * 1000),
    )


# ── what is found first ──────────────────────────────────────────────────────────────────────


async def _first(talk: _Talk) -> Prompt:
    """The question, with what memory seems to hold for it."""
    asked = talk.asked
    told = _question(asked)
    prompt = Prompt(
        purpose="ask" if asked.wording == "ask" else "chat",
        system=talk.words.text,
        turns=(Said("user", told),),
        schema=SCHEMA,
        max_tokens=_REPLY,
    )
    room = talk.room(prompt)
    if room <= 0:
        talk.notes.append(f"max_tokens {asked.max_tokens} leaves no room for memory")
    hits = await _coarse(talk)
    block = await talk.show(hits, int(room * _COARSE))
    block = block or "(Nothing was found for it so far.)"
    return replace(prompt, turns=(Said("user", f"{block}\n\n{told}"),))


def _question(asked: Asked) -> str:
    local = asked.now.astimezone(asked.zone)
    today = f"It is {local.strftime('%A')} {local.isoformat(sep=' ', timespec='minutes')}."
    if len(asked.turns) == 1:
        return f"{today}\nThe question: {as_data(asked.last)}"
    return f"{today}\n{conversation(asked.turns, _BACK)}\nAnswer the last turn."


async def _coarse(talk: _Talk) -> list[Hit]:
    """Core memory, what the turns call for, and what stands beside it."""
    asked, runtime = talk.asked, talk.runtime
    intent = read_intent(asked.turns, now=asked.now, zone=asked.zone)
    found = await contexts.gather(
        runtime,
        talk.scope,
        contexts.Asked(
            query=[{"role": role, "content": text} for role, text in asked.turns],
            zone=asked.zone,
            max_tokens=asked.max_tokens,
            kinds=None,
            now=asked.now,
            # A question that stands alone needs no call of the model to be searched for.
            rewrite=intent.leans_on is not None,
        ),
        talk.meter,
    )
    talk.notes += found.notes
    talk.confidence = found.confidence
    if not found.intent.question:
        return found.always
    for query in (found.intent.question, *found.alternatives):
        # All were one search, as alternatives: what it found stands with the first.
        hits = 0 if talk.searches else len(found.hits)
        await talk.searched(Searched(query=query, hits=hits))
    search = finding.Asked(
        query=found.intent.question,
        zone=asked.zone,
        now=asked.now,
        strata=frozenset((STRATA["messages"], STRATA["episodes"], STRATA["themes"])),
        limit=_BESIDE,
        threshold=contexts.UNRELATED,
    )
    beside = await _found(talk, search)
    known = {hit.id for hit in found.hits}
    return [*found.always, *found.hits, *(hit for hit in beside if hit.id not in known)]


async def _found(talk: _Talk, search: finding.Asked) -> list[Hit]:
    results = await finding.find(talk.runtime, talk.scope, search)
    talk.meter.embedding_calls += results.ledger.embedding_calls
    return results.hits


# ── searches of the model's own ──────────────────────────────────────────────────────────────


async def _searched(talk: _Talk, prompt: Prompt) -> tuple[Step | None, Prompt]:
    """The model's answer, after the searches it wants; None if it never comes to one."""
    for left in reversed(range(ROUNDS)):
        step = await obtain(talk.model, prompt, read_step, talk.meter)
        if step.answer and step.answer.strip():
            return step, prompt
        if prompt.schema is ANSWER_SCHEMA:
            break
        told, more = await _results(talk, prompt, step.searches)
        if more and left > 1:
            told = f"{told}\nYou may search {left - 1} more times."
            prompt = prompt.then(_as_said(step), told)
        elif more:
            prompt = _closing(talk, prompt.then(_as_said(step), told))
        else:
            # Who finds nothing new will find nothing new by going on.
            prompt = _closing(talk, prompt)
    talk.notes.append("the model went on searching and gave no answer")
    return None, prompt


def _closing(talk: _Talk, prompt: Prompt) -> Prompt:
    """The same, to be answered now: the question stands last, as small models forget it."""
    *before, last = prompt.turns
    told = f"{last.text}\n\nNo search can be made any more: give the second form.\n"
    asked = Said("user", told + _question(talk.asked))
    return replace(prompt, turns=(*before, asked), schema=ANSWER_SCHEMA)


def _as_said(step: Step) -> str:
    """A step as the model should have written it, without what it thought aloud."""
    return step.model_dump_json(exclude_defaults=True)


async def _results(talk: _Talk, prompt: Prompt, searches: Sequence[Search]) -> tuple[str, bool]:
    """What the model's searches have found, in the room there is, and whether more may help."""
    parts: list[str] = []
    helps: list[bool] = []
    room = talk.room(prompt)
    for number, search in enumerate(searches[:SEARCHES], 1):
        told, more = await _one(talk, search, room)
        room -= talk.count(told)
        parts.append(f"Search {number}: {told}")
        helps.append(more)
    if len(searches) > SEARCHES:
        parts.append(f"Only the first {SEARCHES} searches were made.")
    return "\n".join(parts), any(helps)


async def _one(talk: _Talk, search: Search, room: int) -> tuple[str, bool]:
    """One search: what it found, or an error, which the model may mend; and whether that is new."""
    noted = Searched(
        query=search.query, kinds=list(search.kinds) or None, method=search.method or "hybrid"
    )
    if search in talk.made:
        await talk.searched(noted.model_copy(update={"problem": "it was made before"}))
        return "it was made before.", False
    talk.made.add(search)
    try:
        asked = to_search(search, now=talk.asked.now, zone=talk.asked.zone)
        results = await finding.find(talk.runtime, talk.scope, asked)
    except (InvalidInput, ModelFailed) as error:
        await talk.searched(noted.model_copy(update={"problem": str(error)}))
        return f"error: {as_data(str(error))}", True
    talk.meter.embedding_calls += results.ledger.embedding_calls
    talk.confidence = max(talk.confidence, results.confidence)
    before = talk.shown.known(results.hits)
    block = await talk.show(results.hits, room)
    fresh = len(results.hits) - len(before)
    await talk.searched(noted.model_copy(update={"hits": fresh}))
    also = f" Shown already: {', '.join(before)}." if before else ""
    if not block:
        why = "there is no room for more." if fresh else "nothing new."
        return f"{why}{also}", False
    return f"{also.strip()}\n{block}", True


# ── what an answer rests on ──────────────────────────────────────────────────────────────────

_UNCITED = (
    "This answer cites no item that was shown to you. If it rests on items, give it again with "
    'their aliases in "cites"; if it does not, give it with "known": false.'
)


async def _checked(talk: _Talk, prompt: Prompt, step: Step) -> tuple[Step, list[Hit]]:
    """The answer and what it rests on; one that cites nothing real is asked for once more."""
    hits = talk.shown.named(step.cites)
    if hits or not step.known:
        return step, hits if step.known else []
    asked = replace(prompt.then(_as_said(step), _UNCITED), schema=ANSWER_SCHEMA)
    again = await obtain(talk.model, asked, read_again, talk.meter)
    hits = talk.shown.named(again.cites)
    if hits and not (again.answer and again.answer.strip()):
        again = again.model_copy(update={"answer": step.answer})
    if again.known and not hits:
        talk.notes.append("the model claimed to know and named nothing that was shown to it")
    return again, hits if again.known else []
