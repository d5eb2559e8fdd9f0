"""Two hundred sentinels, said in every place that takes text, forgotten in every way: no byte of
any of them is left, in text, index, vectors, log or journal."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import apsw
import pytest

import memstrata
from memstrata import Memory
from memstrata.models.fake import FakeEmbedder
from memstrata.store.sqlite import store
from memstrata.text.analyse import term_hash

ANN: dict[str, Any] = {"user_id": "ann"}
COUNT = 200
_HAN = "鹤鹭隼雁鸢鹈鹕鹇鸬鹚蓟荻蕨薇蕙芷蘅荇菡萏"
_LATIN = "bcdfghjklmnpqrstvwxz"


def sentinels() -> list[str]:
    """Words that occur nowhere else, half of them Chinese."""
    dice = random.Random(7731)
    half = range(COUNT // 2)
    latin = ["".join(dice.choices(_LATIN, k=9)) + str(dice.randrange(10**4)) for _ in half]
    han = ["".join(dice.choices(_HAN, k=6)) for _ in half]
    words = [word for pair in zip(latin, han, strict=True) for word in pair]
    assert len(set(words)) == COUNT
    return words


@dataclass
class Planted:
    """What was stored of the sentinels, and how each part of it is forgotten."""

    ids: list[str] = field(default_factory=list[str])
    sessions: list[str] = field(default_factory=list[str])
    tag: str = ""
    said: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The sentinels by the way in which they are forgotten."""

    def of(self, way: str, words: Iterable[str]) -> Iterator[str]:
        """The same words, noted as those of one way."""
        for word in words:
            self.said.setdefault(way, []).append(word)
            yield word


def plant(memory: Memory, sown: Iterator[str]) -> Planted:
    """Say them all: one at least in each field that takes text."""
    planted = Planted()
    for _ in range(8):  # a session each, named for a sentinel, in both languages
        session = next(sown)
        planted.sessions.append(session)
        words = planted.of(f"session {session}", chain([session], sown))
        next(words)
        said = {
            "role": "user", "name": f"Mo {next(words)}", "id": next(words),
            "content": f"I live in {next(words).title()}. My sister {next(words).title()} likes "
            f"{next(words)}. We met {next(words).title()} Lindqvist on Monday.",
            "metadata": {next(words): next(words)},
        }  # fmt: skip
        han = {"role": "user", "content": f"我住在{next(words)}。我最喜欢吃{next(words)}。"}
        steps = f"How to open {next(words)}:\n1. Turn {next(words)}.\n2. Push the {next(words)}."
        memory.add([said, han, steps], session_id=session, tags=[next(words)], **ANN)
        memory.add(
            f"I moved to {next(words).capitalize()}.", session_id=session,
            idempotency_key=next(words), **ANN,
        )  # fmt: skip
    words = planted.of("ids", sown)
    by_hand = memory.add([f"Never mind {next(words)}.", f"别管{next(words)}。"], infer=False, **ANN)
    planted.ids += by_hand.message_ids
    for kind in (
        {"kind": "semantic", "name": next(words), "details": next(words), "subject": next(words)},
        {"kind": "episodic", "summary": next(words), "details": next(words), "actor": next(words)},
        {"kind": "procedural", "summary": next(words), "steps": [{"instruction": next(words)}]},
        {"kind": "resource", "title": next(words), "content": f"{'page ' * 3000}{next(words)}"},
        {"kind": "core", "label": next(words), "value": next(words)},
        {"kind": "vault", "entry_type": "bookmark", "caption": next(words), "source": next(words)},
    ):
        more = {"tags": [next(words)], "metadata": {"note": next(words)}, "path": next(words)}
        [made] = memory.create({**kind, **more}, reason=next(words), **ANN).record_ids
        memory.update(made, metadata={"later": next(words)}, reason=next(words), **ANN)
        planted.ids.append(made)
    planted.tag = next(planted.of("filter", sown))
    for word in planted.of("filter", islice(sown, 10)):
        memory.add(f"The {word} hangs by {word}.", session_id="rest", tags=[planted.tag], **ANN)
    for word in planted.of("everything", sown):
        memory.add(f"My brother {word} likes {word}.", session_id="rest", **ANN)
    return planted


def ways(planted: Planted) -> dict[str, dict[str, Any]]:
    """By ids, by session, by filter, and the rest by everything."""
    return {
        "ids": {"ids": planted.ids},
        **{f"session {each}": {"session_id": each} for each in planted.sessions[:-1]},
        "filter": {"filters": {"tags": {"contains": planted.tag}}},
        "everything": {"everything": True},
    }


def blobs(path: Path, words: Iterable[str]) -> set[bytes]:
    """The vectors of all that Ann has, and the index terms of the sentinels."""
    reader = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    vectors = reader.execute(
        "SELECT vector FROM vectors WHERE scope = (SELECT scope FROM scopes WHERE user_id = 'ann')"
    )
    found = {bytes(row[0]) for row in vectors}
    reader.close()
    assert len(found) > 100
    return found | {term_hash(word).to_bytes(8, "little") for word in words if word.isascii()}


def left(path: Path, needles: Iterable[bytes]) -> list[tuple[str, bytes]]:
    """Which of them stand in which of the store's files."""
    files = {each.name: each.read_bytes() for each in path.parent.glob(f"{path.name}*")}
    return [(name, needle) for name, held in files.items() for needle in needles if needle in held]


@pytest.fixture(scope="module")
def words() -> list[str]:
    return sentinels()


