"""What answerers and judges are asked, for each set.

The prompts here are this project's own, and ask for what each set's own prompts ask for:

- LoCoMo's answers: `task_eval/evaluate_gpts.py` of https://github.com/snap-research/locomo
  (CC BY-NC 4.0);
- the judge that most reports on LoCoMo use: `evaluation/metrics/llm_judge.py` of
  https://github.com/mem0ai/mem0 (Apache-2.0);
- LongMemEval's judge by type of question: `src/evaluation/evaluate_qa.py` of
  https://github.com/xiaowu0162/LongMemEval (MIT).

Figures are comparable with published ones only if the original prompts were used. `official` reads
them from those files, which are parsed and never run: so they are used word for word without being
part of memstrata.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from memstrata.bench.qa_data import ABSTENTION
from memstrata.errors import InvalidInput

__all__ = ["FILES", "OURS", "Prompts", "filled", "official"]

FILES = {"locomo": ("llm_judge.py", "evaluate_gpts.py"), "longmemeval": ("evaluate_qa.py",)}
"""The files that hold the original prompts of each set; the first is needed."""

_PLACE = re.compile(r"\{(context|question|date|answer|response)\}")
_ANY = ""


@dataclass(frozen=True, slots=True)
class Prompts:
    """Templates; what stands in braces is filled in."""

    answer: str
    """Has `{context}` and `{question}`, and may have `{date}`."""
    judge: Mapping[str, str]
    """By category, "" for all others; each has `{question}`, `{answer}` and `{response}`."""
    adversarial: str | None = None
    """Instead of `answer` for questions that offer a choice."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where the answer's and the judge's come from."""

    def judge_of(self, category: str) -> str:
        """The judge's template for a category."""
        return self.judge[category] if category in self.judge else self.judge[_ANY]

    @property
    def digest(self) -> str:
        """Tells one wording from another."""
        parts = [self.answer, self.adversarial or "", *sorted(map(repr, self.judge.items()))]
        return sha256("\0".join(parts).encode()).hexdigest()[:16]


def filled(template: str, **values: str) -> str:
    """A template with its places filled; braces in what fills them are left alone."""
    return _PLACE.sub(lambda match: values[match[1]], template)


# ── our own ──────────────────────────────────────────────────────────────────────────────────

_OWN = "memstrata's own wording"

_LOCOMO_ANSWER = """{context}

Answer the question from what stands above, as a short phrase, and in the words that stand there \
where you can. If it asks when something was, work out the date from the date of the conversation.

Question: {question}
Short answer:"""

_LOCOMO_CHOICE = """{context}

Answer the question from what stands above.

Question: {question}
Short answer:"""

_LOCOMO_JUDGE = """Grade an answer to a question that one person asks about another, whom they \
have talked with before. You see the question, the reference answer, which is short, and the \
answer to grade, which may be long.

Be generous: an answer that has the same content as the reference is CORRECT, however much more it \
says. Of a question about time it is CORRECT if it means the same date or period, in whatever \
format, also by a relative expression. Everything else is WRONG.

Question: {question}
Reference answer: {answer}
Answer to grade: {response}

Reply with a JSON object whose only key is "label", its value "CORRECT" or "WRONG\"."""

_CHATS_ANSWER = """Here is what is known of earlier chats between you and the user.

{context}

Today is {date}. Answer the user's question from these chats; if they do not say, say so.

Question: {question}
Answer:"""

_FULL = (
    "Does the response contain the reference answer? Say yes if it does, if it means the same, or "
    "if it has every step that leads there. Say no if it has only a part of what is asked for."
)
_DATES = " If a number of days, weeks or months is off by one, it is still right."
_UPDATED = (
    "Does the response contain the reference answer? If it also tells what was so before, it is "
    "still right, as long as the reference answer is what it gives as the present state."
)
_WISHES = (
    "The reference says what a response to this user should heed. Does the response recall and use "
    "what is known of the user rightly? It need not heed every point."
)
_UNSAID = (
    "The question cannot be answered, and the reference says why. Does the response see that? It "
    "may say that what it has is incomplete, or that it knows of something else but not of this."
)
_CHATS_JUDGE = """{}

Question: {{question}}

Reference: {{answer}}

Response: {{response}}

Reply with yes or no alone."""

