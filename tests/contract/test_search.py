"""`search`: methods, choices of what to search in, and what a hit says."""

from __future__ import annotations

from typing import Any

import pytest

from memstrata import AsyncMemory, InvalidInput, Results, ScopeRequired
from memstrata.models.fake import FakeEmbedder

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}
SAID = [
    {"role": "user", "name": "Ivo", "content": "The pump in the cellar is leaking again"},
    {"role": "assistant", "content": "Shall I call the plumber for you?"},
    {"role": "user", "name": "Ivo", "content": "Please do, and buy tea on the way"},
]


def texts(results: Results) -> list[str]:
    return [hit.text for hit in results]


@pytest.fixture
async def told(memory: AsyncMemory) -> AsyncMemory:
    """A store that holds a short conversation, a fact and a procedure."""
    await memory.add(SAID, session_id="s1", occurred_at="2026-05-01T08:00:00Z", **IVO)
    await memory.create(
        {
            "kind": "semantic",
            "name": "The plumber is called Mira",
            "details": "She comes on Tuesdays",
            "tags": ["house"],
            "metadata": {"priority": 2},
            "occurred_at": "2026-03-01T08:00:00Z",
        },
        **IVO,
    )
    await memory.create(
        {
            "kind": "procedural",
            "summary": "Start the pump",
            "steps": [{"instruction": "Open the valve in the cellar"}],
        },
        **IVO,
    )
    return memory


@pytest.mark.parametrize("method", ["hybrid", "bm25", "string_match", "embedding"])
async def test_every_method_finds_the_word(told: AsyncMemory, method: Any) -> None:
    results = await told.search("leaking", method=method, limit=3, **IVO)
    assert texts(results)[0] == "The pump in the cellar is leaking again"
    assert all(0 <= hit.score <= 1 for hit in results)
    assert [hit.score for hit in results] == sorted((h.score for h in results), reverse=True)


@pytest.mark.parametrize("method", ["bm25", "string_match", "hybrid"])
async def test_what_no_text_holds_is_not_found_by_its_words(told: AsyncMemory, method: Any) -> None:
    assert len(await told.search("zeppelin", method=method, strata=["records"], **IVO)) < 3
    if method != "hybrid":
        assert len(await told.search("zeppelin", method=method, **IVO)) == 0


async def test_string_match_is_literal(told: AsyncMemory) -> None:
    assert len(await told.search("leaking again", method="string_match", **IVO)) == 1
    assert len(await told.search("again leaking", method="string_match", **IVO)) == 0
    assert len(await told.search("LEAK", method="string_match", **IVO)) == 1
    (hit,) = await told.search("plumber is called", method="string_match", **IVO)
    assert hit.score == 1.0


async def test_accents_and_case_are_folded(memory: AsyncMemory) -> None:
    await memory.add(["Café Blå closes at nine", "e\u0301t\u00e9 is summer"], **IVO)
    for query in ("cafe", "CAFÉ", "été", "ete"):
        for method in ("bm25", "string_match"):
            assert len(await memory.search(query, method=method, **IVO)) == 1, (query, method)


CJK = {
    "图书馆": "明天和李医生见面，地点在图书馆三楼",
    "三楼": "明天和李医生见面，地点在图书馆三楼",
    "馆": "明天和李医生见面，地点在图书馆三楼",
    "図書館": "今日は図書館で打ち合わせ",
    "도서관": "오늘 도서관에서 회의를 했다",
    "x7": "重跑build-x7后全部通过",
}


@pytest.mark.parametrize("query", sorted(CJK))
async def test_words_inside_a_run_without_spaces(memory: AsyncMemory, query: str) -> None:
    """R14."""
    await memory.add(list(dict.fromkeys(CJK.values())), infer=False, **IVO)
    for method in ("bm25", "string_match"):
        found = texts(await memory.search(query, method=method, **IVO))
        assert CJK[query] in found
    assert texts(await memory.search(query, method="string_match", **IVO)) == [CJK[query]]


