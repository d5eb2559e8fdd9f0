"""MIRIX's own client, unmodified, against our server: what it is told, and what is then stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from api.beside import Beside, beside
from api.clients import Client, ClientError

import memstrata

KINDS = {"episodic", "semantic", "procedural", "resource", "knowledge", "core"}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    with beside(tmp_path_factory.mktemp("mirix")) as made:
        yield made


@pytest.fixture(scope="module")
def mirix(here: Beside) -> Client:
    return here.mirix()


def said(*turns: str) -> list[dict[str, Any]]:
    """Turns as the client's own documentation writes them, the user first."""
    roles = ("user", "assistant")
    return [
        {"role": roles[number % 2], "content": [{"type": "text", "text": text}]}
        for number, text in enumerate(turns)
    ]


def summaries(section: dict[str, Any] | list[dict[str, Any]]) -> set[str]:
    items = section if isinstance(section, list) else section["items"]
    return {each.get("summary") or each.get("name") or "" for each in items}


def refused(call: Any, *args: Any, **given: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(*args, **given)
    assert caught.value.name == "HTTPError"
    return caught.value.message


def test_the_meta_agent_is_there(here: Beside, mirix: Client) -> None:
    secret = "sk-" + "a1B2" * 12
    agent = mirix.initialize_meta_agent(provider="openai", api_key=secret, model="any")
    assert agent["agent_type"] == "meta_memory_agent"
    assert [each["id"] for each in mirix.list_agents()] == [agent["id"]]
    assert mirix.get_agent(agent["id"])["name"] == "meta_memory_agent"
    assert mirix.agent_exists(agent_name="meta_memory_agent") is True
    assert "only the meta agent" in refused(mirix.get_agent, "agent-none")
    assert secret.encode() not in here.bytes()


def test_a_user_is_who_the_client_says(here: Beside, mirix: Client) -> None:
    assert mirix.create_or_get_user(user_id="王芳/1%") == "王芳/1%"
    made = mirix.create_or_get_user(user_name="Ana")
    assert made.startswith("user-") and made != mirix.create_or_get_user()
    assert {row["user_id"] for row in here.memory.scopes()} & {"王芳/1%", made} == set()


def test_what_is_added_is_distilled_and_found(here: Beside, mirix: Client) -> None:
    added = mirix.add(
        said("I moved to Lisbon last month. I can't eat peanuts.", "Noted!"),
        user_id="ana",
        filter_tags={"project": "home"},
        occurred_at="2025-11-18T10:30:00",
        async_add=False,
    )
    assert (added["success"], added["status"], added["message_count"]) == (True, "processed", 2)
    first, _ = here.memory.messages(user_id="ana")
    assert first.occurred_at.isoformat() == "2025-11-18T10:30:00+00:00"
    assert first.metadata == {"project": "home"}
    records = here.memory.list(user_id="ana")
    found = mirix.search(user_id="ana", query="peanuts")
    assert found["count"] == len(found["results"])
    semantic = [each for each in found["results"] if each["memory_type"] == "semantic"]
    assert "peanuts" in semantic[0]["name"]
    assert semantic[0]["id"] in {record.id for record in records}
    components = mirix.list_memory_components(user_id="ana")["memories"]
    assert components.keys() == KINDS
    assert {each["id"] for each in components["semantic"]["items"]} == {
        record.id for record in records if record.kind == "semantic"
    }


def test_what_is_queued_is_there_at_once_and_distilled_soon(here: Beside, mirix: Client) -> None:
    added = mirix.add(said("I live in Porto.", "Nice."), user_id="bo")
    assert (added["success"], added["status"]) == (True, "queued")
    assert len(here.memory.messages(user_id="bo")) == 2
    assert here.memory.wait_for(added["batch_id"], timeout=60, user_id="bo").state == "done"
    assert "Porto" in str(mirix.search(user_id="bo", query="where do I live")["results"][0])


def test_memories_for_a_conversation(mirix: Client) -> None:
    mirix.add(said("I keep three beehives on the roof."), user_id="cai", async_add=False)
    mirix.add(said("我喜欢喝龙井茶。"), user_id="cai", async_add=False)
    bees = mirix.retrieve_with_conversation(
        user_id="cai", messages=said("Hello!", "Hi, what can I do?", "How are my beehives?")
    )
    assert bees["success"] is True and "beehives" in bees["topics"]
    assert "beehives" in str(bees["memories"]["episodic"]["relevant"][0])
    tea = mirix.retrieve_with_conversation(user_id="cai", messages=said("我喜欢喝什么茶？"))
    assert "龙井" in str(tea["memories"]["semantic"]["items"][0])
    silent = mirix.retrieve_with_conversation(user_id="cai", messages=[])
    assert silent["topics"] is None
    assert silent["memories"]["episodic"]["relevant"] == []
    assert silent["memories"]["episodic"]["recent"]
    assert "list of turns" in refused(
        mirix.retrieve_with_conversation, user_id="cai", messages="beehives?"
    )
    stranger = mirix.retrieve_with_conversation(user_id="dan", messages=said("beehives?"))
    assert "beehives" not in str(stranger["memories"])


def test_memories_of_a_topic(mirix: Client) -> None:
    mirix.add(said("The roof leaks."), user_id="eve", filter_tags={"of": "house"}, async_add=False)
    mirix.add(said("The car leaks oil."), user_id="eve", filter_tags={"of": "car"}, async_add=False)
    both = mirix.retrieve_with_topic(user_id="eve", topic="leaks")
    assert both["topic"] == "leaks"
    assert summaries(both["memories"]["episodic"]["relevant"]) >= {"The roof leaks."}
    one = mirix.retrieve_with_topic(user_id="eve", topic="leaks", filter_tags={"of": "car"})
    assert "roof" not in str(one["memories"])
    assert "car" in str(one["memories"])
    limited = mirix.retrieve_with_topic(user_id="eve", topic="leaks", limit=1)["memories"]
    assert len(limited["episodic"]["relevant"]) == 1
    assert limited["episodic"]["total_count"] == both["memories"]["episodic"]["total_count"] >= 2


def test_a_search_is_narrowed_as_asked(here: Beside, mirix: Client) -> None:
    mine = here.memory.scoped(user_id="fay")
    for day, what in (("2025-12-01", "planted roses"), ("2025-12-05", "planted tulips")):
        mine.create({"kind": "episodic", "summary": f"Fay {what}", "details": "in the yard",
                     "occurred_at": f"{day}T12:00:00Z"})  # fmt: skip
    mine.create({"kind": "procedural", "summary": "plant bulbs", "steps": [{"instruction": "dig"}]})
    mine.vault.put("hunter2-Xq9!", caption="planted safe", sensitivity="high")

    def found(query: str = "planted", **given: Any) -> list[dict[str, Any]]:
        return mirix.search(user_id="fay", query=query, **given)["results"]

    assert {each["memory_type"] for each in found("plant")} == {"episodic", "procedural"}
    assert summaries(found(memory_type="episodic")) == {"Fay planted roses", "Fay planted tulips"}
    dated = {"memory_type": "episodic", "start_date": "2025-12-02T00:00:00"}
    assert summaries(found(**dated)) == {"Fay planted tulips"}
    exact = {"memory_type": "episodic", "end_date": "2025-12-01T12:00:00Z"}
    assert summaries(found(**exact)) == {"Fay planted roses"}
    assert found("yard", memory_type="episodic", search_field="summary", search_method="bm25") == []
    assert len(found("yard", memory_type="episodic", search_field="details", limit=1)) == 1
    assert found("roses", memory_type="episodic", search_method="string_match")[0]["summary"] == (
        "Fay planted roses"
    )
    near = {"memory_type": "episodic", "search_method": "embedding"}
    assert found(**near) and found(**near, similarity_threshold=0.0) == []
    (entry,) = found(memory_type="knowledge")
    assert (entry["caption"], entry["secret_value"]) == ("planted safe", None)
    assert "hunter2" not in str(mirix.list_memory_components(user_id="fay"))
    assert "search_field" in refused(found, memory_type="knowledge", search_field="secret_value")
    assert "memory_type" in refused(found, memory_type="dreams")
    assert "method" in refused(found, search_method="guess")
    assert "start_date" in refused(found, start_date="soon")


def test_a_search_over_all_users(here: Beside, mirix: Client) -> None:
    for user in ("gil", "hana"):
        mirix.add(said(f"The zeppelin of {user}."), user_id=user, async_add=False)
    found = mirix.search_all_users(query="zeppelin", limit=5)
    named = {each["user_id"] for each in found["results"] if "zeppelin" in str(each)}
    assert named == {"gil", "hana"}
    assert len(mirix.search_all_users(query="zeppelin", limit=1)["results"]) == 1
    reader = here.mirix(here.key(permissions=("read", "write")))
    assert "permission admin" in refused(reader.search_all_users, query="zeppelin")
    gil = here.mirix(here.key(user_id="gil", permissions=("read", "write")))
    assert {each["user_id"] for each in gil.search_all_users(query="zeppelin")["results"]} == {
        "gil"
    }


def test_what_is_cleared_is_nowhere_in_the_file(here: Beside, mirix: Client) -> None:
    mirix.add(said("The code is SENTINEL 9.", "I see."), user_id="ivy", async_add=False)
    here.memory.add("SENTINEL of an agent", user_id="ivy", agent_id="a1")
    mirix.add(said("Joe stays."), user_id="joe", async_add=False)
    assert b"SENTINEL" in here.bytes()
    assert mirix.clear_memory("ivy")["success"] is True
    assert b"SENTINEL" not in here.bytes()
    memories = mirix.list_memory_components(user_id="ivy")["memories"]
    assert {section["total_count"] for section in memories.values()} == {0}
    assert mirix.search(user_id="joe", query="stays")["count"] == 1
    mirix.add(said("The code is SENTINEL 9.", "I see."), user_id="ivy", async_add=False)
    assert mirix.search(user_id="ivy", query="SENTINEL")["count"] >= 1  # said anew, it counts anew


def test_components_one_by_one(mirix: Client) -> None:
    for number in range(3):
        mirix.add(said(f"Kim saw heron {number}."), user_id="kim", async_add=False)
    only = mirix.list_memory_components(user_id="kim", memory_type="episodic", limit=2)
    assert only["memories"].keys() == {"episodic"}
    assert len(only["memories"]["episodic"]["items"]) == 2
    assert only["memories"]["episodic"]["total_count"] >= 3
    everything = mirix.list_memory_components(user_id="kim", memory_type="episodic", limit=0)
    assert len(everything["memories"]["episodic"]["items"]) >= 3


def test_keys(here: Beside, mirix: Client) -> None:
    with pytest.raises(ClientError, match="the key is unknown"):
        here.mirix("no-key-of-ours")
    mirix.add(said("Lea sings."), user_id="lea", async_add=False)
    mia = here.mirix(here.key(user_id="mia", permissions=("read", "write")))
    for call in (
        lambda: mia.search(user_id="lea", query="sings"),
        lambda: mia.retrieve_with_topic(user_id="lea", topic="sings"),
        lambda: mia.retrieve_with_conversation(user_id="lea", messages=said("sings?")),
        lambda: mia.list_memory_components(user_id="lea"),
        lambda: mia.add(said("x"), user_id="lea"),
        lambda: mia.clear_memory("lea"),
        lambda: mia.create_or_get_user(user_id="lea"),
    ):
        assert "bound to another user_id" in refused(call)
    mia.add(said("Mia paints."), async_add=False)  # whose it is says the key
    assert len(here.memory.messages(user_id="mia")) == 1
    assert "name whose memory" in refused(mirix.add, said("nobody's"))
    with memstrata.open(str(here.file), tenant="acme", embedder="fake") as acme:
        theirs = here.mirix(acme.keys.create("theirs", permissions=["read", "admin"]).secret)
    assert theirs.search(user_id="lea", query="sings")["results"] == []
    assert theirs.search_all_users(query="sings")["results"] == []
    assert mirix.search(user_id="lea", query="sings")["count"] == 1


def test_what_has_no_counterpart_says_so(mirix: Client) -> None:
    for call in (
        lambda: mirix.list_blocks(),
        lambda: mirix.list_tools(),
        lambda: mirix.list_orgs(),
        lambda: mirix.list_model_configs(),
        lambda: mirix.delete_agent("agent-1"),
        lambda: mirix.update_agent("agent-1", name="x"),
    ):
        assert "memstrata has no" in refused(call)
    assert "nothing was stored" in refused(mirix.add, [{"role": "user"}], user_id="ned")
