"""Step lists to procedures: how to do something, in order, as somebody wrote it down.

A list is a procedure only if its items are instructions: they begin with what to do, or say "you"
do it. Shopping lists, options and facts stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memstrata.ingest.narrate import sentences
from memstrata.ingest.proposals import Proposal
from memstrata.kinds import Procedural, Step
from memstrata.records import Evidence, Message
from memstrata.text.analyse import fold
from memstrata.text.clean import shorten
from memstrata.text.recalled import own_words

__all__ = ["procedures"]

_READ = 40_000
_FEWEST = 2
_INSTRUCTIVE = 0.6
"""The share of items that must be instructions."""
_SUMMARY = 200
_EXPLAINED = 8
"""Lines below an item in which the next one must come."""


def procedures(message: Message) -> list[Proposal]:
    """The procedures a message spells out, each quoting its goal line or its first step."""
    text = own_words(message.content)[:_READ]
    found = [*_lists(text), *_sequences(text)]
    return [_proposal(message, one) for one in found]


@dataclass(frozen=True, slots=True)
class _Listed:
    """Items in order, under the line that leads to them."""

    goal: str
    items: tuple[str, ...]


def _proposal(message: Message, listed: _Listed) -> Proposal:
    goal = listed.goal or listed.items[0]
    quote = _standing(goal, message.content) or _standing(listed.items[0], message.content)
    steps = [_step(item) for item in listed.items]
    record = Procedural(
        entry_type="workflow" if any(step.condition for step in steps) else "guide",
        summary=_summary(goal),
        steps=steps,
        trust=message.trust,
        occurred_at=None,
    )
    return Proposal(
        op="create",
        record=record,
        evidence=(Evidence(source_id=message.id, quote=quote),),
        said_at=message.occurred_at,
        reason="a list of steps",
    )


def _standing(words: str, content: str) -> str:
    """As much of the words from their beginning as stands in the content as it is.

    Lines of one item were joined and blocks from memory left out, so not all of it may.
    """
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if words[:middle] in content else (low, middle - 1)
    return words[:low].rstrip() if low > 1 else ""


_LEAD_MARKUP = " \t\u3000#>*_-•·"
_TAIL_MARKUP = " \t\u3000*_#:："


def _summary(goal: str) -> str:
    clean = goal.lstrip(_LEAD_MARKUP).replace("**", "").rstrip(_TAIL_MARKUP)
    return shorten(clean, _SUMMARY) or goal


# ── lists, one item a line (or numbered in the line) ─────────────────────────────────────────

_NUMBERED = re.compile(
    r"^\s*+(?:#++\s*+)?(?:\*\*)?\s*+(?:(?:step|第)\s*+)?([\d一二三四五六七八九十]{1,2})\s*+"
    r"(?:步|[.)、．:：）]|步[，：:、])[，：:、.)]?\s*+(?:\*\*)?\s*+(\S.*)$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*[-*•·▪◦]\s+(?:\[[ x]\]\s+)?(\S.*)$")
_INLINE = re.compile(r"(?:(?<=[\s:：。；;.,，])|^)\(?(\d{1,2})[.)、．）](?!\d)\s*(?=\S)")


def _lists(text: str) -> Iterator[_Listed]:
    lines = text.splitlines()
    lead = ""
    at = 0
    while at < len(lines):
        items, after, numbered = _run_of_items(lines, at)
        if not items:
            inline = _inline(lines[at])
            if inline is not None:
                yield from _if_instructions(inline.goal or lead, inline.items, numbered=True)
            lead = _last_sentence(lines[at]) or lead
            at += 1
            continue
        yield from _if_instructions(lead, items, numbered=numbered)
        lead = ""
        at = after


def _run_of_items(lines: Sequence[str], at: int) -> tuple[list[str], int, bool]:
    """The list items from a line on, the line after them, and whether they are numbered."""
    numbered = _NUMBERED.match(lines[at]) is not None
    items: list[str] = []
    while at < len(lines):
        line = lines[at]
        match = _NUMBERED.match(line) if numbered else _BULLET.match(line)
        if match:
            items.append(match[match.lastindex or 1].strip())
        elif items and numbered and (_BULLET.match(line) or line.startswith(("  ", "\t"))):
            items[-1] = f"{items[-1]}\n{line.strip()}" if line.strip() else items[-1]
        elif not _goes_on(lines, at, len(items) + 1 if numbered else 0):
            break
        elif line.strip() and items:
            items[-1] = f"{items[-1]}\n{line.strip()}"
        at += 1
    return items, at, numbered


def _goes_on(lines: Sequence[str], at: int, number: int) -> bool:
    """Whether the list goes on below: with its next number (above 0), or with the next bullet.

    A numbered item may explain itself in lines of its own; a bullet only stands under blank ones.
    """
    following = [line for line in lines[at : at + _EXPLAINED] if line.strip()]
    if not number:
        return bool(following and _BULLET.match(following[0]) and not lines[at].strip())
    marks = (_NUMBERED.match(line) for line in following)
    return any(mark is not None and _number(mark[1]) in (number, 1) for mark in marks)


def _number(written: str) -> int:
    return int(written) if written.isdigit() else "〇一二三四五六七八九十".find(written)


def _inline(line: str) -> _Listed | None:
    """Steps numbered from 1 inside one line of prose."""
    marks: list[re.Match[str]] = []
    for match in _INLINE.finditer(line):
        if int(match[1]) == len(marks) + 1:
            marks.append(match)
    if len(marks) < _FEWEST + 1:
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(line)]
    items = [line[m.end() : end].strip(" ;；，,") for m, end in zip(marks, ends, strict=True)]
    return _Listed(_last_sentence(line[: marks[0].start()]), tuple(items))


def _last_sentence(line: str) -> str:
    return next(reversed(sentences(line)), "")


_TOLD = re.compile(
    r"\b(?:how to|how you|steps?|recipe|instructions?|guide|procedure|process|method|follow|to \w+"
    r"|do this|set ?up|workflow|routine|checklist|here'?s how|this is how)\b"
    r"|步骤|方法|做法|流程|教程|怎么|如何|操作|办法|指南"
)
_OFFERED = re.compile(
    r"\b(?:ingredients?|options?|ideas?|examples?|reasons?|benefits?|pros|cons|features?|types?"
    r"|kinds?|tips|suggestions?|shopping|groceries|to buy|need to buy|packing|here are some"
    r"|recommend\w*|consider|facts?|advantages?|questions?)\b"
    r"|食材|材料|配料|购物|清单|选项|选择|例子|原因|好处|优点|缺点|特点|种类|推荐|建议|要买|注意事项"
)


def _if_instructions(goal: str, items: Sequence[str], *, numbered: bool) -> Iterator[_Listed]:
    """The list, if it tells how to do something.

    Bullets alone have no order, so they need a lead that says they are steps; a lead that
    promises a choice, facts or things makes even instructions a collection.
    """
    folded = fold(goal)
    told = _TOLD.search(folded) is not None
    if len(items) < _FEWEST or (_OFFERED.search(folded) and not _says_steps(folded)):
        return
    if not told and (not numbered or len(items) < _FEWEST + 1):
        return
    if not numbered and not _says_steps(folded):
        return
    instructive = sum(1 for item in items if _instructs(item))
    if instructive >= _INSTRUCTIVE * len(items):
        yield _Listed(goal, tuple(items))


def _says_steps(folded: str) -> bool:
    return (
        re.search(
            r"\b(?:how (?:to|you|i|we)|steps?|recipe|instructions?|procedure|follow|here'?s how"
            r"|workflow|routine|checklist|process)\b|步骤|做法|流程|教程|怎么|如何|操作",
            folded,
        )
        is not None
    )


# ── what is an instruction ───────────────────────────────────────────────────────────────────


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_IMPERATIVES = _set(
    """
    add adjust allow apply arrange ask assemble attach avoid back bake beat begin blend boil book
    bring brush build buy calculate call carry change charge check choose chop clean clear click
    clone close coat collect combine compare compile complete configure confirm connect contact
    cook cool copy cover create cross cut decide delete deploy dip disable disconnect divide do
    double download drag drain draw drink drive drizzle drop dry edit empty enable end enter
    establish export extract fasten feed fill filter find finish fix flip flush fold follow force
    freeze fry garnish gather get give glue go grab grate grease grill grind hang have heat hold
    identify import increase insert inspect install invite join keep knead label launch lay leave
    let lift line list listen load lock log look loosen lower make mark mash measure melt merge mix
    monitor mount move name note offer open order organize pack paint paste pat pay peel pick place
    plan plant plug point polish pop pour practice practise prepare press preheat print pull push
    put raise read reboot record reduce refill refresh register release reload remove rename repeat
    replace request reset rest restart restore return review rinse roast roll rotate rub run save
    say scan schedule scrape screw scroll scrub seal search season select send separate serve set
    shake share shut sign simmer sit skip slice slide soak sort spend split spray spread sprinkle
    squeeze stack stand start state steam stick stir stop store strain stretch submit swipe switch
    take tap tell test thread throw tie tighten tilt toast top toss touch transfer treat trim try
    turn type uncover uninstall unlock unplug unscrew untie update upload use verify visit wait
    walk warm wash water watch weigh whisk wipe work wrap write yield zip
    """
)
_LEADING = re.compile(
    r"^(?:(?:first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|after that|afterwards|finally"
    r"|lastly|now|and|also|please|carefully|gently|slowly|quickly|always"
    r"|once \w+ \w+|make sure to|be sure to|remember to|don't forget to|don't|do not|never|simply"
    r"|just)[,:]?\s+)+"
)
_BEGINS_CONDITION = re.compile(
    r"^(?:if|when|once|in case|after|before|for|to|while|until)\b[^,:]*[,:]\s*"
)
_ADDRESSED = re.compile(r"^(?:you|you'll|you should|you need|you can|you have)\b")
_HAN_ACT = re.compile(
    r"^(?:(?:首先|先|然后|再|接着|接下来|之后|最后|第.步|将|把|用|请|务必|别|不要|小心|慢慢|随后|随即|轻轻|均匀)[，,：:、]?)*"
    r"(?:(?:将|把)\S+|[打点按开关拧拆装插拔放加倒切洗煮炒烤蒸炸拌搅揉擦晾挂取拿拉推滑选输填写存删复粘贴备份导下上登注进退返"
    r"回等静检确测量记看找问联预约买带准清收折叠剪涂抹刷喷浇种挖埋盖封包绑系解松紧调设安启停重运编提交发送分配混撒捞盛"
    r"沥泡腌焯过滤捏压铺摆磨削剥去加热冷却关闭打开连接断创新建保使移转换更改升级卸升扫冲热预拖双右左长])"
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_HEAD = re.compile(r"^(?:\*\*)?([^:：\n*]{1,40})(?:\*\*)?\s*[:：]\s*(?:\*\*)?\s*(?=\S)")


def _instructs(item: str) -> bool:
    """Whether an item tells what to do; after a short heading, what follows may say it."""
    plain = item.replace("**", "").strip()
    head = _HEAD.match(plain)
    return _acts(plain) or (head is not None and _acts(plain[head.end() :]))


def _acts(item: str) -> bool:
    folded = fold(item).strip(" \"'“”（(")
    if _HAN.match(folded):
        return _acts_chinese(folded)
    folded = _LEADING.sub("", _BEGINS_CONDITION.sub("", _LEADING.sub("", folded)))
    if _ADDRESSED.match(folded):
        return True
    words = re.findall(r"[a-z'-]+", folded[:60])
    return len(words) > 1 and words[0] in _IMPERATIVES


def _acts_chinese(folded: str) -> bool:
    rest = re.sub(r"^(?:如果|若|要是|当|等|待)[^，,：:]{1,30}[，,：:]", "", folded)
    return len(_HAN.findall(rest)) > 2 and _HAN_ACT.match(rest) is not None


# ── steps ────────────────────────────────────────────────────────────────────────────────────

_IF = re.compile(r"^(?:if|when|in case)\s+([^,:\n]{2,120})[,:]\s*(?:then\s+)?(\S.*)$", re.I | re.S)
_IF_AFTER = re.compile(r"^(.{4,}?),?\s+(?:if|in case)\s+([^.\n]{3,100})\.?$", re.I)
_HAN_IF = re.compile(
    r"^(?:如果|若|要是|假如)([^，,：:\n]{1,40}?)(?:的话)?[，,：:]\s*(?:就|则|那么)?(\S.*)$", re.S
)
_EXPECTED = re.compile(
    r"(?:[.;]\s*|,\s*|\s+[-–—→]\s*|\s*→\s*)("
    r"(?:you(?:'ll| should| will)? (?:now )?(?:see|get|hear|notice)"
    r"|(?:it|this|the \w+(?: \w+)?) (?:should|will) (?:now )?(?:be|show|look|turn|start"
    r"|become|open|appear|return|light)|until)\b.{2,120}?)[.]?$",
    re.I,
)
_UNTIL = re.compile(r"^(.{4,}?)\s+(until\b.{3,100}?)[.]?$", re.I)
_HAN_EXPECTED = re.compile(
    r"^(.{2,}?)[，,。；](?:直到|直至|此时|这时|会|应该|应|就会|你会)(?:看到|出现|显示|听到)?(.{2,60}?)。?$"
)


def _step(item: str) -> Step:
    """One step, with its condition and its expected result where the words say so."""
    text = " ".join(item.replace("**", "").split())
    condition, text = _condition(text)
    expected, text = _result(text)
    return Step(instruction=text, condition=condition, expected=expected)


def _condition(text: str) -> tuple[str | None, str]:
    for pattern in (_IF, _HAN_IF):
        if match := pattern.match(text):
            return match[1].strip(), match[2].strip()
    if match := _IF_AFTER.match(text):
        return match[2].strip(), match[1].strip()
    return None, text


def _result(text: str) -> tuple[str | None, str]:
    if match := _EXPECTED.search(text):
        before = text[: match.start()].strip(" ,;.")
        if len(before) > 3:
            return match[1].strip(), before
    if match := _UNTIL.match(text):
        return match[2].strip(), match[1].strip()
    if match := _HAN_EXPECTED.match(text):
        return text[match.end(1) + 1 :].strip("。"), match[1].strip()
    return None, text


# ── prose in order ───────────────────────────────────────────────────────────────────────────

_OPENS = re.compile(r"^(?:first(?:ly|,| of all)?|step one|to start)\b|^(?:首先|第一步|先)")
_GOES_ON = re.compile(
    r"^(?:then|next|after that|afterwards|second(?:ly)?|third(?:ly)?|now|step (?:two|three|four))\b"
    r"|^(?:然后|接着|接下来|再|之后|其次|第[二三四五六七]步|随后)"
)
_SECOND = re.compile(r"\bstep two\b|第二步")
_CLOSES = re.compile(r"^(?:and )?(?:finally|lastly|last)\b|^(?:最后|最终)")
_CLAUSE = re.compile(
    r"(?:(?<=[,;])\s*(?=(?:and )?(?:first|then|finally|next|after that)\b))"
    r"|(?<=[，；,;])\s*(?=首先|先|然后|接着|接下来|最后|再|之后|随后|第[二三四五六七]步)",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"^(?:and )?(?:first(?:ly)?|first of all|then|next|after that|afterwards|second(?:ly)?"
    r"|third(?:ly)?|now|finally|lastly|last|step \w+)\b[,:]?\s*"
    r"|^(?:首先|第[一二三四五六七]步|然后|接着|接下来|之后|随后|其次|最后|最终|先|再)[，,：:]?\s*",
    re.IGNORECASE,
)


def _sequences(text: str) -> Iterator[_Listed]:
    """First …, then …, finally …: at least three clauses in order, all instructions."""
    for paragraph in text.splitlines():
        listed = _NUMBERED.match(paragraph) or _BULLET.match(paragraph)
        if not listed or _SECOND.search(fold(paragraph)):
            yield from _sequence(paragraph)


def _sequence(paragraph: str) -> Iterator[_Listed]:
    lead = ""
    run: list[str] = []
    for clause in _clauses(paragraph):
        folded = fold(clause)
        if not run:
            if _OPENS.match(folded):
                run = [clause]
            else:
                lead = clause
        elif _GOES_ON.match(folded) or _CLOSES.match(folded):
            run.append(clause)
        elif _acts(clause):
            run[-1] = f"{run[-1]} {clause}"
        else:
            break
    items = [_ORDER.sub("", clause).strip(" ,;，；。.") for clause in run]
    if len(items) > _FEWEST and all(map(_acts, items)):
        yield _Listed(lead, tuple(items))


def _clauses(paragraph: str) -> Iterator[str]:
    for sentence in sentences(paragraph):
        parts = re.split(r"[:：]\s*(?=(?i:first)|首先|先|第一步)", sentence, maxsplit=1)
        for part in parts:
            yield from (piece.strip() for piece in _CLAUSE.split(part) if piece.strip())
