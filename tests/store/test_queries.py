"""The named statements: described, used, and answered by the index that is meant for them.

Without statistics SQLite takes every scope for a small one and would read all of it by its
primary key. Plans are those of the real statements, with the parameters they really have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import apsw
import pytest

import memstrata.store as package
from memstrata.runtime import zone_named
from memstrata.store.filters import compile_filter, parse_filter
from memstrata.store.sqlite.dialect import SqliteDialect
from memstrata.store.sqlite.store import open_backend
from memstrata.store.statements import load_statements

STATEMENTS = load_statements("memstrata.store.sqlite")
BIG = (
    "messages", "records", "items", "vectors", "evidence", "batches", "changes", "mentions",
    "entities", "spending", "judged",
)  # fmt: skip

WHOLE_SCOPE = {
    "scope_list": "counts what every scope holds",
    "stats": "counts what a scope holds",
    "stats_kinds": "counts what a scope holds",
    "stats_models": "adds up what a scope has cost",
    "verify_broken": "looks at everything on purpose",
    "verify_dangling": "looks at everything on purpose",
    "verify_ids": "looks at everything on purpose",
    "verify_loaded": "looks at everything on purpose",
    "item_all": "loads a scope's index",
    "message_all": "a dump",
    "record_all": "a dump",
    "evidence_all": "a dump",
    "batch_all": "a dump",
    "spending_all": "a dump",
    "change_all": "a dump",
    "entity_all": "a dump",
    "entity_list": "counts what mentions each entity",
    "message_seqs_where": "a filter is tried on every row",
    "message_seqs_containing": "a literal is looked for in every row",
    "record_seqs_where": "a filter is tried on every row",
    "record_seqs_containing": "a literal is looked for in every row",
    "told_seqs_containing": "a literal is looked for in every row",
    "record_seqs_field_containing": "a literal is looked for in every row",
    "message_ids_where": "a filter is tried on every row",
    "record_ids_where": "a filter is tried on every row",
    "erase_speakers": "after an erasure: which of its speakers still say something",
    "erase_batches_all": "an erasure of everything",
    "message_users": "consolidation asks who ever spoke as the user",
    "entity_orphans": "consolidation looks at every entity",
    "judged_known": "consolidation leaves out every pair that was judged before",
    "batch_rebuilds": "after an erasure: what an earlier one has not made anew yet",
    "record_rejected": "after an erasure: what must not be made anew",
    "scope_agents": "asks of each scope whether it holds anything",
}
"""Statements that read all of a scope, and why they may."""

OPEN_ONLY = {"batch_counts", "batch_next", "batch_running"}
"""Statements that read all of a partial index which holds only batches that wait or have failed."""

MEANT = {
    "session_tail": "messages_session (scope=? AND session_id=?)",
    "session_find": "messages_session (scope=? AND session_id=?)",
    "identity_find": "messages_identity (scope=? AND identity=?)",
    "message_by_seq": "PRIMARY KEY (scope=? AND seq=?)",
    "message_by_id": "messages_id (scope=? AND id=?)",
    "message_list": "messages_time (scope=? AND (occurred_at,seq)>(?,?) AND occurred_at<?)",
    "message_list_of_session": "messages_session (scope=? AND session_id=?)",
    "message_of_batch": "messages_batch (scope=? AND batch_id=?)",
    "message_show": "messages_batch (scope=? AND batch_id=?)",
    "message_ids_of_session": "messages_session (scope=? AND session_id=?)",
    "item_tail": "items_stamp (scope=? AND stamp>?)",
    "item_owners": "PRIMARY KEY (scope=? AND seq=?)",
    "item_headers": "items_owner (scope=? AND owner=?)",
    "item_pending_messages": "items_without_vector (scope=?)",
    "item_pending_records": "items_without_vector (scope=?)",
    "record_open": "PRIMARY KEY (scope=? AND id=?)",
    "record_by_id": "PRIMARY KEY (scope=? AND id=?)",
    "record_by_seq": "records_seq (scope=? AND seq=?)",
    "record_same": "records_fingerprint (scope=? AND fingerprint=?)",
    "record_list": "records_created (scope=? AND (created_at,id)>(?,?))",
    "record_ids_of_sources": "evidence_source (scope=? AND source_id=?)",
    "evidence_from": "evidence_source (scope=? AND source_id=?)",
    "owners_of_record": "records_open (scope=? AND id=?)",
    "owners_of_message": "messages_id (scope=? AND id=?)",
    "owners_of_batch": "PRIMARY KEY (scope=? AND id=?)",
    "evidence_of": "PRIMARY KEY (scope=? AND record_id=?)",
    "batch_by_key": "batches_key (scope=? AND idempotency_key=?)",
    "batch_by_digest": "batches_digest (scope=? AND digest=?)",
    "batch_list": "PRIMARY KEY (scope=? AND id<?)",
    "batch_next": "batches_open",
    "spending_of": "PRIMARY KEY (scope=? AND batch_id=?)",
    "derived_touched": "changes_batch (scope=? AND batch_id=?)",
    "batch_moments": "messages_batch (scope=? AND batch_id=?)",
    "change_of_target": "changes_target (scope=? AND target_id=?)",
    "change_of_batch": "changes_batch (scope=? AND batch_id=?)",
    "erase_messages": "messages_id (scope=? AND id=?)",
    "erase_evidence_from": "evidence_source (scope=? AND source_id=?)",
    "erase_changes": "changes_target (scope=? AND target_id=?)",
    "erase_batches": "PRIMARY KEY (scope=? AND id=?)",
    "erase_entities": "PRIMARY KEY (scope=? AND seq=?)",
    "record_ids_linked": "records_ended (scope=? AND superseded_by=?)",
    "record_vectors": "records_open (scope=? AND id=?)",
    "erase_judged": "PRIMARY KEY (scope=? AND one=?)",
    "erase_judged_after": "judged_other (scope=? AND other=?)",
    "api_key_by_id": "PRIMARY KEY (id=?)",
    "api_key_list": "api_keys_tenant (tenant=? AND (created_at,id)>(?,?))",
    "tombstone_salt": "PRIMARY KEY (scope=? AND salt>?)",
    "tombstone_find": "PRIMARY KEY (scope=? AND salt=? AND what=? AND mark=?)",
    "tombstone_turns": "tombstones_session (scope=? AND session=?)",
}
"""Hot statements and how they find their rows."""

_ACCESS = re.compile(r"(SCAN|SEARCH) (\w+)(.*)")
_ALIAS = re.compile(
    r"\b(?:FROM|JOIN|UPDATE)\s+(\w+)(?:\s+(?:AS\s+)?(?!INDEXED|WHERE|SET|ON|JOIN)(\w+))?"
)


@pytest.fixture(scope="module")
def connection() -> Iterator[apsw.Connection]:
    backend = open_backend(":memory:")
    yield backend._writer
    backend.close()


def plan(connection: apsw.Connection, sql: str) -> list[str]:
    parameters = dict.fromkeys(re.findall(r":(\w+)", re.sub(r"--.*", "", sql)))
    rows = connection.execute(f"EXPLAIN QUERY PLAN {sql}", parameters).fetchall()
    return [str(row[3]) for row in rows]


def accesses(sql: str, steps: list[str]) -> Iterator[tuple[str, str, str]]:
    """How each table is read: SCAN or SEARCH, the table, by what."""
    names = {alias or table: table for table, alias in _ALIAS.findall(sql)}
    for step in steps:
        if found := _ACCESS.match(step):
            how, name, by = found.groups()
            yield how, names.get(name, name), by


def unfiltered(name: str) -> str:
    return STATEMENTS[name].replace("/*where*/", "1 = 1")


def test_every_statement_says_what_it_is_for() -> None:
    text = resources.files("memstrata.store.sqlite").joinpath("queries.sql").read_text("utf-8")
    names = re.findall(r"^-- name: (\w+)$", text, re.MULTILINE)
    assert names == list(dict.fromkeys(names)), "a name is used twice"
    assert set(names) == set(STATEMENTS)
    for name, sql in STATEMENTS.items():
        first = sql.splitlines()[0]
        assert re.match(r"-- [A-Z].+[.,;:\w]$", first), f"{name}: {first}"


def test_every_statement_is_used_and_every_name_is_known() -> None:
    code = "".join(p.read_text("utf-8") for p in Path(package.__path__[0]).glob("*.py"))
    dumped = {f"{part}_all" for part in ("message", "record")}
    unused = [name for name in STATEMENTS if f'"{name}"' not in code and name not in dumped]
    assert unused == []
    called = re.findall(r"""tx\.(?:rows|one|run|many|select)\(\s*"(\w+)\"""", code)
    assert len(called) > 50
    assert set(called) <= set(STATEMENTS)


