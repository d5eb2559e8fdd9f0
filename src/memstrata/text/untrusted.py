"""Text that comes from anywhere, as it may stand in a prompt: data, whatever it says.

Escaped, so that it cannot close its block; continued lines are indented, so that it cannot pose as
an item of its own. What a reader cannot see is left out, and what stands before the text (ids,
sources, speakers) cannot end early or say more than it is. What is stored stays as it was said:
only the prompt is made safe.
"""

from __future__ import annotations

from urllib.parse import quote

import regex

from memstrata.records import Message
from memstrata.text.analyse import fold

__all__ = ["as_data", "as_speaker", "as_word"]

# Scripts whose letters take other shapes beside a joiner or non-joiner: Persian and Hindi words
# are misspelt without them.
_JOINING = "".join(
    rf"\p{{{script}}}"
    for script in (
        *("Arabic", "Syriac", "Nko", "Mongolian", "Devanagari", "Bengali", "Gurmukhi", "Gujarati"),
        *("Oriya", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Khmer", "Myanmar"),
    )
)
# One family or flag is several emoji with joiners between them; a selector after a sign makes an
# emoji of it. More than one in a row, or one after a plain letter, shows nothing and hides text.
_NEEDED = (
    r"(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D(?=\p{Extended_Pictographic})"
    r"|(?<=\p{Emoji})[\uFE0E\uFE0F]"
    rf"|(?<=[{_JOINING}])[\u200C\u200D](?![\u200C\u200D])"
)
# Zero-width and bidirectional characters, tags, selectors, controls, annotation marks: a person who
# looks at a memory does not see them, a model reads them.
_UNSEEN = regex.compile(
    r"(?=[[\p{Cc}--\t]\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Noncharacter_Code_Point}"
    rf"\uFFF9-\uFFFB])(?!{_NEEDED}).",
    regex.VERSION1 | regex.DOTALL,
)
# Brackets that are `<` and `>` in another width; those that only look so are used in Chinese and
# French prose, and are a tag's only before what begins a tag.
_WIDE = str.maketrans("＜＞﹤﹥", "<><>")
_LIKE_TAG = regex.compile(
    r"[‹⟨❮〈\u2329ᐸ˂](?=\s*(?:[/|!?｜]|(?:\w+_)?memory\b|messages\b|knowledge_vault\b|system\b))",
    regex.IGNORECASE,
)
# Marks of chat templates that are no tags.
_TEMPLATE = regex.compile(
    r"[\[［](?=/?(?:INST|SYS|SYSTEM_PROMPT|TOOL_CALLS?|TOOL_RESULTS?|TOOL_CONTENT|AVAILABLE_TOOLS"
    r"|gMASK|BOS|EOS|CLS|SEP|MASK|PAD|UNK)[\]］])",
    regex.IGNORECASE,
)
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ENDS_NAME = ";:；：﹔﹕︰∶꞉\u037e"
"""What may follow a speaker, and what looks like it in another width or in Greek."""


def _percent(signs: str) -> dict[int, str]:
    # A character reference would end in the very semicolon that it stands for.
    return str.maketrans({sign: quote(sign, safe="") for sign in f"%<>{signs}"})


_IN_NAME = _percent(_ENDS_NAME)
_IN_HEAD = _percent(f"{_ENDS_NAME}(),（），")
_ROLES = frozenset(
    {"user", "human", "assistant", "system", "tool", "developer", "function"}
    | {"用户", "助手", "助理", "系统", "工具"}
)


def _seen(line: str) -> str:
    """One line without what is not seen, and with every bracket of a tag as `<` or `>`."""
    return _LIKE_TAG.sub("<", _UNSEEN.sub("", line).translate(_WIDE))


def _safe(line: str) -> str:
    """One line in which no sign of a tag or template is more than a character."""
    return _TEMPLATE.sub("&#91;", _seen(line).translate(_IN_TEXT))


def as_data(text: str) -> str:
    """Text as it stands in an item: after what any reader takes for a line break it goes on
    indented."""
    lines = [_safe(line) for line in text.splitlines()]
    return "\n  ".join("\n".join(lines).strip().split("\n"))


def as_word(text: str, signs: dict[int, str] = _IN_HEAD) -> str:
    """Text as it stands before an item's own: on one line, without what would end it early."""
    one = " ".join(_seen(" ".join(text.splitlines())).split())
    return _TEMPLATE.sub("%5B", one.translate(signs))


def as_speaker(message: Message) -> str:
    """Who says it: the name, with the role where the name could be taken for another's."""
    role = as_word(message.role)
    if message.name is None:
        return role
    name = as_word(message.name, _IN_NAME)
    return name if message.role == "user" and fold(name) not in _ROLES else f"{name} ({role})"
