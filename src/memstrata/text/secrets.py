"""Secrets of well-known shape in a text: where they are, and the text without them.

Told by their shape: private keys, the keys and tokens of common issuers, webhooks, passwords in
URLs, payment card numbers, Chinese identity numbers, IBANs. Told by the words beside them, in
English and Chinese: passwords, PINs, keys and tokens ("password: …", 密码是…), recovery phrases,
two-factor secrets, backup codes, account, social security, national insurance and passport
numbers. Hashes, UUIDs, telephone and order numbers are none.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from memstrata.text.secret_context import keys, passwords
from memstrata.text.secret_numbers import numbers
from memstrata.text.secret_phrases import codes, phrases
from memstrata.text.secret_places import commands, headers, in_urls
from memstrata.text.secret_shapes import Secret, shaped
from memstrata.text.standin import STANDIN, has_standin

__all__ = ["Secret", "StandIn", "find", "names_secret", "replace"]


StandIn = Callable[[str, str], str]
"""What is stored in place of a secret, given that and its caption."""


def find(text: str) -> list[Secret]:
    """The secrets in a text, in order, none overlapping; the time grows with its length.

    What stands in a text for a secret that left it is none.
    """
    if has_standin(text):
        text = STANDIN.sub(_blank, text)
    small = text.lower()
    if len(small) != len(text):  # one letter alone is two in lower case
        small = text.replace("İ", "I").lower()
    found: list[Secret] = []
    digit = _DIGIT.search(text) is not None
    if digit:
        found += _with_digits(text, small)
    if "-----BEGIN" in text:
        found += _private_keys(text)
    if "@" in text:
        found += in_urls(text)
    found += headers(text, small, digit)
    found += passwords(text, small, digit)
    found += commands(text, small, digit)
    found += phrases(text, small)
    return _apart([*found, *_said_again(text, found)]) if found else found


def _with_digits(text: str, small: str) -> list[Secret]:
    """Secrets that always have a digit."""
    runs = " ".join(run for run in _RUN.findall(text) if _DIGIT.search(run))
    found: list[Secret] = []
    if runs:
        found += shaped(text, small, runs)
        found += _beside(found, keys(text, small))
    found += numbers(text, small)
    found += codes(text, small)
    return found


def replace(text: str, stand_in: StandIn) -> tuple[str, list[str]]:
    """The text with what `stand_in` gives in place of each secret, and what it gave.

    All else stays as it is; where it gives the secret back, that was none.
    """
    parts: list[str] = []
    given: list[str] = []
    at = 0
    for start, end, caption in find(text):
        instead = stand_in(text[start:end], caption)
        if instead != text[start:end]:
            given.append(instead)
        parts += (text[at:start], instead)
        at = end
    return ("".join(parts) + text[at:], given) if parts else (text, given)


def names_secret(name: str) -> bool:
    """Whether an id that a caller chose is a key or token as a whole, and so no name for it."""
    found = find(name)
    whole = len(found) == 1 and found[0].start == 0 and found[0].end == len(name)
    return whole and not name.isdecimal()


_MOST = 32
_LEAST = 6


def _said_again(text: str, found: Sequence[Secret]) -> Iterator[Secret]:
    """The same values where nothing beside them says what they are.

    Of short ones and plain words that would be other words; of very many the first are looked for.
    """
    captions: dict[str, str] = {}
    for start, end, caption in found:
        value = text[start:end]
        if len(value) >= _LEAST and not value.isalpha() and len(captions) < _MOST:
            captions.setdefault(value, caption)
    if not captions or len(text) < 2 * _LEAST:
        return
    values = "|".join(map(re.escape, sorted(captions, key=len, reverse=True)))
    for match in re.finditer(rf"(?<![A-Za-z0-9_])(?:{values})(?![A-Za-z0-9_])", text):
        yield Secret(match.start(), match.end(), captions[match[0]])


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


def _beside(known: list[Secret], found: Iterable[Secret]) -> list[Secret]:
    """What of the found ones does not touch a known one: a shape knows best where a token ends."""
    if not known:
        return list(found)
    ends = [secret.end for secret in sorted(known)]
    starts = [secret.start for secret in sorted(known)]
    return [one for one in found if bisect_right(ends, one.start) == bisect_left(starts, one.end)]


_DIGIT = re.compile(r"[0-9]")
_RUN = re.compile(r"[A-Za-z0-9_+/=.:~$?&%-]{8,}+")


def _blank(match: re.Match[str]) -> str:
    """As many characters that nothing is found in."""
    return f"[{'*' * (len(match[0]) - 2)}]"


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
