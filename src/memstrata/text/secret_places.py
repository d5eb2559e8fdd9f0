"""Secrets by their place: in addresses, in the arguments of commands, in statements and headers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memstrata.text.secret_shapes import Secret, hinted
from memstrata.text.secret_values import ended, is_key, is_strong

__all__ = ["commands", "headers", "in_urls"]

_USERINFO = re.compile(r"://[^\s/:@\"'<>]{0,200}:([^\s/\"'<>]{1,200})@(?=[\w\[])")
_DATABASE = re.compile(
    r"(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|rediss?|amqps?)(?:\+\w{1,16})?"
    r"://[^\s/:@]{0,100}:([^\s@\"'<>]{1,100})@"
)
_PLACE = re.compile(
    r"[<{\[(*$]|%[A-Z({]|\.\.\.|…|x{3,}\Z|(?:your|my|the)?[_-]?(?:password|passwd|pass|pwd"
    r"|secret)\Z",
    re.IGNORECASE,
)
# USER:PASSWORD@HOST without a scheme, and USER/PASSWORD@HOST as Oracle writes it.
_BARE = re.compile(
    r"(?<![\w./:@-])[\w.-]{2,32}:([^\s:@/\"'<>]{5,64})"
    r"@(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}:[0-9]{2,5})(?![\w.])"
)
_ORACLE = re.compile(r"(?:oracle:\w{2,6}:|sqlplus\s{1,3})\w{1,32}/([^\s@/\"']{3,64})@")
_MAIL = re.compile(
    r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}\s?[/|]\s?([^\s\"'<>一-龥，。]{6,64})"
)
_TOKEN_ONLY = re.compile(r"://([A-Za-z0-9_-]{20,128})@")
_PROXY = re.compile(r"(?:trojan|hysteria2?|tuic|vless|anytls)://([^\s@/:]{6,128})@")


def in_urls(text: str) -> Iterator[Secret]:
    """The passwords in the addresses of a text."""
    for pattern in (_USERINFO, _DATABASE, _PROXY, _ORACLE):
        for match in pattern.finditer(text):
            if not _PLACE.match(match[1]):
                yield Secret(match.start(1), match.end(1), "password in a URL")
    for match in _TOKEN_ONLY.finditer(text):
        if is_key(match[1], 20, 4):
            yield Secret(match.start(1), match.end(1), "token")
    for pattern in (_BARE, _MAIL):
        for match in pattern.finditer(text):
            end = ended(text, *match.span(1))
            if is_strong(text[match.start(1) : end], 5):
                yield Secret(match.start(1), end, "password")


_ARGUMENT = r"[\"']?(?P<value>[^\s\"'`;|]{3,256})"
# What runs, and how its password or token is given to it.
_SHELL = (
    (
        ("mysql", "mariadb"),
        re.compile(rf"\b(?:mysql|mariadb)[\w-]{{0,16}}\s[^\n|;]{{0,200}}?(?<=\s)-p{_ARGUMENT}"),
    ),
    (
        ("curl", "wget", "http"),
        re.compile(
            r"\b(?:curl|https?|wget)\s[^\n|]{0,400}?(?<=\s)"
            r"(?:-u|--user|-a|--auth|--proxy-user)[\s=]"
            rf"[\"']?[^\s:\"'$]{{1,100}}:{_ARGUMENT}"
        ),
    ),
    (
        ("sshpass", "login", "twine", "mongo"),
        re.compile(
            r"\b(?:sshpass|(?:docker|podman|helm|az)\s[^\n]{0,60}?login|twine\supload|mongo\w{0,8})"
            rf"\s[^\n|;]{{0,160}}?(?<=\s)-p\s{{0,3}}{_ARGUMENT}"
        ),
    ),
    (
        ("redis-cli",),
        re.compile(rf"\bredis-cli\s[^\n|;]{{0,120}}?(?<=\s)(?:-a|--pass)\s{{1,3}}{_ARGUMENT}"),
    ),
    (
        ("smb",),
        re.compile(rf"\bsmb\w{{0,8}}\s[^\n]{{0,100}}?-U\s{{0,2}}[\"']?[\w.-]{{1,32}}%{_ARGUMENT}"),
    ),
    (
        ("sqlcmd", "zip ", "ipmitool"),
        re.compile(
            rf"\b(?:sqlcmd|(?:un)?zip|ipmitool)\s[^\n|;]{{0,160}}?(?<=\s)-P\s{{0,2}}{_ARGUMENT}"
        ),
    ),
    (("ldap",), re.compile(rf"\bldap\w{{1,10}}\s[^\n|;]{{0,160}}?(?<=\s)-w\s{{1,2}}{_ARGUMENT}")),
    (("ssh-keygen",), re.compile(rf"\bssh-keygen\s[^\n|;]{{0,160}}?(?<=\s)-N\s{{1,2}}{_ARGUMENT}")),
    (("storepass", "keypass"), re.compile(rf"-(?:store|key)pass\s{{1,2}}{_ARGUMENT}")),
    (("pass:",), re.compile(rf"-pass(?:in|out)?\s{{1,2}}pass:{_ARGUMENT}")),
    (
        ("sudo -s",),
        re.compile(
            r"\becho\s{1,2}[\"']?(?P<value>[^\s\"'|]{3,64})[\"']?\s{0,2}\|\s{0,2}sudo\s{1,2}-S"
        ),
    ),
    (
        (" --",),
        re.compile(
            r"--(?:password|passwd|passphrase|pass|pwd|(?:[a-z]{2,12}-)?token|api-?key"
            rf"|(?:[a-z]{{2,12}}-)?secret)(?:=|\s{{1,3}}){_ARGUMENT}"
        ),
    ),
)
_STATEMENTS = (
    (
        "chpasswd",
        re.compile(
            r"echo\s{1,2}[\"']?[\w.-]{1,32}:(?P<value>[^\s\"'|]{3,64})[\"']?\s{0,2}"
            r"\|\s{0,2}(?:sudo\s)?chpasswd"
        ),
    ),
    (
        "identified",
        re.compile(
            r"identified\s(?:by|with\s\S{1,40}\s(?:by"
            r"|as))\s{1,3}[\"'](?P<value>[^\"'\n]{3,128})[\"']",
            re.IGNORECASE,
        ),
    ),
    (
        "login(",
        re.compile(r"login\(\s?[\"'][^\"'\n]{1,64}[\"'],\s?[\"'](?P<value>[^\"'\n]{3,128})[\"']"),
    ),
    (
        "_connect(",
        re.compile(
            r"_connect\((?:\s?[\"'][^\"'\n]{1,64}[\"'],){2}\s?[\"'](?P<value>[^\"'\n]{3,128})[\"']"
        ),
    ),
    (
        "auth=(",
        re.compile(r"auth=\(\s?[\"'][^\"'\n]{1,64}[\"'],\s?[\"'](?P<value>[^\"'\n]{3,128})[\"']"),
    ),
    ("requirepass", re.compile(rf"requirepass\s{{1,3}}{_ARGUMENT}")),
    ("masterauth", re.compile(rf"masterauth\s{{1,3}}{_ARGUMENT}")),
    (
        "password>",
        re.compile(r"<(?:\w{1,20}:)?\w{0,30}password>(?P<value>[^<>\n]{3,128})</", re.IGNORECASE),
    ),
)


def commands(text: str, small: str, digit: bool) -> Iterator[Secret]:
    """Passwords and tokens in the places where commands and statements have them."""
    if " -" in text:
        for hints, pattern in _SHELL:
            if hinted(small, hints, ()):
                yield from _values(text, pattern)
    if digit or "(" in text or ">" in text:
        for hint, pattern in _STATEMENTS:
            if hint in small:
                yield from _values(text, pattern)


def _values(text: str, pattern: re.Pattern[str]) -> Iterator[Secret]:
    for match in pattern.finditer(text):
        start, end = match.span("value")
        end = ended(text, start, end)
        value = text[start:end]
        put_in_later = _PLACE.match(value) or value[:1] in "-%"
        word = (value.isdigit() and len(value) < 6) or (value.islower() and len(value) < 5)
        if not put_in_later and not word:
            yield Secret(start, end, "token" if len(value) >= 20 else "password")


_HEADER = re.compile(
    r"(?:authorization[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?:(?!aws4)[a-z][a-z0-9-]{1,20}\s{1,3})?"
    r"|\b(?:bearer|basic)\s{1,3})(?P<value>[A-Za-z0-9._~+/=-]{12,2048})",
    re.IGNORECASE,
)
_CONNECTION = re.compile(
    r"(?:account|access)key=(?P<value>[A-Za-z0-9+/]{20,120}={0,2})", re.IGNORECASE
)
_COOKIE = re.compile(
    r"(?:session(?:_?id)?|sess_?id|connect\.sid|jsessionid"
    r"|phpsessid)=(?P<value>[A-Za-z0-9%._-]{20,256})",
    re.IGNORECASE,
)


def headers(text: str, small: str, digit: bool) -> Iterator[Secret]:
    """Tokens in headers, connection strings and cookies."""
    if "authorization" in small or (digit and ("bearer " in small or "basic " in small)):
        yield from _tokens(text, _HEADER)
    if digit and "key=" in small:
        yield from _tokens(text, _CONNECTION)
    if digit and ("sess" in small or ".sid=" in small):
        yield from _tokens(text, _COOKIE)


_FIELD = re.compile(r"=[A-Za-z0-9]")
_CAPITAL = re.compile(r"[a-z][A-Z]")


def _tokens(text: str, pattern: re.Pattern[str]) -> Iterator[Secret]:
    for match in pattern.finditer(text):
        start, end = match.span("value")
        value = text[start:end].rstrip(".")
        if _FIELD.search(value):  # a list of fields, not the token
            continue
        if is_key(value, 12) or (pattern is _HEADER and len(_CAPITAL.findall(value)) > 1):
            yield Secret(start, start + len(value), "token")
