"""How Chinese says when: patterns, and the clue each one gives."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

from memstrata.text.time_calendar import (
    PARTS,
    Clue,
    Tense,
    Unit,
    ago,
    calendar_unit,
    day_start,
    shift,
)
from memstrata.text.time_english import alternation
from memstrata.text.time_rules import Rule, rule

__all__ = ["CUE", "NUMBER", "RULES", "UNIT", "number", "tense", "unit"]

_DIGITS = {char: n for n, char in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2}
NUMBER = r"(?:\d{1,3}|[一二两三四五六七八九十]{1,3}|几|半|数)"
UNIT = r"(?:秒钟?|分钟|小时|钟头|天|日|周末|周|星期|礼拜|月|年)"
_DAY = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_WEEK = r"(?:周|星期|礼拜)"
# 上周一起吃饭 is "ate together last week", not "last Monday"; 下周三个人 is three people.
_WEEKDAY = (
    r"(?:(?P<d>[一二三四五六日天末])"
    r"(?!(?<=一)[起直些样共家般边次场点]|(?<=[一二三四五六])[个位名天]))"
)
_UNITS: dict[str, Unit] = {
    "秒": "second",
    "分钟": "minute",
    "小时": "hour",
    "钟头": "hour",
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "周末": "weekend",
    "月": "month",
    "年": "year",
}
_OFFSETS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_DAYS = {
    **{"大前天": -3, "前天": -2, "前日": -2, "昨天": -1, "昨日": -1, "今天": 0, "今日": 0},
    **{"明天": 1, "明日": 1, "后天": 2, "大后天": 3},
    **{"前晚": -2, "昨晚": -1, "昨夜": -1, "今早": 0, "今晨": 0, "今晚": 0, "今夜": 0},
    **{"明早": 1, "明晨": 1, "明晚": 1},
}
_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}
_NIGHT, _MORNING = PARTS["night"], PARTS["morning"]
_PARTS = {
    **dict.fromkeys(("凌晨",), (0, 6)),
    **dict.fromkeys(("清晨", "早晨", "早上", "清早", "一早"), _MORNING),
    **{"上午": (6, 12), "中午": (11, 14), "下午": (12, 18), "午后": (12, 18), "傍晚": (17, 20)},
    **dict.fromkeys(("晚上", "夜里", "夜晚", "晚间", "半夜", "深夜"), _NIGHT),
}
_SEASONS = {"春": 0, "夏": 1, "秋": 2, "冬": 3}
_HOLIDAYS = {
    **dict.fromkeys(("元旦", "新年"), "new year"),
    **{"情人节": "valentine", "复活节": "easter", "儿童节": "children's day"},
    **dict.fromkeys(("劳动节", "五一"), "labour day"),
    **dict.fromkeys(("国庆节", "国庆", "十一假期"), "national day"),
    **{"万圣节": "halloween", "感恩节": "thanksgiving"},
    **{"平安夜": "christmas eve", "圣诞节": "christmas", "圣诞": "christmas"},
    **dict.fromkeys(("跨年夜", "跨年"), "new year's eve"),
    **dict.fromkeys(("春节", "大年初一"), "lunar new year"),
    **dict.fromkeys(("除夕", "大年三十"), "lunar new year's eve"),
    **dict.fromkeys(("元宵节", "元宵"), "lantern festival"),
    **dict.fromkeys(("端午节", "端午"), "dragon boat festival"),
    **dict.fromkeys(("中秋节", "中秋"), "mid-autumn festival"),
}

CUE = re.compile(
    rf"[大]?[前昨今明后][天日晚夜早晨年]|去年|[上下这本]一?个?(?:{_WEEK}|月)|{_WEEK}[一二三四五六日天末]"
    rf"|{NUMBER}个?半?{UNIT}(?:之|以)?[前后内来]|(?:过去|最近|近|这|前|未来|接下来){NUMBER}"
    rf"|{_DAY}月|\d[号日点时]|[12〇零一二][\d〇零一二三四五六七八九]{{3}}年"
    r"|[早晨午晚夜里].{0,1}[\d一二两三四五六七八九十]{1,3}[点时]|[春夏秋冬][天季]"
    r"|[点时][半整钟]|[年月周][初底末中]|今[早晚]|[早晚]上|[上下]午|季度|半年|年代|前[阵些段]|"
    + "|".join(_HOLIDAYS)
)

_FUTURE = re.compile(
    r"将|(?<![开聚约社机宴晚班年议学])会(?![议员])|(?<![重主需必不])要|打算|准备|计划|想|希望|即将|明天|后天|下周|下个?月|明年"
    r"|提醒|截止|安排|预约|到时"
)
_PAST = re.compile(r"了|过(?!去|几|两)|曾|刚|以前|当时|已经|昨|去年|上周|上个?月|是在.*的")


def tense(sentence: str) -> Tense:
    """Whether a Chinese sentence speaks of the future, of the past or, else, of the present."""
    if _FUTURE.search(sentence):
        return "future"
    return "past" if _PAST.search(sentence) else "present"


def number(words: str) -> int:
    """The value of a number below a thousand in digits or characters; 二〇二三 digit by digit."""
    if words.isdecimal():
        return int(words)
    if "十" not in words:
        return int("".join(str(_DIGITS[char]) for char in words))
    tens, ones = words.split("十", 1)
    return 10 * (_DIGITS[tens] if tens else 1) + (_DIGITS[ones] if ones else 0)


def unit(word: str) -> Unit:
    """The calendar unit of a word."""
    return _UNITS[word.removesuffix("钟") if word.startswith("秒") else word]


def _between(words: str) -> tuple[int, int]:
    if words in ("几", "数"):
        return 2, 5
    n = number(words)
    return n, n


def _year(match: re.Match[str], now: datetime) -> Clue | None:
    year = number(match["y"]) if len(match["y"]) == 4 else 2000 + number(match["y"])
    return Clue(year=year) if 1900 <= year < 2100 else None


def _near_year(match: re.Match[str], now: datetime) -> Clue:
    return Clue(year=now.year + _YEARS[match["w"]])


def _month(match: re.Match[str], now: datetime) -> Clue | None:
    month, day = number(match["m"]), number(match["d"]) if match["d"] else None
    last = number(match["until"]) if match["until"] else None
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    return Clue(month=month, day=day, last_day=last)


def _offset(match: re.Match[str], now: datetime) -> Clue:
    """上周三, 下下个月, 这个周末."""
    n = _OFFSETS[match["w1"]]
    if match["unit"] == "月":
        return calendar_unit(n, "month", now)
    day = match["d"]
    if day == "末":
        return calendar_unit(n, "weekend", now)
    clue = calendar_unit(n, "week", now)
    return replace(clue, weekday=_weekday_number(day)) if day else clue


def _weekday_number(day: str) -> int:
    return "一二三四五六日天".index(day) % 7 if day != "天" else 6


def _weekday(match: re.Match[str], now: datetime) -> Clue:
    if match["d"] == "末":
        return Clue(weekend=True)
    return Clue(weekday=_weekday_number(match["d"]))


def _day(match: re.Match[str], now: datetime) -> Clue:
    word = match["w"]
    clue = calendar_unit(_DAYS[word], "day", now)
    if word[-1] in "晚夜":
        return replace(clue, part=_NIGHT)
    return replace(clue, part=_MORNING) if word[-1] in "早晨" else clue


def _day_of_month(match: re.Match[str], now: datetime) -> Clue | None:
    day = number(match["d"])
    return Clue(day=day) if 1 <= day <= 31 else None


def _distance(match: re.Match[str], now: datetime) -> Clue:
    """三天前, 半年前, 两周后."""
    name = unit(match["u"])
    sign = 1 if match["dir"] == "前" else -1
    if match["n"] == "半":
        halves: dict[Unit, tuple[Unit, int]] = {
            "year": ("month", 6),
            "month": ("day", 15),
            "hour": ("minute", 30),
            "day": ("hour", 12),
        }
        name, least = halves.get(name, (name, 1))
        most = least
    else:
        least, most = _between(match["n"])
    if least != most or name in ("second", "minute", "hour"):
        return Clue(fixed=ago(now, sign * least, sign * most, name))
    return calendar_unit(-sign * least, name, now)


def _rolling(match: re.Match[str], now: datetime) -> Clue | None:
    """最近三个月, 过去一年, 未来两周: until now or from now, today included."""
    name = unit(match["u"])
    most = 1 if match["n"] == "半" else _between(match["n"])[1]
    if match["n"] == "半" and name == "year":
        name, most = "month", 6
    if name in ("second", "minute", "hour"):
        return None
    back = match["w1"] not in ("未来", "接下来")
    today = now.date()
    far = shift(today, -most if back else most, name)
    first, last = (far, shift(today, 1, "day")) if back else (today, shift(far, 1, "day"))
    return Clue(fixed=(day_start(first, now), day_start(last, now)))


def _vague(match: re.Match[str], now: datetime) -> Clue:
    """前几天 is one of the last seven days, 前阵子 lies in the last two months."""
    days = 7 if match["w"] in ("前几天", "前两天", "前些天", "前些日子") else 60
    today = now.date()
    return Clue(fixed=(day_start(shift(today, -days, "day"), now), day_start(today, now)))


def _part(match: re.Match[str], now: datetime) -> Clue:
    return Clue(part=_PARTS[match["w"]])


def _clock(match: re.Match[str], now: datetime) -> Clue | None:
    hour = number(match["h"])
    if hour > 24:
        return None
    minute = 0
    if match["half"]:
        minute = 30
    elif match["quarter"]:
        minute = 15 * number(match["quarter"])
    elif match["min"]:
        minute = number(match["min"])
    exact = bool(match["half"] or match["quarter"] or match["min"])
    return Clue(clock=(60 * hour + minute, 1 if exact else 60), twelve=True)


def _season(match: re.Match[str], now: datetime) -> Clue:
    return Clue(season=_SEASONS[match["w"][0]])


def _stretch(match: re.Match[str], now: datetime) -> Clue:
    return Clue(stretch=(3 * number(match["q"]) - 2, 3))


def _half_year(match: re.Match[str], now: datetime) -> Clue:
    return Clue(stretch=(1 if match["w"][0] == "上" else 7, 6))


def _holiday(match: re.Match[str], now: datetime) -> Clue:
    return Clue(holiday=_HOLIDAYS[match["w"]])


def _decade(match: re.Match[str], now: datetime) -> Clue:
    decade = number(match["decade"])
    year = decade if decade > 99 else 1900 + decade
    first = datetime(year, 1, 1, tzinfo=now.tzinfo)
    return Clue(fixed=(first, first.replace(year=year + 10)))


def _edge(match: re.Match[str], now: datetime) -> Clue:
    """年底, 月初: of the year or month we are in; 底 or 初 is read from the words after it."""
    return calendar_unit(0, _UNITS[match["w"]], now)


def _none(match: re.Match[str], now: datetime) -> Clue:
    return Clue()


_PART = "|".join(_PARTS)
_MINUTES = r"(?:(?P<half>半)|(?P<quarter>[一三])刻|(?P<min>\d{1,2}|[一二三四五六七八九十]{1,3})分)"
_HOUR = r"(?P<h>\d{1,2}|[一二两三四五六七八九十]{1,3})"

RULES: list[Rule] = [
    # What recurs is no point in time.
    rule(
        "void",
        rf"每一?个?(?:(?:{_WEEK})?[一二三四五六日天末]|{_WEEK}|月|年|天|晚|早|[春夏秋冬]天)"
        rf"(?:的?(?:{_PART}))?",
        _none,
    ),
    rule(
        "void",
        rf"(?<![上下这本从]){_WEEK}[一二三四五六]\s*[到至]\s*(?:{_WEEK})?[一二三四五六日天]",
        _none,
    ),
    rule("firm", r"(?<!\d)(?P<y>(?:19|20)\d\d|[一二][〇零一二三四五六七八九]{3})\s*年", _year),
    rule("firm", r"(?<![\d第])(?P<y>\d\d)年(?=\s*(?:\d{1,2}月|[春夏秋冬初底]))", _year),
    rule("firm", rf"(?P<w>{alternation(_YEARS)})", _near_year),
    rule(
        "firm",
        rf"(?<![\d.第个])(?P<m>{_DAY})\s*月(?![亮球饼经薪票卡])(?:份|\s*(?P<d>{_DAY})"
        rf"(?:\s*[日号])?(?:\s*[-–到至~]\s*(?P<until>{_DAY}))?\s*[日号])?",
        _month,
    ),
    rule("firm", rf"(?P<w1>上上|下下|[上下这本])一?个?(?P<unit>{_WEEK}){_WEEKDAY}?", _offset),
    rule("firm", r"(?P<w1>上上|下下|[上下这本])一?个?(?P<unit>月)(?P<d>)(?![亮球饼])", _offset),
    rule("firm", rf"(?<![一两三几\d个]){_WEEK}{_WEEKDAY}", _weekday),
    rule("firm", rf"(?P<w>{alternation(_DAYS)})", _day),
    rule(
        "firm",
        rf"(?<![\d第])(?P<n>{NUMBER})个?半?(?P<u>{UNIT})(?:之|以)?(?P<dir>前)(?!的?[几两])",
        _distance,
    ),
    rule(
        "ahead", rf"(?<![\d第])(?P<n>{NUMBER})个?半?(?P<u>{UNIT})(?:之|以)?(?P<dir>后)", _distance
    ),
    rule(
        "firm", r"(?P<w>前几天|前两天|前些天|前些日子|前阵子|前一阵子?|前段时间|前一段时间)", _vague
    ),
    rule(
        "firm",
        rf"(?P<w1>过去|最近|近|这|未来|接下来)的?(?P<n>{NUMBER})个?(?P<u>{UNIT})(?!前|后)",
        _rolling,
    ),
    rule("weak", rf"(?P<w>{_PART})", _part),
    rule("firm", rf"(?<=[午上晚晨早里夜间]){_HOUR}[点时](?:钟|整|{_MINUTES})?", _clock),
    rule("firm", rf"(?<![\d第有])(?!一[点时]){_HOUR}[点时](?:钟|整|{_MINUTES})", _clock),
    rule(
        "weak", rf"(?<![\d第有])(?!一[点时]){_HOUR}[点时](?P<half>)(?P<quarter>)(?P<min>)", _clock
    ),
    rule("weak", r"(?P<w>[春夏秋冬][天季])", _season),
    rule("firm", r"第(?P<q>[一二三四1-4])季度", _stretch),
    rule("firm", r"(?P<w>[上下]半年)", _half_year),
    rule("firm", rf"(?P<w>{alternation(_HOLIDAYS)})", _holiday),
    rule("firm", r"(?<!\d)(?P<decade>(?:19|20)\d0|[5-9]0|[五六七八九]十)年代", _decade),
    rule("firm", r"(?<![\d一-龥])(?P<w>[年月])(?=[初底末])", _edge),
    rule("firm", rf"(?<=月)(?P<d>{_DAY})[号日]", _day_of_month),
    rule(
        "firm",
        r"(?<![\d第#a-zA-Z.])(?P<d>\d{1,2})[号日](?![楼线门店房桌车院厅馆口员选球路机柜文子元])",
        _day_of_month,
    ),
]
"""In order of precedence: words taken by one rule are not offered to the next."""