SIGNS = [
    "pre-edit", "team's", "GB/s", "2026-05-01", "a@b.example", "C++", "user:alex", 'say "hello',
    "AND", "NEAR(", "*", "(", "who?", "v1.2.3", "hello, world", "ticket_id abc_12f 我要测试",
    "100%", "a_b", "\\", "';--", "NOT x", "a OR b", "~", "^x", "[x]", "{x}", "${x}", "x\ty",
]  # fmt: skip


@pytest.mark.parametrize("method", ["hybrid", "bm25", "string_match"])
async def test_no_query_is_syntax(memory: AsyncMemory, method: Any) -> None:
    """R15: signs are text, and a text that has them is found by them."""
    await memory.add([f"before {sign} after" for sign in SIGNS], infer=False, **IVO)
    await memory.add("nothing of the kind", infer=False, **IVO)
    for sign in SIGNS:
        found = texts(await memory.search(sign, method=method, limit=50, **IVO))
        assert f"before {sign} after" in found, sign


async def test_like_signs_match_only_themselves(memory: AsyncMemory) -> None:
    await memory.add(["a_b", "axb", "100% sure", "100 sure"], infer=False, **IVO)
    assert texts(await memory.search("a_b", method="string_match", **IVO)) == ["a_b"]
    assert texts(await memory.search("%", method="string_match", **IVO)) == ["100% sure"]


@pytest.mark.parametrize("blank", ["", "   ", "\n\t", None, 5])
async def test_a_blank_query_is_refused_and_embeds_nothing(
    told: AsyncMemory, embedder: FakeEmbedder, blank: Any
) -> None:
    """R20: never all memories."""
    before = embedder.calls
    with pytest.raises(InvalidInput, match="query"):
        await told.search(blank, **IVO)
    assert embedder.calls == before


async def test_padding_changes_nothing(told: AsyncMemory) -> None:
    plain, padded = await told.search("tea", **IVO), await told.search("  tea\n", **IVO)
    assert [(h.id, h.score) for h in plain] == [(h.id, h.score) for h in padded]


async def test_a_hit_of_a_message(told: AsyncMemory) -> None:
    hit = (await told.search("tea", method="bm25", **IVO))[0]
    assert (hit.stratum, hit.kind, hit.record) == ("messages", None, None)
    assert hit.message is not None
    assert (hit.id, hit.text) == (hit.message.id, hit.message.content)
    assert hit.occurred_at == hit.message.occurred_at
    assert hit.signals


async def test_a_hit_of_a_record(told: AsyncMemory) -> None:
    (hit,) = await told.search("Mira", method="bm25", **IVO)
    assert (hit.stratum, hit.kind, hit.message) == ("records", "semantic", None)
    assert hit.record is not None
    assert (hit.id, hit.text) == (hit.record.id, hit.record.text)
    assert hit.occurred_at == hit.record.occurred_at


async def test_results_are_a_list_of_hits_and_plain_data(told: AsyncMemory) -> None:
    results = await told.search("pump in the cellar", strata=["messages"], **IVO)
    assert len(results) == len(list(results)) > 1
    assert results[0] is next(iter(results))
    assert list(results[:2]) == list(results)[:2]
    plain = results.to_dict()
    assert [hit["id"] for hit in plain["hits"]] == [hit.id for hit in results]
    assert isinstance(plain["hits"][0]["occurred_at"], str)
    assert results.ledger.embedding_calls == 1


async def test_strata(told: AsyncMemory) -> None:
    async def strata(*names: Any) -> set[str]:
        return {hit.stratum for hit in await told.search("pump", strata=list(names), **IVO)}

    assert await strata("messages") == {"messages"}
    assert await strata("records") == {"records"}
    assert await strata("messages", "records") == {"messages", "records"}
    assert await strata("episodes") == {"episodes"}
    assert await strata("themes") == {"themes"}


@pytest.mark.parametrize("stratum", ["messages", "records", "episodes", "themes"])
async def test_a_literal_is_found_in_every_stratum(told: AsyncMemory, stratum: Any) -> None:
    hits = await told.search("PUMP", method="string_match", strata=[stratum], **IVO)
    assert hits.hits
    assert all(hit.stratum == stratum and "pump" in hit.text.casefold() for hit in hits)


