"""A tour: remember a conversation, see what is made of it, ask, and see why each answer was found.

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
    """Add the conversation, one call per session, and two records by hand."""
    lines = (HERE / "conversation.jsonl").read_text(encoding="utf-8").splitlines()
    turns: list[dict[str, Any]] = [json.loads(line) for line in lines]
    for session, group in groupby(turns, key=lambda turn: turn["session_id"]):
        messages = [{k: v for k, v in turn.items() if k != "session_id"} for turn in group]
        memory.add(messages, session_id=session)
    # An exact duplicate is not stored again, so the tour may be run twice.
    memory.create({"kind": "core", "label": "workshop", "value": "Mira's, in Ghent."})
    title, text = (HERE / "lending-rules.md").read_text(encoding="utf-8").split("\n", 1)
    memory.create({"kind": "resource", "title": title.lstrip("# "), "content": text.strip()})


def show_distilled(memory: memstrata.Memory) -> None:
    """What rules made of the conversation: an episode, two facts, and a fact that changed."""
    print("\nWhat was made of the messages, without a model:")
    episode = memory.episodes(limit=1).items[0]
    print(f"  episode  {episode.title}   ({len(episode.message_ids)} messages)")
    facts = memory.list(kinds=["semantic"]).items
    for fact in facts:
        if fact.fields.get("attribute") == "allergic_to":
            print(f"  fact     {fact.title}   “{fact.evidence[0].quote}”")
    for fact in facts:
        if fact.lifecycle == "past" and fact.superseded_by and fact.valid_to:
            successor = memory.get(fact.superseded_by)
            assert isinstance(successor, memstrata.Record)
            until = fact.valid_to.astimezone(ZONE)
            print(f"  change   {fact.title} until {until:%Y-%m-%d}, then {successor.title}")


def show_themes(memory: memstrata.Memory) -> None:
    """The largest groups that the records have formed."""
    print("\nThe records have formed themes:")
    for theme in memory.themes(limit=4):
        count, what = (
            theme.children or len(theme.record_ids),
            "theme" if theme.children else "record",
        )
        print(f"  {count} {what}{'s' if count > 1 else ''}  {theme.name}")


def show(question: str, about: str, results: memstrata.Results) -> None:
    """The best three hits: score, date, source and why, and under them the text."""
    print(f"\n? {question}   ({about})")
    for hit in results[:3]:
        when = f"{hit.occurred_at.astimezone(ZONE):%Y-%m-%d}" if hit.occurred_at else "no date"
        why = signals(hit, dict(results.plan or {}))
        print(f"  {hit.score:.2f}  {when:10}  {source(hit):24}  {why}")
        print(f"        {short(hit.text)}")


def source(hit: memstrata.Hit) -> str:
    """Who said it in which session, or which kind of record it is."""
    if hit.message is not None:
        return f"{hit.message.speaker} in {hit.message.session_id!r}"
    return f"{hit.kind} record"


def signals(hit: memstrata.Hit, plan: dict[str, Any]) -> str:
    """What makes most of the score: the weighted signals, the largest three."""
    parts = {name: hit.signals.get(name, 0) * weight for name, weight in plan["weights"].items()}
    largest = sorted(parts.items(), key=lambda part: -part[1])[:3]
    return "  ".join(f"{name} {value:.2f}" for name, value in largest if value >= 0.01)


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

        show_distilled(memory)
        show_themes(memory)
        for question, about in QUESTIONS:
            found = memory.search(question, limit=3, now=NOW, explain=True)
            show(question, about, found)
        before = memory.search(QUESTIONS[0][0], kinds=["semantic"], as_of="2026-03-15", limit=1)
        print(f"\nThe first question as of 15 March: {before[0].text.splitlines()[0]}")

        print(f"\n? {SITUATION}   (what a model would be given)\n")
        print(memory.context(SITUATION, max_tokens=500, now=NOW))

    print(f"""
Go on:
  .venv/bin/memstrata search "who is Tom?" --url {url} --user {USER}
  .venv/bin/memstrata timeline "What happened to the violins?" --url {url} --user {USER}
  .venv/bin/memstrata themes --url {url} --user {USER}
  .venv/bin/memstrata entities --url {url} --user {USER}
  .venv/bin/memstrata add "I take the 7:54 now." --url {url} --user {USER}
  .venv/bin/memstrata --help
  docs/quickstart.md, examples/agent_loop.py""")


if __name__ == "__main__":
    main()
