from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstrata.recall.intent import Intent, read_intent

NOW = datetime(2031, 6, 18, 12, 0, tzinfo=UTC)  # a Wednesday


def read(*turns: str, known: frozenset[str] = frozenset()) -> Intent:
    """The last turn is the user's, those before it by turns the assistant's and the user's."""
    roles = ("user", "assistant")
    said = [(roles[(len(turns) - 1 - at) % 2], turn) for at, turn in enumerate(turns)]
    return read_intent(said, now=NOW, zone=UTC, known=known)


# ── follow-ups ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("turns", "question"),
    [
        # another person
        ("Where does Ana work?|At a bakery.|and Bob?", "Where does Bob work?"),
        ("Where does Ana work?|At a bakery.|Bob?", "Where does Bob work?"),
        ("Where does Ana work?|At a bakery.|what about Bob then?", "Where does Bob work?"),
        ("Where does Ana work?|At a bakery.|And Tomasz?", "Where does Tomasz work?"),
        ("where does ana work?|at a bakery|and bob?", "where does bob work?"),
        ("Where does Ana work?|At a bakery.|and me?", "Where do I work?"),
        ("Where do I work?|At a shipyard.|and Bob?", "Where does Bob work?"),
        ("What is Ana's dog called?|Rex.|and Bob's?", "What is Bob's dog called?"),
        ("What is my favourite colour?|Blue.|And Bob's?", "What is Bob's favourite colour?"),
        ("Where does my sister live?|In Oslo.|And my brother?", "Where does my brother live?"),
        ("Where does Ana live?|In Oslo.|and her brother?", "Where does Ana's brother live?"),
        (
            "What did Ana say about the lease?|She signed.|and Bob?",
            "What did Bob say about the lease?",
        ),
        # a pronoun for somebody else
        (
            "Bob and I had lunch.|Nice!|Where does Ana work?|At a bakery.|and him?",
            "Where does Bob work?",
        ),
        ("I met Ana.|Oh?|Where does Bob live?|In Lima.|what about her?", "Where does Ana live?"),
        # a pronoun in a question of its own
        ("Tell me about Marta.|She is a vet.|Where does she work?", "Where does Marta work?"),
        ("I met Marta and Jonas.|Nice.|What does he do?", "What does Jonas do?"),
        ("Who is Marta?|A friend.|When is her birthday?", "When is Marta's birthday?"),
        ("Who is Marta?|A friend.|Did Bob call her?", "Did Bob call Marta?"),
        ("My boss wants a report.|Ok.|When does he need it?", "When does my boss need it?"),
        # another time, place, thing
        ("What did I buy in May?|A bike.|and in June?", "What did I buy in June?"),
        ("What did I buy?|A bike.|and in June?", "What did I buy in June?"),
        ("How much did I spend in March?|200.|what about April?", "How much did I spend in April?"),
        ("Have I been to Paris?|Yes.|And Rome?", "Have I been to Rome?"),
        ("Where did I park the car?|Here.|and the bike?", "Where did I park the bike?"),
        (
            "What did I eat for lunch on Monday?|Soup.|and for dinner?",
            "What did I eat for dinner on Monday?",
        ),
        # another question of the same
        ("Did Ana go to Lisbon?|Yes.|when was that?", "When did Ana go to Lisbon?"),
        ("Did Ana go to Lisbon?|Yes.|why?", "Why did Ana go to Lisbon?"),
        ("Did Ana go to Lisbon?|Yes.|who with?", "With whom did Ana go to Lisbon?"),
        ("Which hotel did Ana book?|Yes.|when?", "When did Ana book hotel?"),
        # a follow-up to a follow-up
        ("Where does Ana work?|Here.|and Bob?|There.|and Carla?", "Where does Carla work?"),
        ("Did Ana move?|Yes.|and Bob?|No.|why?", "Why did Bob move?"),
        # Chinese
        ("小雨在哪里工作?|在面包店。|那小明呢?", "小明在哪里工作?"),
        ("我和王伟吃饭了。|好。|李娜喜欢什么?|花。|那他呢", "王伟喜欢什么?"),
        ("我见了李娜。|好。|王伟住在哪里?|南京。|那她呢?", "李娜住在哪里?"),
        ("李娜住在哪里?|杭州。|她在哪里工作?", "李娜在哪里工作?"),
        ("李娜住在哪里?|杭州。|那我呢?", "我住在哪里?"),
        ("我住在哪里?|杭州。|小明呢?", "小明住在哪里?"),
        ("我妈妈喜欢什么?|兰花。|那爸爸呢?", "爸爸喜欢什么?"),
        ("李娜住在哪里?|杭州。|那她弟弟呢?", "李娜的弟弟住在哪里?"),
        ("王伟的女儿叫什么?|小花。|儿子呢?", "王伟的儿子叫什么?"),
        ("我在北京买了什么?|烤鸭。|那上海呢?", "我在上海买了什么?"),
        ("我这个月花了多少钱?|三千。|那上个月呢", "我上个月花了多少钱?"),
        ("我花了多少钱?|三千。|那上个月呢", "我上个月花了多少钱?"),
        ("午饭我吃了什么?|面条。|那晚饭呢", "晚饭我吃了什么?"),
        ("我的航班几点?|九点。|酒店呢?", "我的酒店几点?"),
    ],
)
def test_a_follow_up_comes_out_whole(turns: str, question: str) -> None:
    found = read(*turns.split("|"))
    assert found.question == question
    assert found.leans_on in turns.split("|")


