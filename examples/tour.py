"""A tour: remember a conversation, ask about it, and see why each answer was found.

Run it with `make run`, or with `python examples/tour.py --url memory.db` to keep the store. It
needs no key and downloads nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import memstrata

HERE = Path(__file__).parent
USER = "mira"
ZONE = ZoneInfo("Europe/Brussels")
NOW = "2026-04-27T18:00:00+02:00"
"""The moment the questions are asked, so that "last week" means the same on every run."""

QUESTIONS = (
    ("Where is Mira's home?", "a fact that changed in April"),
    ("林然对什么过敏？", "asked in Chinese, said in Chinese"),
    ("工坊晚上怎么锁门？", "asked in Chinese, said in English"),
    ("What did Tom do last week?", "a time window: 20 to 26 April"),
    ("How do I check a violin that comes back from a loan?", "a how-to, from a document"),
)
SITUATION = "When is the recital, and which strings do we need for it?"


def remember(memory: memstrata.Memory) -> None:
    """Add the conversation, one call per session, and three records by hand."""
    lines = (HERE / "conversation.jsonl").read_text(encoding="utf-8").splitlines()
    turns: list[dict[str, Any]] = [json.loads(line) for line in lines]
    for session, group in groupby(turns, key=lambda turn: turn["session_id"]):
        messages = [{k: v for k, v in turn.items() if k != "session_id"} for turn in group]
        memory.add(messages, session_id=session, infer=False)
    if not memory.list(limit=1):
        write_down(memory)


def write_down(memory: memstrata.Memory) -> None:
    """Records of three kinds. Drawing them from messages comes with a later version."""
    memory.create({"kind": "core", "label": "human", "value": "Mira, violin maker in Ghent."})
    title, text = (HERE / "lending-rules.md").read_text(encoding="utf-8").split("\n", 1)
    memory.create({"kind": "resource", "title": title.lstrip("# "), "content": text.strip()})
    said = memory.search("I live in Ghent", method="string_match", strata=["messages"])
    fact = memory.create(
        {
            "kind": "semantic",
            "name": "Mira's home is in Ghent",
            **{"subject": "Mira", "attribute": "home", "value": "Ghent"},
            "evidence": [hit.id for hit in said],
        }
    )
    # With `valid_from` an update is a change: the old fact ends then and has a successor.
    said = memory.search("I live in Bruges", method="string_match", strata=["messages"])
    memory.update(
        fact.record_ids[0],
        name="Mira's home is in Bruges",
        value="Bruges",
        valid_from="2026-04-01",
        evidence=[hit.id for hit in said],
    )


def show(question: str, about: str, results: memstrata.Results) -> None:
    """The best three hits: score, date, source and signals, and under them the text."""
    print(f"\n? {question}   ({about})")
    for hit in results[:3]:
        when = f"{hit.occurred_at.astimezone(ZONE):%Y-%m-%d}" if hit.occurred_at else "no date"
        print(f"  {hit.score:.2f}  {when:10}  {source(hit):24}  {signals(hit)}")
        print(f"        {short(hit.text)}")


def source(hit: memstrata.Hit) -> str:
    """Who said it in which session, or which kind of record it is."""
    if hit.message is not None:
        return f"{hit.message.speaker} in {hit.message.session_id!r}"
    return f"{hit.kind} record"


def signals(hit: memstrata.Hit) -> str:
    """The strongest three of the signals the score is made of."""
    strongest = sorted(hit.signals.items(), key=lambda item: -item[1])[:3]
    return "  ".join(f"{name} {value:.2f}" for name, value in strongest if value >= 0.01)


def short(text: str) -> str:
    """A text's beginning, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= 110 else f"{line[:110]} …"


def main() -> None:
    """Run the tour."""
    in_utf8 = getattr(sys.stdout, "reconfigure", None)
    if in_utf8 is not None:
        in_utf8(encoding="utf-8")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="where to keep the store; default: a new temporary folder")
    url = parser.parse_args().url or str(Path(tempfile.mkdtemp(prefix="memstrata-")) / "memory.db")

    with memstrata.open(url) as store:
        store.set_user(user_id=USER, timezone=ZONE.key)
        memory = store.scoped(user_id=USER)
        remember(memory)
        messages, records = memory.stats()["messages"], len(memory.list())
        print(f"{messages} messages and {records} records are remembered in {url}")

        for question, about in QUESTIONS:
            show(question, about, memory.search(question, limit=3, now=NOW))
        before = memory.search(QUESTIONS[0][0], kinds=["semantic"], as_of="2026-03-15", limit=1)
        print(f"\nThe first question as of 15 March: {before[0].text.splitlines()[0]}")

        print(f"\n? {SITUATION}   (what a model would be given)\n")
        print(memory.context(SITUATION, max_tokens=500, now=NOW))

    print(f"""
Go on:
  .venv/bin/memstrata search "who is Tom?" --url {url} --user {USER}
  .venv/bin/memstrata messages --url {url} --user {USER}
  .venv/bin/memstrata add "I take the 7:54 now." --url {url} --user {USER}
  .venv/bin/memstrata --help
  docs/quickstart.md, examples/agent_loop.py""")


if __name__ == "__main__":
    main()
