"""Names, and the forms in which they are compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.text.names import Name, names, normal_form


def found(text: str, known: frozenset[str] = frozenset()) -> list[str]:
    return [name.text for name in names(text, known)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Dr. Ana Reyes", "ana reyes"),
        ("Mrs Ana  Reyes", "ANA REYES,"),
        ("José", "jose"),
        ("Jose\u0301", "José"),
        ("O’Brien", "O'Brien"),
        ("J.R.R. Holt", "J. R. R. Holt"),
        ("Ana Reyes, PhD", "Ana Reyes"),
        ("“The Lighthouse”", "the lighthouse"),
        ("Ｆｕｌｌ", "full"),
        ("王小明先生", "王小明"),
        ("田中さん", "田中"),
        ("Straße", "STRASSE"),
        ("Ångström", "angstrom"),
    ],
)
def test_two_spellings_of_one_name_meet(one: str, other: str) -> None:
    assert normal_form(one) == normal_form(other)


@pytest.mark.parametrize(
    "similar",
    [
        ("Ann Lee", "Anna Lee"),
        ("ann_lee", "ann-lee", "ann lee", "ann", "annlee"),
        ("C", "C++", "C#"),
        ("ana", "@ana", "ana@example.org"),
        ("李医生", "李老师", "李"),
        ("王先生", "王女士", "王"),
        ("が", "か"),
        ("node.js", "node"),
        ("😀", "😃"),
        ("ABC-123", "ABC-124"),
    ],
)
def test_similar_names_stay_apart(similar: tuple[str, ...]) -> None:
    assert len({normal_form(name) for name in similar}) == len(similar)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "😀",
            "👩\u200d👩\u200d👧",
            "!!!",
            "...",
            "%",
            "李",
            "Ω",
            "\u0301",
            "\u200b",
            "Dr.",
            "Mr. T",
        ),
        *("Жанна", "محمد", "김철수", "ゆき", "नेहा", "'", "«»", "-", "Dr Dr", "1"),
    ],
)
def test_no_name_is_empty(name: str) -> None:
    assert normal_form(name).strip()


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000"])
def test_a_blank_name_is_empty(blank: str) -> None:
    assert normal_form(blank) == ""


@given(st.one_of(st.text(max_size=12), st.sampled_from(["Dr. ", "Mr ", "さん", "先生", ", PhD"])))
def test_a_normal_form_is_its_own_and_never_empty(name: str) -> None:
    form = normal_form(name)
    assert normal_form(form) == form
    assert bool(form.strip()) == bool(name.strip())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I went to Lisbon with Ana Reyes.", ["Lisbon", "Ana Reyes"]),
        ("Thanks, Caro! That sounds great.", ["Caro"]),
        ("Hey Otto! Haven't seen you.", ["Otto"]),
        ("Otto, glad you came.", ["Otto"]),
        ("Melina's sister lives near Lake Como.", ["Melina", "Lake Como"]),
        (
            "Dr. Ivo Brandt works at Ghent University Hospital",
            ["Dr. Ivo Brandt", "Ghent University Hospital"],
        ),
        ("The Bank of England and Juan de la Vega", ["Bank of England", "Juan de la Vega"]),
        ("New York is big. San Marino is small.", ["New York", "San Marino"]),
        ("We got tickets for Night of the Owls", ["Night of the Owls"]),
        ("On Monday in May I met Jean-Luc O'Hara", ["Jean-Luc O'Hara"]),
        ("my dog Biscuit and our cat Nori", ["Biscuit", "Nori"]),
        ("I told Hope about it", ["Hope"]),
        ("We use AT&T and NASA data", ["AT&T", "NASA"]),
        ("Émile paints with Zoë", ["Émile", "Zoë"]),
        ("Мы встретили Анну в Москве", ["Анну", "Москве"]),
    ],
)
def test_capitalised_names(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("I moved last month. I can't eat peanuts.", "Pottery is fun. Cooking too!"),
        *("Thanks! That's great. Let's go on Friday.", "Yes. No. Maybe. Wow!", "THIS IS VERY LOUD"),
        *(
            "In May and on Sunday we rest",
            "my Mom and Dad",
            "I'm sure it's I who did it",
            "",
            "   ",
        ),
        *("- Buy milk\n- Call the bank\n* Clean up", "**Morning Routine**", "Great Job!"),
        *("天气很好，我很高兴", "这里有很多东西", "the ratio is 3:4", "a 10-year-old, mid-2020"),
        *("we've got 3 cats", "see https://example.org/Some/Path_to_x", "2 PM", "Q3"),
    ],
)
def test_no_names(text: str) -> None:
    assert names(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('I read "The Silent Harbour" twice', ["The Silent Harbour"]),
        ('I read "nothing is wasted" twice', ["nothing is wasted"]),
        ('She said "I will be back soon"', []),
        ("我在看《三体之外》", ["三体之外"]),
        ("ask @ana or mail ana.reyes@example.org", ["@ana", "ana.reyes@example.org"]),
        ("rerun build-x7 with ticket_id ABC-123", ["build-x7", "ticket_id", "ABC-123"]),
        ("重跑build-x7后全部通过", ["build-x7"]),
        ("I bought an iPhone and watch YouTube", ["iPhone", "YouTube"]),
    ],
)
def test_titles_handles_and_identifiers(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "我妈妈叫陈美丽，和李医生、王小明见面",
            [("陈美丽", "person"), ("李医生", "person"), ("王小明", "person")],
        ),
        ("欧阳娜娜去了上海", [("欧阳娜娜", "person"), ("上海", "place")]),
        ("张总下周去北京大学", [("张总", "person"), ("北京大学", "organisation")]),
        ("Otto跟Nori去了上海", [("Otto", "thing"), ("Nori", "thing"), ("上海", "place")]),
        ("昨日田中さんと会った。サーバーが落ちた", [("田中", "person"), ("サーバー", "thing")]),
        ("오늘 김철수 씨와 회의를 했다", [("김철수", "person")]),
    ],
)
def test_chinese_japanese_korean(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(name.text, name.type) for name in names(text)] == expected


def test_half_a_pair_of_code_units_does_no_harm() -> None:
    assert found("李医生\ud83d去了上海") == ["李医生", "上海"]
    assert normal_form("\ud83d")


def test_each_name_comes_once_by_its_normal_form() -> None:
    text = "Ana Reyes came. We like Dr. Ana Reyes, and ANA REYES too; Ana as well."
    assert names(text)[0] == Name("Ana Reyes", "ana reyes", "person")
    assert [name.normal for name in names(text)] == ["ana reyes", "ana"]


def test_known_names_are_found_in_small_letters() -> None:
    known = frozenset({"ana", "build server", "小白", "will", "josé luis"})
    assert found("i had lunch with ana", known) == ["ana"]
    assert found("restart the build server please", known) == ["build server"]
    assert found("我家的小白很乖", known) == ["小白"]
    assert found("josé luis called", known) == ["josé luis"]
    assert found("banana bread", known) == []
    assert names("i had lunch with ana") == []


def test_known_names_as_they_are_written() -> None:
    assert found("talk to Will Ash today", frozenset({"Will Ash"})) == ["Will Ash"]
    assert found("Dell is here", frozenset({"dell"})) == ["Dell"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("my friend Otto", "person"),
        ("Thanks, Otto!", "person"),
        ("I live in Quito", "place"),
        ("she joined Marlow Ltd", "organisation"),
        ("the Lena River", "place"),
        ("@otto", "handle"),
        ("I fixed JIRA-77", "thing"),
    ],
)
def test_types(text: str, kind: str) -> None:
    assert [name.type for name in names(text)] == [kind]


_PIECES = [
    *(
        "Ana",
        "Reyes",
        "Dr.",
        "of the",
        "de la",
        "I",
        "I'm",
        "Thanks",
        ",",
        ".",
        '"',
        "“",
        "”",
        "《",
        "》",
    ),
    *(
        "@ana",
        "a_b",
        "x-7",
        "A.",
        "陈",
        "美丽",
        "上海",
        "さん",
        "씨",
        "New",
        "York's",
        "AT&T",
        "\n",
        "-",
    ),
]


@given(
    words=st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=5)), max_size=14),
    separator=st.sampled_from([" ", ""]),
    known=st.sampled_from([frozenset(), frozenset({"ana", "of the", "上海"})]),
)
def test_names_stand_in_the_text_and_are_distinct(words: list[str], separator: str, known) -> None:
    text = separator.join(words)
    listed = names(text, known)
    assert listed == names(text, known)
    assert all(name.text in text and name.normal == normal_form(name.text) for name in listed)
    assert len({name.normal for name in listed}) == len(listed)
    assert all(name.normal for name in listed)


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "A",
            "A ",
            "Aa ",
            "A.",
            "a_",
            "a-",
            "@",
            "@a",
            "a@",
            '"',
            "“",
            "《",
            "陈",
            "A&",
            "O'",
            "Mr. ",
            "of ",
        ),
        *("Ana of the ", "x://", "a.", "さん", "ァ", "가", "씨", "·", "王·", "\n", "-A", "9A"),
    ],
)
def test_a_hostile_text_takes_time_in_proportion(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    assert len(names(text)) < 100_000
    assert len(normal_form(text[:5_000])) <= 10_000