@pytest.mark.parametrize(
    ("turns", "words", "without"),
    [
        ("Where does Ana work?|At a bakery.|since when?", "Ana work bakery", ""),
        (
            "I have a dentist appointment with Dr. Kim.|Ok.|thanks! and when is it?",
            "dentist Kim when",
            "thanks",
        ),
        ("Who gave me the scarf?|Ana.|when?", "gave scarf Ana when", ""),
        ("My sister Lea got a cat.|Cute.|What is it called?", "Lea cat called", ""),
        ("Did Ana go to Rome?|Yes.|What did she do there?", "Ana Rome", "she"),
        ("Where does Bob work?|At the zoo.|what about her?", "work her", "Bob zoo"),
        ("Did Ana go to Rome?|Yes.|and Tomasz?", "Tomasz Ana Rome", ""),
        ("小雨去上海了吗?|去了。|什么时候?", "小雨 上海 什么时候", ""),
        ("小雨去上海了吗?|去了。|为什么", "小雨 上海 为什么", ""),
        ("小雨周末做了什么?|爬山。|和谁?", "小雨 爬山 和谁", ""),
        ("小雨养了一只猫。|真可爱!|它叫什么?", "小雨 猫", ""),
        ("王伟在哪里工作?|银行。|那她呢?", "工作 她", "王伟 银行"),
        # nothing better is known: the turn before as it is
        ("I need to plan a trip.|Where to?|Lisbon", "trip Where Lisbon", ""),
        ("Wo arbeitet Ana?|In der Bäckerei.|und Bob", "Bäckerei Bob", ""),
        # told, not asked: it goes on with what was spoken of
        ("I lost my umbrella.|On the tram?|I think it was the tram.", "umbrella tram", ""),
    ],
)
def test_a_follow_up_borrows_what_it_lacks(turns: str, words: str, without: str) -> None:
    found = read(*turns.split("|"))
    assert all(word in found.question for word in words.split())
    assert not any(word in found.question for word in without.split())
    assert found.leans_on in turns.split("|")


ALONE = """
Where does Bob work?
Who is Bob?
Who am I?
What's my name?
Do you remember me?
When is my birthday?
What is my dentist's name?
Where did I put the keys?
Where do I work?
Where do I live?
What do I have to do today?
What is the wifi password?
Which book did I recommend to Carla?
When did Marta get her tattoo?
What does Joanna do while she writes?
What was my last name before I changed it?
According to John, who is his favourite player?
Did Carla tell Dora that she moved?
hi, what is my sister's name?
tell me about Marta
Plan dinner for Marta
ESLint rules and TSLint configuration
auth redis failure modes
What should I cook for Marta's birthday on Sunday?
What about the contract I signed with the plumber in March last year?
And did Marta ever finish the marathon in Oslo?
我的生日是什么时候?
我是谁?
我叫什么名字?
我住在哪里?
王伟住在哪里?
我今天怎么去上班?
我今天要做什么?
你还记得我吗?
王伟昨天说他去了哪里?
小雨和李娜什么时候去上海?
我把钥匙放在哪里了?
你好,我的牙医叫什么?
给我讲讲王伟
帮我安排下周的行程
""".strip().splitlines()


