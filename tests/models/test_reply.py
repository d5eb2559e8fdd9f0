"""What models really write around, before and instead of an object."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from memstrata.models.loose import read_json
from memstrata.models.reply import Malformed, read_as, sift


class Facts(BaseModel):
    """What the replies of the cases hold."""

    facts: list[str]


class Memory(BaseModel):
    text: str
    weight: float = 1.0


class Memories(BaseModel):
    """Has a default for everything, as shapes for small models do."""

    memories: list[Memory] = []
    topic: str | None = None


class Anything(BaseModel):
    """Its items are sifted by who asks."""

    memories: list[JsonValue]


class Called(BaseModel):
    name: str
    summary: str = ""


REAL = '{"facts": ["right"]}'
DECOY = '{"facts": ["wrong"]}'
RIGHT = ["right"]

HOLD_IT = {
    "plain": REAL,
    "fence": f"```json\n{REAL}\n```",
    "fence without a name": f"```\n{REAL}\n```",
    "fence left open": f"```json\n{REAL}",
    "prose": f"Sure! Here is what I found {{so to say}}:\n\n{REAL}\n\nAnything else?",
    "braces in prose": f"Use {{ and }} as in {{}} or {{name}}. {REAL} That's it :}}",
    "footnotes": f"As said [1], [see below]: {REAL} [[2]](#two)",
    "reasoning": f"<think>It may be {DECOY}, no.</think>\n{REAL}",
    "reasoning in reasoning": f"<think>a <think> {DECOY} </think> {DECOY} </think>{REAL}",
    "reasoning opened in the prompt": f"Perhaps {DECOY}. Or not.</think>\n\n{REAL}",
    "reasoning with a broken decoy": f'<think>{{"facts": ["wr</think>{REAL}',
    "reasoning with a broken decoy, opened before": f'well, {{"facts": ["wr </think>{REAL}',
    "reasoning of another name": f"<Thinking>\n{DECOY}</thinking>{REAL}",
    "reasoning afterwards": f"{REAL}<think>Or rather {DECOY}?</think>",
    "reasoning in square brackets": f"[THINK]{DECOY}[/THINK]{REAL}",
    "reasoning in a channel": (
        f"<|channel|>analysis<|message|>{DECOY}<|end|><|start|>assistant"
        f"<|channel|>final<|message|>{REAL}"
    ),
    "trailing comma": '{"facts": ["right",],}',
    "single quotes": "{'facts': ['right']}",
    "keys without quotes": '{facts: ["right"]}',
    "comment": '{"facts": ["right" /* the only one */], // that is all\n}',
    "another field": '{"facts": ["right"], "sure": True, "why": None, "share": NaN}',
    "list": '["right"]',
    "list in a fence": 'Here:\n```json\n["right"]\n```',
    "list after reasoning": f'<think>{DECOY}</think>\n["right"]',
    "list around it": f"[{REAL}]",
    "wrapper": f'{{"result": {REAL}}}',
    "two wrappers": f'{{"output": {{"answer": {REAL}}}}}',
    "JSON in JSON": json.dumps(REAL),
    "wrapped JSON in JSON": json.dumps({"json": REAL}),
    "tool call": f'<tool_call>\n{{"name": "save", "arguments": {REAL}}}\n</tool_call>',
    "tool call with text": json.dumps({"name": "save", "arguments": REAL}),
    "tool call after a tag": f'<|python_tag|>{{"name": "save", "parameters": {REAL}}}',
    "tool call in a list": f'[{{"name": "save", "arguments": {REAL}}}]',
    "tool calls": json.dumps(
        {
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": REAL}}
            ]
        }
    ),
    "function": f"<function=save>{REAL}</function>",
    "call": f"functions.save({REAL})",
    "drafts": f"First {DECOY}, or {DECOY}; at last {REAL}",
    "a broken draft": f'{{"facts": [wrong]}} No: {REAL}',
    "something else afterwards": f'{REAL}\nUsage: {{"tokens": 12}}',
    "schema before": json.dumps(Facts.model_json_schema()) + REAL,
    "schema afterwards": REAL + json.dumps(Facts.model_json_schema()),
    "Chinese punctuation": "｛“facts”：［“right”，］｝",
    "Chinese colons": '{"facts"：["right"]}',
    "Chinese prose": f"好的，结果如下：\n{REAL}\n希望有帮助。",
}


@pytest.mark.parametrize("name", HOLD_IT)
def test_the_real_object_is_found(name: str) -> None:
    assert read_as(HOLD_IT[name], Facts).facts == RIGHT


HOLD_NONE = {
    "": "empty",
    "  \n": "empty",
    "null": "no JSON object",
    "None": "no JSON object",
    '""': "no JSON object",
    "I found nothing worth keeping.": "no JSON object",
    "{}": "no JSON object",
    f"<think>{DECOY}": "reasoning",
    f"<think>{DECOY} and <think> {DECOY}": "reasoning",
    f"{DECOY} <think>No, wait": "reasoning",
    f"I think {DECOY}</think>": "no JSON object",
    f"<think>a</think>b {DECOY}</think>": "no JSON object",
    f"```json\n{DECOY}\n```\n</think>\n": "no JSON object",
    '{"facts": ["right", "al': "cut off",
    '{"facts": ["right", "also"': "cut off",
    '{"facts": ["right", "also"], ': "cut off",
    '```json\n{"facts": ["right"\n```': "never closed",
    f'{DECOY} Better: {{"facts": ["right", "al': "cut off",
    '[{"facts": ["wrong"]}, {"facts": ["wr': "cut off",
    '{"facts": ["right"}': "must come first",
    '{"facts": ["right", ...]}': "abridged",
    '{"facts": ["right", …]}': "abridged",
    '{"facts": [...]}': "abridged",
    '{"facts": ["one" "two"]}': "comma",
    '{"facts": ["one"\n"two"]}': "comma",
    '{"facts": ["one""two"]}': "quote is missing",
    '{"facts": ["one, "two"]}': "quote is missing",
    '{"facts": ["one", "two, "three"]}': "quote is missing",
    '{"facts": ["甲，"乙"]}': "quote is missing",
    '{"facts": ["one"], "share" 0.5, "other": 1}': "comma or colon",
    '{"facts": ["one"], "share: 0.5, "other": 1}': "not in quotes",
    '{"facts": ["a"], "facts": ["b"]}': "twice",
    '{"facts": [right]}': "quotes",
    '{"facts": "right"}': "facts: ",
    '{"facts": null}': "facts: ",
    '{"facts": [], "share": 1e999}': "too large",
    '{"facts": ["right", 3]}': "facts.1: ",
    '{"fact": ["right"]}': "fields must be facts",
    '{"fact": []}': "fields must be facts",
    '{"errors": ["no facts"], "facts found": 0}': "fields must be facts",
    '{"memories": [{"text": "wrong"}]}': "fields must be facts",
    '<tool_call>{"name": "facts", "arguments": {"query": "facts"}}</tool_call>': "must be facts",
    '<tool_call>{"name": "save", "arguments": {"facts": 1}}</tool_call>': "facts: ",
    '[{"name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments": {}}]': "must be facts",
    f'{DECOY} Finally: {{"facts": 3}}': "facts: ",
    json.dumps(Facts.model_json_schema()): "must be facts",
    '{"properties": {"facts": {"type": "array"}}}': "must be facts",
    "{" * 300 + '"facts"': "never closed",
    '{"facts":' + "[" * 300 + "]" * 300 + "}": "deeply",
}


@pytest.mark.parametrize("text", HOLD_NONE)
def test_what_is_no_answer_is_malformed_and_says_why(text: str) -> None:
    with pytest.raises(Malformed, match=HOLD_NONE[text]):
        read_as(text, Facts)


TEXTS = {
    "{'facts': ['I don't know', \"it's\"]}": ["I don't know", "it's"],
    '{"facts": ["he said "hi", and left", "b"]}': ['he said "hi", and left', "b"],
    '{"facts": ["他说"好的"呢", "乙"]}': ['他说"好的"呢', "乙"],
    '{"facts": ["他说"好的""]}': ['他说"好的"'],
    '{"facts": ["他说，"好的"，走了", "乙"]}': ['他说，"好的"，走了', "乙"],
    '{"facts": ["他说“好的”，然后走了"]}': ["他说“好的”，然后走了"],
    "{“facts”：[“他说“好的”，然后走了”，“乙”]}": ["他说“好的”，然后走了", "乙"],
    '{"facts": ["Ana"s cello"]}': ['Ana"s cello'],
    '{"facts": ["two\nlines", "tab\there"]}': ["two\nlines", "tab\there"],
    r'{"facts": ["C:\Users\ana", "\u00e9\n", "it\'s", "a \"b\""]}': [
        r"C:\Users\ana", "é\n", "it's", 'a "b"',
    ],
    '{"facts": ["how to strip <think> and </think>", "} ] {"]}': [
        "how to strip <think> and </think>", "} ] {",
    ],
    '<think>x</think>{"facts": ["say </think> to end"]}': ["say </think> to end"],
    '{"facts": ["and so on...", "see // there", "# not a comment"]}': [
        "and so on...", "see // there", "# not a comment",
    ],
    '{"facts": []}': [],
    "[]": [],
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_texts_come_as_they_were_meant(text: str) -> None:
    assert read_as(text, Facts).facts == TEXTS[text]


def test_an_object_without_any_field_of_the_shape_is_no_answer_even_if_all_have_defaults() -> None:
    for text in ('{"status": "ok"}', "{}", '{"a": {}}', "null", '{"result": null}'):
        with pytest.raises(Malformed):
            read_as(text, Memories)
    assert read_as('{"memories": []}', Memories) == Memories()


def test_an_example_given_back_is_no_answer() -> None:
    example: Any = {"memories": [{"text": "Ana keeps bees."}]}
    echoed = json.dumps(example)
    with pytest.raises(Malformed):
        read_as(echoed, Memories, echoes=[example])
    text = f'{{"memories": [{{"text": "Tom rows."}}]}} (as in {echoed})'
    assert read_as(text, Memories, echoes=[example]).memories[0].text == "Tom rows."
    assert read_as(echoed, Memories).memories[0].text == "Ana keeps bees."


def test_a_tool_call_is_not_taken_for_an_object_with_a_name() -> None:
    call = '{"name": "write_theme", "arguments": {"name": "Bees", "summary": "Hives."}}'
    assert read_as(call, Called) == Called(name="Bees", summary="Hives.")
    with pytest.raises(Malformed):
        read_as('{"name": "write_theme", "arguments": {"x": 1}}', Called)
    with pytest.raises(Malformed):
        read_as(f"[{call}]", Memories)


def test_a_list_stands_for_the_object_only_if_there_is_one_list_and_its_items_fit() -> None:
    class Two(BaseModel):
        adds: list[str] = []
        drops: list[str] = []

    class Aliased(BaseModel):
        model_config = ConfigDict(validate_by_name=True)
        known: list[Memory] | None = Field(alias="facts")

    assert read_as('[{"text": "a"}, {"text": "b"}]', Memories).memories[1].text == "b"
    assert read_as('{"found": [{"text": "a"}, {"text": "b"}]}', Memories).memories[0].text == "a"
    assert read_as('[{"text": "a"}]', Aliased).known == [Memory(text="a")]
    assert read_as('{"facts": [{"text": "a"}]}', Aliased).known == [Memory(text="a")]
    assert read_as('[{"anything": 1}]', Anything).memories == [{"anything": 1}]
    for text, shape in (
        ('["a"]', Two),
        ("[1]", Anything),
        ('["text"]', Memories),
        ('[{"text": "a"}, {"text": ["b"]}]', Memories),
        ('[{"name": "save", "arguments": {"text": "a"}}]', Anything),
        ('[{"memories": [{"text": "a"}]}, {"memories": []}]', Anything),
    ):
        with pytest.raises(Malformed):
            read_as(text, shape)
    wrapped = '[{"memories": [{"text": "a"}]}]'
    assert read_as(wrapped, Anything).memories == [{"text": "a"}]


def test_good_items_are_kept_and_the_others_told_apart() -> None:
    text = (
        '{"memories": [{"text": "a"}, {"text": 3}, "b", '
        '{"text": "c", "weight": "high"}, {"text": "d"}]}'
    )
    good, bad = sift(read_as(text, Anything).memories, Memory)
    assert [(place, one.text) for place, one in good] == [(0, "a"), (4, "d")]
    assert [one.place for one in bad] == [1, 2, 3]
    assert bad[0].reason.startswith("text: ")
    assert bad[2].value == {"text": "c", "weight": "high"}


def test_the_reason_never_quotes_the_reply() -> None:
    class Closed(BaseModel):
        model_config = ConfigDict(extra="forbid")
        kind: str

    secret = "the cello is under the stairs"
    for text in (
        f'{{"kind": 1, "{secret}": 2}}',
        f'{{"kind": [{secret}]}}',
        f'{{"kind": "{secret}',
        f'{{"kind": ["{secret}"]}}',
        secret,
        f"<think>{secret}",
    ):
        with pytest.raises(Malformed) as caught:
            read_as(text, Closed)
        assert secret not in str(caught.value)
        assert caught.value.__cause__ is None


# ── whatever comes ───────────────────────────────────────────────────────────────────────────

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), _JSON) | st.lists(_JSON), st.booleans(), st.integers(0, 2))
def test_valid_json_is_read_as_it_is(value: Any, escaped: bool, indent: int) -> None:
    text = json.dumps(value, ensure_ascii=escaped, indent=indent or None)
    read = read_json(text, 0)
    assert (read.value, read.end, read.problem) == (value, len(text), None)


_WORDS = [
    "<think>",
    "</think>",
    "```",
    "facts",
    '"facts"',
    "null",
    "True",
    "...",
    "\\u",
    "//",
    "/*",
]
_SIGNS = list("{}[]\"'“”：，,:\\ \n<>/#1-.…")
_SHREDS = st.sampled_from([*HOLD_IT.values(), *HOLD_NONE, *TEXTS, REAL, DECOY, *_WORDS, *_SIGNS])


@given(st.lists(_SHREDS | st.text(max_size=5), max_size=12).map("".join))
def test_whatever_the_text_it_is_an_instance_or_malformed(text: str) -> None:
    for shape in (Facts, Memories, Anything, Called):
        try:
            assert isinstance(read_as(text, shape), shape)
        except Malformed as error:
            assert str(error)


@given(st.data())
def test_what_is_cut_never_gives_half_a_list(data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.text(max_size=12), min_size=1, max_size=6))
    whole = json.dumps({"facts": texts}, ensure_ascii=data.draw(st.booleans()))
    cut = data.draw(st.integers(0, len(whole) - 1))
    before = data.draw(st.sampled_from(["", "Here: ", "```json\n", "<think>so</think>", DECOY]))
    with pytest.raises(Malformed):
        read_as(before + whole[:cut] if cut else "", Facts)


@given(st.data())
def test_a_sign_too_many_or_too_few_never_loses_or_joins_facts(data: st.DataObject) -> None:
    """What is wrong at one place is refused, or wrong at that place alone."""
    said = st.sampled_from(["Ana keeps bees", 'she said "hi", then left', "it's 5 o'clock", "a: b"])
    said |= st.sampled_from(["她说“好的”，走了", "tea, milk", "[note] {x}", r"C:\x"])
    items = data.draw(st.lists(st.fixed_dictionaries({"text": said}), min_size=1, max_size=3))
    whole = json.dumps(
        {"memories": items}, ensure_ascii=False, indent=data.draw(st.just(2) | st.none())
    )
    place = data.draw(st.integers(0, len(whole) - 1))
    sign = data.draw(st.sampled_from([*"\"{}[],:'", ""]))
    spoiled = whole[:place] + sign + whole[place + (not sign) :]
    try:
        good, bad = sift(read_as(spoiled, Anything).memories, Memory)
    except Malformed:
        return
    assert len(good) + len(bad) == len(items)
    changed = [(one.text, items[at]["text"]) for at, one in good if one.text != items[at]["text"]]
    assert len(changed) + len(bad) <= 1
    assert all(abs(len(now) - len(was)) <= 2 for now, was in changed)


@given(st.lists(st.sampled_from(["tea", "milk, eggs", "她说“好的”，走了"]), min_size=2), st.data())
def test_a_list_of_texts_without_one_of_its_signs_is_not_a_shorter_list(
    texts: list[str], data: st.DataObject
) -> None:
    whole = json.dumps({"facts": texts}, ensure_ascii=False)
    places = [place for place, sign in enumerate(whole) if sign in '",[]{}:']
    place = data.draw(st.sampled_from(places))
    try:
        facts = read_as(whole[:place] + whole[place + 1 :], Facts).facts
    except Malformed:
        return
    assert len(facts) == len(texts)


HOSTILE = {
    "braces": "{",
    "pairs": "{}",
    "objects": '{"a":',
    "lists": "[[",
    "closing": "}",
    "quotes": '"',
    "escaped quotes": '\\"',
    "quotes and braces": '{"',
    "single quotes": "{'",
    "broken objects": '{"a" b}',
    "broken lists": "[{]",
    "fitting": REAL,
    "misfits": '{"facts": 1}',
    "others": '{"a": 1}',
    "wrappers": '{"a": {"b": {"c": {"d": 1}}}}',
    "open": "<think>",
    "close": "</think>",
    "reasoning": "<think></think>",
    "broken and closed": '{"a" b}</think>',
    "half tags": "<think ",
    "fences": "```[",
    "comments": '{"a": /*',
    "spaces": '{"a"    ',
    "words": '{"a": "b" c, ',
    "colons": "{a:",
    "backslashes": '{"\\',
    "apostrophes": "['a' 'b', ",
    "curly": "{“a”，",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_done_with_at_once(name: str) -> None:
    """Were it not in linear time, each of these would take minutes."""
    text = HOSTILE[name] * (200_000 // len(HOSTILE[name]))
    for whole in (text, text + REAL, text + "</think>" + REAL):
        for shape in (Facts, Anything):
            try:
                assert isinstance(read_as(whole, shape), shape)
            except Malformed:
                continue
