"""Whether a value that is called a password or a key can be one."""

from __future__ import annotations

import re

__all__ = ["ended", "is_key", "is_password", "is_strong", "is_variable", "is_word", "phrase_at"]

_PLACEHOLDER = re.compile(
    r"[<{\[(*]|\$[{A-Z(0-9]|%[A-Z({]|\.\.\.|…|!(?:vault|ref|sub|env)\b|x{3,}[x-]*\Z|•|●|_{3,}"
    r"|(?:your|the|process|os|env|config|settings|example|sample|dummy|insert|enter|replace"
    r"|some|my)[_. -]"
    r"|(?:pbkdf2|sha[0-9]|scrypt|argon2|bcrypt|md5)\S{0,40}[$:]|\S*EXAMPLE(?:KEY)?\Z"
    r"|(?:example|sample|dummy|placeholder|test|foo|bar|foobar|abc|xyz)\Z"
    r"|[\w-]*[_-]here\Z|\S*(?:\.\.\.|…|\*{3}|x{5,}|X{5,})"
    r"|(?:my|your|the|db|user|new|old|root|admin|super)?[_-]?"
    r"(?:secret)?[_-]?(?:password|passwd|pass|pwd|secret|token|key|api_?key|changeme|changeit"
    r"|value|string)\Z",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*[(\[]|[A-Za-z_]+(?:\??\.[A-Za-z_]+)+[!,]?\Z|~?/"
    r"|[A-Za-z]:\\|\./|[A-Za-z_][\w.]{2,40}=[\w@\"']"
    r"|[a-z]{2,10}://|@[a-z]|&[a-z]|--?[a-z]{2,}|=|\w{1,30}->"
    r"|[\w.+-]{1,64}@[\w-]{1,63}\.[\w.]{2,}\Z"
)
_PLAIN = frozenset(
    {"required", "optional", "string", "none", "null", "true", "false", "reset", "incorrect"}
    | {"invalid", "expired", "changed", "wrong", "protected", "forgotten", "hidden", "unknown"}
    | {"missing", "empty", "hash", "hashed", "manager", "field", "reminder", "undefined", "here"}
    | {"redacted", "removed", "masked", "encrypted", "sealed", "todo", "tbd", "n/a", "bcrypt"}
    | {"bool", "int", "float", "object", "any", "options", "optional", "self", "username"}
    | {"varchar", "text", "str", "bytes", "yes", "no", "ok", "correct", "same", "unset", "nil"}
    | {"argon2", "sha256", "md5", "base64", "oauth2", "utf8", "utf-8", "2fa", "mfa", "1password"}
    | {"bitwarden", "keepass", "lastpass", "login", "logout", "username", "email"}
)
_SIGN = re.compile(r"[^A-Za-z'’.-]")
_SHORT_NUMBERS = re.compile(
    r"[0-9]{1,2}(?:[-~–][0-9]{1,3})?[+%]?|[0-9]{1,3}(?:st|nd|rd|th|k|mb|gb|px|x|%|min|am|pm)\Z"
)
_MEASURE = re.compile(
    r"[0-9][0-9.,:/-]*(?:[kmgtw]?[bmgwvlx]|[ckmn]m|kg|px|pt|ms|[kmg]?hz|a[cx]|eur|usd|gbp|rmb|cny|jpy|aud|cad|th|st|nd|rd|am|pm"
    r"|min|hrs?|%)?\Z"
    r"|v[0-9][0-9.]*\Z",
    re.IGNORECASE,
)
# "password field2": a part of a form or a program.
_PART = re.compile(
    r"(?:field|column|policy|page|form|reset|prompt|input|box|table|hash|version|step|manager|option"
    r"|rule|file|attempt|change|row|col|param|arg|test|case|level|type|hint|length)s?[-_]?[0-9]{0,3}\Z",
    re.IGNORECASE,
)
_STRONG = re.compile(r"[!@#$%^&*_+~?=-]")
_MIXED = re.compile(r"[a-z][A-Z]|[A-Z].*[a-z][A-Z]")


_END = re.compile(r"\\[nrt\"']|;|&(?=[\w.-]{1,40}=)|,(?=\w{2,20}[=:])|,(?=[\"'{\[])|</")


def ended(text: str, start: int, end: int) -> int:
    """Where a value without quotes ends: before the next one, and the sentence's punctuation."""
    stop = _END.search(text, start + 1, end)
    value = text[start : stop.start() if stop else end]
    kept = value.rstrip(".,;:)]}\\|" if "(" not in value else ".,;:\\|")
    return start + max(len(kept), 1)


def is_password(value: str, quoted: bool, alone: bool) -> bool:
    """Whether a value is a password rather than the next words of a sentence or a piece of code.

    A plain word is one only in quotes, or alone at the end of its line.
    """
    if len(value) < 3 or value.lower() in _PLAIN or _SHORT_NUMBERS.fullmatch(value):
        return False
    if _PLACEHOLDER.match(value) or (_CODE.match(value) and not value.startswith("www.")):
        return False
    mixed = value[1:] != value[1:].lower() and value != value.upper()
    return bool(quoted or mixed or alone or _SIGN.search(value))


def is_strong(value: str, least: int) -> bool:
    """Whether a value of `least` characters or more looks like a password by itself."""
    if len(value) < least or not is_password(value, quoted=False, alone=True):
        return False
    if _PART.match(value):
        return False
    letters = any(char.isalpha() for char in value)
    digits = any(char.isdigit() for char in value)
    if letters and digits:
        return not _MEASURE.match(value)
    if letters:
        parts = re.split(r"[-_+/&.]", value)
        if all(part.isalpha() for part in parts):  # words in a row
            return len(parts) > 3 and min(map(len, parts)) > 2
        return bool(_STRONG.search(value[1:-1]))
    return digits and bool(_COMBINATION.fullmatch(value))


_COMBINATION = re.compile(r"[0-9]{1,2}(?:-[0-9]{1,2}){2,3}")
_NO_WORD = re.compile(
    r"\S*(?:ed|ing|[ai]ble|ful|less|ive|ant|ent|al|ic|ary|ory|ly|ous|ough|ome|est|long|sure)\Z"
    r"|(?:weak|strong|short|secure|simple|unique|different|easy|hard|same|correct|needed|safe|fine"
    r"|good|bad|old|there|mine|yours|ours|theirs|his|hers|this|that|them|above|below|attached|case"
    r"|again|already|anymore|available|lost|stuff|garbage|trash|great|terrible|awful|empty|online"
    r"|somewhere|nowhere|something|nothing|anything|everything|it|up|down|broken|stolen|leaked"
    r"|complex|enough|alright|okay|perfect|public|private|random|crap|rubbish|stupid|silly|people"
    r"|true|false|everywhere|offline|gone|done|set|in|out|off|on|over|under|mandatory|trouble)\Z",
    re.IGNORECASE,
)


def is_word(value: str) -> bool:
    """Whether a word at the end of "the password is …" is rather the password than about it."""
    return value.isascii() and value.isalpha() and len(value) > 5 and not _NO_WORD.match(value)


_PHRASE = re.compile(
    r"(?:\s(?:for|to|of|on)\s[^\n:=.;]{1,40}?)?\s{0,2}(?:[:：=]|is|是)\s{1,3}"
    r"(?P<phrase>[a-z]{3,10}(?: [a-z]{3,12}){3,7})(?=[.,;!\n]|\Z)"
)
_ORDINARY = re.compile(
    r"\b(?:the|and|was|are|for|not|but|from|has|had|his|her|its|our|with|into|you|they|that|this"
    r"|which|have|been|would|should|could|must|can|will|than|then|very|too|also|any|all)\b"
)


def phrase_at(text: str, at: int) -> tuple[int, int] | None:
    """Where the words in a row are that a passphrase is said to be, right behind `at`."""
    match = _PHRASE.match(text, at)
    if match is None or _ORDINARY.search(match["phrase"]):
        return None
    return match.span("phrase")


_VARIABLE = re.compile(
    r"(?:[a-z]+_)*(?:password|passwd|pass|pwd|pw|psk|secret|key|token|user|db|new|old|default|get|self"
    r"|env|config|value|input|hash|hooks|str|data|args|text|field|form)(?:_[a-z0-9]+)*\Z"
)


def is_variable(value: str) -> bool:
    """Whether a value that a program assigns is the name of another."""
    return _VARIABLE.match(value) is not None


_DOTTED = re.compile(
    r"[A-Za-z_]*[0-9]{0,5}[A-Za-z_]*[0-9]{0,2}[A-Za-z_]*"
    r"(?:\.[A-Za-z_]+[0-9]{0,5}[A-Za-z_]*[0-9]{0,2}[A-Za-z_]*)+"
)
_FILE = re.compile(r"\.[A-Za-z]{2,5}\Z")
_PATH = re.compile(
    r"//|[\w.-]{1,64}\.[a-z]{2,6}/|[a-z0-9_.-]+(?:/[a-z0-9_.-]+)+/?\Z"
    r"|[\w.-]*(?:/[\w.-]{1,24}){2,}\.[a-z]{2,4}\Z"
)
_DATE = re.compile(r"(?:19|20)[0-9]{2}[-/.][0-9]{1,2}|[0-9]{1,2}:[0-9]{2}|v?[0-9]+(?:\.[0-9]+)+")
_TURN = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])|[a-z](?=[A-Z])")
_WORDY = re.compile(r"[A-Za-z]*[0-9]{0,4}(?:[_./:-][A-Za-z]*[0-9]{0,4})*")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")


def is_key(value: str, least: int, turns: int = 2) -> bool:
    """Whether a value of `least` characters or more is drawn by lot, as keys and tokens are.

    It turns from letters to digits, or to capitals, so many times. From 20 characters on it is
    taken for one further from the word, and so must be no UUID.
    """
    if len(value) < least or value.lower() in _PLAIN:
        return False
    if not any(char.isdigit() for char in value) or not any(char.isalpha() for char in value):
        return False
    if _PLACEHOLDER.match(value) or _DATE.match(value) or _WORDY.fullmatch(value):
        return False
    if _DOTTED.fullmatch(value):
        return False
    drawn = len(_TURN.findall(value)) > 7 and "//" not in value
    if _PATH.match(value) or (not drawn and (_CODE.match(value) or _FILE.search(value))):
        return False
    if least >= 20 and _UUID.match(value):
        return False
    return len(_TURN.findall(value)) >= turns or (len(value) >= 16 and turns == 2)
