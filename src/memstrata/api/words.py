"""What the OpenAPI says of arguments in words, each with an example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["STATUSES", "TAGS", "Told", "told_of"]


class Told(NamedTuple):
    """An argument in words."""

    about: str
    example: Any


_WHEN = "ISO 8601; one without an offset is read in the user's zone."

_BY_NAME: Mapping[str, Told] = {
    "actor": Told("Who does it, for the change log.", "user"),
    "agent_id": Told(
        "An agent: with a user, what the user shares and what this agent has of the user.", "cook"
    ),
    "as_of": Told(f"What was true then. {_WHEN}", "2026-01-01"),
    "batch_id": Told("The id of a batch, from a receipt.", "batch_01a2…"),
    "batch_or_change": Told("The id of a batch or of one change.", "batch_01a2…"),
    "caption": Told("What the secret is for; it is shown, the secret is not.", "Orchard gate"),
    "cascade": Told("Take back what builds on it, too.", False),
    "changes": Told(
        "Fields and their new values; null takes a field away.", {"summary": "By the school"}
    ),
    "cursor": Told("Where to go on: `next` of the page before.", "1788000000000000:42"),
    "decision": Told("What becomes of the record.", "accept"),
    "dry_run": Told("Only say what would be erased.", True),
    "entry_type": Told("A word of your own; a contact or a bookmark is not sealed.", "code"),
    "erased": Told("Ids of which nothing may be left in the files.", ["msg_01a2…"]),
    "everything": Told("Erase all of this scope.", False),
    "expires_at": Told(f"From when on the key opens nothing. {_WHEN}", "2027-01-01T00:00:00Z"),
    "explain": Told("Say how the query was read and weighed.", True),
    "filters": Told("What records or messages must be.", {"tags": {"contains": "home"}}),
    "gain": Told("The least that something must add to be put in; 0 until it is full.", 0.01),
    "gate": Told("What weighs whether more is worth its tokens.", "share"),
    "hidden": Told("With those that an undo took out.", False),
    "id": Told("The id of what is meant.", "sem_01a2…"),
    "idempotency_key": Told(
        "A text of your own. The same call with the same key is done once; also as the header "
        "Idempotency-Key.",
        "order-7719",
    ),
    "ids": Told("Messages and records to erase.", ["msg_01a2…"]),
    "if_version": Told("Fail with 409 unless the record is still this version.", 1),
    "infer": Told("Draw episodes, records and entities from it; else store it only.", True),
    "instructions": Told("What a model that writes memory is told besides.", "Write in English."),
    "into": Told("With `merge`: the record that takes over the evidence.", "sem_01a2…"),
    "kinds": Told("Only these of the six kinds.", ["semantic", "episodic"]),
    "known_at": Told(f"What was known then. {_WHEN}", "2026-01-01"),
    "learn": Told("Store the turn and learn from it.", True),
    "lifecycles": Told("Records in these states.", ["current", "past"]),
    "limit": Told("At most so many.", 10),
    "locale": Told("The user's language and place.", "pt-PT"),
    "managers": Told("The kinds that are written.", ["semantic", "episodic", "core"]),
    "max_tokens": Told("The most tokens a prompt may have.", 2000),
    "messages": Told(
        "A text, a chat message, or a list of them.",
        [{"role": "user", "content": "I moved to Lisbon last month."}],
    ),
    "metadata": Told("Labels of your own.", {"project": "orchard"}),
    "method": Told("How to look.", "hybrid"),
    "name": Told("Only this one, in any of its spellings.", "Ben"),
    "now": Told(f"When it is asked. Default: the clock. {_WHEN}", "2026-05-08T09:00:00+01:00"),
    "occurred_at": Told(f"When it was said. Default: now. {_WHEN}", "2026-05-08T09:00:00+01:00"),
    "parent": Told("Only themes under this one.", "theme_01a2…"),
    "permissions": Told("What the key allows.", ["read", "write"]),
    "query": Told("What to look for, in words.", "where does Ana live?"),
    "question": Told("What to answer.", "Where does Ana live?"),
    "reason": Told("Why, for the log.", "she said so"),
    "rebuild_themes": Told("Let every record find its theme anew.", False),
    "record": Told(
        "A kind and its fields.", {"kind": "semantic", "name": "Ana takes line 28", "tags": ["way"]}
    ),
    "record_id": Told("The record.", "sem_01a2…"),
    "revoked": Told("With those that were revoked.", False),
    "rewrite": Told("Let a model make the last turn a question that stands alone.", False),
    "seal": Told("Move what is found to the vault.", False),
    "search_fields": Told("Look for the words in these fields alone.", ["name", "summary"]),
    "secret": Told("What is sealed, exactly as it is.", "Quince-40"),
    "select": Told("How one of what is alike is chosen.", "discounted"),
    "sensitivity": Told("Where the caption shows: high only where vault is asked for.", "medium"),
    "session_id": Told("One conversation.", "garden"),
    "since": Told(f"From then on. {_WHEN}", "2026-05-01"),
    "source": Told("Where it is from.", "the key box"),
    "state": Told("Only batches that have got so far.", "failed"),
    "strata": Told("Only these of the four strata.", ["records"]),
    "strategy": Told("One call of a model for all kinds, or one for each.", "single"),
    "tags": Told("Labels to find it by.", ["fruit"]),
    "text": Told("A text of which nothing may be left in the files.", "plums"),
    "threshold": Told("The least score.", 0.3),
    "timeout": Told("Wait at most so many seconds.", 10),
    "timezone": Told("The user's zone, by its IANA name.", "Europe/Lisbon"),
    "trust": Told("How far what is said is to be trusted. Default: by the role.", "user"),
    "type": Told("Only entities of this sort.", "person"),
    "until": Told(f"Until then. {_WHEN}", "2026-06-01"),
    "user_id": Told("Whose memory. A key that is bound to a user needs none.", "ana"),
    "wait": Told("Answer when it can be found by meaning; else as soon as it is durable.", True),
}
_BY_VERB: Mapping[tuple[str, str], Told] = {
    ("chat", "messages"): Told(
        "The conversation; its last turn is answered.",
        [{"role": "user", "content": "Where do I live?"}],
    ),
    ("changes", "cursor"): Told("The `cursor` of the last change you have seen.", "42"),
    ("keys.create", "name"): Told("What people call it, in the log too.", "kitchen"),
    ("vault.reveal", "reason"): Told("Why; it stands in the audit log.", "the gate is shut"),
}


def told_of(verb: str, argument: str) -> Told:
    """An argument of a verb in words."""
    return _BY_VERB.get((verb, argument)) or _BY_NAME[argument]


TAGS: Mapping[str, str] = {
    "read": "Find and browse what is remembered.",
    "write": "Remember, change, take back, forget.",
    "vault": "What is sealed.",
    "run": "Run the store; keys.",
}

STATUSES: Mapping[int, str] = {
    400: "The request is no JSON object in UTF-8, or names neither a user nor an agent.",
    401: "There is no key, or it is not in force.",
    402: "A limit on calls, tokens or cost of models was reached.",
    403: "The key does not allow this.",
    404: "There is no such id in this scope.",
    408: "The body did not come in time.",
    409: "Something changed meanwhile, or later changes build on this, or a key was used before.",
    413: "The body is too large.",
    415: "The body is not said to be JSON.",
    422: "An argument is wrong; the detail names it.",
    424: "The vault cannot seal or open secrets.",
    429: "Too many requests: wait as long as Retry-After says.",
    500: "It failed for a reason that is not yours.",
    501: "The store was written by a newer version.",
    502: "A model failed.",
    503: "The store cannot be read or written, or the server is busy or ending.",
}
