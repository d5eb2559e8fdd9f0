"""Secrets of well-known shape in a text: where they are, and the text without them.

Told by their shape: private keys, the keys and tokens of common issuers, passwords in URLs,
payment card numbers, Chinese identity numbers. Told by the words before them, in English and
Chinese: passwords, keys and tokens ("password: …", 密码是…). Hashes, UUIDs, telephone and order
numbers are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memstrata.text.secret_shapes import SHAPES

__all__ = ["Secret", "find", "mask"]


class Secret(NamedTuple):
    """Characters `[start, end)` of a text that are secret, and what they are."""

    start: int
    end: int
    caption: str


def find(text: str) -> list[Secret]:
    """The secrets in a text, in order, none overlapping; the time grows with its length."""
    found: list[Secret] = []
    if _DIGIT.search(text):
        if _RUN.search(text):
            found += _tokens(text)
        if _LONG_NUMBER.search(text):
            found += _cards(text)
            found += _identity_numbers(text)
    if "-----BEGIN" in text:
        found += _private_keys(text)
    if "://" in text and "@" in text:
        found += _in_urls(text)
    small = text.lower()
    for word in _KEYWORDS:
        if word in small:
            found += _told_by_words(text)
            break
    return _apart(found) if found else found


def mask(text: str) -> tuple[str, list[Secret]]:
    """The text with each secret replaced by "[secret removed: <caption>]", and the secrets.

    All else stays as it is; places are those in the text given.
    """
    secrets = find(text)
    if not secrets:
        return text, secrets
    parts: list[str] = []
    at = 0
    for secret in secrets:
        parts += (text[at : secret.start], f"[secret removed: {secret.caption}]")
        at = secret.end
    return "".join(parts) + text[at:], secrets


def _apart(found: list[Secret]) -> list[Secret]:
    """Overlapping secrets as one, under the name of the first and longest."""
    merged: list[Secret] = []
    for secret in sorted(found, key=lambda one: (one.start, -one.end)):
        if merged and secret.start < merged[-1].end:
            if secret.end > merged[-1].end:
                merged[-1] = merged[-1]._replace(end=secret.end)
        else:
            merged.append(secret)
    return merged


_DIGIT = re.compile(r"\d")
_RUN = re.compile(r"[A-Za-z0-9_+/=.-]{11}")
_BEGIN = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40}?(?:PRIVATE KEY(?: BLOCK)?|SECRET KEY))-----")
_BODY = re.compile(r"(?:\s{0,4}(?:\\[nr])*[A-Za-z0-9+/=]{16,})*\s?[A-Za-z0-9+/=]{0,76}")


def _private_keys(text: str) -> Iterator[Secret]:
    """PEM blocks with a private key, also when the end is missing."""
    done = 0
    endless: set[str] = set()
    for begin in _BEGIN.finditer(text):
        if begin.start() < done:
            continue
        end = f"-----END {begin[1]}-----"
        at = -1 if end in endless else text.find(end, begin.end())
        if at >= 0:
            done = at + len(end)
        else:
            endless.add(end)
            body = _BODY.match(text, begin.end())
            done = body.end() if body else begin.end()
        yield Secret(begin.start(), done, "private key")


def _tokens(text: str) -> Iterator[Secret]:
    for shape in SHAPES:
        if shape.hint in text:
            for match in shape.pattern.finditer(text):
                yield Secret(match.start(), match.end(), shape.caption)


_USERINFO = re.compile(r"://[^\s/:@]{0,200}:([^\s/@]{1,200})@")


def _in_urls(text: str) -> Iterator[Secret]:
    for match in _USERINFO.finditer(text):
        if not _PLACEHOLDER.match(match[1]):
            yield Secret(match.start(1), match.end(1), "password in a URL")


_LONG_NUMBER = re.compile(r"\d(?:[ -]?\d){12}")
_NUMBER = r"(?<![A-Za-z0-9_.-]){}(?![A-Za-z0-9_-]|\.\d)"
_CARD = re.compile(
    _NUMBER.format(
        r"(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{1,4}(?:\1\d{1,3})?|\d{4}([ -])\d{6}\2\d{4,5})"
    )
)
# Issuers by their first digits, and how long their numbers are.
_ISSUERS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}"
    r"|35\d{14}|6(?:011|5\d\d|4[4-9]\d)\d{12}|62\d{14,17}"
)
_NO_CARD = re.compile(
    r"(?:(?:order|invoice|tracking|ticket|reference|ref|id|isbn|imei|serial)\W{0,2}"
    r"(?:number|no|nr|code)?|(?:订单|单|编|序列|流水|物流)号?码?)[\s:：#.是]{0,4}\Z",
    re.IGNORECASE,
)


def _cards(text: str) -> Iterator[Secret]:
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        grouped = len(digits) < len(match[0])
        if not (_ISSUERS.fullmatch(digits) and _luhn(digits)):
            continue
        if grouped or not _NO_CARD.search(text, max(0, match.start() - 24), match.start()):
            yield Secret(match.start(), match.end(), "payment card number")


def _luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812-1)."""
    total = sum(map(int, digits[-1::-2]))
    total += sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return total % 10 == 0 and len(set(digits)) > 1


_IDENTITY = re.compile(
    _NUMBER.format(r"[1-8]\d{5}(?:18|19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx]")
)


def _identity_numbers(text: str) -> Iterator[Secret]:
    """Chinese resident identity numbers with a right check digit (GB 11643-1999)."""
    for match in _IDENTITY.finditer(text):
        number = match[0].upper()
        total = sum(int(digit) * pow(2, 17 - at, 11) for at, digit in enumerate(number[:17]))
        if "10X98765432"[total % 11] == number[17]:
            yield Secret(match.start(), match.end(), "identity number")