OURS: Mapping[str, Prompts] = {
    "locomo": Prompts(
        _LOCOMO_ANSWER,
        {_ANY: _LOCOMO_JUDGE},
        _LOCOMO_CHOICE,
        {"answer": _OWN, "judge": _OWN},
    ),
    "longmemeval": Prompts(
        _CHATS_ANSWER,
        {
            _ANY: _CHATS_JUDGE.format(_FULL),
            "temporal-reasoning": _CHATS_JUDGE.format(_FULL + _DATES),
            "knowledge-update": _CHATS_JUDGE.format(_UPDATED),
            "single-session-preference": _CHATS_JUDGE.format(_WISHES),
            ABSTENTION: _CHATS_JUDGE.format(_UNSAID),
        },
        sources={"answer": _OWN, "judge": _OWN},
    ),
}

# ── the originals ────────────────────────────────────────────────────────────────────────────


def official(name: str, folder: Path) -> Prompts:
    """The set's original prompts from the files in a folder; ours where it has none for answers.

    Raises `InvalidInput` if the judge's file is missing, or a prompt cannot be found in it.
    """
    judge, *others = (folder / file for file in FILES[name])
    if not judge.is_file():
        raise InvalidInput(f"no {judge.name} in {folder}: it holds the original judge of {name}")
    ours = OURS[name]
    sources = {**ours.sources, "judge": _source(judge)}
    if name == "longmemeval":
        return replace(ours, judge=_by_type(judge), sources=sources)
    text = _constants(judge).get("ACCURACY_PROMPT", "")
    text = text.replace("{gold_answer}", "{answer}").replace("{generated_answer}", "{response}")
    made = replace(ours, judge={_ANY: _checked(text, judge)}, sources=sources)
    for path in others:
        if path.is_file():
            plain, choice = (_after_context(path, n) for n in ("QA_PROMPT", "QA_PROMPT_CAT_5"))
            sources = {**sources, "answer": _source(path)}
            made = replace(made, answer=plain, adversarial=choice, sources=sources)
    return made


def _source(path: Path) -> str:
    return f"{path.name}, sha256 {sha256(path.read_bytes()).hexdigest()[:16]}"


def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as exc:
        raise InvalidInput(f"{path} cannot be read as Python: {exc}") from exc


def _texts(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    """The names that a block gives texts to, and the texts."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                yield name, text
            case _:
                pass


def _constants(path: Path) -> dict[str, str]:
    return dict(_texts(_parsed(path).body))


def _after_context(path: Path, name: str) -> str:
    text = _constants(path).get(name, "")
    if text.count("{}") != 1:
        raise InvalidInput(f"{path} has no {name} with one place for the question")
    return "{context}\n\n" + text.replace("{}", "{question}")


def _by_type(path: Path) -> dict[str, str]:
    """The template of each type of question, by the condition it stands under."""
    found: dict[str, str] = {}
    for node in ast.walk(_parsed(path)):
        if not isinstance(node, ast.If):
            continue
        match node.test:
            case ast.Compare(left=ast.Name(id="task"), comparators=[wanted]):
                types = ast.literal_eval(wanted)
                names = [types] if isinstance(types, str) else list(types)
                body = node.body
            case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id="abstention")):
                names, body = [ABSTENTION], node.orelse
            case _:
                continue
        for text in [text for name, text in _texts(body) if name == "template"][:1]:
            made = text
            for place in ("{question}", "{answer}", "{response}"):
                made = made.replace("{}", place, 1)
            found |= {str(name): _checked(made, path) for name in names}
    if ABSTENTION not in found or len(found) < 2:
        raise InvalidInput(f"{path} has no templates by type of question")
    return found


def _checked(template: str, path: Path) -> str:
    missing = {"question", "answer", "response"} - set(_PLACE.findall(template))
    if missing:
        raise InvalidInput(f"{path}: its judge's prompt has no place for {', '.join(missing)}")
    return template
