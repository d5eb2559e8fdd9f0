"""What English verbs of liking, practising and wishing state."""

from __future__ import annotations

from memstrata.ingest.local.rule_english import LANGUAGE, Rule, rule
from memstrata.ingest.local.words_english import (
    INSTRUMENTS_AND_GAMES,
    LANGUAGES,
    LASTING_WISHES,
    PRACTICES,
)

__all__ = ["TASTES"]

_DISLIKED = {"polarity": False, "listed": True}

TASTES: dict[str, tuple[Rule, ...]] = {
    "love": (rule("likes", r"(?P<v>.+)", "present perfect used", listed=True),),
    "like": (
        rule(
            "likes",
            r"(?P<v>(?!to\s+(?:think|say|know|see you|hear|just|take a look)|"
            r"me\b|how\b|about\b|it\b).+)",
            "present used",
            listed=True,
            confidence=0.85,
        ),
    ),
    "enjoy": (rule("likes", r"(?P<v>(?!yourself|myself).+)", "present used", listed=True),),
    "adore": (rule("likes", r"(?P<v>.+)", "present", listed=True),),
    "prefer": (
        rule(
            "likes",
            r"(?P<v>.+?)(?:\s+(?:to|over)\s+(?!\w+ing?\b$).+)?$",
            "present",
            confidence=0.85,
        ),
    ),
    "hate": (
        rule(
            "likes",
            r"(?P<v>(?!to\s+(?:say|admit|break|tell|ask|bother|see|hear|be|think)).+)",
            "present used",
            **_DISLIKED,
        ),
    ),
    "dislike": (rule("likes", r"(?P<v>.+)", "present", **_DISLIKED),),
    "despise": (rule("likes", r"(?P<v>.+)", "present", **_DISLIKED),),
    "detest": (rule("likes", r"(?P<v>.+)", "present", **_DISLIKED),),
    "stand": (
        rule(
            "likes",
            r"(?P<v>(?!up\b|out\b|for\b|by\b|in\b|on\b|there\b|here\b|with\b|still\b).+)",
            "can",
            listed=True,
        ),
    ),
    "bear": (rule("likes", r"(?P<v>.+)", "can", listed=True),),
    "eat": (
        rule(
            "eats",
            r"(?P<v>(?!out\b|at\b|in\b|with\b|there\b|for\b|like\b|well\b|"
            r"healthy\b|too\b|a lot\b|together\b|dinner|lunch|breakfast|"
            r"healthier).+)",
            "present progressive can used",
            listed=True,
            confidence=0.8,
            limit=4,
        ),
    ),
    "drink": (
        rule(
            "drinks",
            r"(?P<v>(?!with\b|at\b|a lot\b|too\b|more\b|enough\b|up\b|plenty|get\b|and\b).+)",
            "present progressive used",
            listed=True,
            confidence=0.8,
            limit=4,
        ),
    ),
    "smoke": (
        rule("smokes", r"(?P<v>)(?:$|a lot|too much|heavily)", "present used", plain="tobacco"),
        rule("smokes", r"(?P<v>cigarettes|weed|a pipe|cigars)", "present used"),
    ),
    "play": (
        rule(
            "plays",
            rf"(?P<v>(?:the\s+)?(?:{INSTRUMENTS_AND_GAMES})(?:\s+and\s+(?:the\s+)?(?:{INSTRUMENTS_AND_GAMES}))*)\b",
            "present progressive perfect can used past",
            listed=True,
        ),
    ),
    "practice": (
        rule("does", rf"(?P<v>{PRACTICES})\b", "present progressive perfect used", listed=True),
    ),
    "practise": (
        rule("does", rf"(?P<v>{PRACTICES})\b", "present progressive perfect used", listed=True),
    ),
    "do": (
        rule(
            "does",
            rf"(?:a bit of |some |a lot of )?(?P<v>{PRACTICES})\b",
            "present progressive perfect used",
            listed=True,
        ),
    ),
    "collect": (
        rule(
            "collects",
            r"(?P<v>(?!data|information|them|it|my|feedback|all|the).+)",
            "present progressive perfect used",
            listed=True,
            limit=5,
        ),
    ),
    "speak": (rule("speaks", LANGUAGE, "present can", listed=True),),
    "learn": (
        rule(
            "learning",
            rf"(?:how to |to )?(?P<v>(?:play|speak|cook|code|swim|knit|"
            rf"sew|paint|draw|dance|drive|surf|ski|juggle)\b.*|(?:{LANGUAGES})\b.*)",
            "progressive perfect",
            limit=5,
            confidence=0.85,
        ),
    ),
    "take": (
        rule(
            "takes",
            r"(?P<v>(?:(?:\d+ ?mg|daily|prescription)\s+(?:of\s+)?)?[\w-]*(?:pills|"
            r"medication|antidepressants|antihistamines|insulin|metformin|"
            r"ibuprofen|statins|supplements|inhaler|vitamins?(?: [A-Z]\d*)?|"
            r"melatonin|[a-z]+(?:pril|olol|statin|azole|mycin|cillin)))\b",
            "present progressive",
            confidence=0.8,
        ),
    ),
    "want": (
        rule("wants", rf"(?P<v>to\s+(?:{LASTING_WISHES})\b.*)", "present perfect", confidence=0.7),
    ),
    "hope": (
        rule(
            "wants",
            rf"(?P<v>to\s+(?:{LASTING_WISHES})\b.*)",
            "present progressive",
            confidence=0.65,
        ),
    ),
    "dream": (
        rule(
            "wants",
            r"(?:of|about)\s+(?P<v>\w+ing\b.*)",
            "present progressive perfect",
            confidence=0.8,
        ),
    ),
}
"""Rules by verb."""
