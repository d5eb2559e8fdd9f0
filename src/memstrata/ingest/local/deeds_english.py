"""What English verbs of living and doing state."""

from __future__ import annotations

from memstrata.ingest.local.rule_english import AFTER_A_THING, CAPITAL, LANGUAGE, PLACE, Rule, rule
from memstrata.ingest.local.words_english import PETS, POSSESSIONS

__all__ = ["DEEDS"]

DEEDS: dict[str, tuple[Rule, ...]] = {
    "live": (
        rule("lives_in", PLACE, "present progressive perfect past used", ended=True),
        rule(
            "home",
            r"(?:in|near|on)\s+(?P<v>(?:a|an)\s.+)",
            "present progressive perfect",
            confidence=0.7,
        ),
        rule(
            "lives_with",
            r"with\s+(?P<v>(?:my|our|two|three|a)\s.+)",
            "present progressive",
            confidence=0.8,
        ),
    ),
    "reside": (rule("lives_in", PLACE, "present progressive"),),
    "move": (
        rule(
            "lives_in",
            rf"(?:back |over |here |up |down )*(?:to|"
            rf"into)\s+(?P<v>(?:the\s+)?[A-Z][^,.;:!?()\n]*?)(?:\s+from\s+(?P<old>{CAPITAL}))?$",
            "past perfect",
            change=True,
        ),
        rule(
            "lives_in",
            rf"(?:back |over |here |away |out |up |down )*(?:from|out "
            rf"of)\s+(?P<v>(?:the\s+)?[A-Z][^,.;:!?()\n]*?)(?:\s+to\s+(?P<to>{CAPITAL}))?$",
            "past perfect",
            change=True,
            ended=True,
        ),
    ),
    "grow": (rule("grew_up_in", rf"up (?:in|near|on)\s+(?P<v>{CAPITAL})", "past"),),
    "raise": (rule("grew_up_in", rf"in\s+(?P<v>{CAPITAL})", "past"),),
    "come": (rule("from", rf"(?:originally )?from\s+(?P<v>{CAPITAL})", "present"),),
    "work": (
        rule(
            "works_at",
            rf"(?:full[- ]time |part[- ]time |remotely )*(?:at|for)\s+(?P<v>{CAPITAL}?)"
            rf"(?:\s+as\s+(?P<as>an?\s.+))?$",
            "present progressive perfect past used",
            ended=True,
        ),
        rule(
            "works_as",
            rf"(?:full[- ]time |part[- ]time |freelance )*as\s+(?P<v>an?\s+(?!shooting|"
            rf"point).+?)(?:\s+(?:at|"
            rf"for)\s+(?P<at>{CAPITAL}))?$",
            "present progressive perfect past used",
            ended=True,
        ),
        rule(
            "works_in",
            r"in\s+(?P<v>(?!the\b|a\b|my\b|an\b|this\b|that\b|\d)[a-z][\w -]*)$",
            "present progressive",
            confidence=0.7,
            limit=3,
        ),
    ),
    "join": (
        rule("works_at", rf"(?P<v>{CAPITAL}?)\s+as\s+(?P<as>an?\s.+)", "past perfect", change=True),
    ),
    "start": (
        rule(
            "works_at",
            rf"(?:a new job|working|my new job|work|a job)\s+(?:at|for|"
            rf"with)\s+(?P<v>{CAPITAL}?)(?:\s+as\s+(?P<as>an?\s.+))?$",
            "past perfect",
            change=True,
        ),
        rule(
            "works_as",
            r"(?:a new job|working|my new job|a job)\s+as\s+(?P<v>an?\s+.+)",
            "past perfect",
            change=True,
        ),
        rule("learning", rf"(?:learning|studying)\s+{LANGUAGE}", "past perfect", listed=True),
    ),
    "get": (
        rule(
            "works_at",
            rf"(?:a|the|my)\s+(?:new )?job\s+(?:at|with)\s+(?P<v>{CAPITAL})",
            "past perfect",
            change=True,
        ),
        rule(
            "works_as",
            r"(?:a|the|my)\s+(?:new )?job\s+as\s+(?P<v>an?\s+.+)",
            "past perfect",
            change=True,
        ),
        rule(
            "works_as",
            r"promoted to\s+(?P<v>(?!the next|a new|a higher).+)",
            "past perfect",
            change=True,
        ),
        rule("married_to", r"married to\s+(?P<v>(?:my\s.+|[A-Z]\w+))", "past perfect", change=True),
        rule("marital_status", r"(?P<v>married|divorced|engaged)\b", "past perfect", change=True),
        rule(
            "has_pet",
            rf"(?P<v>(?:an?|two|three|my|our|another)\s+(?:(?!and|or|with|kids?|"
            rf"children)[\w-]+\s+){{0,3}}?(?:{PETS})s?)"
            rf"(?:\s+(?:named|"
            rf"called)\s+(?P<called>[A-Z]\w+))?(?=[\s,.!]|$)",
            "past perfect",
            keep_head=True,
        ),
        rule(
            "has",
            rf"(?P<v>(?:an?|my|our)\s+(?:new\s+)?(?:[\w-]+\s+){{0,2}}?(?:{POSSESSIONS})){AFTER_A_THING}",
            "past perfect",
            confidence=0.7,
        ),
    ),
    "quit": (
        rule(
            "works_at",
            rf"(?:my|his|her|the)\s+job\s+(?:at|with)\s+(?P<v>{CAPITAL})",
            "past perfect",
            polarity=False,
            change=True,
        ),
        rule(
            "smokes",
            r"(?P<v>smoking)\b",
            plain="tobacco",
            tenses="past perfect",
            polarity=False,
            change=True,
        ),
        rule(
            "does",
            r"(?P<v>\w+ing\b.*)",
            "past perfect",
            polarity=False,
            change=True,
            confidence=0.8,
        ),
    ),
    "leave": (
        rule(
            "works_at",
            rf"(?:my|his|her|the)\s+job\s+(?:at|with)\s+(?P<v>{CAPITAL})",
            "past perfect",
            polarity=False,
            change=True,
        ),
    ),
    "give": (
        rule(
            "eats",
            r"up\s+(?P<v>meat|dairy|sugar|gluten|bread|alcohol|coffee|"
            r"caffeine|red meat|fish|chocolate|sweets|smoking)\b",
            "past perfect",
            polarity=False,
            change=True,
        ),
    ),
    "stop": (
        rule(
            "eats", r"eating\s+(?P<v>.+)", "past perfect", polarity=False, change=True, listed=True
        ),
        rule(
            "drinks",
            r"drinking\s+(?P<v>.+)",
            "past perfect",
            polarity=False,
            change=True,
            listed=True,
        ),
        rule(
            "smokes",
            r"(?P<v>smoking)\b",
            plain="tobacco",
            tenses="past perfect",
            polarity=False,
            change=True,
        ),
    ),
    "switch": (
        rule(
            "uses",
            r"from\s+(?P<old>[\w -]+?)\s+to\s+(?P<v>.+)",
            "past perfect",
            change=True,
            confidence=0.7,
        ),
    ),
    "study": (
        rule(
            "studies_at",
            rf"(?:[\w ]+? )?at\s+(?P<v>{CAPITAL})",
            "present progressive past used",
            ended=True,
        ),
        rule(
            "studies",
            r"(?P<v>(?!for\b|at\b|in\b|hard\b|the\b|and\b|with\b|abroad\b|"
            r"a\b|my\b|how\b|to\b|up\b|on\b)[\w' &-]+?)(?:\s+at\s.*)?$",
            "present progressive past used",
            confidence=0.8,
            ended=True,
            limit=4,
        ),
    ),
    "major": (
        rule("studies", r"in\s+(?P<v>[\w &-]+)", "present progressive past", limit=4, ended=True),
    ),
    "attend": (
        rule(
            "studies_at",
            r"(?P<v>[A-Z][\w' ]*(?:University|College|School|Academy|Institute))",
            "present progressive past",
            ended=True,
        ),
    ),
    "graduate": (rule("graduated_from", rf"from\s+(?P<v>{CAPITAL})", "past perfect"),),
    "teach": (
        rule(
            "teaches",
            r"(?P<v>(?!me\b|us\b|him\b|her\b|them\b|you\b|at\b|in\b|my\b|"
            r"a\b|the\b|how\b)[\w' &-]+)",
            "present progressive",
            confidence=0.8,
            limit=5,
        ),
    ),
    "run": (
        rule(
            "runs",
            r"(?P<v>(?:my own|our own|a|the|my|our)\s+(?:[\w'-]+\s+){0,3}(?:business|"
            r"company|shop|store|bakery|café|cafe|restaurant|studio|club|"
            r"blog|podcast|farm|school|group|salon|bookshop|bookstore|"
            r"agency|startup|firm|workshop|channel|charity|gallery|gym)\b(?:\s+(?:at|"
            r"in)\s+[A-Z]\w+)?)",
            "present progressive",
            confidence=0.85,
        ),
    ),
    "own": (rule("owns", r"(?P<v>.+)", "present used", listed=True, limit=6),),
    "drive": (rule("drives", r"(?P<v>an?\s+.+)", "present used", limit=5),),
    "marry": (rule("married_to", r"(?P<v>[A-Z]\w+)", "past perfect", change=True),),
    "date": (rule("partner", r"(?P<v>[A-Z]\w+)", "progressive", confidence=0.7),),
}
"""Rules by verb."""
