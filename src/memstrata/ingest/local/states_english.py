"""What English clauses with `be` and `have` and the like state."""

from __future__ import annotations

from memstrata.ingest.local.rule_english import (
    AFTER_A_THING,
    CAPITAL,
    JOB,
    LANGUAGE,
    OF_A_JOB,
    Rule,
    rule,
)
from memstrata.ingest.local.words_english import CONDITIONS, DIETS, OCCUPATIONS, PETS, POSSESSIONS

__all__ = ["STATES"]

STATES: dict[str, tuple[Rule, ...]] = {
    "have": (
        rule(
            "allergic_to",
            r"(?:an?|severe|bad|mild|\s)*\s*allerg(?:y|ies)\s+to\s+(?P<v>.+)",
            "present",
            listed=True,
        ),
        rule(
            "allergic_to",
            r"an?\s+(?:severe |bad |mild |serious )?(?P<v>[\w -]+?)\s+allergy\b",
            "present",
        ),
        rule(
            "has_condition",
            rf"(?P<v>(?:(?:chronic|severe|mild|type [12]|bad|really bad|"
            rf"an?|early|some|high|seasonal|social|generali[sz]ed)\s+)*(?:{CONDITIONS}))\b",
            "present perfect used",
            ended=True,
        ),
        rule(
            "has_pet",
            rf"(?P<v>(?:an?|one|two|three|four|five|"
            rf"\d)\s+(?:(?!and|or|with|kids?|children|sons?|"
            rf"daughters?)[\w-]+\s+){{0,3}}?(?:{PETS})s?(?:\s+and\s+(?:an?|"
            rf"one|two|three)\s+(?:[\w-]+\s+){{0,2}}?(?:{PETS})s?)?)(?:,?\s+(?:named|"
            rf"called)\s+(?P<called>[A-Z]\w+))?(?=[\s,.!]|$)",
            "present perfect used",
            keep_head=True,
        ),
        rule(
            "has",
            r"(?P<v>(?:an?|one|two|three|four|five|six|\d|twin)\s+(?:[\w-]+\s+){0,2}?(?:kids?|"
            r"children|sons?|daughters?|brothers?|sisters?|siblings|cousins?|"
            r"grandchildren|twins|grandkids|nieces?|nephews?))(?=[\s,.!]|"
            r"$)",
            "present",
            keep_head=True,
        ),
        rule(
            "has",
            rf"(?P<v>(?:an?|two|three|my own|"
            rf"our own)\s+(?:[\w-]+\s+){{0,2}}?(?:{POSSESSIONS})s?){AFTER_A_THING}",
            "present used",
            confidence=0.8,
            keep_head=True,
        ),
    ),
    "suffer": (
        rule(
            "has_condition",
            r"from\s+(?P<v>.+)",
            "present progressive perfect",
            listed=True,
            limit=5,
        ),
    ),
    "adopt": (
        rule(
            "has_pet",
            rf"(?P<v>(?:an?|two|three|another)\s+(?:(?!and|or|with|kids?|children|sons?|"
            rf"daughters?)[\w-]+\s+){{0,3}}?(?:{PETS})s?)(?:\s+(?:named|"
            rf"called)\s+(?P<called>[A-Z]\w+))?(?=[\s,.!]|$)",
            "past perfect",
            keep_head=True,
        ),
    ),
    "buy": (
        rule(
            "has",
            rf"(?P<v>(?:an?|my|our)\s+(?:[\w-]+\s+){{0,3}}?(?:{POSSESSIONS})){AFTER_A_THING}",
            "past perfect",
            confidence=0.8,
        ),
    ),
    "visit": (rule("visited", rf"(?P<v>{CAPITAL})", "past perfect", confidence=0.8),),
    "be": (
        rule("name", r"called\s+(?P<v>[A-Z]\w+(?: [A-Z]\w+)?)$", "present"),
        rule("works_as", JOB + OF_A_JOB, "present past used", ended=True),
        rule(
            "works_as",
            rf"(?:retired|self-employed)\s+(?P<v>(?:\w+\s+)?(?:{OCCUPATIONS}))$",
            "present",
        ),
        rule(
            "works_at",
            r"(?:employed|an? intern|interning)\s+(?:at|by)\s+(?P<v>[A-Z][^,.;:!?()\n]*)",
            "present",
        ),
        rule(
            "studies",
            r"(?:an?\s+)?(?:(?:first|second|third|fourth|final)[- ]year\s+|"
            r"phd\s+|PhD\s+|grad(?:uate)?\s+)*(?P<v>[\w &-]+?)\s+(?:student|"
            r"major)\b",
            "present past",
            confidence=0.75,
            limit=3,
            ended=True,
        ),
        rule(
            "studies_at",
            r"(?:an?\s+)?(?:[\w-]+\s+){0,3}(?:student|freshman|sophomore|"
            r"junior|senior)\s+at\s+(?P<v>[A-Z][^,.;:!?()\n]*)",
            "present past",
            ended=True,
        ),
        rule("from", rf"(?:originally )?from\s+(?P<v>{CAPITAL})", "present"),
        rule(
            "born_in",
            r"born(?: and (?:raised|bred))?\s+in\s+(?P<v>(?:the\s+)?[A-ZÀ-Þ][^,.;:!?()\n]*)",
            "past present",
        ),
        rule(
            "grew_up_in", rf"(?:born and )?(?:raised|bred)\s+in\s+(?P<v>{CAPITAL})", "past present"
        ),
        rule(
            "birthday",
            r"born\s+(?:on\s+|in\s+)?(?P<v>(?:the\s+)?(?:\d{1,2}(?:st|"
            r"nd|rd|th)?\s+(?:of\s+)?)?(?:(?:January|February|March|April|"
            r"May|June|July|August|September|October|November|December)\b(?:\s+\d{1,2}(?:st|"
            r"nd|rd|th)?\b)?,?\s*)?(?:\d{4})?)$",
            "past present",
        ),
        rule(
            "lives_in",
            rf"(?:currently )?(?:based|living|located)\s+in\s+(?P<v>{CAPITAL})",
            "present past used",
            ended=True,
        ),
        rule(
            "allergic_to",
            r"(?:severely |deathly |badly |very |highly |mildly )*allergic\s+to\s+(?P<v>.+)",
            "present",
            listed=True,
        ),
        rule(
            "has_condition",
            r"(?:recently |just )?diagnosed\s+with\s+(?P<v>.+)",
            "past present perfect",
            listed=True,
            limit=5,
        ),
        rule(
            "has_condition",
            r"(?P<v>lactose[- ]intolerant|gluten[- ]intolerant|diabetic|"
            r"asthmatic|colou?r[- ]?blind|dyslexic|epileptic|anaemic|"
            r"anemic|celiac|coeliac|pregnant|autistic)\b",
            "present",
        ),
        rule(
            "diet",
            rf"(?:an?\s+)?(?:strict |mostly )?(?P<v>{DIETS})\b",
            "present past used perfect",
            ended=True,
        ),
        rule(
            "married_to",
            r"(?:happily )?married\s+to\s+(?P<v>(?:an?\s.+|[A-Z]\w+))",
            "present perfect past",
            ended=True,
        ),
        rule(
            "marital_status",
            r"(?:happily |recently |newly )?(?P<v>married|divorced|single|"
            r"widowed|engaged)\b(?!\s+(?:most|thing|day|parent))",
            "present",
        ),
        rule("partner", r"(?:dating|in a relationship with)\s+(?P<v>[A-Z]\w+)", "present"),
        rule("age", r"(?P<v>\d{1,3})(?:\s+years?\s+old)?\s*(?:now|today)?\s*$", "present"),
        rule("age", r"(?P<v>\d{1,3})\s+years?\s+old\b", "present"),
        rule(
            "likes",
            r"(?:really |super |very |totally )*(?:into|fond of|crazy "
            r"about|keen on|passionate about|obsessed with|addicted to)\s+(?P<v>.+)",
            "present used past",
            listed=True,
            confidence=0.85,
        ),
        rule(
            "likes",
            r"an?\s+(?:really |big |huge |massive |avid |great |die-?hard "
            r"|lifelong |real )*(?:fan|lover)\s+of\s+(?P<v>.+)",
            "present used",
            listed=True,
        ),
        rule(
            "likes",
            r"an?\s+(?:big |huge |massive |avid |die-?hard |lifelong "
            r")*(?P<v>(?!(?:big|huge|massive|avid|great|lifelong|real|total|bigger|biggest)\b)"
            r"[\w -]+?)\s+(?:fan|"
            r"lover|enthusiast|fanatic|addict)\b",
            "present used",
            confidence=0.85,
            limit=4,
        ),
        rule(
            "fears",
            r"(?:really |so |very |absolutely |terribly )*(?:afraid|scared|"
            r"terrified|frightened)\s+of\s+(?P<v>.+)",
            "present used",
            listed=True,
        ),
        rule(
            "good_at",
            r"(?:really |pretty |quite |very )*(?:good|great|excellent)\s+at\s+(?P<v>.+)",
            "present",
            listed=True,
            confidence=0.75,
        ),
        rule(
            "speaks", rf"(?:fluent|bilingual|trilingual)\s+in\s+{LANGUAGE}", "present", listed=True
        ),
        rule(
            "is",
            r"(?P<v>(?:left-handed|right-handed|ambidextrous|retired|"
            r"unemployed|self-employed|an only child|an? (?:night owl|"
            r"early bird|morning person|introvert|extrovert|single (?:mom|"
            r"mum|dad|parent|mother|father)|stay-at-home \w+|(?:new |"
            r"proud )?(?:mom|mum|dad|mother|father|grandmother|grandfather)(?: "
            r"of \w+)?)))\b",
            "present",
            keep_head=True,
        ),
        rule(
            "nationality",
            r"(?:half[- ])?(?P<v>[A-Z]\w+(?:ian|ish|ese|can|ean|man|iet|"
            r"ench|utch|reek|wiss|sian))$",
            "present",
        ),
        rule(
            "visited",
            r"to\s+(?P<v>(?:the\s+)?[A-ZÀ-Þ][\w' -]*?)(?:\s+(?:once|twice|to|many|several|"
            r"\w+ times)\b.*)?$",
            "perfect",
            confidence=0.8,
        ),
    ),
}
"""Rules by verb."""
