"""What an English clause says of its subject: verb, tense, negation, and the words that follow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from memstrata.ingest.local.verbs_english import FORMS, verb_form
from memstrata.ingest.local.words_english import word_set

__all__ = ["Predicate", "Tense", "predicate"]

Tense = Literal["present", "progressive", "past", "perfect", "future", "can", "used"]


@dataclass(frozen=True, slots=True)
class Predicate:
    """A verb in its dictionary form and what follows it, at its place in the clause."""

    verb: str
    tense: Tense
    negated: bool
    adverbs: frozenset[str]
    rest: str
    at: int
    """Where `rest` begins."""
    start: int
    """Where the verb begins."""


_ADVERBS = word_set(
    """
    really also just still actually currently now always absolutely usually totally
    personally honestly definitely recently finally even only ever already truly generally
    mostly normally often sometimes simply kinda kind of sort basically presently again both
    all officially probably first originally previously formerly lately so pretty especially
    genuinely particularly typically regularly occasionally mainly completely utterly
    strictly newly super very quite too once
    """
)
_LOOSE = frozenset({"probably", "kinda", "kind", "sort", "almost", "maybe"})
_NEVER = frozenset({"never", "not", "no", "rarely", "hardly"})
_BE = word_set(
    """
    am is are was were be been being 'm 're ain
    """
)
_HAVE = frozenset(["have", "has", "had", "'ve", "having"])
_DO = frozenset(["do", "does", "did"])
_UNREAL = word_set(
    """
    would could should might may must 'd ought need needs shall supposed
    """
)
_SPLIT_AUX = re.compile(r"(\w+?)n't|(\w+)('m|'re|'ve|'ll|'s|'d)")
_WORD = re.compile(r"[^\s,]+")


@dataclass(slots=True)
class _State:
    negated: bool = False
    auxiliary: str = ""
    past: bool = False
    future: bool = False
    can: bool = False
    used: bool = False


def predicate(text: str, at: int) -> Predicate | None:
    """The predicate that begins at `at`, right after the subject; None if it is not plain.

    What would, could, should or might be so is not plain.
    """
    state, adverbs = _State(), set[str]()
    for word, start, end in _words(text, at):
        if word in _ADVERBS:
            adverbs.add(word)
        elif word in _NEVER:
            state.negated = word != "no" or text[end : end + 7].strip().startswith("longer")
            if not state.negated:
                return None
            adverbs.add("never" if word == "never" else word)
        elif word == "longer" and "no" in adverbs:
            adverbs.add("no longer")
        elif word == "to" and (state.used or state.future):
            continue
        else:
            taken = _auxiliary(word, text, end, state)
            if taken is None:
                return None
            if not taken:
                return _main(word, text, start, end, state, adverbs)
    return None


def _words(text: str, at: int) -> list[tuple[str, int, int]]:
    """Words in small letters, with contractions apart."""
    found: list[tuple[str, int, int]] = []
    for match in _WORD.finditer(text, at):
        if len(found) > 9:
            break
        word = match[0].lower().rstrip(".!")
        split = _SPLIT_AUX.fullmatch(word)
        if word.startswith("'") or not split:
            found.append((word, match.start(), match.end()))
        elif split[1] is not None:
            middle = match.start() + len(split[1])
            found.append((_WHOLE.get(split[1], split[1]), match.start(), middle))
            found.append(("not", middle, match.end()))
        else:
            found.append((split[2], match.start(), match.end()))
    if found and found[0][0] == "cannot":
        _, start, end = found[0]
        found[0:1] = [("can", start, start), ("not", start, end)]
    return found


_WHOLE = {"ca": "can", "wo": "will"}


def _auxiliary(word: str, text: str, end: int, state: _State) -> bool | None:
    """Take an auxiliary into the state; False if the word is the main verb, None to give up."""
    if word in _UNREAL and word not in ("need", "needs"):
        return None
    if state.auxiliary == "do" and word in _BE | _HAVE | _DO:
        return False
    if word in ("will", "'ll"):
        state.future = True
    elif word == "can":
        state.can = True
    elif word == "used" and re.match(r"\s+to\s+\w", text[end:]) and state.auxiliary in ("", "do"):
        state.used = True
    elif word in ("gonna",) or (
        word == "going" and re.match(r"\s+to\s+(?!the\b|a\b|my\b|[A-Z])", text[end:])
    ):
        state.future = True
    elif word in _DO and _NEXT_VERB.match(text, end):
        state.auxiliary, state.past = "do", word == "did"
    elif word in _HAVE and _participle_follows(text, end):
        state.auxiliary, state.past = "have", word == "had"
    elif (word in _BE or word == "'s") and _ing_follows(text, end):
        state.auxiliary, state.past = "be", word in ("was", "were")
    else:
        return False
    return True


_NEXT_VERB = re.compile(
    r"(?:n't|\s+(?:not|really|even|just|still|always|ever|all)\b)*\s+(?=[a-z])", re.IGNORECASE
)
_NEXT = re.compile(r"\s*(?:n't\s+)?([a-z']+)", re.IGNORECASE)


def _following(text: str, end: int) -> str:
    """The next word that is no adverb or negation."""
    for match in _NEXT.finditer(text, end):
        word = match[1].lower()
        if word not in _ADVERBS and word not in _NEVER:
            return word
    return ""


def _participle_follows(text: str, end: int) -> bool:
    word = _following(text, end)
    form = FORMS.get(word) or (verb_form(word) if word.endswith("ed") else None)
    return bool(form and form[1] == "past") or word in (
        "become",
        "come",
        "run",
        "read",
        "quit",
        "hurt",
        "put",
        "cut",
        "set",
    )


def _ing_follows(text: str, end: int) -> bool:
    word = _following(text, end)
    form = verb_form(word)
    return word == "gonna" or bool(form and form[1] == "ing")


def _main(
    word: str, text: str, start: int, end: int, state: _State, adverbs: set[str]
) -> Predicate | None:
    if word in ("'s", "'m", "'re"):
        word = {"'s": "is", "'m": "am", "'re": "are"}[word]
    if word == "'ve":
        word = "have"
    form = verb_form(word)
    if form is None:
        return None
    verb, what = form
    tense = _tense(what, word, state)
    if tense is None:
        return None
    if _LOOSE & adverbs:
        return None
    return Predicate(
        verb, tense, state.negated, frozenset(adverbs), text[end:].rstrip(" .!,;~)…"), end, start
    )


def _tense(what: str, word: str, state: _State) -> Tense | None:
    if state.future:
        return "future"
    if state.used:
        return "used"
    if state.can:
        return "can"
    if state.auxiliary == "have":
        return "perfect"
    if what == "ing":
        if state.auxiliary != "be":
            return None
        return "past" if state.past else "progressive"
    if word == "quit" and not state.auxiliary:
        return "past"
    if state.auxiliary == "do":
        return "past" if state.past else "present"
    return "past" if what == "past" and word not in ("am", "is", "are") else "present"
