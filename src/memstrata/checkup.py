"""A real round trip to the models of a store, and what came of it in words, for `doctor`."""

from __future__ import annotations

import time

import anyio.to_thread

from memstrata.errors import MemstrataError
from memstrata.models.base import Embedder
from memstrata.models.chat import ChatModel, Models, Prompt, Said
from memstrata.models.reply import Malformed, read_as
from memstrata.records import Value

__all__ = ["models_by_use", "try_chat", "try_embedder"]


class _Ready(Value):
    ready: bool
    language: str


_QUESTION = Prompt(
    purpose="doctor",
    system='Answer with a JSON object that has "ready", true or false, and "language", a word.',
    turns=(Said("user", "Are you ready, and what language is this sentence in?"),),
    schema=_Ready.model_json_schema(),
    max_tokens=256,
    logprobs=1,
)


def models_by_use(models: Models | None) -> list[tuple[str, ChatModel]]:
    """Each model once, with all that it is for."""
    uses: dict[int, tuple[list[str], ChatModel]] = {}
    for use in ("extract", "chat", "judge") if models else ():
        model: ChatModel = getattr(models, use)
        uses.setdefault(id(model), ([], model))[0].append(use)
    if len(uses) == 1:
        return [("llm", model) for _, model in uses.values()]
    return [(f"llm ({', '.join(names)})", model) for names, model in uses.values()]


async def try_chat(model: ChatModel) -> str:
    """Ask a small question; what came back, and what the endpoint can do."""
    started = time.monotonic()
    reply = await model.complete(_QUESTION)
    spent = (time.monotonic() - started) * 1000
    words = [f"{model.id} answered in {spent:.0f} ms"]
    use = reply.use
    words.append(f"{use.input_tokens} tokens in, {use.output_tokens} out")
    try:
        read_as(reply.text, _Ready)
    except Malformed as error:
        raise MemstrataError(
            f"{'; '.join(words)}; but not as it was asked to: {error}. It cannot write memory: use "
            "a larger model, or one that follows JSON schemas"
        ) from None
    enforced = getattr(_inner(model), "schema_enforced", None)
    stated = "JSON schemas are stated in the prompt, for the endpoint takes none"
    words.append(stated if enforced is False else "JSON as its schema asks")
    words.append("log-probabilities" if reply.tokens else "no log-probabilities")
    cost = "price not known" if use.cost is None else f"${use.cost:.6f}"
    return "; ".join([*words, cost])


def _inner(model: object) -> object:
    while (inner := getattr(model, "model", None)) is not None:
        model = inner
    return model


async def try_embedder(embedder: Embedder | None) -> str:
    """Embed a question; what came back."""
    if embedder is None:
        raise MemstrataError("none is loaded: search uses keywords only, and no themes form")
    started = time.monotonic()
    vector = await anyio.to_thread.run_sync(embedder.embed_query, "is this working?")
    spent = (time.monotonic() - started) * 1000
    return (
        f"{embedder.id} gives {len(vector)} numbers, {embedder.max_tokens} tokens at most, "
        f"in {spent:.0f} ms"
    )