_KEYWORDS = (
    *("passw", "passphrase", "passcode", "pwd", "_pass", "secret", "token", "key", "bearer"),
    *("basic ", "密码", "密碼", "口令", "暗号", "暗號", "密钥", "密鑰", "秘钥", "令牌"),
)
_PASSWORD = r"pass(?:word|wd|phrase|code)|pwd|(?<=_)pass"
_KEY = (
    r"(?:api|secret|access|private|auth|encryption|signing|account)[ _-]?(?:key|token|secret)"
    r"|access[ _-]?key[ _-]?(?:id|secret)|client[ _-]?secret|secret|token|bearer"
)
_QUOTED = (
    r"\"(?P<q1>[^\"\n]{3,256})\"|'(?P<q2>[^'\n]{3,256})'|`(?P<q3>[^`\n]{3,256})`"
    r"|[“「『](?P<q4>[^”」』\n]{2,256})[”」』]"
)
_BARE = r"(?P<bare>[^\s\"'`<>一-龥，。；、！？（）【】「」『』“”]{4,1024})"
# Each names a group `pw` where what follows is a password, not a token.
_ASSIGNED = re.compile(
    rf"(?:(?P<pw>{_PASSWORD})|{_KEY})[\"'`]?\s{{0,3}}(?:[:=：]|=>|:=|->)\s{{0,3}}"
    rf"(?:{_QUOTED}|{_BARE})",
    re.IGNORECASE,
)
_FLAG = re.compile(
    rf"--(?:(?P<pw>password|passwd|pass|pwd)|token|api-?key|secret)\s{{1,3}}(?:{_QUOTED}|{_BARE})",
    re.IGNORECASE,
)
_SAID = re.compile(
    rf"\b(?:(?P<pw>{_PASSWORD})|api[ -]?key|(?:access|auth|api)[ -]token)"
    r"(?:\s{1,3}(?:for|to|of|on)\s[^\n.:]{1,40}?)?\s{1,3}(?:is|was|=|will\s{1,3}be)\s{1,3}"
    rf"(?:(?:now|still|currently)\s{{1,3}})?(?:{_QUOTED}|{_BARE})",
    re.IGNORECASE,
)
_SAID_CHINESE = re.compile(
    r"(?:(?P<pw>密码|密碼|口令|暗号|暗號)|密钥|密鑰|秘钥|令牌)[^\n，。；:：=是为成]{0,10}?"
    r"(?:[:：=]|是|为|[改设换][成为]了?)\s{0,3}"
    rf"(?:{_QUOTED}|{_BARE}|(?<=口令是|暗号是|暗號是|口令：|暗号：|暗號：)(?P<han>[一-龥]{{2,12}}))"
)
_HEADER = re.compile(
    r"\b(?P<pw>(?!))?(?:bearer|basic)\s{1,3}(?P<bare>[A-Za-z0-9._~+/=-]{16,2048})", re.IGNORECASE
)
_PLACEHOLDER = re.compile(
    r"[<{\[(*]|\$[{A-Z(]|%[A-Z(]|\.\.\.|…|x{3,}\Z"
    r"|(?:your|my|the|process|os|env|config|settings)[_. -]"
    r"|(?:password|passwd|pass|pwd|secret|token|apikey|api_key|changeme)\Z",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*[(\[]|[A-Za-z_]+(?:\.[A-Za-z_]+)+\Z|/|~/|[A-Za-z]:\\"
)
_PLAIN = frozenset(
    {"required", "optional", "string", "none", "null", "true", "false", "reset", "incorrect"}
    | {"invalid", "expired", "changed", "wrong", "protected", "forgotten", "hidden", "unknown"}
    | {"missing", "empty", "hash", "hashed", "manager", "field", "reminder", "undefined"}
)
_NO_VALUE = re.compile(
    r"什么|多少|啥|[对错不必由指哪谁否空见请你我他她]|需要|应该|正确|至少|安全|怎么|如何|一样|数字|字母"
)
_SIGN = re.compile(r"[^A-Za-z'’.-]")


def _told_by_words(text: str) -> Iterator[Secret]:
    """Values that the words before them call a password, key or token."""
    for pattern in (_ASSIGNED, _FLAG, _SAID, _SAID_CHINESE, _HEADER):
        for match in pattern.finditer(text):
            group = match.lastgroup or "bare"
            start, end = match.span(group)
            if group == "bare":  # without the punctuation of the sentence
                end = start + len(match[group].rstrip(".,;:)]}"))
            alone = pattern is not _SAID and not re.match(r"[ \t]+\w", text[end : end + 8])
            if match["pw"] is None:
                if _is_token(text[start:end]):
                    yield Secret(start, end, "token")
            elif _is_password(text[start:end], group, alone):
                yield Secret(start, end, "password")


def _is_token(value: str) -> bool:
    known = _PLACEHOLDER.match(value) or _CODE.match(value)
    return not known and len(value) >= 8 and any(char.isdigit() for char in value)


def _is_password(value: str, group: str, alone: bool) -> bool:
    """Whether a value is a password rather than the next words of a sentence or a piece of code.

    A plain word is one only in quotes, or alone at the end of its line.
    """
    if group == "han":
        return not _NO_VALUE.search(value) and value[-1] not in "的了吗呢吧啊"
    if len(value) < 3 or value.lower() in _PLAIN:
        return False
    if _PLACEHOLDER.match(value) or _CODE.match(value):
        return False
    mixed = value[1:] != value[1:].lower() and value != value.upper()
    return bool(group != "bare" or mixed or alone or _SIGN.search(value))
