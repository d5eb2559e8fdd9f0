"""Documents: what is pasted or attached is kept whole, and talk is not a document."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import pytest
from ingest.said import said

from memstrata.ingest.local.documents import documents
from memstrata.kinds import Resource

MAIL = """From: Mabel Quince <mabel@pier.example>
To: Bruno Alder
Subject: The crate for the double bass

The crate is in the boathouse. The key hangs by the door of the harbour office."""
MAIL_ZH = """发件人：柳青禾
收件人：陶然
主题：低音提琴的木箱

木箱放在船屋里，钥匙挂在港务处门边。渡轮公司已经同意托运，运费由合唱团出，请在星期五之前把琴送到码头。
到了码头以后找值班的人，他会帮忙把木箱抬上船。回程的船票也已经订好。"""
REPORT = "# Report on the pier\n\nThe piles are sound.\n\n## Railings\n\n" + (
    "The railings of the pier were painted by the harbour office last spring. " * 12
)
REPORT_ZH = "# 码头检查报告\n\n桩基完好。\n\n## 栏杆\n\n" + "栏杆去年春天由港务处重新油漆过。" * 60
CODE = "def lamps(pier):\n    return [lamp for lamp in pier.lamps if lamp.lit]\n\n" * 10
LONG = "The heron stood in the shallows while the tide went out over the flats. " * 40
TALK = "I walked to the pier and I saw my heron again, you would have liked it. " * 40
TALK_ZH = "我走到码头，又看见了那只苍鹭，你一定会喜欢的。" * 120
CHAT = "\n".join(f"{who}: The tide turns at {n}." for n in range(12) for who in ("Mabel", "Bruno"))


def read(text: str, **more: Any) -> list[Resource]:
    found = [p.record for p in documents(said(text, **more))]
    assert all(isinstance(record, Resource) for record in found)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("text", "kind", "title"),
    [
        (MAIL, "email", "The crate for the double bass"),
        (MAIL_ZH, "email", "低音提琴的木箱"),
        (REPORT, "document", "Report on the pier"),
        (REPORT_ZH, "document", "码头检查报告"),
        (CODE, "code", "def lamps(pier):"),
        (CHAT, "transcript", "Mabel: The tide turns at 0."),
        (f"```python\n{CODE}```", "code", "def lamps(pier):"),
        (f"Lamps:\n~~~~\n{REPORT}\n~~~\n~~~~\nDone.", "document", "Report on the pier"),
    ],
)
def test_a_document_is_kept_whole(text: str, kind: str, title: str) -> None:
    [record] = read(text)
    assert (record.resource_type, record.title) == (kind, title)
    assert record.content in text
    assert len(record.content) > 0.8 * len(text.strip("`~\n"))


def test_the_line_that_hands_a_document_over_is_no_part_of_it() -> None:
    [record] = read(f"Here is the report:\n{REPORT}")
    assert record.content == REPORT.strip()


@pytest.mark.parametrize(
    "text",
    [TALK, TALK_ZH, "Short.", "", "```\nshort\n```", "```\n" + " " * 900 + "\n```", "```" * 3],
)
def test_talk_is_no_document(text: str) -> None:
    assert read(text) == []


def test_an_answer_in_prose_is_no_document() -> None:
    assert read(LONG, role="assistant") == []
    assert len(read(LONG)) == 1


@pytest.mark.parametrize("text", [REPORT, REPORT_ZH, MAIL])
def test_what_was_recalled_is_no_document_of_this_message(text: str) -> None:
    assert read(f"<memory>\n{text}\n</memory>\nThanks!") == []


@pytest.mark.parametrize(
    ("part", "title", "kind"),
    [
        (
            {"type": "file", "filename": "tides.txt", "text": "High at six."},
            "tides.txt",
            "document",
        ),
        ({"type": "file", "file": {"filename": "a.py", "content": "x = 1"}}, "a.py", "code"),
        ({"type": "document", "text": "潮汐表\n六点满潮"}, "潮汐表", "document"),
        ({"type": "image", "filename": "heron.png", "text": "a heron"}, None, None),
        ({"type": "file", "filename": "b.bin", "data": "data:application/x;base64,AA"}, None, None),
        ({"type": "file", "filename": "c.txt", "text": "  "}, None, None),
        ({"type": "text", "text": "no file"}, None, None),
    ],
)
def test_attachments(part: dict[str, Any], title: str | None, kind: str | None) -> None:
    found = read("Look!", parts=[part])
    assert [(r.title, r.resource_type) for r in found] == ([(title, kind)] if title else [])


def test_an_attachment_that_is_pasted_too_is_kept_once() -> None:
    part = {"type": "file", "filename": "pier.md", "text": REPORT.strip()}
    [record] = read(REPORT, parts=[part])
    assert record.title == "pier.md"


@pytest.mark.parametrize(
    "text",
    [
        MAIL,
        MAIL_ZH,
        REPORT,
        REPORT_ZH,
        CODE,
        CHAT,
        LONG,
        REPORT.replace("\n", "\r\n"),
        f"~~~text\n{REPORT}\n~~~",
        f"**Look**\n```\n{'x' * 130} … {REPORT}\n```",
        REPORT.replace("# Report on the pier", "# **Report** on _the_ pier #"),
        REPORT.replace("# Report on the pier", "Report on the pier\n====="),
        "ab…" * 2000,
    ],
)
def test_the_quote_stands_in_the_message(text: str) -> None:
    [proposal] = documents(said(text))
    [evidence] = proposal.evidence
    assert evidence.quote
    assert evidence.quote in text


@pytest.mark.parametrize(
    "text",
    [
        "`" * 100_000 + "\n" + "x" * 100_000,
        "```a\n" * 40_000,
        "".join("`" * n + "\n" for n in range(3, 500)) * 2,
        "a" + " " * 100_000 + "b",
        "subject" + " " * 100_000,
        "subject:\n" * 20_000,
        "#" + " " * 100_000,
        "# a\n" * 40_000,
        "a:" * 60_000,
        "12:00 " * 20_000,
        "; " * 60_000,
        "x\n" * 60_000,
    ],
)
def test_hostile_text_takes_no_time(text: str) -> None:
    began = perf_counter()
    documents(said(text))
    assert perf_counter() - began < 2
