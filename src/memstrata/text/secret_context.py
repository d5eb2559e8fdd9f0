"""Secrets that the words beside them give away: passwords, keys and tokens, English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memstrata.text.secret_shapes import Secret, hinted
from memstrata.text.secret_values import (
    ended,
    is_key,
    is_password,
    is_strong,
    is_variable,
    is_word,
    phrase_at,
)

__all__ = ["keys", "passwords"]

_VALUE = (
    r"(?:\"(?P<q1>[^\"\n]{3,256})\"|'(?P<q2>[^'\n]{3,256})'|`(?P<q3>[^`\n]{3,256})`"
    r"|[“「『](?P<q4>[^”」』\n]{2,256})[”」』]"
    r"|(?P<bare>[^\s\"'`<>一-龥，。；：、！？（）【】「」『』“”…]{3,256}))"
)
_PASSWORD_HINTS = ("pass", "pw", "login", "cred", "pasw", "psk")
_PASSWORD_HINTS_DIGIT = ("logon", "psw", "log in", "wifi", "wi-fi", "ssid", "wpa", "p/w", "mima")
_PASSWORD_HINTS_CHINESE = (
    *(
        "密码",
        "密碼",
        "口令",
        "暗号",
        "暗號",
        "暗语",
        "授权码",
        "账密",
        "密:",
        "密：",
        "账号",
        "帐号",
        "账户",
        "用户名",
    ),
)
_PASSWORD = re.compile(
    r"pas{1,3}(?:w{1,2}[or]{0,3}ds?|owrds?|phrases?|codes?)|pass\s?(?:words?|phrases?)"
    r"|(?<![a-z0-9+/])(?:psw|pswd|pword|pwd|p/?w|psk|mima|pass|(?:wpa[23]?|wi-?fi|wep"
    r"|network)\s(?:key|psk))"
    r"(?![a-z0-9+/])|(?<=[a-z_])pwd(?![a-z0-9+/])|密码|密碼|口令|暗号|暗號|暗语|授权码|密(?=[:：])"
)
_ASSIGNED = re.compile(
    r"\\?[\"'`*\])]{0,3}\s{0,3}(?:[:=：＝→]|=>|:=|->)[>=]?\*{0,2}\s{0,3}\\?" + _VALUE
)
_ABOUT = (
    r"(?:\s{1,3}(?:for|to|of|on|at|in|from|that|which|you|we|i)\s"
    r"(?:[^\n.:;,]|\.(?=\w)){1,48}?)?"
)
_SAID = re.compile(
    r"(?:['’]s|" + _ABOUT + r"\s{1,3}(?:is|was|are|=|will\s{1,3}be|would\s{1,3}be"
    r"|(?:(?:is|was)\s)?(?:changed|set|reset|updated)\s{1,3}to))\s{1,3}"
    r"(?:(?:now|still|currently|just|actually|set\sto|changed\sto|literally|always|probably)"
    r"\s{1,3}){0,2}" + _VALUE,
    re.IGNORECASE,
)
_CHANGED_TO = re.compile(r"\s{1,3}(?:to|as)\s{1,3}" + _VALUE)
_AFTER_WORDS = re.compile(
    r"\s{0,2}(?:\([^()\n]{1,40}\)"
    r"|\s(?:for|to|of|on|at|in|from|i|we|you|they|he|she|as|here|4)\s[^\n:=]{1,60}?"
    r"|\s[^\n:=.,;]{1,30}?)\s{0,2}[:=：→]\s{0,3}" + _VALUE,
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"(?:\s{0,2}[(（]|\s{1,2}[-–—|]\s{1,2}|[\"']\s{0,2},\s{0,2}(?=[\"'])"
    r"|[\"']\s{1,3}value\s?=\s?(?=[\"'])|\s[0-9]\s|[?？]\s{1,2}|[\"']>"
    r"|,\s{1,2}(?:it['’]s|it\sis|now|type|use|enter|try)\s{1,2}"
    r"|\s[^\n.;:=]{1,24}?\b(?:still|now)\s{1,2}"
    r"|\s{1,3}(?:(?:still|now)\s{1,2})?)" + _VALUE,
    re.IGNORECASE,
)
_BESIDE_CHINESE = re.compile(
    r"(?:默认|依然|仍然|仍|都|（[^（）\n]{1,12}）|\([^()\n]{1,12}\))?\s{0,3}[(（]?" + _VALUE
)
_IS = (
    r"(?:[:：=→]|->|(?:就|还|還)?是[:：]?|[为為][:：]?|[改设設换換][成为為到]?了?|用的?|填|[写寫])"
)
_CHINESE = re.compile(r"[^\n，。；;:：=→是为為成\"]{0,12}?" + _IS + r"\s{0,3}" + _VALUE)
_CHINESE_FAR = re.compile(
    r"[^\n。；;:：=A-Za-z0-9]{0,12}?(?:[，, ]\s{0,2})?(?:现在|新的|如今|目前)?"
    + _IS
    + r"[一-龥]{0,8}?\s{0,3}"
    + _VALUE
)
_WAYS = (
    *((_ASSIGNED, 0), (_SAID, 0), (_CHANGED_TO, 6), (_AFTER_WORDS, 6), (_BESIDE, 6)),
    *((_CHINESE, 4),),
)
_WAYS_CHINESE = (
    *((_ASSIGNED, 0), (_CHINESE, 0), (_CHINESE_FAR, 5), (_BESIDE_CHINESE, 4), (_SAID, 0)),
    *((_AFTER_WORDS, 6),),
)
"""How a value follows a word, and how long it is to be where it has to look like one by itself."""
_THEN = re.compile(
    r"[,.;]?\s{1,2}(?:(?:and|but)\s)?(?:now|then)\s{1,2}(?:it['’]s|it\sis|is)\s{1,2}" + _VALUE
)
_SPOKEN_WORDS = ("口令", "暗号", "暗號", "暗语")
_SPOKEN = re.compile(r"(?:是|：)\s{0,2}(?P<han>[一-龥]{2,12})")
_NO_SPOKEN = re.compile(
    r"什么|多少|啥|[对错不必由指哪谁否空见请你我他她]|需要|应该|正确|至少|安全|怎么|如何|一样"
    r"|数字|字母|[的了吗呢吧啊]\Z"
)
_REVERSED = re.compile(
    r"(?:[\s:(（\"'`“「，,]|\A)"
    r"(?P<bare>[^\s\"'`“”「」一-龥，。、：（）]{5,64})[\"'`”」]?"
    r"(?:,?\s{1,2}(?:as|is|was|being|that['’]s|this\sis|it['’]s|<-+|←|\()\s{0,2}"
    r"(?:(?:the|my|our|your|his|her|their|a|its)\s{1,2})?(?:[\w-]{1,20}\s{1,2}){0,2}"
    r"|\s?(?:这个|這個)?(?:是|做|作|当|當|作为|当作)"
    r"(?:我|你|他|她|家|的|新|登录|默认|初始|银行|邮箱|账号|WiFi|wifi){0,4})\Z"
)
_LOGIN = re.compile(
    r"(?<![a-z])(?:log-?\s?in|logon|credentials|creds?|user(?:name)?\s?[/&+]\s?pass(?:word)?"
    r"|wi-?fi|ssid)(?![a-z])"
    r"|(?:账号|帐号|用户名)\s?[/和、&+]?\s?密码|账密"
    r"|(?:账号|帐号|账户|用户名)(?=[:：是为]?\s{0,2}[\w.@-]{2,40}\s?/)"
)
_PAIR = re.compile(
    r"(?:\s(?:for|to|on|at|of)\s[^\n:=]{1,40}?)?(?:\s?(?:details|info))?"
    r"(?:\s{0,2}(?:[:：=→]|->)|\s{1,2}(?:is|are|was|with|as|using)|都?是|为|(?<=[号户名])"
    r"|\s(?=\S{1,64}@))\s{0,3}"
    r"[\"'`]?(?!(?:user|username|name|id|account|email|e-mail|mail)[\s:])"
    r"[^\s\"'`/|,，:：一-龥]{2,64}[\"'`]?"
    r"(?P<gap>\s{0,2}[/|,，、:：]\s{0,2}|\s{1,3}(?:and\s)?)" + _VALUE
)
_OTHER = re.compile(
    r"hash|checksum|digest|sha-?\d|md5|fingerprint|length|min|max|policy|hint|strength|attempt"
    r"|entropy|账号|帐号|账户|用户名|邮箱|手机|电话|网址|哈希|指纹|校验|长度|强度|输错|尝试|不能|至少|策略",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\s?[位个個次年月日号號字天种]")


def passwords(text: str, small: str, digit: bool) -> Iterator[Secret]:
    """What the words beside it call a password; `small` is the text in lower case."""
    if not hinted(small, _PASSWORD_HINTS, _PASSWORD_HINTS_CHINESE) and not (
        digit and hinted(small, _PASSWORD_HINTS_DIGIT, ())
    ):
        return
    done: set[int] = set()
    for cue in _LOGIN.finditer(small):
        match = _PAIR.match(text, cue.end())
        if match is None or ("wi" in cue[0] and match["gap"].isspace()):
            continue
        if is_strong(_value(text, match), 5):
            done.add(cue.end())
            yield _secret(text, match, "password")
    for cue in _PASSWORD.finditer(small):
        if cue.end() not in done:
            yield from _password(text, cue)


def _password(text: str, cue: re.Match[str]) -> Iterator[Secret]:
    """The password that one mention of a password comes with, if any."""
    at = cue.end()
    chinese = not cue[0].isascii()
    for pattern, least in _WAYS_CHINESE if chinese else _WAYS:
        match = pattern.match(text, at)
        if match is None or _OTHER.search(text, at, match.start(match.lastgroup or 0)):
            continue
        if _is_meant(text, cue, match, least):
            secret = _secret(text, match, "password")
            yield secret
            then = _THEN.match(text, secret.end)
            if then is not None and is_strong(_value(text, then), 5):
                yield _secret(text, then, "password")
            return
    spoken = _SPOKEN.match(text, at) if cue[0] in _SPOKEN_WORDS else None
    if spoken is not None and not _NO_SPOKEN.search(spoken["han"]):
        yield Secret(*spoken.span("han"), "password")
        return
    if "phrase" in cue[0] and (phrase := phrase_at(text, at)):
        yield Secret(*phrase, "password")
        return
    match = _REVERSED.search(text, max(0, cue.start() - 96), cue.start())
    if match is not None and is_strong(match["bare"], 6):
        yield _secret(text, match, "password")


def _is_meant(text: str, cue: re.Match[str], match: re.Match[str], least: int) -> bool:
    """Whether the value of a match is what the word before it speaks of.

    With `least` it has to look like a password by itself, and be as long.
    """
    start, end = _span(text, match)
    value = text[start:end]
    line = match.re is _ASSIGNED
    if value.isdigit():
        if _UNIT.match(text, end):
            return False
        if match.re is _BESIDE and cue[0] != "pass" and len(value) > 3:
            return _CLAUSE.match(text, end) is not None
    if cue[0] == "pass" and not (line and _SET.search(text, 0, cue.start())):
        # "pass" alone is more often something else.
        if match.re is _CHANGED_TO or not any(map(str.isdigit, value)):
            return False
        least = 5
    elif line and "\n" in text[cue.end() : start]:
        least = 4
    if least:
        drawn = cue[0] == "授权码" and re.fullmatch(r"[a-z]{16}", value)
        return bool(drawn) or is_strong(value, least)
    if line and text[start - 2 : start] == "= " and is_variable(value):
        return False
    alone = line and not re.match(r"[ \t]+\w", text[match.end() : match.end() + 8])
    if not alone and match.re is _SAID:
        alone = _LAST.match(text, match.end()) is not None and (
            is_word(value) or is_strong(value, 6)
        )
    return is_password(value, match.lastgroup != "bare", alone)


_SET = re.compile(r"[_.\"'-]\Z")
_CLAUSE = re.compile(r"\s*(?:[,.;!)，。；！）]|\Z|\n)")
_LAST = re.compile(r"[.!]{0,2}\s*(?:\Z|\n)")


def _value(text: str, match: re.Match[str]) -> str:
    start, end = _span(text, match)
    return text[start:end]


def _secret(text: str, match: re.Match[str], caption: str) -> Secret:
    return Secret(*_span(text, match), caption)


def _span(text: str, match: re.Match[str]) -> tuple[int, int]:
    """Where the value of a match is: a bare one without the punctuation of the sentence."""
    group = match.lastgroup or "bare"
    start, end = match.span(group)
    return start, ended(text, start, end) if group == "bare" else end


_KEY_HINTS = (
    *("key", "token", "secret", "bearer", "credential", "sig=", "ak=", "sk="),
    *("ak =", "appcode", "api", "auth", "pat ", "pat:"),
)
_KEY_HINTS_CHINESE = (
    "密钥",
    "密鑰",
    "秘钥",
    "令牌",
    "私钥",
    "私鑰",
    "授权码",
    "凭证",
    "凭据",
    "密匙",
    "秘匙",
)
_KEY = re.compile(
    r"(?<![a-z])(?:sig(?==)|[as]k(?=[ :：=是])|pat(?=[ :：=是])|api(?=\s?[:：=是])"
    r"|auth(?=[\"']\s?:|=))"
    r"|(?:key|token|secret|credential|bearer|密钥|密鑰|秘钥|密匙|秘匙|令牌|私钥|私鑰|授权码"
    r"|凭证|凭据|app_?code)s?(?![a-z]{3})"
)
_NO_KEY = re.compile(
    r"(?:public|pub|publishable|cache|primary|foreign|partition|idempotency|routing|sort|object"
    r"|s3|group"
    r"|cipher|row|dedup|item|resource|next|sync|cursor|gpg|pgp|recv|page|next[_ ]?page"
    r"|continuation|site|host|message|trace|registry"
    r"|公|主|外|缓存|分区)[ _-]?\Z"
)
_KEY_ASSIGNED = re.compile(
    r"(?:[ _-]?value)?\\?[\"'`*\])]{0,3}\s{0,3}(?:[:=：＝→]|=>|:=|->|是|为|為|就是|\s(?:is|was"
    r"|are))[>=]?\s{0,3}"
    r"\\?[\"'`“「]?(?P<bare>[^\s\"'`<>一-龥，。；：、！？（）【】「」『』“”…]{8,512})",
    re.IGNORECASE,
)
_KEY_NEAR = re.compile(
    r"[^\n。；;]{0,48}?(?<![A-Za-z0-9_+/=.~@&?-])(?P<bare>[A-Za-z0-9_+/=.~-]{16,512})(?![A-Za-z0-9_+/@-])"
)
_KEY_BESIDE = re.compile(r"[ \t]{1,2}[\"'`]?(?P<bare>[A-Za-z0-9_+/=.:~-]{16,512})(?![A-Za-z0-9_@])")
_QUALIFIED = re.compile(
    r"(?:api|auth|access|secret|licen[sc]e|app|subscription|account|server|service|admin)[ _-]?\Z",
    re.IGNORECASE,
)
_KEY_AFTER_WORDS = re.compile(
    r"\s?[^\n。；;:：=]{1,40}?(?:[:：=→]|\bis\b|是|为"
    r"|用)\s{0,2}[\"'`]?(?P<bare>[A-Za-z0-9_+/=.~-]{8,512})(?![A-Za-z0-9_@])",
    re.IGNORECASE,
)
_KEY_CHANGED = re.compile(
    r"[^\n。；;:：=A-Za-z0-9]{0,14}[改换換][^\n。；;:：=A-Za-z0-9]{0,10}(?:用|是"
    r"|为)[:：]?\s{0,3}(?P<bare>[A-Za-z0-9_+/=.~-]{8,512})"
)
_KEY_LINE = re.compile(
    r"[^\n]{0,12}[:：]?\s{0,2}\n\s{0,4}[\"'`]?(?P<bare>[A-Za-z0-9_+/=.~-]{16,512})(?=[\"'`\s，。]|\Z)"
)
_KEY_WAYS = (
    *((_KEY_ASSIGNED, 8, 2), (_KEY_CHANGED, 8, 2), (_KEY_BESIDE, 16, 3), (_KEY_AFTER_WORDS, 8, 3)),
    *((_KEY_NEAR, 20, 4), (_KEY_LINE, 20, 4)),
)
"""How a value follows a word, how long it is to be, and how often it turns to another sort."""
_NEXT_KEY = re.compile(
    r"[\"'`]?\s{0,2}(?:[/,|、，和&]|and"
    r"|or)\s{0,2}[\"'`]?(?P<bare>[A-Za-z0-9_+/=~-]{20,128})(?![A-Za-z0-9_+/=@.-])"
)
_OTHER_KEY = re.compile(
    r"hash|sha-?\d|md5|\bcommit|checksum|digest|fingerprint|指纹|哈希|校验|public|公钥|\buuid"
    r"|[ _-]id\b"
    r"|ssh-|\bpath\b|文件|路径|地址|address|version|版本|build|\bfile\b|\brow\b|请求|trace"
    r"|request|session_?id",
    re.IGNORECASE,
)


def keys(text: str, small: str) -> Iterator[Secret]:
    """What the words before it call a key, a token or a secret; each has a digit."""
    if not hinted(small, _KEY_HINTS, _KEY_HINTS_CHINESE) and "AK" not in text and "SK" not in text:
        return
    done = 0
    for cue in _KEY.finditer(small):
        if cue.start() < done or _NO_KEY.search(small, max(0, cue.start() - 14), cue.start()):
            continue
        match = _key(text, cue)
        while match is not None:
            secret = _secret(text, match, "token")
            yield secret
            done = secret.end
            match = _NEXT_KEY.match(text, done)
            if match is not None and not is_key(match["bare"], 20, 4):
                match = None


def _is_qualified(text: str, cue: re.Match[str]) -> bool:
    return _QUALIFIED.search(text, max(0, cue.start() - 13), cue.start()) is not None


def _key(text: str, cue: re.Match[str]) -> re.Match[str] | None:
    at = cue.end()
    for pattern, least, turns in _KEY_WAYS:
        match = pattern.match(text, at)
        if match is None or not is_key(_value(text, match), least, turns):
            continue
        if match.re is _KEY_BESIDE and cue[0] == "key" and not _is_qualified(text, cue):
            continue
        if not _OTHER_KEY.search(text, at, match.start("bare")):
            return match
    return None
