"""Long, pasted or attached text to resources: kept whole, found by title and by passage."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from memstrata.ingest.narrate import sentences
from memstrata.ingest.proposals import Proposal
from memstrata.kinds import Resource
from memstrata.records import Evidence, Message
from memstrata.text.analyse import fold
from memstrata.text.clean import shorten
from memstrata.text.recalled import own_words

__all__ = ["documents"]

_LONG = 2000
"""Characters from which prose that is not conversation is a document."""
_FENCED = 400
"""Characters from which a fenced block is worth keeping apart from its message."""
_HEADED = 600
_TITLE = 120


@dataclass(frozen=True, slots=True)
class _Document:
    title: str
    type: str
    content: str
    quote: str | None


def documents(message: Message) -> list[Proposal]:
    """The documents a message carries, each with its content whole.

    What is attached comes first; of the text itself the fenced documents, else the whole if it is
    an e-mail, has headings, is a transcript, or is long prose that nobody says to anybody.
    """
    text = own_words(message.content).strip()
    found = [*_attached(message), *(_fenced(text) or _whole(message, text))]
    distinct = {one.content: one for one in reversed(found)}
    return [_proposal(message, one) for one in reversed(distinct.values())]


def _proposal(message: Message, document: _Document) -> Proposal:
    record = Resource(
        title=document.title,
        resource_type=document.type,
        content=document.content,
        trust=message.trust,
    )
    return Proposal(
        op="create",
        record=record,
        evidence=(Evidence(source_id=message.id, quote=document.quote),),
        said_at=message.occurred_at,
        reason="a document in the message",
    )


# ── attachments ──────────────────────────────────────────────────────────────────────────────

_TEXT_KEYS = ("text", "content", "body", "extracted_content", "data")
_NAME_KEYS = ("filename", "file_name", "name", "title")
_CODE_SUFFIX = re.compile(
    r"\.(?:py|js|ts|tsx|jsx|java|c|h|cc|cpp|hpp|cs|go|rs|rb|php|"
    r"swift|kt|scala|sh|sql|r|lua|html|css"
    r"|json|ya?ml|toml|xml)$",
    re.IGNORECASE,
)
_NOT_TEXT = frozenset({"image", "image_url", "audio", "input_audio", "video", "tool_call"})
_ATTACHED = frozenset(
    {"file", "document", "attachment", "text_file", "input_file", "resource", "transcript"}
)


def _attached(message: Message) -> Iterator[_Document]:
    for part in message.parts:
        kind = str(part.get("type", "file"))
        inner = [part, *(value for value in part.values() if isinstance(value, dict))]
        name = _first(inner, _NAME_KEYS)
        if kind in _NOT_TEXT or not (name or kind in _ATTACHED):
            continue
        content = _first(inner, _TEXT_KEYS)
        if content and content.strip() and not content.startswith("data:"):
            title = shorten(name or _first_line(content), _TITLE)
            yield _Document(title, _type_of(content, name or ""), content, None)


def _first(parts: Sequence[Mapping[str, object]], keys: tuple[str, ...]) -> str:
    for key in keys:
        for part in parts:
            value = part.get(key)
            if isinstance(value, str) and value.strip():
                return value
    return ""


# ── fences ───────────────────────────────────────────────────────────────────────────────────

_FENCE = re.compile(r"(`{3,}|~{3,})([\w.+-]*)")
_PROSE_FENCES = frozenset({"", "text", "txt", "md", "markdown", "plain", "email", "plaintext"})


def _fenced(text: str) -> list[_Document]:
    found: list[_Document] = []
    for start, language, content in _fences(text):
        if len(content) < _FENCED or not content.strip():
            continue
        kind = _type_of(content, "") if language in _PROSE_FENCES else "code"
        line = _first_line(content)
        title = _heading(content) or (_lead(text[:start]) if kind == "code" else "") or line
        quote = shorten(line, _TITLE).removesuffix("…")
        found.append(_Document(shorten(title, _TITLE), kind, content, quote))
    return found


def _fences(text: str) -> Iterator[tuple[int, str, str]]:
    """Where a fenced block begins, its language, and what stands in it, line by line."""
    lines = text.splitlines(keepends=True)
    starts = list(accumulate(map(len, lines), initial=0))
    unclosed: dict[str, int] = {}
    at = 0
    while at < len(lines):
        opened = _FENCE.match(lines[at])
        mark = opened[1] if opened else ""
        # A fence that nothing closes is none, and then no longer one below it is.
        if opened and len(mark) < unclosed.get(mark[0], len(mark) + 1):
            end = next((n for n in range(at + 1, len(lines)) if _closes(lines[n], mark)), None)
            if end is not None:
                yield starts[at], opened[2].casefold(), "".join(lines[at + 1 : end]).strip("\r\n")
                at = end
            else:
                unclosed[mark[0]] = len(mark)
        at += 1


def _closes(line: str, mark: str) -> bool:
    bare = line.rstrip()
    return len(bare) >= len(mark) and not bare.strip(mark[0])


def _lead(before: str) -> str:
    """The line that introduces a block."""
    lines = [line.strip() for line in before.splitlines() if line.strip()]
    return lines[-1].rstrip(":：").lstrip("# ") if lines else ""


# ── the message itself ───────────────────────────────────────────────────────────────────────

_MAIL = re.compile(
    r"^(?:from|to|cc|subject|date|sent|发件人|收件人|抄送|主题|日期|发送时间)\s*[:：]\s*(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_SUBJECT = re.compile(r"^(?:subject|主题)\s*[:：]\s*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_HEADING = re.compile(r"^(?:#{1,6}[ \t]+(\S.*)|(\S.{1,78})\n(?:={3,}|-{3,}))[ \t]*$", re.MULTILINE)
_SPOKEN = re.compile(
    r"^[ \t]*(?:\[?\d{1,2}:\d{2}(?::\d{2})?\]?[ \t]*)?[^\W\d_][\w .'-]{0,30}[:：][ \t]*\S",
    re.MULTILINE,
)
_STAMPED = re.compile(r"^[ \t]*[\[(]?\d{1,2}:\d{2}(?::\d{2})?(?:[,.]\d{3})?[\])]?\b", re.MULTILINE)
_CODE_LINE = re.compile(
    r"[;{}]\s*$|^\s*(?:def|class|import|from \w+ import|return|if .*:|for .*:|const|let|var"
    r"|function|public|private|#include|package|SELECT|INSERT|@\w+)\b.*"
)
_FACING = re.compile(r"\b(?:i|i'm|i've|my|me|you|your)\b|[我你您]")


def _whole(message: Message, text: str) -> Iterator[_Document]:
    """The message itself, if it is a document; of an assistant's only what is none of its talk."""
    kind = _kind_of_message(text)
    if kind is None or (message.role == "assistant" and kind == "document"):
        return
    content = _pasted(text) if kind == "document" else text
    subject = _SUBJECT.search(text) if kind == "email" else None
    title = subject[1].strip() if subject else _heading(content) or _first_line(content)
    title = shorten(title, _TITLE)
    yield _Document(title, kind, content, title.removesuffix("…"))


