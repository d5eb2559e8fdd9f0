"""How good an answer is by its words, and what a judge said of it.

F1 as LoCoMo's `task_eval/evaluation.py` counts it, BLEU-1 with a brevity penalty. All functions are
pure. Two differences, neither of which changes a figure by much: Porter's stemmer without NLTK's
additions, and words and signs for BLEU by a pattern instead of NLTK's tokeniser.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import Stemmer

__all__ = ["answer_of", "bleu_1", "chosen", "f1", "label_of", "locomo_f1", "says_yes", "words"]

_STEMMER: Any = cast("Any", Stemmer).Stemmer("porter")
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DROPPED = frozenset({"a", "an", "and", "the"})
_TOKEN = re.compile(r"\w+|[^\w\s]")
_LABELLED = re.compile(r"[\"']?label[\"']?\s*[:=]\s*[\"']?(CORRECT|WRONG)\b", re.IGNORECASE)
_LABEL = re.compile(r"\b(CORRECT|WRONG)\b")
_YES = re.compile(r"\byes\b", re.IGNORECASE)
_NO = re.compile(r"\bno\b", re.IGNORECASE)
_LETTER = re.compile(r"(?:\(([ab])\)|([ab])(?:[).:]|\Z))", re.IGNORECASE)
_UNKNOWN = ("no information available", "not mentioned")
_EPSILON = 0.1
"""What a count of none stands for in BLEU (Chen and Cherry 2014, smoothing method 1)."""


def answer_of(reply: str) -> str:
    """What a reply says, without its thoughts."""
    return _THINKING.sub("", reply).strip()


def words(text: str) -> list[str]:
    """Small, without punctuation and articles, stemmed by Porter's rules."""
    plain = text.replace(",", "").lower().translate(_PUNCTUATION)
    return _STEMMER.stemWords([word for word in plain.split() if word not in _DROPPED])


def f1(answer: str, gold: str) -> float:
    """The harmonic mean of precision and recall of words, each as often as it occurs."""
    said, wanted = words(answer), words(gold)
    same = sum((Counter(said) & Counter(wanted)).values())
    return 2.0 * same / (len(said) + len(wanted)) if same else 0.0


def locomo_f1(answer: str, gold: str, category: str) -> float:
    """LoCoMo's own score of an answer.

    Multi-hop: answers are parted by commas, and each right one counts by its best match.
    Open-domain: the first of several right answers. Adversarial: 1.0 if the answer says that it was
    not mentioned, else 0.0.
    """
    if category == "adversarial":
        return float(any(phrase in answer.lower() for phrase in _UNKNOWN))
    if category == "multi-hop":
        wanted = [part.strip() for part in gold.split(",")]
        said = [part.strip() for part in answer.split(",")]
        return sum(max(f1(one, part) for one in said) for part in wanted) / len(wanted)
    if category == "open-domain":
        gold = gold.partition(";")[0]
    return f1(answer, gold)


def bleu_1(answer: str, gold: str) -> float:
    """The share of the answer's words that are in the right one, less where it is shorter.

    Words and signs count alone, capitals do not count.
    """
    said, wanted = _TOKEN.findall(answer.lower()), _TOKEN.findall(gold.lower())
    if not said or not wanted:
        return 0.0
    same = sum((Counter(said) & Counter(wanted)).values())
    brevity = 1.0 if len(said) > len(wanted) else math.exp(1.0 - len(wanted) / len(said))
    # Without one word in common BLEU is none, whatever is smoothed.
    return brevity * max(same, _EPSILON) / len(said) if same else 0.0


def chosen(answer: str, choices: Sequence[str]) -> str:
    """What is meant by `a` or `(b)`; anything else stands for itself."""
    match = _LETTER.match(answer.strip())
    if match is None:
        return answer
    return choices["ab".index((match[1] or match[2]).lower())]


def label_of(reply: str) -> bool | None:
    """Whether a judge says CORRECT, by its label or else its last such word; None: neither."""
    said = answer_of(reply)
    found = _LABELLED.findall(said) or _LABEL.findall(said)
    return found[-1].upper() == "CORRECT" if found else None


def says_yes(reply: str) -> bool | None:
    """Whether a judge says yes, which counts wherever it stands; None if neither yes nor no."""
    said = answer_of(reply)
    if _YES.search(said):
        return True
    return False if _NO.search(said) else None
