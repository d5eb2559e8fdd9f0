"""Facts that plain English clauses state, by verb: one table for every subject."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memstrata.ingest.local.deeds_english import DEEDS
from memstrata.ingest.local.findings import Finding, items, trim, when_of
from memstrata.ingest.local.predicates import Predicate
from memstrata.ingest.local.rule_english import Rule
from memstrata.ingest.local.states_english import STATES
from memstrata.ingest.local.tastes_english import TASTES
from memstrata.ingest.local.words_english import word_set
from memstrata.records import TimeSpan

__all__ = ["facts"]

RULES = {**DEEDS, **STATES, **TASTES}
_CHANGE = re.compile(
    r"\b(?:any ?more|again|(?<!months )(?<!years )(?<!while )(?<!weeks )now|these days|"
    r"nowadays|no longer|anymore)\b",
    re.IGNORECASE,
)


def facts(
    said: Predicate, subject: str, place: tuple[int, int], text: str, spans: Sequence[TimeSpan]
) -> Iterator[Finding]:
    """The facts a predicate states of a subject; `place` is where the clause stands."""
    verb, tense = said.verb, said.tense
    rest: str | None = said.rest
    while rest is not None:
        end = 0
        for rule in RULES.get(verb, ()):
            match = rule.pattern.match(rest) if tense in rule.tenses else None
            found = match and list(_apply(rule, match, said, subject, place, text, spans))
            if match and found:
                yield from found
                end = match.end()
                break
        more = _ALSO.match(rest, end) if end and verb in _HAVING else None
        rest = rest[more.end() :] if more else None


# What points to something said before means nothing by itself.
_POINTS = re.compile(r"\b(?:it|them|this|these|those)\b", re.IGNORECASE)
_HAVING = frozenset({"have", "get", "adopt", "buy"})
_ALSO = re.compile(r"\s*(?:,\s*(?:and\s+)?|and\s+)(?=(?:an?|one|two|three|four|five)\s)")
# What is liked about one thing at hand is no lasting taste.
_THIS_ONE = re.compile(
    r"\s*(?:this|that|these|those|your|its|his|her|their|all the|"
    r"the(?!\s+(?:[A-Z]|sea|ocean|beach|mountains?|outdoors|countryside|desert|forest|city|"
    r"rain|snow|sun|"
    r"winter|summer|autumn|spring|fall|piano|guitar|violin|cello|(?:smell|sound|taste|feel|"
    r"feeling|look) of|"
    r"arts|gym|cold|heat|dark|color|colour|theat)))(?:\s|$)"
    r"|(?:how|what|when|that|where)\b|(?:the\s+)?colou?rs?\s+and\b|[\w ]*\b(?:idea|option|"
    r"suggestion|version)s?\b"
)


def _apply(
    rule: Rule,
    match: re.Match[str],
    said: Predicate,
    subject: str,
    place: tuple[int, int],
    text: str,
    spans: Sequence[TimeSpan],
) -> Iterator[Finding]:
    groups = match.groupdict()
    past = said.tense == "used" or (rule.ended and said.tense == "past" and not rule.change)
    polarity = rule.polarity != said.negated
    if said.negated and (
        said.tense in ("past", "perfect", "used") or rule.attribute in ("wants", "habit")
    ):
        return
    if rule.attribute in ("is", "age") and said.negated:
        return
    if rule.change and rule.ended:  # moved from there
        if groups.get("to"):
            yield from _more(
                rule, "lives_in", groups["to"], subject, place, said, text, spans, groups["v"]
            )
        past = True
    change = rule.change or bool(
        _CHANGE.search(text) or "now" in said.adverbs or "no" in said.adverbs
    )
    span = when_of(text, spans)
    values = items(groups["v"]) if rule.listed else [groups["v"]]
    for raw in values:
        if rule.attribute == "likes" and _THIS_ONE.match(raw):
            continue
        value = rule.plain or trim(raw, spans, limit=rule.limit, keep_head=rule.keep_head)
        if not value or value.lower() in _NOT_VALUES or _POINTS.search(value):
            continue
        old = groups.get("old")
        yield Finding(
            subject,
            rule.attribute,
            value,
            *place,
            polarity=polarity,
            past=past,
            change=change,
            replaces=trim(old, spans) if old else None,
            valid_from=span.start
            if span
            and (change or said.tense in ("perfect", "past") or "since" in text)
            and not past
            else None,
            confidence=rule.confidence,
        )
    yield from _sides(rule, groups, subject, place, said, text, spans, past)


_NOT_VALUES = word_set(
    """
    time people person place anyone someone world life day days fun work one
    """
)


def _sides(
    rule: Rule,
    groups: dict[str, str | None],
    subject: str,
    place: tuple[int, int],
    said: Predicate,
    text: str,
    spans: Sequence[TimeSpan],
    past: bool,
) -> Iterator[Finding]:
    """What else the words name: the post beside the employer, the name of the pet."""
    for group, attribute in (("as", "works_as"), ("at", "works_at")):
        value = trim(groups.get(group) or "", spans)
        if value:
            yield Finding(
                subject,
                attribute,
                value,
                *place,
                polarity=not said.negated,
                past=past,
                change=rule.change,
                confidence=rule.confidence,
            )
    if called := groups.get("called"):
        yield Finding(subject, "pet", called, *place, confidence=0.9)


def _more(
    rule: Rule,
    attribute: str,
    value: str | None,
    subject: str,
    place: tuple[int, int],
    said: Predicate,
    text: str,
    spans: Sequence[TimeSpan],
    old: str | None,
) -> Iterator[Finding]:
    trimmed = trim(value or "", spans)
    if trimmed:
        span = when_of(text, spans)
        yield Finding(
            subject,
            attribute,
            trimmed,
            *place,
            change=True,
            confidence=rule.confidence,
            replaces=trim(old, spans) if old else None,
            valid_from=span.start if span else None,
        )