async def test_kinds(told: AsyncMemory) -> None:
    async def kinds(*names: str) -> set[str | None]:
        return {hit.kind for hit in await told.search("pump plumber", kinds=list(names), **IVO)}

    assert await kinds("procedural") == {"procedural"}
    assert await kinds("procedural", "semantic") == {"procedural", "semantic"}
    assert await kinds("vault") == set()


async def test_since_and_until(told: AsyncMemory) -> None:
    at = "2026-05-01T08:00:00Z"
    found = await told.search("plumber", since="2026-02-01T00:00:00Z", until=at, **IVO)
    assert [hit.stratum for hit in found] == ["records"]
    found = await told.search("plumber", since=at, until="2026-05-02T00:00:00Z", **IVO)
    assert {hit.stratum for hit in found} == {"messages"}
    assert len(await told.search("plumber", since="2027-01-01T00:00:00Z", **IVO)) == 0


async def test_one_session(told: AsyncMemory) -> None:
    await told.add("The pump is fine", session_id="s2", **IVO)
    found = await told.search("pump", session_id="s2", **IVO)
    assert texts(found) == ["The pump is fine"]
    assert len(await told.search("pump", session_id="s3", **IVO)) == 0


async def test_limit(told: AsyncMemory) -> None:
    await told.add([f"pump number {n}" for n in range(30)], infer=False, **IVO)
    for limit in (1, 2, 10, 25):
        assert len(await told.search("pump", limit=limit, **IVO)) == limit
    assert len(await told.search("pump", **IVO)) == 10
    assert len(await told.search("pump", limit=100, method="bm25", **IVO)) == 32


async def test_a_larger_limit_keeps_the_order(told: AsyncMemory) -> None:
    await told.add([f"pump {'water ' * n} end" for n in range(12)], infer=False, **IVO)
    most = [hit.id for hit in await told.search("pump water", limit=14, **IVO)]
    for limit in (1, 3, 7):
        assert [h.id for h in await told.search("pump water", limit=limit, **IVO)] == most[:limit]


async def test_threshold(told: AsyncMemory) -> None:
    everything = await told.search("pump in the cellar", **IVO)
    middle = everything[1].score
    found = await told.search("pump in the cellar", threshold=middle, **IVO)
    assert [hit.id for hit in found] == [h.id for h in everything if h.score >= middle]
    assert len(await told.search("pump", threshold=1.0, method="bm25", **IVO)) <= 1


async def test_explain_shows_the_plan(told: AsyncMemory) -> None:
    assert (await told.search("pump", **IVO)).plan is None
    plan = (await told.search("pump last week", explain=True, **IVO)).plan
    assert plan
    assert "pump" in str(plan)


async def test_filters(told: AsyncMemory) -> None:
    async def found(filters: dict[str, Any]) -> list[str | None]:
        return [h.kind for h in await told.search("plumber pump", filters=filters, **IVO)]

    assert await found({"tags": {"contains": "house"}}) == ["semantic"]
    assert await found({"metadata.priority": {"gte": 2}}) == ["semantic"]
    assert await found({"metadata.priority": {"gt": 2}}) == []
    assert await found({"kind": "procedural"}) == ["procedural"]
    assert set(await found({"role": "user"})) == {None}
    assert await found({"name": "Ivo", "session_id": "s1"}) == [None, None]
    assert await found({"or": [{"kind": "procedural"}, {"kind": "semantic"}]}) != []
    with pytest.raises(InvalidInput, match="colour"):
        await found({"colour": "green"})


async def test_search_fields_look_in_records_fields_only(told: AsyncMemory) -> None:
    async def found(query: str, *fields: str, method: Any = "bm25") -> list[str | None]:
        results = await told.search(query, search_fields=fields, method=method, **IVO)
        return [hit.kind for hit in results]

    assert await found("Tuesdays", "details") == ["semantic"]
    assert await found("Tuesdays", "name") == []
    assert await found("Tuesdays", "name", "details", method="string_match") == ["semantic"]
    assert await found("pump", "summary") == ["procedural"]
    assert await found("pump", "title", method="hybrid") == ["procedural"]
    assert await found("cellar", "steps") == ["procedural"]
    with pytest.raises(InvalidInput, match="colour"):
        await found("pump", "colour")
    with pytest.raises(InvalidInput, match="search_fields"):
        await found("pump", "title", method="embedding")


