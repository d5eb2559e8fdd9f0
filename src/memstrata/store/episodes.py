"""Episodes: written, told again when their messages change, and read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from memstrata.records import Episode, Message, Page, Scope, instant, micros
from memstrata.store.append import item_rows, reserve
from memstrata.store.items import GONE, episode_passage, own_header
from memstrata.store.ports import Narrate, PutEpisode, Row, Told, Tx, View
from memstrata.store.rows import dumps, message_from
from memstrata.store.views import EVER, Listing, numbered, place

__all__ = [
    "by_seq",
    "close",
    "episodes_with",
    "list_episodes",
    "messages_of",
    "put",
    "retell",
]

_PLACE = re.compile(r"(-?[0-9]{1,18}):([0-9]{1,18})")


def put(tx: Tx, number: int, batch_id: str, at: int, write: PutEpisode) -> None:
    """Write an episode with its messages; one that grew loses its vector."""
    seq = reserve(tx, 1) if write.seq is None else write.seq
    _write(tx, number, seq, batch_id, at, write, fresh=write.seq is None)
    joined = {"scope": number, "episode": seq, "ids": dumps(list(write.message_ids))}
    tx.run("message_join_episode", joined)


def _write(
    tx: Tx, number: int, seq: int, batch_id: str, at: int, write: PutEpisode, *, fresh: bool
) -> None:
    told = write.told
    values = {
        "id": write.id,
        "session_id": write.session_id,
        "title": told.title,
        "summary": told.summary,
        "people": dumps(list(told.people)),
        "topics": dumps(list(told.topics)),
        "started_at": write.started_at,
        "ended_at": write.ended_at,
        "is_open": write.is_open,
        "recorded_at": at,
        "batch_id": batch_id,
    }
    tx.run("episode_put", {"scope": number, "seq": seq, **values})
    passage = episode_passage(
        f"{told.title}\n{told.summary}",
        started_at=write.started_at,
        recorded_at=at,
        session_id=write.session_id,
        hidden=not told.title,
    )
    stamp = seq if fresh else reserve(tx, 1)
    if fresh:
        tx.many("item_add", item_rows(number, seq, stamp, [passage]))
    else:
        item = {"header": own_header(passage.header, seq), "terms": passage.terms}
        span = {"stop": passage.stop, "stamp": stamp}
        tx.run("item_rewrite", {"scope": number, "seq": seq, **item, **span})
    tx.run("scope_touch", {"scope": number, "stamp": stamp})


def close(tx: Tx, number: int, seqs: Sequence[int]) -> None:
    """Close open episodes, so that they get their vectors."""
    if seqs:
        tx.run("episode_close", {"scope": number, "seqs": dumps(list(seqs))})


def retell(tx: Tx, scope: Scope, number: int, seqs: Iterable[int], narrate: Narrate) -> None:
    """Tell episodes anew from the messages that are left; one whose all are gone is erased."""
    for seq in seqs:
        known = tx.rows("episode_by_seq", {"scope": number, "seqs": dumps([seq])})
        held = {"scope": number, "episode": seq}
        left = [message_from(scope, row) for row in tx.rows("message_of_episode", held)]
        if not known:
            continue
        _, episode_id, session_id, *_, started, ended, is_open, recorded, batch_id = known[0]
        gone = not left and not tx.rows("message_hidden_of_episode", held)
        if gone:
            _erase(tx, number, seq)
            continue
        told = narrate(left) if left else Told("", "")
        if left:
            started, ended = micros(left[0].occurred_at), micros(left[-1].occurred_at)
        write = PutEpisode(
            episode_id, seq, session_id, told, started, ended, bool(is_open), message_ids=()
        )
        _write(tx, number, seq, batch_id, recorded, write, fresh=False)


def _erase(tx: Tx, number: int, seq: int) -> None:
    stamp = reserve(tx, 1)
    tx.run("episode_drop", {"scope": number, "seq": seq})
    tx.run("erase_item", {"scope": number, "seq": seq, "stamp": stamp, "header": GONE})
    tx.run("erase_vector", {"scope": number, "seq": seq})
    tx.run("scope_touch", {"scope": number, "stamp": stamp})


def _from(scope: Scope, row: Row, message_ids: Sequence[str]) -> Episode:
    return Episode(
        id=row[1],
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        session_id=row[2],
        title=row[3],
        summary=row[4],
        people=json.loads(row[5] or "[]"),
        topics=json.loads(row[6] or "[]"),
        started_at=instant(row[7]),
        ended_at=instant(row[8]),
        open=bool(row[9]),
        recorded_at=instant(row[10]),
        batch_id=row[11],
        message_ids=list(message_ids),
    )


def episodes_with(
    tx: Tx, scope: Scope, number: int, rows: Sequence[Row], *, hidden: bool = False
) -> list[Episode]:
    """Episodes from their rows, each with the ids of its messages, the hidden ones if asked for."""
    params = {"scope": number, "episodes": dumps([row[0] for row in rows]), "hidden": hidden}
    ids: dict[int, list[str]] = {}
    for seq, message_id in tx.rows("message_ids_of_episodes", params):
        ids.setdefault(seq, []).append(str(message_id))
    return [_from(scope, row, ids.get(row[0], ())) for row in rows]


def by_seq(tx: Tx, scope: Scope, number: int, seqs: str) -> dict[int, Episode]:
    """Episodes by sequence number, of a JSON list of those."""
    rows = tx.rows("episode_by_seq", {"scope": number, "seqs": seqs})
    return {
        row[0]: episode
        for row, episode in zip(rows, episodes_with(tx, scope, number, rows), strict=True)
    }


def list_episodes(tx: Tx, view: View, listing: Listing) -> Page[Episode]:
    """Episodes in the order they began."""
    when, after = EVER[0], 0
    if listing.cursor is not None:
        when, after = map(int, place(listing.cursor, _PLACE))
    found: list[tuple[int, int, Episode]] = []
    for scope, number in numbered(tx, view):
        params = {
            "scope": number,
            "after_time": when,
            "after_seq": after,
            "since": listing.since,
            "until": listing.until,
            "session_id": listing.session_id,
            "limit": listing.limit + 1,
        }
        rows = tx.rows("episode_list", params)
        episodes = episodes_with(tx, scope, number, rows)
        found += [(row[7], row[0], one) for row, one in zip(rows, episodes, strict=True)]
    found.sort(key=lambda entry: entry[:2])
    page = found[: listing.limit]
    more = f"{page[-1][0]}:{page[-1][1]}" if len(found) > listing.limit else None
    return Page[Episode](items=[episode for _, _, episode in page], next=more)


def messages_of(tx: Tx, scope: Scope, number: int, seq: int) -> list[Message]:
    """The messages of an episode that are not hidden, in order."""
    rows = tx.rows("message_of_episode", {"scope": number, "episode": seq})
    return [message_from(scope, row) for row in rows]