@pytest.mark.parametrize("turn", ALONE)
@pytest.mark.parametrize(
    "before",
    [
        (),
        ("Where does Ana work?", "At a bakery."),
        ("My uncle Leo restores old boats in Porto.", "How lovely! Does he sell them?"),
        ("李娜喜欢什么?", "她喜欢兰花。"),
    ],
)
def test_what_stands_by_itself_is_left_alone(turn: str, before: tuple[str, ...]) -> None:
    found = read(*before, turn)
    assert found.question == turn
    assert found.leans_on is None


LONG = (
    "I spent the whole morning in the garden with my neighbour and we planted beans and tomatoes. "
    "Afterwards she told me about her trip. It was a lovely day, and the weather was fine. "
    "Do you know which seeds he gave me last spring? I want to try them again this year."
)


def test_a_long_turn_is_kept_whole() -> None:
    assert read("Where does Ana work?", "At a bakery.", LONG).question == LONG


def test_a_bare_question_mark_asks_again() -> None:
    assert read("Where does Ana work?", "Hm.", "?").question == "Where does Ana work?"
    assert read("?") == Intent("")


def test_turns_without_answers_between() -> None:
    turns = [("user", turn) for turn in ("Where does Ana work?", "At a bakery.", "and Bob?")]
    assert read_intent(turns, now=NOW, zone=UTC).question == "Where does Bob work?"


def test_a_first_question_leans_on_what_the_assistant_said() -> None:
    turns = [("assistant", "Bob went to Lisbon."), ("user", "when was that?")]
    found = read_intent(turns, now=NOW, zone=UTC)
    assert "Bob" in found.question
    assert "Lisbon" in found.question


def test_known_names_are_found_in_small_letters() -> None:
    turns = ("where does quim work?", "at a bakery", "and zuri?")
    known = frozenset({"quim", "zuri"})
    assert read(*turns, known=known).question == "where does zuri work?"


def test_the_last_fitting_person_is_meant() -> None:
    turns = ("Bob called.", "Ok.", "Carl called.", "Ok.", "Where does he live?")
    assert read(*turns).question == "Where does Carl live?"


def test_a_pronoun_tells_of_a_name_that_does_not() -> None:
    turns = ("Quim told me she moved.", "Ok.", "Where does Bob live?", "In Lima.", "and her?")
    assert read(*turns, known=frozenset({"quim"})).question == "Where does Quim live?"


# ── small talk ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "turn", ["hi", "thanks, that worked great", "👍", "好的", "谢谢,太好了", "lol"]
)
def test_small_talk_calls_for_nothing(turn: str) -> None:
    assert read("Where does Ana work?", "At a bakery.", turn) == Intent("", small_talk=True)


def test_small_talk_between_is_passed_over() -> None:
    turns = ("Where does Ana work?", "At a bakery.", "thanks!", "You're welcome!", "and Bob?")
    assert read(*turns).question == "Where does Bob work?"


@pytest.mark.parametrize(
    ("offer", "answer", "taken"),
    [
        ("Do you mean the appointment with Dr. Kim on Friday?", "yes", True),
        ("Shall I look up the address of Ana's bakery?", "yes please", True),
        ("要我告诉你王伟的地址吗?", "好的", True),
        ("Shall I look up the address of Ana's bakery?", "no", False),
        ("Shall I look up the address of Ana's bakery?", "haha", False),
        ("Is there anything else I can do for you?", "yes", False),
        ("How are you today?", "fine, thanks", False),
        ("Ana works at a bakery.", "ok", False),
    ],
)
def test_a_yes_takes_up_what_was_asked(offer: str, answer: str, taken: bool) -> None:
    found = read("When is my appointment?", offer, answer)
    assert found.small_talk is not taken
    assert (offer in found.question) is taken
    assert found.leans_on == (offer if taken else None)


# ── topics ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("turns", "topics"),
    [
        ("Where does Ana work?|At a bakery.|and Bob?", ["Bob", "work", "bakery", "Ana"]),
        ("Where did I put the keys?", ["keys", "put"]),
        ("I love my new guitar and the concert in Oslo", ["Oslo", "guitar", "concert"]),
        ("小雨在哪里工作?|在面包店。|那小明呢?", ["小明", "工作", "面包店", "小雨"]),
        ("我昨天在图书馆借了一本小说", ["图书馆", "小说"]),
        ("what did he do?", []),
        ("它在哪里?", []),
    ],
)
def test_topics(turns: str, topics: list[str]) -> None:
    assert list(read(*turns.split("|")).topics) == topics


