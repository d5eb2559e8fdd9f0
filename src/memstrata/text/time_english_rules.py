"""How English says when: patterns, and the clue each one gives.

Patterns are for text whose ASCII letters are small.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

from memstrata.text.time_calendar import PARTS, Clue, Unit, ago, calendar_unit, day_start, shift
from memstrata.text.time_english import (
    COUNTS,
    HOLIDAY,
    HOLIDAYS,
    MONTH,
    MONTHS,
    NUMBER,
    ORDINALS,
    PART,
    SEASON,
    SEASONS,
    SHORT_DAY,
    SHORT_DAYS,
    UNIT,
    UNITS,
    WEEKDAY,
    WEEKDAYS,
    WHICH,
    alternation,
    quantity,
    unit,
)
from memstrata.text.time_rules import DIGIT, Build, Rule, rule

__all__ = ["RULES"]


def _distance(sign: int) -> Build:
    """What lies a stated number of units before (1) or after (-1) now."""

    def build(match: re.Match[str], now: datetime) -> Clue:
        least, most = quantity(match["n"])
        name, times = unit(match["u"])
        if match["n"].startswith("half"):
            halves: dict[str, tuple[Unit, int]] = {"year": ("month", 6), "hour": ("minute", 30)}
            name, times = halves.get(name, (name, times))
        if name == "year" and "half" in match[0] and least == most:
            return calendar_unit(-sign * (12 * least + 6), "month", now)
        if least != most or name in ("second", "minute", "hour"):
            return Clue(fixed=ago(now, sign * least * times, sign * most * times, name))
        clue = calendar_unit(-sign * least * times, name, now)
        return replace(clue, part=PARTS["night"]) if match["u"].startswith("night") else clue

    return build


def _rolling(match: re.Match[str], now: datetime) -> Clue:
    """ "The last three weeks", "the past month": from then until now, today included."""
    most = quantity(match["n"])[1]
    name, times = unit(match["u"])
    back = match["which"] not in ("next", "coming")
    if name in ("second", "minute", "hour"):
        start, end = ago(now, 1, most * times, name) if back else ago(now, -most * times, 0, name)
        return Clue(fixed=(start, now) if back else (now, end))
    today = now.date()
    far = shift(today, (-1 if back else 1) * most * times, name)
    first, last = (far, shift(today, 1, "day")) if back else (today, shift(far, 1, "day"))
    return Clue(fixed=(day_start(first, now), day_start(last, now)))


def _period(match: re.Match[str], now: datetime) -> Clue:
    """ "Last week", "this month", "next year": the calendar unit."""
    name, times = unit(match["u"])
    return calendar_unit(WHICH[match["which"].split()[-1]] * times, name, now)


def _beyond(match: re.Match[str], now: datetime) -> Clue:
    """ "The week before last", "the month after next"."""
    return calendar_unit(-2 if match["which"] == "last" else 2, unit(match["u"])[0], now)


def _day(n: int, part: str | None = None) -> Build:
    def build(match: re.Match[str], now: datetime) -> Clue:
        return replace(calendar_unit(n, "day", now), part=PARTS[part] if part else None)

    return build


def _date(match: re.Match[str], now: datetime) -> Clue:
    """ "5 May", "May 5-7", "the second of June"."""
    day, last = match["day"], match["until"]
    return Clue(
        month=MONTHS[match["month"]],
        day=int(day) if day.isdigit() else ORDINALS[day],
        last_day=int(last) if last else None,
    )


def _numeric(match: re.Match[str], now: datetime) -> Clue:
    """Month first, as in America, unless it cannot be; with dots the day comes first."""
    year, first, second = (int(match[name]) for name in ("y", "a", "b"))
    if match["sep"] == "." or first > 12:
        first, second = second, first
    return Clue(year=year, month=first, day=second)


def _iso(match: re.Match[str], now: datetime) -> Clue | None:
    year, month, day = (int(match[name]) for name in "ymd")
    if match["hour"] is None:
        return Clue(year=year, month=month, day=day)
    clock = 60 * int(match["hour"]) + int(match["minute"])
    if match["zone"] is None:
        return Clue(year=year, month=month, day=day, clock=(clock, 1))
    try:
        stamp = f"{year:04}-{month:02}-{day:02}T{match['hour']}:{match['minute']}{match['zone']}"
        start = datetime.fromisoformat(stamp.upper()).astimezone(now.tzinfo)
    except (ValueError, OverflowError):
        return None
    return Clue(fixed=(start, start + timedelta(minutes=1)))


def _name(word: str) -> Clue:
    """The clue of the name of a month, day, season or holiday."""
    if word in SEASONS:
        return Clue(season=SEASONS[word])
    if word in WEEKDAYS or word in SHORT_DAYS:
        return Clue(weekday=(WEEKDAYS | SHORT_DAYS)[word])
    if word in MONTHS:
        return Clue(month=MONTHS[word])
    word = " ".join(word.replace("xmas", "christmas").replace("’", "'").split())
    if "year" in word:
        moon = "" if word.startswith("new") else "lunar "
        return Clue(holiday=f"{moon}new year's eve" if "eve" in word else f"{moon}new year")
    if word.startswith("valentine"):
        return Clue(holiday="valentine")
    return Clue(holiday=word if word == "independence day" else word.removesuffix(" day"))


def _word(match: re.Match[str], now: datetime) -> Clue:
    return _name(match["w"].removeprefix("the").strip())


def _named(match: re.Match[str], now: datetime) -> Clue:
    """ "Last Tuesday", "next May", "this summer", "last Christmas"."""
    clue, which = _name(match["name"]), match["which"].split()
    if clue.weekday is not None and which[-1] == "coming":
        return replace(clue, which=None)  # "next Friday" is next week's, the coming one the nearest
    return replace(clue, which=WHICH[which[-1]])


def _this(match: re.Match[str], now: datetime) -> Clue:
    return replace(_name(match["w"]), which=0)


def _part(match: re.Match[str], now: datetime) -> Clue:
    return Clue(part=PARTS[match["part"]])


def _this_part(match: re.Match[str], now: datetime) -> Clue:
    return replace(calendar_unit(0, "day", now), part=PARTS[match["part"]])


def _clock(match: re.Match[str], now: datetime) -> Clue | None:
    hour, minute, half = int(match["hour"]), match["minute"], match["half"]
    if hour > 23 or (half and not 1 <= hour <= 12):
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    either = not half and not match["hour"].startswith("0")
    length = 60 if minute is None else 1
    return Clue(clock=(60 * hour + int(minute or 0), length), twelve=either or None)


def _hours(match: re.Match[str], now: datetime) -> Clue | None:
    """ "3 to 5 pm", "10am-1pm"."""
    ends: list[int] = []
    for hour, minute, half in (
        (match["h1"], match["m1"], match["half1"] or match["half2"]),
        (match["h2"], match["m2"], match["half2"]),
    ):
        if not 1 <= int(hour) <= 12:
            return None
        ends.append(60 * (int(hour) % 12 + 12 * (half == "p")) + int(minute or 0))
    if ends[0] >= ends[1] and not match["half1"]:
        ends[0] -= 720  # "11 to 2 pm"
    return Clue(clock=(ends[0], ends[1] - ends[0])) if 0 <= ends[0] < ends[1] else None


def _noon(match: re.Match[str], now: datetime) -> Clue:
    return Clue(clock=(1440 if match["w"] == "midnight" else 720, 60))


def _bare_hour(match: re.Match[str], now: datetime) -> Clue | None:
    return Clue(clock=(60 * int(match["w"]), 60), twelve=True) if int(match["w"]) < 24 else None


def _past_hour(match: re.Match[str], now: datetime) -> Clue | None:
    """ "Half past seven", "a quarter to 9"."""
    hour = int(match["hour"]) if match["hour"].isdigit() else COUNTS[match["hour"]]
    minutes = {"half past": 30, "quarter past": 15, "quarter to": -15}
    at = 60 * hour + minutes[" ".join(match["past"].split())]
    return Clue(clock=(at, 1), twelve=True) if 1 <= hour <= 12 else None


def _year(match: re.Match[str], now: datetime) -> Clue:
    return Clue(year=int(match["w"]))


def _day_of_month(match: re.Match[str], now: datetime) -> Clue | None:
    return Clue(day=int(match["day"])) if 1 <= int(match["day"]) <= 31 else None


def _quarter(match: re.Match[str], now: datetime) -> Clue:
    return Clue(stretch=(3 * int(match["quarter"]) - 2, 3))


def _decade(match: re.Match[str], now: datetime) -> Clue:
    digits = _DECADES.get(match["decade"], match["decade"])
    year = int(digits) if len(digits) == 4 else 1900 + int(digits)
    first = datetime(year, 1, 1, tzinfo=now.tzinfo)
    return Clue(fixed=(first, first.replace(year=year + 10)))


def _other(match: re.Match[str], now: datetime) -> Clue:
    """ "The other day": one of the last seven; "the other week": one of the last four."""
    days = 28 if match["u"] == "week" else 7
    today = now.date()
    return Clue(fixed=(day_start(shift(today, -days, "day"), now), day_start(today, now)))


def _so_far(match: re.Match[str], now: datetime) -> Clue:
    """ "Earlier this month" ends today, "later this week" begins today."""
    start, end = ago(now, 0, 0, unit(match["u"])[0])
    today = day_start(now.date(), now)
    if match["when"] == "later":
        return Clue(fixed=(today, end))
    return Clue(fixed=(start, today + timedelta(days=1)))


def _current(match: re.Match[str], now: datetime) -> Clue:
    """ "The end of the month": the one we are in; the words before say which part of it."""
    return calendar_unit(0, unit(match["u"])[0], now)


def _weekend(match: re.Match[str], now: datetime) -> Clue:
    return Clue(weekend=True)


def _recurring(match: re.Match[str], now: datetime) -> Clue:
    return Clue()


_TH = r"(?:st|nd|rd|th)"
_UNTIL = rf"(?:\s?(?:[-–]|to)\s?(?P<until>\d{{1,2}}){_TH}?)?"
_NOT_VERB = r"(?!\s+(?:be|have|not|also|need|want|well|even|get|help|cause|take|make|seem|go)\b)"
_ALONE = (
    r"(?=\s*(?:$|[.,;:!?)]|(?:and|at|i|we|he|she|they|you|for|with|so|but|to|in|after|before|my"
    r"|our)\b))"
)
_NO_COUNT = (
    r"(?![.,:/-]\d|['’]?s\b|\s*(?:%|(?:k?m|meters?|metres?|miles|people|steps|words|items|euros?"
    r"|dollars|pounds|calories|pieces|users|lines)\b))"
)
_M = r"(?:\.m\.?|m)(?!\w)"
_MINUTE = r"(?::(?P<minute>[0-5]\d))"
_NEXT = r"last|this(?:\s+(?:past|coming|last))?|next|coming|past|previous"
_DECADES = {"fifties": "50", "sixties": "60", "seventies": "70", "eighties": "80", "nineties": "90"}
_NAMES = {*MONTHS, *WEEKDAYS, *SHORT_DAYS, *SEASONS, *HOLIDAYS}
_PLURALS = {f"{name}s" for name in (*WEEKDAYS, "weekend", "weekday")}

RULES: list[Rule] = [
    rule(
        "void",
        r"\b(?:every|each|most|any)\s+(?:other\s+|single\s+|second\s+)?(?:weekdays?|holidays?"
        rf"|{WEEKDAY}s?|{MONTH}|{SEASON}s?|{UNIT}|{PART}s?)\b(?:\s+{PART}s?\b)?",
        _recurring,
        "every each most any",
    ),
    rule(
        "firm",
        r"(?<![\w./-])(?P<w>(?P<y>\d{4})[-/.](?P<m>\d\d?)[-/.](?P<d>\d\d?)(?:(?:t|\s)"
        r"(?P<hour>\d\d):(?P<minute>\d\d)(?::\d\d(?:\.\d+)?)?\s?(?P<zone>z|[+-]\d\d:?\d\d)?)?)"
        r"(?![\w/-]|\.\d)",
        _iso,
        DIGIT,
    ),
    rule(
        "firm",
        r"(?<![\w./-])(?P<a>\d\d?)(?P<sep>[./])(?P<b>\d\d?)(?P=sep)(?P<y>(?:19|20)\d\d)(?![\w/-])",
        _numeric,
        DIGIT,
    ),
    rule(
        "firm",
        rf"\b(?P<month>{MONTH})\.?\s+(?:the\s+)?(?P<day>\d\d?){_TH}?{_UNTIL}\b"
        r"(?![\d:%]|\.\d|\s?[ap]\.?m\b)",
        _date,
        MONTHS,
    ),
    rule(
        "firm",
        rf"(?<![\d.,:/-])\b(?P<day>\d\d?){_TH}?{_UNTIL}\s*(?:of\s+)?(?P<month>{MONTH})\b{_NOT_VERB}",
        _date,
        MONTHS,
    ),
    rule(
        "firm",
        rf"\b(?P<day>{'|'.join(ORDINALS)})(?P<until>\b)\s+of\s+(?P<month>{MONTH})\b",
        _date,
        MONTHS,
    ),
    rule("firm", rf"\bon\s+(?P<w>the\s+(?P<day>\d\d?){_TH})\b{_ALONE}", _day_of_month, DIGIT),
    rule("weak", rf"\bthe\s+(?P<day>\d\d?){_TH}\b", _day_of_month, DIGIT),
    rule(
        "firm",
        rf"\b(?P<n>{NUMBER})(?P<h1>\s+and\s+a\s+half)?\s+(?P<u>{UNIT})(?P<h2>\s+and\s+a\s+half)?"
        r"\s+(?:ago|back)\b",
        _distance(1),
        "ago back",
    ),
    rule(
        "firm",
        rf"\b(?P<n>{NUMBER})\s+(?P<u>{UNIT})\s+from\s+(?:now|today)\b",
        _distance(-1),
        "from",
    ),
    rule(
        "ahead",
        rf"\bin\s+(?:about\s+)?(?P<n>{NUMBER})\s+(?P<u>{UNIT})\b(?:['’]?\s+time\b)?(?!\s+of)",
        _distance(-1),
        {*UNITS, *(f"{name}s" for name in UNITS)},
    ),
    rule(
        "firm",
        rf"\b(?P<which>last|past|previous|next|coming)\s+(?P<n>{NUMBER})\s+(?P<u>{UNIT})\b",
        _rolling,
        "last past previous next coming",
    ),
    rule(
        "firm",
        rf"\bthe\s+(?P<w>(?P<which>past|coming)(?P<n>)\s+(?!weekend)(?P<u>{UNIT}))\b",
        _rolling,
        "past coming",
    ),
    rule(
        "firm",
        r"\b(?:over|in|during|for|within|throughout)\s+the\s+"
        rf"(?P<w>(?!next\s+day)(?P<which>last|next)(?P<n>)\s+(?P<u>{UNIT}))\b",
        _rolling,
        "last next",
    ),
    rule(
        "firm",
        rf"\b(?P<which>for)\s+(?:about\s+|over\s+|almost\s+|nearly\s+)?"
        rf"(?P<n>{NUMBER})\s+(?P<u>{UNIT})\s+now\b",
        _rolling,
        "now",
    ),
    rule(
        "firm",
        r"\bthe\s+(?P<u>day|week|weekend|month|year)\s+(?:before|after)\s+(?P<which>last|next)\b",
        _beyond,
        "last next",
    ),
    rule("firm", rf"\bthe\s+other\s+(?P<u>day|week|{PART})\b", _other, "other"),
    rule("firm", r"\b(?P<when>earlier|later)\s+this\s+(?P<u>week|month|year)\b", _so_far, "this"),
    rule(
        "firm",
        r"\b(?:start|beginning|middle|end)\s+of\s+(?P<w>the\s+(?P<u>week|month|year))\b(?!\s+of)",
        _current,
        "week month year",
    ),
    rule("firm", r"\b(?:the\s+)?day\s+before\s+yesterday\b", _day(-2), "yesterday"),
    rule("firm", r"\b(?:the\s+)?day\s+after\s+tomorrow\b", _day(2), "tomorrow"),
    rule("firm", r"\byesterday\b", _day(-1), "yesterday"),
    rule("firm", r"\b(?:earlier\s+|later\s+)?today\b", _day(0), "today"),
    rule("firm", r"\btomorrow\b", _day(1), "tomorrow"),
    rule("firm", r"\btonight\b", _day(0, "night"), "tonight"),
    rule("firm", r"\b(?:the\s+)?night\s+before\s+last\b", _day(-2, "night"), "night"),
    rule("firm", r"\blast\s+night\b", _day(-1, "night"), "night"),
    rule(
        "firm",
        rf"\b(?P<which>{_NEXT})\s+(?P<u>weekend|week|fortnight|month|year|decade)\b",
        _period,
        "weekend week fortnight month year decade",
    ),
    rule(
        "firm",
        rf"\b(?P<which>{_NEXT})\s+(?P<name>{WEEKDAY}|{SHORT_DAY}|{MONTH}|{SEASON}|{HOLIDAY})\b"
        r"(?<!\bthis\s(?:mar|may|sat|sun|wed|mon|dec))(?<!\bthis\smarch)",
        _named,
        _NAMES,
    ),
    rule("firm", r"\bthis\s+(?P<w>may|march|sat|sun|wed|mon)\b", _this, "this", proper=True),
    rule("void", rf"\b(?:on\s+)?(?:{WEEKDAY}|weekend|weekday)s\b", _recurring, _PLURALS),
    rule("void", rf"\b{WEEKDAY}\s+{PART}s\b", _recurring, WEEKDAYS),
    rule("firm", r"\bthis\s+(?P<part>morning|afternoon|evening)\b", _this_part, PARTS),
    rule("weak", rf"\b(?:early\s+|late\s+)?(?P<part>{PART})\b", _part, PARTS),
    rule(
        "firm",
        rf"(?<![\d:.])\b(?P<h1>\d\d?)(?::(?P<m1>[0-5]\d))?\s?(?:(?P<half1>[ap]){_M})?"
        rf"\s?(?:-|–|to|until|and)\s?(?P<h2>\d\d?)(?::(?P<m2>[0-5]\d))?\s?(?P<half2>[ap]){_M}",
        _hours,
        DIGIT,
    ),
    rule("firm", rf"(?<![\d:.])\b(?P<hour>\d\d?){_MINUTE}?\s?(?P<half>[ap]){_M}", _clock, DIGIT),
    rule(
        "firm",
        r"\b(?:at|by|until|till|from|around|about|before|after)\s+"
        rf"(?P<w>(?P<hour>\d\d?){_MINUTE}(?P<half>))(?![\d:])",
        _clock,
        DIGIT,
    ),
    rule("weak", rf"(?<![\d:.])(?P<hour>\d\d?){_MINUTE}(?P<half>)(?![\d:])", _clock, DIGIT),
    rule("firm", r"\b(?P<w>\d\d?)\s+o['’]clock\b", _bare_hour, DIGIT),
    rule(
        "firm",
        rf"\b(?P<past>half\s+past|quarter\s+past|quarter\s+to)\s+(?P<hour>\d\d?|{alternation(COUNTS)})\b",
        _past_hour,
        "past quarter",
    ),
    rule("weak", r"\bat\s+(?P<w>\d\d?)\b(?![\d:.%/-])", _bare_hour, DIGIT),
    rule("firm", r"\bat\s+(?P<w>noon|midday|midnight)\b", _noon, "noon midday midnight"),
    rule("weak", r"\b(?P<w>noon|midday|midnight)\b", _noon, "noon midday midnight"),
    rule(
        "firm",
        r"\b(?:in|since|of|during|from|until|till|by|before|after|through|year|around)\s+"
        rf"(?:the\s+year\s+)?(?P<w>(?:19|20)\d\d)\b{_NO_COUNT}",
        _year,
        DIGIT,
    ),
    rule("firm", r"^\s*(?P<w>(?:19|20)\d\d)\s*[.?!]?\s*$", _year, DIGIT),
    rule("weak", r"(?<![\w.$€£-])(?P<w>(?:19|20)\d\d)\b(?![.,:/-]\d)", _year, DIGIT),
    rule("firm", r"\bthe\s+(?P<decade>(?:19|20)\d0|[5-9]0)['’]?s\b", _decade, DIGIT),
    rule("firm", rf"\bthe\s+(?P<decade>{alternation(_DECADES)})\b", _decade, _DECADES),
    rule("firm", r"\bq(?P<quarter>[1-4])\b", _quarter, DIGIT),
    rule(
        "firm",
        rf"\b(?:on|by|until|till|since|from|before|after)\s+(?P<w>{SHORT_DAY})\b",
        _word,
        SHORT_DAYS,
        proper=True,
    ),
    rule("firm", rf"\b(?P<w>{WEEKDAY})\b", _word, WEEKDAYS),
    rule("weak", rf"\b(?P<w>{SHORT_DAY})\b", _word, SHORT_DAYS, proper=True),
    rule("firm", rf"\b(?:in|since|until|till|during|throughout)\s+(?P<w>{MONTH})\b", _word, MONTHS),
    rule(
        "firm",
        r"\b(?P<w>january|february|july|september|october|november|december)\b",
        _word,
        MONTHS,
    ),
    rule("weak", rf"\b(?P<w>{MONTH})\b", _word, MONTHS, proper=True),
    rule(
        "firm",
        rf"\b(?:in|over|during|throughout|since|until|till|by)\s+(?P<w>the\s+{SEASON})\b",
        _word,
        SEASONS,
    ),
    rule("weak", rf"\b(?P<w>{SEASON})\b", _word, SEASONS),
    rule(
        "firm",
        rf"\b(?:on|at|for|over|since|before|after|during|by|until|till)\s+(?P<w>{HOLIDAY})\b",
        _word,
        HOLIDAYS,
    ),
    rule("weak", rf"\b(?P<w>{HOLIDAY})\b", _word, HOLIDAYS),
    rule(
        "firm",
        r"\b(?:over|on|at|during|for|in|until|till|by)\s+(?P<w>the\s+weekend)\b",
        _weekend,
        "weekend",
    ),
]
"""In order of precedence: words taken by one rule are not offered to the next."""
