"""Secrets that stand in for another: recovery phrases, two-factor secrets, backup codes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from memstrata.text.secret_shapes import Secret, hinted, within

__all__ = ["codes", "phrases"]

_PHRASE_HINTS = ("phrase", "mnemonic", "seed", "bip39", "bip-39", "words", "-word", "wallet")
_PHRASE_HINTS_CHINESE = (
    "助记",
    "助記",
    "恢复词",
    "恢复短语",
    "种子词",
    "種子詞",
    "个单词",
    "个词",
    "个英文",
)
_PHRASE_WORD = re.compile(
    r"(?:recovery|seed|secret|backup|wallet|mnemonic|bip-?39|restore)[\s_-]{0,2}(?:recovery\s)?"
    r"(?:phrase|words)|mnemonic|bip-?39|(?:12|15|18|21|24|twelve"
    r"|twenty-?four)[ -]words?(?:\s(?:seed|recovery|backup|mnemonic))?(?:\sphrase)?"
    r"|seed(?=\s{0,3}[:=：\n])|my\sseed|wallet\s(?:seed|backup|words)|助记词|助記詞|恢复词"
    r"|种子词|恢复短语|種子詞|助记|(?:12|24|十二|二十四)\s?个(?:英文)?(?:单词|词)"
)
_WORDS = re.compile(
    r"(?<![A-Za-z])(?<![A-Za-z]['’])(?:[0-9]{1,2}[.):]?\s{0,2})?[A-Za-z][a-z]{2,7}"
    r"(?:[,，、]?[ \n\t]{1,3}(?:[0-9]{1,2}[.):]?\s{0,2})?[A-Za-z][a-z]{2,7}|[,，、][a-z]{3,8}"
    r"|[\"'],\s?[\"'][a-z]{3,8}){11,40}(?![A-Za-z]|['’][A-Za-z])"
)
_WORD = re.compile(r"[A-Za-z]{3,8}")
_HAN_WORDS = re.compile(r"(?<![一-龥])[一-龥](?:[ ,，、]{1,2}[一-龥]){11,23}(?![一-龥])")
_COUNTS = (24, 21, 18, 15, 12)
# Words of ordinary sentences that no list of recovery words has (BIP 39).
_ORDINARY = frozenset(
    {"the", "and", "was", "were", "are", "for", "not", "but", "from", "has", "had", "his", "her"}
    | {"its", "our", "with", "into", "been", "would", "them", "their", "have", "which", "because"}
    | {"did", "does", "how", "who", "why", "she", "him", "also", "your", "please"}
)


def phrases(text: str, small: str) -> Iterator[Secret]:
    """Recovery phrases of wallets: words in a row, in a text that speaks of them."""
    if not hinted(small, _PHRASE_HINTS, _PHRASE_HINTS_CHINESE):
        return
    cues = [match.end() for match in _PHRASE_WORD.finditer(small)]
    if not cues:
        return
    for match in _HAN_WORDS.finditer(text):
        yield Secret(match.start(), match.end(), "recovery phrase")
    for match in _WORDS.finditer(text):
        words = list(_WORD.finditer(text, match.start(), match.end()))
        start = match.start()
        inside = [cue for cue in cues[bisect_left(cues, start) :][:4] if cue < match.end()]
        if inside:  # the words that speak of the phrase came along
            start = inside[-1]
            words = [word for word in words if word.start() >= start]
        after_cue = within(cues, start - 60, start + 1)
        before_cue = within(cues, match.end() + 1, match.end() + 61)
        taken = _phrase(words, exact=not after_cue)
        if taken and (after_cue or before_cue):
            yield Secret(taken[0].start(), taken[-1].end(), "recovery phrase")


def _phrase(words: list[re.Match[str]], *, exact: bool) -> list[re.Match[str]]:
    """The words of a phrase among those in a row: all of them, or the first so many."""
    for count in _COUNTS:
        if len(words) == count or (not exact and len(words) > count):
            taken = words[:count]
            said = [word[0].lower() for word in taken]
            # A list of vocabulary is in the order of the alphabet.
            if not _ORDINARY.intersection(said) and said != sorted(said):
                return taken
    return []


_CODE_HINTS = (
    "otp",
    "2fa",
    "mfa",
    "auth",
    "factor",
    "backup",
    "recovery",
    "setup",
    "entry",
    "emergency",
    "scratch",
    "rescue",
)
_CODE_HINTS_CHINESE = (
    *(
        "验证",
        "驗證",
        "备用",
        "備用",
        "恢复码",
        "恢复代码",
        "恢復碼",
        "备份码",
        "救援码",
        "恢复密钥",
        "动态口令",
    ),
)
_OTPAUTH = re.compile(r"otpauth://[^\s\"'<>]{0,300}?[?&]secret=(?P<secret>[A-Za-z2-7]{8,128})")
_SEED_WORD = re.compile(
    r"totp|otp(?![a-z])|(?<![a-z0-9])2fa|mfa(?![a-z])|authenticator|two[ -]?factor"
    r"|(?:manual\s)?entry\skey|set-?up\skey"
    r"|验证器|驗證器|authy|google\sauth|(?:谷歌|二次|两步|双重|二步|两步式|双因素)验证|身份验证"
    r"|动态[码令]|动态口令"
)
_BASE32 = re.compile(
    r"(?<![A-Za-z0-9_-])(?:[A-Z2-7]{16,64}|(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{4}"
    r"|[a-z2-7]{16,64}|(?:[a-z2-7]{4} ){3,15}[a-z2-7]{4})(?![A-Za-z0-9_-])"
)
_CODES_WORD = re.compile(
    r"(?:backup|recovery|rescue|scratch|emergency)[\s_-]?(?:codes?|keys?)|(?:2fa|mfa)\sbackups?"
    r"|备用(?:验证)?[码碼]"
    r"|備用(?:驗證)?碼|恢复[码代]码?|恢復碼|备份码|救援码|恢复密钥"
)
_CODE = re.compile(
    r"(?<![A-Za-z0-9_@/.-])(?:[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{4,8}){1,7}|[0-9]{4} [0-9]{4}|[0-9]{8}"
    r"|[0-9]{6}|[A-Za-z0-9]{8,16})(?![A-Za-z0-9_@/-]|\.[A-Za-z0-9])"
)
_LABEL = re.compile(r"[0-9]{4}-[0-9]{2}(?![0-9])|(?:19|20)[0-9]{6}")
_SAYS = re.compile(r"[a-z]{3,}\s{0,2}\Z")


def codes(text: str, small: str) -> Iterator[Secret]:
    """The secrets of two-factor apps, and the codes that stand in for them."""
    if not hinted(small, _CODE_HINTS, _CODE_HINTS_CHINESE):
        return
    for match in _OTPAUTH.finditer(text):
        yield Secret(*match.span("secret"), "two-factor secret")
    cues = [match.end() for match in _SEED_WORD.finditer(small)]
    if cues:
        for match in _BASE32.finditer(text):
            near = within(cues, match.start() - 60, match.start() + 1)
            if near and any(char in "234567" for char in match[0]):
                yield Secret(match.start(), match.end(), "two-factor secret")
    yield from _backup_codes(text, small)


def _backup_codes(text: str, small: str) -> Iterator[Secret]:
    """Codes in a row behind their name: the next one is never far from the one before."""
    reach = 0
    for cue in _CODES_WORD.finditer(small):
        reach = max(reach, cue.end())
        found = False
        while match := _CODE.search(text, reach, reach + 70):
            gap = text[reach : match.start()]
            listed = found and len(gap) < 8 and "-" in match[0]
            if not listed and not any(char.isdigit() for char in match[0]):
                if len(gap) + len(match[0]) > 50 or "." in gap:
                    break
                reach = match.end()
                continue
            if _LABEL.match(match[0]) or (match[0].isdigit() and _SAYS.search(gap)):
                break
            yield Secret(match.start(), match.end(), "backup code")
            found = True
            reach = match.end()