def test_topics_are_few_and_of_the_last_turns_first() -> None:
    early = "Pears plums quinces medlars cherries apricots mulberries in the orchard"
    found = read(early, "I see.", "The kayak needs a paddle, a seat and a spray deck.").topics
    assert len(found) == 6
    assert "kayak" in found[:3]


# ── time ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("turns", "start", "end"),
    [
        ("What did I buy in May?", "2031-05-01", "2031-06-01"),
        ("What did I buy in May?|A bike.|and in June?", "2031-06-01", "2031-07-01"),
        ("What did I buy in May?|A bike.|where was that?", "2031-05-01", "2031-06-01"),
        ("What did Ana do in May?|She sailed.|and Bob?", "2031-05-01", "2031-06-01"),
        ("Where did Ana go last summer?|To Bali.|Where did she stay?", "2030-06-01", "2030-09-01"),
        ("What did Ana do in May?|She sailed.|Where does she work?", None, None),
        ("What did Ana do in May?|She sailed.|Where does Bob work?", None, None),
        ("我这个月花了多少钱?|三千。|那上个月呢", "2031-05-01", "2031-06-01"),
        ("我上个月去了哪里?|上海。|和谁?", "2031-05-01", "2031-06-01"),
        ("Where does Ana work?", None, None),
        ("thanks for yesterday", "2031-06-17", "2031-06-18"),
        ("see you tomorrow", None, None),
    ],
)
def test_the_time_a_turn_speaks_of(turns: str, start: str | None, end: str | None) -> None:
    window = read(*turns.split("|")).window
    found = (window.start.date().isoformat(), window.end.date().isoformat()) if window else None
    assert found == ((start, end) if start else None)


# ── anything at all ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("turns", [[], [("user", "")], [("user", " \n"), ("user", "\x00")]])
def test_nothing_said_calls_for_nothing(turns: list[tuple[str, str]]) -> None:
    assert read_intent(turns, now=NOW, zone=UTC) == Intent("")


HOSTILE = [
    "a" * 100_000,
    "他" * 99_999 + "?",
    "? " * 50_000,
    "and " * 25_000,
    "👍" * 100_000,
    "\x00" * 1000,
    "and her brother " * 6000,
    "Ana's " * 16_000,
    "what about " * 9000,
    ". " * 50_000,
    "12:30 " * 16_000,
    "\n" * 100_000 + "x",
    "(" * 100_000,
    "\ud800 hi",
    "he she " * 14_000 + "?",
]


@pytest.mark.parametrize(
    "text",
    HOSTILE,
    ids=[text[:6].encode().hex() if text[0] != "\ud800" else "half" for text in HOSTILE],
)
def test_hostile_turns_are_read_quickly(text: str) -> None:
    read("Where does Ana work?", "小雨", "where does she live?")  # loads the dictionaries
    started = time.perf_counter()
    for turns in [(text,), (text, text, "and him?"), ("Who is Ana?", "A vet.", text)]:
        read(*turns)
    read(*[text] * 200, "when?")
    assert time.perf_counter() - started < 4


_PIECES = st.sampled_from(
    [
        "and",
        "her",
        "him",
        "Ana",
        "Bob",
        "?",
        "?",
        "what about",
        "in May",
        "why",
        "那",
        "她",
        "呢",
        "王伟",
        "的",
        "'s",
        "(",
        ")",
        " ",
        "I",
        "my",
        "dog",
        "\x00",
        "👍",
    ]
)
_TURNS = st.lists(
    st.tuples(
        st.sampled_from(["user", "assistant", ""]),
        st.one_of(
            st.text(max_size=60),
            st.lists(_PIECES, max_size=8).map(" ".join),
            st.lists(_PIECES, max_size=8).map("".join),
        ),
    ),
    max_size=6,
)


@given(_TURNS)
@settings(max_examples=200, deadline=None)
def test_anything_can_be_read(turns: list[tuple[str, str]]) -> None:
    found = read_intent(turns, now=NOW, zone=UTC)
    assert found == read_intent(turns, now=NOW, zone=UTC)
    assert len(found.topics) <= 6
    assert not (found.small_talk and found.question)
    assert found.leans_on is None or found.leans_on in [text for _, text in turns]
    last = next((text for _, text in reversed(turns) if text.strip(" \t\r\n\x00")), None)
    if len(turns) == 1 and found.question:
        assert found.question == (last or "").strip()
