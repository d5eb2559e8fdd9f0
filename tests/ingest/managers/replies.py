"""Whatever a model may write where memories belong, for property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from memstrata.kinds import KINDS

__all__ = ["HOME", "ITEMS"]

HOME: dict[str, Any] = {
    "kind": "semantic",
    "op": "create",
    "from": [1],
    "sentence": "The user lives in Ostholm.",
    "subject": "user",
    "attribute": "lives_in",
    "value": "Ostholm",
}
"""One that is sound, of a message that says where the user lives."""
KEYS = sorted(
    {"kind", "op", "from", "target", "when", "until", "confidence", "old", "action", "event"}
    | {field for kind in KINDS.values() for field in kind.draft}
)
LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.text(alphabet=st.characters(categories=["Cs", "Cc", "Lo", "Nd"]), max_size=8),
    st.sampled_from(
        [*KINDS, "create", "retire", "skip", "revise", "correct", "supersede", "r1", "r2", "user",
         "likes", "Ostholm", "望潮岛", "2026-05-08", "9999-12-31", "0001-01-01", "yesterday",
         "contact", "555-0101", "human", 1, 2]
    ),
)  # fmt: skip
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=12,
)
ITEMS = st.lists(
    st.one_of(
        st.dictionaries(st.sampled_from(KEYS), JSON, max_size=12),
        st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6).map(lambda more: {**HOME, **more}),
        JSON,
    ),
    max_size=4,
)