def test_r35_not_one_byte_of_two_hundred_sentinels(path: Path, words: list[str]) -> None:
    """Half of them were distilled into records, episodes and entities before (MemTensor/MemOS
    #2331, mem0ai/mem0 #3245, #3040, vectorize-io/hindsight #572)."""
    texts = {word.encode() for word in words} | {word.capitalize().encode() for word in words}
    with memstrata.open(path, embedder=FakeEmbedder(dimensions=64)) as memory:
        memory.add(["The kettle is blue.", "So is the door."], user_id="bea")
        planted = plant(memory, iter(words))
        made = memory.list(limit=1000, **ANN).items
        told = [memory.episodes(limit=1000, **ANN), memory.entities(limit=1000, **ANN), made]
        assert sum(word.casefold() in str(told).casefold() for word in words) >= COUNT // 2
        marks = blobs(path, words)
        ids = [message.id for message in memory.messages(limit=1000, **ANN)]
        ids += [record.id for record in made]
        assert len({needle for _, needle in left(path, texts | marks)}) > COUNT

        assert sum(map(len, planted.said.values())) == COUNT
        for way, selection in ways(planted).items():
            receipt = memory.forget(**selection, **ANN)
            assert receipt.state == "done"
            assert left(path, {word.encode() for word in planted.said[way]}) == [], way
            assert memory.verify(erased=receipt.ids, text=planted.said[way][0]) == []
            assert memory.verify() == []
        assert left(path, texts | marks) == []
        assert memory.verify(erased=ids) == []
        assert memory.search("kettle", user_id="bea")[0].text == "The kettle is blue."
    assert left(path, texts | marks) == []


def test_r35_while_a_reader_holds_an_older_view(
    path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal keeps the bytes then, the receipt says so, and the next call empties it."""
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    texts = {word.encode() for word in words}
    with memstrata.open(path, embedder=FakeEmbedder(dimensions=64)) as memory:
        planted = plant(memory, iter(words))
        marks = blobs(path, words)
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN; SELECT count(*) FROM messages").fetchall()
        first = memory.forget(ids=planted.ids, **ANN)
        assert first.state == "pending" and "reader" in (first.reason or "")
        assert any(line for line in memory.verify(erased=first.ids) if "byte" in line)
        assert memory.forget(session_id=planted.sessions[0], **ANN).state == "pending"
        reader.execute("COMMIT")
        reader.close()
        assert memory.forget(everything=True, **ANN).state == "done"
        assert left(path, texts | marks) == []
        assert memory.verify(erased=first.ids) == []


SENTINEL = "SENTINEL-7731"


def recalled(memory: Memory, out: Path) -> dict[str, str]:
    """Every way to read, as text."""
    query = f"where is the spare key, {SENTINEL}?"
    every = ["current", "past", "review", "retired"]
    ways: dict[str, object] = {
        method: memory.search(query, method=method, limit=100, **ANN)  # type: ignore[arg-type]
        for method in ("hybrid", "embedding", "bm25", "string_match")
    }
    ways["literal"] = memory.search(SENTINEL, method="string_match", **ANN)
    ways["then"] = memory.search(query, known_at="2099-01-01T00:00:00Z", **ANN)
    ways["messages only"] = memory.search(query, strata=["messages"], **ANN)
    ways["context"] = memory.context(query, **ANN)
    ways["timeline"] = memory.timeline("what about the spare key", **ANN)
    ways["count"] = memory.count("how many keys are there", **ANN)
    ways["messages"] = memory.messages(hidden=True, **ANN)
    ways["list"] = memory.list(lifecycles=every, **ANN)
    ways["episodes"] = memory.episodes(**ANN)
    ways["entities"] = memory.entities(**ANN)
    ways["review"] = memory.review(**ANN)
    ways["batches"] = memory.batches(**ANN)
    ways["history"] = [memory.history(r.id, **ANN) for r in memory.list(lifecycles=every, **ANN)]
    ways["audit"] = memory.audit(**ANN)
    memory.dump(out, **ANN)
    ways["dump"] = out.read_text(encoding="utf-8")
    return {way: str(found) for way, found in ways.items()}


def test_r35_the_spare_key_is_nowhere(path: Path) -> None:
    """By text, by vector, by list and export, in summaries that were made of it, in the files."""
    with memstrata.open(path, embedder=FakeEmbedder(dimensions=64)) as memory:
        said = memory.add(
            [f"The spare key is under {SENTINEL}.", "The ladder is in the barn."],
            session_id="s1", **ANN,
        )  # fmt: skip
        memory.add(f"I put the key under {SENTINEL} yesterday.", session_id="s1", **ANN)
        [fact] = memory.create(
            {"kind": "semantic", "name": f"The key is under {SENTINEL}",
             "evidence": [said.message_ids[0]]}, **ANN,
        ).record_ids  # fmt: skip
        before = recalled(memory, path.parent / "out.jsonl")
        shown = [way for way, text in before.items() if SENTINEL in text]
        assert {"hybrid", "context", "messages", "list", "episodes", "dump"} <= set(shown)

        asked = [m.id for m in memory.messages(**ANN) if SENTINEL in m.content]
        receipt = memory.forget(ids=asked, **ANN)
        assert fact in receipt.ids
        after = recalled(memory, path.parent / "out.jsonl")
        assert [way for way, text in after.items() if SENTINEL in text] == []
        assert "barn" in after["messages"] and "barn" in after["episodes"]
        assert left(path, [SENTINEL.encode()]) == []
        assert memory.verify(erased=receipt.ids, text=SENTINEL) == []
        assert memory.verify() == []