@pytest.mark.parametrize(
    "argument",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": "many"},
        {"limit": True},
        {"limit": 10**9},
        {"method": "telepathy"},
        {"kinds": ["unheard-of"]},
        {"kinds": "semantic"},
        {"strata": ["cellar"]},
        {"since": "soon"},
        {"as_of": 5},
        {"now": "later"},
        {"threshold": "high"},
        {"threshold": True},
        {"threshold": float("nan")},
        {"session_id": ""},
        {"filters": "kind"},
        {"filters": {"kind": {"like": "s%"}}},
        {"search_fields": "title"},
    ],
    ids=lambda argument: "-".join(f"{k}={v}" for k, v in argument.items()),
)
async def test_wrong_arguments_are_named(memory: AsyncMemory, argument: dict[str, Any]) -> None:
    (name,) = argument
    with pytest.raises(InvalidInput, match=name.rstrip("s")):
        await memory.search("pump", **argument, **IVO)


async def test_nobody_is_named(told: AsyncMemory) -> None:
    with pytest.raises(ScopeRequired):
        await told.search("pump")


async def test_an_unknown_user_has_nothing(told: AsyncMemory) -> None:
    results = await told.search("pump", user_id="nobody")
    assert (len(results), results.answerable, results.confidence) == (0, False, 0.0)
    assert len(await told.scopes()) == 1


async def test_without_an_embedder_keywords_go_on(open_store: Any) -> None:
    memory: AsyncMemory = await open_store(model="none")
    receipt = await memory.add(SAID, session_id="s1", **IVO)
    assert receipt.state == "done"
    results = await memory.search("leaking", **IVO)
    assert texts(results)[0] == "The pump in the cellar is leaking again"
    assert results.notes == ["no embedder: keyword search only"]
    assert results.ledger.embedding_calls == 0
    with pytest.raises(InvalidInput, match="embedding"):
        await memory.search("leaking", method="embedding", **IVO)


async def test_an_embedder_that_fails_to_embed_the_question(
    told: AsyncMemory, embedder: FakeEmbedder
) -> None:
    """A failure is never an empty result: what keywords find comes, with a note."""
    embedder.fail_next()
    results = await told.search("leaking", **IVO)
    assert texts(results)[0] == "The pump in the cellar is leaking again"
    assert "told to fail" in results.notes[0]
    embedder.fail_next(0)
    assert (await told.search("leaking", **IVO)).notes == []


async def test_a_very_long_question(told: AsyncMemory) -> None:
    """R21: longer than the embedder takes."""
    question = "Tell me about this: " + "lorem ipsum dolor " * 400 + " where is it leaking?"
    results = await told.search(question, **IVO)
    assert texts(results)[0] == "The pump in the cellar is leaking again"


@pytest.mark.parametrize(
    ("said", "asked", "word"),
    [
        ("I went to Hangzhou. My pump is fixed by old Aksel.", "who fixes the pump?", "Aksel"),
        ("我上周去了杭州。我弟弟米洛在宁波修水泵。", "米洛在哪里修水泵？", "宁波"),
    ],
)
async def test_a_message_that_says_more_than_its_record_stands_for_itself(
    memory: AsyncMemory, said: str, asked: str, word: str
) -> None:
    """The record of one sentence does not take the place of the other, which answers."""
    source = (await memory.add(said, infer=False, **IVO)).message_ids
    await memory.create(
        {"kind": "semantic", "name": "杭州 Hangzhou was visited", "evidence": source}, **IVO
    )
    results = await memory.search(asked, **IVO)
    assert word in results[0].text
    about = await memory.search("Hangzhou 杭州", **IVO)
    assert [hit.stratum for hit in about] == ["records"]  # where it says as much, it comes alone