@pytest.mark.parametrize("name", sorted(set(STATEMENTS) - set(WHOLE_SCOPE) - OPEN_ONLY))
def test_no_big_table_is_read_through(connection: apsw.Connection, name: str) -> None:
    sql = unfiltered(name)
    for how, table, by in accesses(sql, plan(connection, sql)):
        if table in BIG:
            assert how == "SEARCH", f"{name} reads all of {table}"
            narrow = " AND " in by or "items_without_vector" in by
            assert narrow, f"{name} reads all of a scope's {table}: {by}"


@pytest.mark.parametrize("name", sorted({*WHOLE_SCOPE, *OPEN_ONLY}))
def test_no_other_scope_is_read_through(connection: apsw.Connection, name: str) -> None:
    sql = unfiltered(name)
    for how, table, by in accesses(sql, plan(connection, sql)):
        if table in BIG:
            few = "batches_open" in by or "batches_failed" in by
            assert how == "SEARCH" or (name in OPEN_ONLY and few), f"{name}: {table}"


@pytest.mark.parametrize("name", sorted(MEANT))
def test_hot_statements_use_the_index_meant_for_them(
    connection: apsw.Connection, name: str
) -> None:
    steps = plan(connection, unfiltered(name))
    assert any(MEANT[name] in step for step in steps), steps


@pytest.mark.parametrize(
    "name", ["item_pending_messages", "record_list", "message_list", "batch_list"]
)
def test_listings_are_not_sorted(connection: apsw.Connection, name: str) -> None:
    """They come in the index's order, so that a page costs no more than a page."""
    assert not any("TEMP B-TREE" in step for step in plan(connection, unfiltered(name)))


def test_a_filter_moves_no_listing_off_its_index(connection: apsw.Connection) -> None:
    given = {"or": [{"metadata.a": {"in": [1, "x"]}}, {"not": {"tags": {"contains": "b"}}}]}
    tree = parse_filter(given, zone_named("UTC"))
    for name, table in (("message_list", "messages"), ("record_list", "records")):
        where, _ = compile_filter(tree, table, SqliteDialect())  # type: ignore[arg-type]
        steps = plan(connection, STATEMENTS[name].replace("/*where*/", where))
        assert any(MEANT[name] in step for step in steps), steps


def test_every_index_is_used(connection: apsw.Connection) -> None:
    """One that no statement reads costs every write, and bytes."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index'").fetchall()
    plans = " ".join(step for name in STATEMENTS for step in plan(connection, unfiltered(name)))
    unused = {
        str(name)
        for name, sql in rows
        if sql is not None and "UNIQUE" not in str(sql) and str(name) not in plans
    }
    assert unused == set()