def _kind_of_message(text: str) -> str | None:
    if len(text) < 80:
        return None
    kind = _type_of(text, "")
    if kind == "email":
        return kind
    if kind in ("transcript", "code"):
        return kind if len(text) >= _HEADED else None
    headed = len(_HEADING.findall(text)) >= 2 and len(text) >= _HEADED
    return "document" if headed or (_long_prose(text) and not _is_talk(text)) else None


def _long_prose(text: str) -> bool:
    """Long, and made of words for the most part."""
    return len(text) >= _LONG and 2 * sum(map(str.isalpha, text)) > len(text)


def _is_talk(text: str) -> bool:
    """Whether most sentences speak of the speaker or to the listener."""
    split = sentences(text[:8000])
    facing = sum(1 for one in split if _FACING.search(fold(one)))
    return facing > 0.4 * len(split)


def _pasted(text: str) -> str:
    """The document without the line or two that hand it over ("Here is the report:")."""
    head, gap, rest = text.partition("\n")
    handed = len(head) < 160 and head.rstrip().endswith((":", "："))
    return rest.strip() if gap and handed and not head.startswith("#") else text


def _type_of(content: str, name: str) -> str:
    if _CODE_SUFFIX.search(name):
        return "code"
    head = content.lstrip()[:1500]
    if len({match[0].split(":")[0].casefold() for match in _MAIL.finditer(head[:600])}) >= 2:
        return "email"
    lines = [line for line in content.splitlines()[:200] if line.strip()]
    if _is_transcript(content[:20_000], len(lines)):
        return "transcript"
    code = sum(1 for line in lines if _CODE_LINE.search(line))
    return "code" if len(lines) >= 4 and code > 0.4 * len(lines) else "document"


def _is_transcript(content: str, lines: int) -> bool:
    if lines < 4:
        return False
    spoken = [match[0].strip().partition(":")[0] for match in _SPOKEN.finditer(content)]
    repeated = len(spoken) - len(set(spoken))
    return repeated >= 0.4 * lines or len(_STAMPED.findall(content)) >= 0.4 * lines


def _heading(content: str) -> str:
    match = _HEADING.search(content)
    return (match[1] or match[2]).strip(" #*") if match else ""


def _first_line(content: str) -> str:
    return next((line.strip() for line in content.splitlines() if line.strip()), "")
