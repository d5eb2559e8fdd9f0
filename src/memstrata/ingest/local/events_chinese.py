"""What happened, what is planned, and what is done again and again, in Chinese clauses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from memstrata.ingest.local.events import Event
from memstrata.ingest.local.findings import Finding, when_of
from memstrata.records import TimeSpan

__all__ = ["event", "habit"]

_EVERY = re.compile(
    r"每(?:天|周|晚|早|月|年|个(?:周末|星期|月|早上|晚上)|逢)|周末都|天天|"
    r"(?:一般|通常|经常|常常|平时都?|总是|习惯了?)"
    r"(?=\S*[去做吃喝跑练打看读写睡起走玩学弹游骑锻健散背记])"
)
_NO_HABIT = re.compile(r"了|没|不|应该|可以|要|打算|想|觉得|感到|感觉|会不|[是被让].*的")
_DEED = re.compile(r"[去做吃喝跑练打看读写睡起走玩学弹游骑锻健散背记]")


def habit(text: str, at: int, who: str, place: tuple[int, int]) -> Finding | None:
    """What somebody does again and again, in the words it was said with."""
    often = _EVERY.search(text)
    if often is None or often.start() > at + 4 or _NO_HABIT.search(text):
        return None
    value = text[at:].strip().strip("都也会的 ")
    if not 5 <= len(value) <= 24 or not _DEED.search(value):
        return None
    return Finding(who, "habit", value, *place, confidence=0.75, language="zh")


_HAPPENED = re.compile(
    r"去了|参加了|买了|搬到|搬进|搬家|毕业|结婚|离婚|订婚|入职|辞职|离职|跳槽|完成了|见了|"
    r"见到了|看了|"
    r"报名了|获得了|拿到了|拿了|赢了|丢了|摔了|摔倒|受伤|做了|手术|收养了|领养了|生了|出生|"
    r"考上|考过|"
    r"通过了|升职|开了|跑了|爬了|写完|读完|学会了|去世|住院|出院|搬来|认识了|拜访了|参观了|举办了|"
    r"度过了|收到了|修好了|换了|卖了|骨折"
)
# Without a date only what is told as done, with what it was done to.
_BARE = re.compile(
    r"毕业了|去世了|怀孕了|(?<!要)(?:结婚|离婚|订婚|入职|辞职|离职|搬家|升职|退休)了|"
    r"(?:参加|收养|领养|报名|获得|取得|赢得|拿到|收到|参观|拜访|认识|举办|学会|通过|去看|买|"
    r"换|卖)"
    r"了(?:[一两三四五六七八九十几\d]|[^，。这那什么吗个很多]{2})|考上了?[^，。]{2}|"
    r"做了\S{0,6}手术|"
    r"搬(?:家)?(?:到|进|去|来)了?[^，。]{2}|生了(?:一?个|[^，。气病]{0,3}(?:孩子|儿子|女儿|宝宝))|"
    r"(?:去|到)了(?!解)[^，。的]{0,8}(?:旅[行游]|出差|看|玩|参加|海边|公园|医院|动物园|"
    r"游乐园|博物馆)|"
    r"[得考]了?(?:第[一二三四五六七八九十\d]+名|冠军|亚军|季军|一等奖|二等奖|三等奖)"
)
_PLANNED = re.compile(
    r"(?<![主重需必不想只还])要(?!求|是|不|么|点|素)|打算|准备(?!好|了)|计划(?!书)|"
    r"(?<![不机社误])会(?!议|员|计|场|话|谈|面|不|更|很|议室)|将(?!军|近)|约了|预约|订了|"
    r"定了(?=\S*(?:票|酒店|机|位))|"
    r"有(?:一?个|一?场|一?次|一?节)?\S{0,6}(?:会议|考试|面试|比赛|约会|手术|聚会|婚礼|演出|"
    r"课$|航班|体检)|"
    r"去(?!了|过|年|世|掉|除)"
)
_TODAY = re.compile(
    r"(?<![主重需必不想只还])要(?!求|是|不|么|点)|打算|准备(?!好|了)|约了|预约|今晚"
)
# After a time to come a deed is a plan without more words: 我周末去店里.
_NEXT = re.compile(
    r"[，,\s]*(?:我们?|咱们)?(?:再|先|就|也|还|一起|会)*(?:(?:结婚|毕业|搬家|出差|面试|"
    r"过生日|回国|动手术|放假|开学)|"
    r"(?:去|来|做|写|看|开|拉|发|交|找|见|跑|出|给|把|补|改|带|参|回|到|测|录|搬|考|调|打|试|整理|"
    r"安排|早会)[^，。了的吗])"
)
_JUST = re.compile(r"刚刚?|今天|今早|今晚")
_DENIED = re.compile(r"没|不(?!久|小心|得不)|每|如果|希望|能不能|可以|应该")


def event(
    text: str,
    at: int,
    who: str,
    place: tuple[int, int],
    spans: Sequence[TimeSpan],
    said_at: datetime,
) -> Event | None:
    """The event or plan a clause tells of; its subject ends at `at`. None for what is not sure."""
    rest = text[at:]
    if _DENIED.search(rest) or _EVERY.search(text):
        return None
    span = when_of(text, [one for one in spans if _leads(one, text, at)])
    if span is None:
        return _undated(rest, who, place, said_at)
    if span.start <= said_at and (_HAPPENED.search(rest) or _told(rest, span)):
        return Event(who, *place, span, False, 0.85)
    soon = span.end > said_at and span.start > said_at - timedelta(days=1)
    today = span.start <= said_at
    told = _after(rest, span)
    if soon and "了" not in told and (_TODAY if today else _PLANNED).search(told):
        return Event(who, *place, span, True, 0.8)
    if soon and not today and _NEXT.match(told):
        return Event(who, *place, span, True, 0.7)
    return None


def _leads(span: TimeSpan, text: str, at: int) -> bool:
    """Whether a time stands where a clause says when: before its verb, about the subject."""
    place = text.find(span.text)
    return 0 <= place <= at + 3 and text[max(0, place - 2) : place] not in ("相比", "对比")


def _after(rest: str, span: TimeSpan) -> str:
    return rest.replace(span.text, "", 1)


def _told(rest: str, span: TimeSpan) -> bool:
    return "了" in _after(rest, span) and not re.search(
        r"[觉感]|[很太最更好]|又|开始|要|想|会|打算|准备|该|快", rest
    )


def _undated(rest: str, who: str, place: tuple[int, int], said_at: datetime) -> Event | None:
    if _BARE.search(rest) is None or re.search(r"要|想|会(?!议)|打算|准备|[给让被]", rest):
        return None
    return Event(who, *place, None, False, 0.65, said_at if _JUST.search(rest) else None)
