"""Facts that plain Chinese clauses state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from memstrata.ingest.local.findings import Finding
from memstrata.ingest.local.rules_chinese import RULES, Rule
from memstrata.records import TimeSpan

__all__ = ["facts", "han_items", "han_trim"]

_CUT = re.compile(
    r"(?:因为|而不是|所以|但是?|可是|不过|的时候|之类|什么的|等等|比如|尤其|特别是|主要是|，|。|！|"
    r"；|：|:|!|\(|（|…|~|～|——|\s-\s|\s{2,})"
)
_TAIL = re.compile(
    r"(?:的那种|[了啊呢吧呀哦啦哈嘛的～~.!。！、]|这种|之类的?|这样|等等|什么的|一段时间|"
    r"的感觉|的人|很久|好几年|[两三四五六七八九十几\d]+多?个?[年月])+$"
)
_HAN_LIST = re.compile(r"[、/]|(?:以及|还有|和|跟|与)(?=[^，。]{1,8}$)")
_NOT_VALUES = re.compile(
    r"(?:你|您|我|它|他|她|咱|这|那|哪|什么|谁|怎么|上(?:班|学|课|网|面|次|楼|厕)|得|一下|"
    r"自己|大家|一样|的|被|和你|跟你|有|没|不|就|也|都(?!江|匀)|这么|来(?!宾)|去了)"
)
_ASKS = re.compile(r"什么|怎么|哪[里个些]|谁|多少|是不是|有没有|吗$|呢$|如何|为何")


def han_trim(value: str, spans: Sequence[TimeSpan], limit: int) -> str:
    """A Chinese value without what follows it and without final particles; may be empty."""
    cut = _CUT.search(value)
    value = value[: cut.start()] if cut else value
    for span in spans:
        value = value.removesuffix(span.text)
    value = _TAIL.sub("", value.strip(" “”\"'《》,")).strip()
    if not value or len(value) > limit * 2 or _NOT_VALUES.match(value) or _ASKS.search(value):
        return ""
    return value if len(re.findall(r"[一-鿿]|\w+", value)) <= limit else ""


_DEED = re.compile(r"[画吃喝看听玩读养唱跳打做学写弹拍去逛种](?=[^，。])")
_WITH = re.compile(r"一起|朋友|家人|孩子|同学|同事|他们|她们|爸|妈|聊|玩$|们$")


def han_items(value: str) -> list[str]:
    """The parts of an enumeration, or the one value; 画猫和狗 is 画猫 and 画狗."""
    parts = [part.strip() for part in _HAN_LIST.split(value) if part.strip()]
    if (
        len(parts) < 2
        or "的" in value
        or any(len(part) > 6 for part in parts)
        or any(map(_WITH.search, parts[1:]))
    ):
        return [value]
    deed = _DEED.match(parts[0])
    if deed is None or len(parts[0]) > 4:
        return parts
    own = re.compile(r"[画吃喝看听玩读养唱跳打做学写弹拍去逛种游跑爬骑钓滑旅散]")
    return [parts[0], *(part if own.match(part) else deed[0] + part for part in parts[1:])]


_NO_MORE = re.compile(r"过(?:的|了|[两三四五六七八九十几\d]+个?[年月])*$")
_PLAIN = {"结婚": "已婚", "离婚": "离异", "订婚": "已订婚", "吃素": "素食者"}


def facts(
    said: str,
    subject: str,
    place: tuple[int, int],
    spans: Sequence[TimeSpan],
    *,
    since: datetime | None = None,
    past: bool,
    change: bool,
    negated: bool,
) -> Iterator[Finding]:
    """The facts that the words after a subject state; `negated` by 不再 or 已经不.

    `since` is the beginning of the time the clause names.
    """
    if not said:
        return
    for rule in RULES:
        if said[0] not in rule.first:
            continue
        match = rule.pattern.match(said)
        if match is None:
            continue
        found = list(_apply(rule, match, said, subject, place, spans, since, past, change, negated))
        if found:
            yield from found
            return


def _apply(
    rule: Rule,
    match: re.Match[str],
    said: str,
    subject: str,
    place: tuple[int, int],
    spans: Sequence[TimeSpan],
    since: datetime | None,
    past: bool,
    change: bool,
    negated: bool,
) -> Iterator[Finding]:
    groups = match.groupdict()
    raw = groups.get("v") or groups.get("v2") or ""
    attribute = rule.attribute
    if attribute == "favourite":
        attribute = f"favourite_{groups['sort']}" if groups.get("sort") else "likes"
    polarity = rule.polarity and not negated
    change = (
        change or rule.change or negated or (not polarity and said.rstrip("。！!.").endswith("了"))
    )
    past = past or bool(rule.ended and _NO_MORE.search(said))
    keep = attribute in ("birthday", "age")
    for part in han_items(raw) if rule.listed else [raw]:
        value = _PLAIN.get(part) or han_trim(part, () if keep else spans, rule.limit)
        if not value or (rule.listed and re.search(r"[他她它]|的那种", part)):
            continue
        if attribute == "has_pet" and value[0] in "只条匹":
            value = f"一{value}"
        old = groups.get("old")
        yield Finding(
            subject,
            attribute,
            value,
            *place,
            polarity=polarity,
            past=past and rule.attribute != "visited",
            change=change,
            replaces=old or None,
            confidence=rule.confidence,
            language="zh",
            valid_from=since if (change or attribute == "learning") and not past else None,
        )
    job = groups.get("as") or groups.get("major")
    if job:
        yield Finding(
            subject,
            "works_as" if groups.get("as") else "studies",
            job.removesuffix("专业"),
            *place,
            polarity=polarity,
            past=past,
            change=change,
            language="zh",
        )
    if groups.get("called"):
        yield Finding(subject, "pet", groups["called"], *place, language="zh")
