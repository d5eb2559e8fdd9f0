"""An embedder that raises what it likes: we fail by name, and lose nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import memstrata
from memstrata.errors import ModelFailed
from memstrata.models.fake import FakeEmbedder


class Unplugged(FakeEmbedder):
    """One whose server is not there."""

    plugged = False

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not self.plugged:
            raise ConnectionError("no route to the model")
        return super().embed_passages(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        if not self.plugged:
            raise ConnectionError("no route to the model")
        return super().embed_query(text)


def test_what_a_foreign_embedder_raises_is_a_failed_batch_and_a_keyword_search() -> None:
    embedder = Unplugged()
    with memstrata.open(":memory:", embedder=embedder) as memory:
        receipt = memory.add("The kiln is fired on Thursdays.", user_id="ines", infer=False)
        assert receipt.state == "failed"
        assert "no route to the model" in str(receipt.reason)
        found = memory.search("kiln", user_id="ines")
        assert [hit.text for hit in found] == ["The kiln is fired on Thursdays."]
        assert any("no route to the model" in note for note in found.notes)
        with pytest.raises(ModelFailed, match="ConnectionError") as caught:
            memory.search("kiln", user_id="ines", method="embedding")
        assert isinstance(caught.value.__cause__, ConnectionError)
        embedder.plugged = True
        assert memory.retry(receipt.batch_id, user_id="ines").state == "done"
        assert memory.stats(user_id="ines")["items_without_vector"] == 0
