"""mem0's own client, unmodified, against our server: what it is told, and what is then stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from api.beside import Beside, beside
from api.clients import Client, ClientError

from memstrata.records import Message, Record

ANA = "I moved to Lisbon last month. I can't eat peanuts."


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    with beside(tmp_path_factory.mktemp("mem0")) as made:
        yield made


@pytest.fixture(scope="module")
def mem0(here: Beside) -> Client:
    return here.mem0()


def texts(found: dict[str, Any]) -> set[str]:
    return {each["memory"] for each in found["results"]}


def of(user: str, **more: Any) -> dict[str, Any]:
    return {"filters": {"AND": [{"user_id": user}, *({key: each} for key, each in more.items())]}}


def refused(name: str, call: Any, *args: Any, **given: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(*args, **given)
    assert caught.value.name == name, caught.value
    return caught.value.message


def message(here: Beside, id: str, user: str) -> str:
    """What was said, by our own verbs."""
    found = here.memory.get(id, user_id=user)
    assert isinstance(found, Message)
    return found.content


def stored(here: Beside, user: str) -> int:
    """How much of a user is in the store, by our own verbs."""
    mine = here.memory.scoped(user_id=user)
    return len(mine.messages()) + len(mine.list(lifecycles=("current", "past", "review")))


def test_what_is_added_is_distilled_and_found(here: Beside, mem0: Client) -> None:
    said = [{"role": "user", "content": ANA}, {"role": "assistant", "content": "Nice!"}]
    added = mem0.add(said, user_id="ana", run_id="s1", metadata={"topic": "home"})
    assert added["status"] == "SUCCEEDED"
    assert {each["event"] for each in added["results"]} == {"ADD"}
    for each in added["results"]:  # ids hold at once
        memory = mem0.get(each["id"])
        assert memory["memory"] == each["memory"]
        assert (memory["user_id"], memory["run_id"]) == ("ana", "s1")
        assert memory["metadata"] == {"topic": "home"}
    best = mem0.search("where does she live, Lisbon?", filters={"user_id": "ana"})["results"][0]
    assert "Lisbon" in best["memory"]
    assert 0 < best["score"] <= 1
    ours = {record.id for record in here.memory.list(user_id="ana")}
    assert ours and ours < {each["id"] for each in added["results"]}
    assert {each["id"] for each in mem0.get_all(**of("ana"))["results"]} == {
        each["id"] for each in added["results"]
    }


def test_chinese_is_found_like_english(mem0: Client) -> None:
    mem0.add("我搬到上海了。我喜欢喝茶。", user_id="李雷", metadata={"来源": "闲聊"})
    best = mem0.search("他喜欢喝什么？喝茶", filters={"user_id": "李雷"})["results"][0]
    assert "喝茶" in best["memory"]
    assert texts(mem0.get_all(**of("李雷", metadata={"来源": "闲聊"}))) == texts(
        mem0.get_all(**of("李雷"))
    )
    assert mem0.search("喝茶", filters={"user_id": "韩梅梅"})["results"] == []


def test_without_inference_the_message_is_the_memory(here: Beside, mem0: Client) -> None:
    added = mem0.add("Bo keeps bees", user_id="bo", infer=False)
    assert [each["memory"] for each in added["results"]] == ["Bo keeps bees"]
    assert message(here, added["results"][0]["id"], "bo") == "Bo keeps bees"
    assert len(here.memory.list(user_id="bo")) == 0


def test_an_update_is_a_version_and_stands_in_the_history(here: Beside, mem0: Client) -> None:
    added = mem0.add("My name is Cleo. I live in Porto.", user_id="cleo")["results"]
    id = next(each["id"] for each in added if each["id"].startswith("sem_"))
    old = mem0.get(id)["memory"]
    changed = mem0.update(id, text="Cleo lives in Braga", metadata={"checked": True})
    assert changed["memory"] == mem0.get(id)["memory"] == "Cleo lives in Braga"
    assert changed["metadata"] == {"checked": True}
    record = here.memory.get(id, user_id="cleo")
    assert isinstance(record, Record)
    assert (record.version, record.text) == (2, "Cleo lives in Braga")
    assert [
        (each["event"], each["old_memory"], each["new_memory"]) for each in mem0.history(id)
    ] == [
        ("ADD", None, old),
        ("UPDATE", old, "Cleo lives in Braga"),
    ]


def test_a_changed_message_keeps_its_id(here: Beside, mem0: Client) -> None:
    id = mem0.add("The spare key is with Dov", user_id="dora", infer=False)["results"][0]["id"]
    mem0.update(id, text="The spare key is with Eli", metadata={"floor": 2})
    assert mem0.get(id)["memory"] == "The spare key is with Eli"
    assert [each["id"] for each in mem0.get_all(**of("dora"))["results"]] == [id]
    assert texts(mem0.search("spare key", **of("dora"))) == {"The spare key is with Eli"}
    assert [each["event"] for each in mem0.history(id)] == ["ADD", "UPDATE"]
    assert message(here, id, "dora") == "The spare key is with Dov"  # as it was said
    (record,) = here.memory.list(user_id="dora")
    assert [each.source_id for each in record.evidence] == [id]
    mem0.update(id, text="The spare key is under the mat")
    assert [each["new_memory"] for each in mem0.history(id)][1:] == [
        "The spare key is with Eli",
        "The spare key is under the mat",
    ]
    mem0.delete(id)
    assert stored(here, "dora") == 0


def test_a_deleted_memory_is_nowhere_in_the_file(here: Beside, mem0: Client) -> None:
    id = mem0.add("the door code is SENTINEL 7731", user_id="eva", infer=False)["results"][0]["id"]
    mem0.update(id, text="the door code was SENTINEL 7732")
    assert b"SENTINEL" in here.bytes()
    assert mem0.delete(id)["deleted"] == 1
    refused("MemoryNotFoundError", mem0.get, id)
    refused("MemoryNotFoundError", mem0.history, id)
    refused("MemoryNotFoundError", mem0.delete, id)
    assert mem0.search("SENTINEL", **of("eva"))["results"] == []
    assert b"SENTINEL" not in here.bytes()


def test_a_delete_leaves_what_others_rest_on(here: Beside, mem0: Client) -> None:
    added = mem0.add(ANA, user_id="finn")["results"]
    gone, *rest = [each["id"] for each in added]
    mem0.delete(gone)
    assert {each["id"] for each in mem0.get_all(**of("finn"))["results"]} == set(rest)
    mem0.batch_delete([{"memory_id": each} for each in rest])
    assert stored(here, "finn") == 0


def test_what_has_ended_is_listed_where_that_is_asked(mem0: Client) -> None:
    mem0.add("I live in Lisbon.", user_id="zoe")
    changed = mem0.add("I moved to Porto.", user_id="zoe")["results"]
    assert {"ADD", "DELETE"} == {each["event"] for each in changed}
    (ended,) = [each["id"] for each in changed if each["event"] == "DELETE"]
    assert ended not in {each["id"] for each in mem0.get_all(**of("zoe"))["results"]}
    everything = mem0.get_all(latest_only=False, **of("zoe"))["results"]
    assert ended in {each["id"] for each in everything}
    assert mem0.get(ended)["memory"].startswith("user lives in Lisbon")


def test_linked_memories_go_where_that_is_asked(here: Beside, mem0: Client) -> None:
    for user in ("gus", "hal"):
        mem0.add("I live in Lisbon.", user_id=user)
        mem0.add("I moved to Porto.", user_id=user)
        (new,) = [each for each in here.memory.list(user_id=user) if each.supersedes]
        mem0.delete(new.id, delete_linked=user == "gus")
        left = {record.id for record in here.memory.list(user_id=user)}
        assert (new.supersedes in left) == (user == "hal")
        assert new.id not in left


def test_all_of_one_user_and_none_of_another(here: Beside, mem0: Client) -> None:
    for number in range(250):
        here.memory.add(f"Ida's note {number}", user_id="ida", infer=False, wait=False)
    for number in range(7):
        here.memory.add(f"Jo's note {number}", user_id="jo", infer=False, wait=False)
    here.memory.add("what a helper knows of Ida", user_id="ida", agent_id="helper", infer=False)
    for given in ({}, {"user_id": ""}, {"run_id": "s1"}, {"app_id": "x"}, {"metadata": {"a": 1}}):
        refused("ValidationError", mem0.delete_all, **given)
    assert mem0.delete_all(user_id="ida")["deleted"] == 251
    assert stored(here, "ida") == 0
    assert len(here.memory.messages(user_id="ida", agent_id="helper")) == 0
    assert stored(here, "jo") == 7
    assert mem0.delete_all(filters={"user_id": "jo"})["deleted"] == 7
    assert stored(here, "jo") == 0


def test_an_agent_s_call_leaves_what_the_user_shares(here: Beside, mem0: Client) -> None:
    mem0.add("Kim likes tea", user_id="kim", infer=False)
    mem0.add("Kim asked me twice", user_id="kim", agent_id="a1", infer=False)
    assert texts(mem0.get_all(**of("kim"))) == {"Kim likes tea"}
    assert texts(mem0.get_all(**of("kim", agent_id="a1"))) == {
        "Kim likes tea",
        "Kim asked me twice",
    }
    assert texts(mem0.get_all(**of("kim", agent_id="*"))) == {"Kim asked me twice"}
    assert mem0.delete_all(user_id="kim", agent_id="a1")["deleted"] == 1
    assert texts(mem0.get_all(**of("kim", agent_id="a1"))) == {"Kim likes tea"}


def test_a_run_is_a_session(here: Beside, mem0: Client) -> None:
    mem0.add("said on Monday", user_id="lea", run_id="mon", infer=False)
    mem0.add("said on Tuesday", user_id="lea", run_id="tue", infer=False)
    assert [each.session_id for each in here.memory.messages(user_id="lea")] == ["mon", "tue"]
    assert texts(mem0.get_all(**of("lea", run_id="mon"))) == {"said on Monday"}
    assert texts(mem0.search("said", **of("lea", run_id="tue"))) == {"said on Tuesday"}
    assert mem0.delete_all(user_id="lea", run_id="mon")["deleted"] == 1
    assert texts(mem0.get_all(**of("lea"))) == {"said on Tuesday"}


def test_pages_are_whole_and_in_order(mem0: Client) -> None:
    for number in range(7):
        mem0.add(f"note {number}", user_id="mia", infer=False, timestamp=1_700_000_000 + number)
    pages = [mem0.get_all(page=page, page_size=3, **of("mia")) for page in (1, 2, 3, 4)]
    assert [each["memory"] for page in pages for each in page["results"]] == [
        f"note {number}" for number in reversed(range(7))
    ]
    assert {page["count"] for page in pages} == {7}
    assert [page["next"] is None for page in pages] == [False, False, True, True]
    assert [page["previous"] is None for page in pages] == [True, False, False, False]
    assert pages[0]["results"][0]["created_at"].startswith("2023-11-14T22:13:26")


def test_users_are_listed_and_go(here: Beside, mem0: Client) -> None:
    names = ["a/b c", "100%", "50%2Fx", "王芳", "n?#&"]
    for name in names:
        mem0.add(f"about {name}", user_id=name, infer=False)
    mem0.add("the agent's own", agent_id="a/9", infer=False)
    listed = {(each["type"], each["name"]) for each in mem0.users()["results"]}
    assert {*(("user", name) for name in names), ("agent", "a/9")} <= listed
    for name in names:
        assert mem0.get_all(**of(name))["count"] == 1
        mem0.delete_users(user_id=name)
        assert stored(here, name) == 0
    mem0.delete_users(agent_id="a/9")
    left = {each["name"] for each in mem0.users()["results"]}
    assert not left & {*names, "a/9"}
    refused("ValidationError", mem0.delete_users, run_id="s1")


def test_many_at_once(here: Beside, mem0: Client) -> None:
    ids = [mem0.add(f"n {n}", user_id="ned", infer=False)["results"][0]["id"] for n in range(3)]
    mem0.batch_update([{"memory_id": id, "text": f"new {id}"} for id in ids])
    assert texts(mem0.get_all(**of("ned"))) == {f"new {id}" for id in ids}
    wrong = [{"memory_id": ids[0]}, {"memory_id": "msg_none"}]
    refused("MemoryNotFoundError", mem0.batch_delete, wrong)
    assert mem0.get_all(**of("ned"))["count"] == 3
    assert mem0.batch_delete([{"memory_id": id} for id in ids])["deleted"] == 3
    assert stored(here, "ned") == 0


def test_a_memory_that_is_over_is_not_shown(here: Beside, mem0: Client) -> None:
    mem0.add("valid until 2020", user_id="ola", infer=False, expiration_date="2020-01-31")
    mem0.add("valid until 2130", user_id="ola", infer=False, expiration_date="2130-01-31")
    assert texts(mem0.get_all(**of("ola"))) == {"valid until 2130"}
    assert texts(mem0.search("valid until", **of("ola"))) == {"valid until 2130"}
    shown = mem0.get_all(show_expired=True, **of("ola"))["results"]
    assert {each["expiration_date"] for each in shown} == {"2020-01-31", "2130-01-31"}
    id = next(each["id"] for each in shown if each["expiration_date"] == "2020-01-31")
    mem0.update(id, expiration_date=None)
    assert mem0.get(id)["expiration_date"] is None
    assert len(texts(mem0.get_all(**of("ola")))) == 2
    assert {each.expires_at is None for each in here.memory.list(user_id="ola")} == {True, False}


def test_an_application_is_a_label(mem0: Client) -> None:
    mem0.add("from the phone", user_id="pia", app_id="phone", infer=False)
    mem0.add("from the desk", user_id="pia", infer=False)
    assert texts(mem0.get_all(**of("pia", app_id="phone"))) == {"from the phone"}
    assert texts(mem0.search("from", **of("pia", app_id="phone"))) == {"from the phone"}
    refused("ValidationError", mem0.add, "nobody's", app_id="phone")
    assert mem0.delete_all(user_id="pia", app_id="phone")["deleted"] == 1
    assert texts(mem0.get_all(**of("pia"))) == {"from the desk"}


def test_the_same_through_the_async_client(here: Beside) -> None:
    client = here.mem0(kind="AsyncMemoryClient")
    id = client.add("Quin plays chess", user_id="quin", infer=False)["results"][0]["id"]
    assert texts(client.search("chess", **of("quin"))) == {"Quin plays chess"}
    assert client.update(id, text="Quin plays go")["memory"] == "Quin plays go"
    assert client.get(id)["memory"] == "Quin plays go"
    assert texts(client.get_all(**of("quin"))) == {"Quin plays go"}
    assert [each["event"] for each in client.history(id)] == ["ADD", "UPDATE"]
    assert "quin" in {each["name"] for each in client.users()["results"]}
    assert client.delete(id)["deleted"] == 1
    assert client.delete_all(user_id="quin")["deleted"] == 0
    client.add("again", user_id="quin", infer=False)
    client.delete_users(user_id="quin")
    assert stored(here, "quin") == 0
    refused("MemoryNotFoundError", client.get, id)
