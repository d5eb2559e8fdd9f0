"""What a Chinese sentence states: facts, relations, events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from memstrata.ingest.local.clauses import Sentence
from memstrata.ingest.local.events import Event
from memstrata.ingest.local.events_chinese import event, habit
from memstrata.ingest.local.facts_chinese import facts, han_items, han_trim
from memstrata.ingest.local.findings import Finding, when_of
from memstrata.ingest.local.people import HAN_KIN, Talk
from memstrata.ingest.local.words_chinese import JOBS
from memstrata.records import TimeSpan
from memstrata.text.names import names

__all__ = ["read"]

_PIECE = re.compile(r"[^，,；;：:（）()\n~～]+")
_UNREAL = re.compile(
    r"如果|要是|假如|假设|假使|倘若|万一|想象一下|据说|听说|开玩笑|梦见|除非|比如说|歌词|"
    r"的话$|的话，"
)
_OPENERS = re.compile(
    r"(?:\s|其实|对了|嗯+|哦+|啊+|哈哈+|那么?|然后|而且|但是?|可是|不过|因为|所以|话说|说起来|"
    r"顺便|另外|还有|总之|说实话|老实说|平时|你好|您好|嗨|大家好|是的|好的|当然|不瞒你说|由于|虽然|"
    r"毕竟|其次|首先|最近|后来|当时|从小|小时候|今年|目前|现在|以前|之前|曾经|当年|谢谢你?|唉|诶|"
    r"哎|不行|没错|是啊|对啊|可惜|幸好|结果|于是|这样|原来|记得|我记得|我觉得)+"
)
_KIN = "|".join(sorted(HAN_KIN, key=len, reverse=True))
_FIRST = re.compile(
    r"(?:我们|我|咱们|本人|俺)(?:家(?:里)?(?=有|养|住)|(?!的|家|妈|爸|哥|姐|弟|妹|们))"
)
_POSSESSED = re.compile(
    rf"(?P<owner>我们|我|他|她|咱)(?:的|家的?|们)?(?P<adj>大|小|远房|最好的|好|前|亲|"
    rf"双胞胎)?(?P<kin>{_KIN})(?!们|节|店|生日快乐|粮|咪咪|家)(?:，?(?:名字)?(?:叫做?|"
    rf"名叫)(?P<called>[一-龥]{{1,4}}|[A-Za-z]{{2,12}})(?=[，。！,.\s]|"
    rf"$))?"
)
_ASPECT = re.compile(
    r"(?P<owner>我|他|她)(?:们)?的?(?P<aspect>名字|全名|小名|网名|英文名|外号|昵称|"
    r"生日|年龄|职业|工作|爱好|兴趣爱好|兴趣|老家|家乡|故乡|梦想|理想|母语|专业|血型|星座|"
    r"国籍)(?:呢)?(?:就)?(?P<is>是|"
    r"叫做?|在|为)(?P<v>[^，。！；]{1,20})"
)
_THEY = re.compile(r"(他|她)(?!们|的|人|妈|爸)")
_ADVERBS = re.compile(
    r"(?:\s|也|还(?!是)|都|就|一直|真的|真|特别|非常|十分|很|更|挺|超级|超|比较|其实|现在|"
    r"目前|已经|刚刚|刚|最近|从小|平时|经常|常常|总是|如今|仍然|依然|本来|原来|原先|以前|"
    r"之前|曾经?|"
    r"当时|后来|终于|又|再|是真的|确实|可|这|这几年|几年前|本身|个人|自己|那时|年轻时|"
    r"小时候|大学时|"
    r"上个?月|这个月|家里?(?=[住有养])|主要|大多|偶尔|有时候?|一般|通常|开始|改(?=[喝吃用])|"
    r"们|俩|一家人?|全家)*"
)
_PAST = re.compile(r"以前|曾经|之前|原来|原先|过去|小时候|当年|曾(?=在|住|是)|年轻时")
_NEGATED = re.compile(r"(?:已经|现在)?(?:不再|不(?=住|在|做|当|是(?!很|特别|太|不))|没再|已经不)")
_CHANGE = re.compile(r"现在|如今|不再|已经不|又|改(?:成|为)?了|换(?:成|到)?了|重新")


class _Who(NamedTuple):
    label: str
    end: int


def read(
    sentence: Sentence, talk: Talk, spans: list[TimeSpan], said_at: datetime
) -> Iterator[Finding | Event]:
    """What one sentence states; the talk takes note of whom it speaks."""
    talk.lines.append([])
    yield from _relations(sentence, talk)
    if sentence.asks:
        return
    unreal = _UNREAL.search(sentence.text)
    limit = sentence.start + unreal.start() if unreal else sentence.end
    carried: str | None = None
    pet = False
    for piece in _PIECE.finditer(sentence.text):
        start, end = sentence.start + piece.start(), sentence.start + piece.end()
        if start >= limit or piece[0].rstrip("。！!.")[-1:] in ("吗", "呢", "吧"):
            break
        text = piece[0][: limit - start].rstrip('。！!.…"” ')
        at = _begin(text, spans)
        if aspect := _ASPECT.match(text, at):
            yield from _aspect(aspect, talk, (start, end), spans)
            continue
        who = _subject(text, at, talk)
        if who is None and carried is None and piece.start() == 0 and _OWN.match(text, at):
            carried = talk.speaker
        else:
            carried = who.label if who else carried if _continues(text, at) else None
        if carried is None:
            continue
        if pet and (called := _CALLED.match(text, at)):
            yield Finding(carried, "pet", called["v"], start, end, language="zh")
            continue
        pet = False
        where = who.end if who else at
        for found in _stated(text, where, carried, (start, end), spans, said_at):
            pet = pet or (isinstance(found, Finding) and found.attribute == "has_pet")
            yield found


# What without a subject the speaker says of nobody else.
_OWN = re.compile(
    r"(?:也|还|都|一直|现在|刚|已经|正)*(?:在学|养了|家里?[有养住]|住在|对[^，。]{1,8}过敏|"
    r"单身|搬到|戒烟|戒酒|"
    r"患有|不吃|不喝|(?:\d{1,3}|[二三四五六七八九]十[一二三四五六七八九]?)岁|"
    r"有一?[个只条]\S{0,4}(?:儿子|女儿|孩子|猫|狗)|"
    r"(?:最|特别|很|更|超级?)喜欢|(?:是|做)一?[名个位]\S{1,8}$)"
)
_CALLED = re.compile(
    r"(?:它|她|他)?(?:的)?(?:名字)?(?:就|是)?(?:叫做?|名叫)(?P<v>[一-龥]{1,4}|[A-Z][a-z]+)$"
)


_TIME_LEAD = re.compile(r"(?:自从|从|自|在|打)+(?=[\d一二三四五六七八九十今昨前去上])")
_TIME_END = re.compile(r"(?:[起初末底]|开始|以来|的时候|时|之后|，|,|\s)+")


def _begin(text: str, spans: list[TimeSpan], at: int = 0) -> int:
    """Past linking words and times."""
    for _ in range(3):
        match = _OPENERS.match(text, at)
        at = match.end() if match else at
        after = _past_time(text, spans, at)
        if after == at:
            return at
        at = after
    return at


def _past_time(text: str, spans: list[TimeSpan], at: int) -> int:
    lead = _TIME_LEAD.match(text, at)
    for begin in (at, lead.end() if lead else at):
        for span in spans:
            if span.text and text.startswith(span.text, begin):
                end = begin + len(span.text)
                close = _TIME_END.match(text, end)
                return close.end() if close else end
    return at


_NEW_SUBJECT = re.compile(
    r"[小阿](?!时|学|心|朋|孩|声|区|组|步)[一-龥][和跟在把被也说又就]|"
    r"[你您它这那谁有对该每各其大]|他们|她们|我们的|我的|很多|所有|别人|人们|孩子|家里人|"
    r"老板|医生|老师|同事|朋友"
)


def _continues(text: str, at: int) -> bool:
    """Whether a clause without a subject goes on about that of the clause before."""
    return not (_NEW_SUBJECT.match(text, at) and text[at : at + 1] not in "有对每")


def _subject(text: str, at: int, talk: Talk) -> _Who | None:
    if match := _POSSESSED.match(text, at):
        return _possessed(text, match, talk)
    if match := _FIRST.match(text, at):
        return _Who(talk.speaker, match.end())
    if match := _THEY.match(text, at):
        label = talk.who("m" if match[1] == "他" else "f")
        return _Who(label, match.end()) if label else None
    if text[at : at + 1] in "你您它这那":
        return None
    if latin := _LATIN.match(text, at):
        talk.mention(latin[0])
        return _Who(latin[0], latin.end())
    for name in _people(text):
        if text.startswith(name, at):
            talk.mention(name)
            return _Who(name, at + len(name))
    return None


# A name in Latin letters before words that only somebody can do.
_LATIN = re.compile(
    r"[A-Z][a-z]+(?: [A-Z][a-z]+)?(?=(?:也|还|都|很|最|更|一直|特别|非常|真的|昨天|今天|"
    r"上周|去年|现在|以前|"
    r"已经|不|从小|超级?|有点)*(?:喜欢|讨厌|爱|住|搬|是[^，。]*(?:师|生|人|员)$|"
    r"在[^，。]{2,12}(?:工作|上班|"
    r"读|住|获得|参加|看|得|学|买|认识|收到)|参加|获得|收到|学会|养|对\S+过敏|怕|去|参观|"
    r"结婚|毕业|想|擅长|叫))"
)


def _people(text: str) -> list[str]:
    return [one.text for one in names(text) if one.type == "person"]


_NO_NAME = re.compile(r"[去今昨明前后上下结离已曾住在是有会想要很也都和跟还说喜爱对养从叫生过]")
_LITTLE = re.compile(r"[小阿老][一-龥](?=[在是去会喜爱想住今也很最从叫刚养对讨考学，。])")


def _possessed(text: str, match: re.Match[str], talk: Talk) -> _Who | None:
    owner = _owner(match["owner"], talk)
    if owner is None:
        return None
    kin = HAN_KIN[match["kin"]]
    label = f"{owner}的{match['adj'] or ''}{match['kin']}"
    name, end = _name_after(text, match)
    if name:
        talk.kin[label] = name
    label = talk.kin.get(label, label)
    talk.mention(label, kin.gender)
    return _Who(label, end)


def _name_after(text: str, match: re.Match[str]) -> tuple[str | None, int]:
    if match["called"]:
        return match["called"], match.end()
    end = match.end()
    if little := _LITTLE.match(text, end):
        return little[0], little.end()
    if re.match(r"[一-龥A-Z]", text[end : end + 1]) and not _NO_NAME.match(text, end):
        for name in _people(text[end:]):
            if text.startswith(name, end):
                return name, end + len(name)
        latin = re.match(r"[A-Z][a-z]+", text[end:])
        if latin:
            return latin[0], end + latin.end()
    return None, end


def _owner(word: str, talk: Talk) -> str | None:
    if word[0] in "我咱":
        return talk.speaker
    return talk.who("m" if word == "他" else "f")


_HAS_ONE = re.compile(
    rf"(?P<owner>我|他|她)(?:还)?有一?个(?P<kin>{_KIN})"
    rf"(?:名字)?叫做?(?P<name>[一-龥]{{1,4}}|[A-Z][a-z]+)(?=[，。！,\s]|$)"
)
_IS_MY = re.compile(
    rf"(?P<name>[一-龥]{{2,4}}|[A-Z][a-z]+)是(?P<owner>我)的?(?:大|小|"
    rf"最好的|好|亲)?(?P<kin>{_KIN})(?=[，。！,\s]|$)"
)


def _relations(sentence: Sentence, talk: Talk) -> Iterator[Finding]:
    text, start = sentence.text, sentence.start
    for match in _POSSESSED.finditer(text):
        owner = _owner(match["owner"], talk)
        name, end = _name_after(text, match)
        if owner is None:
            continue
        kin = HAN_KIN[match["kin"]]
        if name and name.casefold() not in talk.participants and name != owner:
            talk.kin[f"{owner}的{match['adj'] or ''}{match['kin']}"] = name
            talk.mention(name, kin.gender)
            if not sentence.asks:
                yield Finding(
                    owner, kin.attribute, name, start + match.start(), start + end, language="zh"
                )
    for match in _HAS_ONE.finditer(text):
        if not sentence.asks and (owner := _owner(match["owner"], talk)):
            kin = HAN_KIN[match["kin"]]
            talk.mention(match["name"], kin.gender)
            place = start + match.start(), start + match.end()
            yield Finding(owner, kin.attribute, match["name"], *place, language="zh")
    for match in _IS_MY.finditer(text):
        if match["name"] in _people(text) or match["name"].isascii():
            talk.mention(match["name"], HAN_KIN[match["kin"]].gender)
            if not sentence.asks:
                yield Finding(
                    talk.speaker,
                    HAN_KIN[match["kin"]].attribute,
                    match["name"],
                    start + match.start(),
                    start + match.end(),
                    language="zh",
                )


_ASPECTS = {
    "名字": "name",
    "全名": "name",
    "小名": "alias",
    "网名": "alias",
    "英文名": "alias",
    "外号": "alias",
    "昵称": "alias",
    "生日": "birthday",
    "年龄": "age",
    "爱好": "likes",
    "兴趣爱好": "likes",
    "兴趣": "likes",
    "老家": "from",
    "家乡": "from",
    "故乡": "from",
    "梦想": "wants",
    "理想": "wants",
    "母语": "speaks",
    "专业": "studies",
    "工作": "works_as",
    "职业": "works_as",
    "国籍": "nationality",
}


def _aspect(
    match: re.Match[str], talk: Talk, place: tuple[int, int], spans: list[TimeSpan]
) -> Iterator[Finding]:
    owner, attribute = _owner(match["owner"], talk), _ASPECTS.get(match["aspect"])
    if owner is None or attribute is None:
        return
    if attribute == "birthday" and not re.search(r"\d|月", match["v"]):
        return
    if match["aspect"] == "工作" and not re.match(JOBS, match["v"]):
        return
    keep = attribute in ("birthday", "age")
    for part in han_items(match["v"]) if attribute == "likes" else [match["v"]]:
        value = han_trim(part, () if keep else spans, 15)
        if value:
            yield Finding(owner, attribute, value, *place, language="zh")


def _stated(
    text: str, at: int, who: str, place: tuple[int, int], spans: list[TimeSpan], said_at: datetime
) -> Iterator[Finding | Event]:
    here = [span for span in spans if span.text in text]
    begin = _past_adverbs(text, at, here)
    negation = _NEGATED.match(text, begin)
    said = text[negation.end() if negation else begin :]
    if negation and negation[0].endswith("不再"):
        said = said.removeprefix("再")
    said = said.removeprefix("是") if said.startswith("是在") else said
    past = bool(_PAST.search(text[:begin])) and not here
    span = when_of(text, here)
    ahead = span is not None and span.start > said_at
    found = (
        []
        if ahead
        else list(
            facts(
                said,
                who,
                place,
                here,
                since=span.start if span and span.start <= said_at else None,
                past=past,
                change=bool(_CHANGE.search(text[:begin])),
                negated=negation is not None,
            )
        )
    )
    yield from found
    habitual = past or any(one.attribute == "habit" for one in found)
    if not habitual and (repeated := habit(text, at, who, place)):
        yield repeated
    if negation is None and (told := event(text, at, who, place, here, said_at)):
        yield told


def _past_adverbs(text: str, at: int, spans: list[TimeSpan]) -> int:
    for _ in range(3):
        match = _ADVERBS.match(text, at)
        at = match.end() if match else at
        after = _past_time(text, spans, at)
        if after == at:
            return at
        at = after
    return at
