"""Embedders at any endpoint that speaks as OpenAI's does: hosted ones, Ollama, vLLM, llama.cpp.

What their numbers mean is measured once (calibration.py) and kept in the user's cache folder, so
that a process that opens a store later asks for nothing but vectors. No text is kept there.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import httpx2
import numpy as np
import platformdirs
from numpy.typing import NDArray
from pydantic import SecretStr

from memstrata.errors import InvalidInput, ModelFailed, StoreUnavailable
from memstrata.models.address import Address, address_of, url_checked
from memstrata.models.calibration import Scales, measure
from memstrata.models.inprocess import LEVELS
from memstrata.models.pace import Attempts, Retries, Trouble, pace_of, retry_after
from memstrata.models.prices import price_of
from memstrata.models.saying import may_pass, message_of, said, status_in_words, tells_key
from memstrata.records import ModelUse

__all__ = ["PROVIDERS", "RemoteEmbedder"]

PROVIDERS: Mapping[str, tuple[str, str, str]] = {
    "ollama": ("OLLAMA_BASE_URL", "http://localhost:11434/v1", "OLLAMA_API_KEY"),
    "openai": ("OPENAI_BASE_URL", "https://api.openai.com/v1", "OPENAI_API_KEY"),
}
"""The variable with the URL, the URL without it, and the variable with the key."""

_TOKENS: tuple[tuple[str, int], ...] = (
    ("text-embedding-3", 8191),
    ("text-embedding-ada-002", 8191),
    ("bge-m3", 8192),
    ("qwen3-embedding", 8192),
    ("jina-embeddings", 8192),
    ("nomic-embed-text", 2048),
    ("all-minilm", 256),
)
"""What models take, by a part of their name; others are given no more than `_UNKNOWN`."""
_UNKNOWN = 512
_SPECIAL = 8
"""Tokens a model adds to a text."""

_PREFIXES: tuple[tuple[str, str, str], ...] = (
    ("nomic-embed-text", "search_query: ", "search_document: "),
    ("e5-", "query: ", "passage: "),
    ("mxbai-embed", "Represent this sentence for searching relevant passages: ", ""),
)
"""What models want before a question and before a passage, by a part of their name."""

_TEXTS_AT_ONCE = 64
_TOKENS_AT_ONCE = 100_000
_REMEMBERED = 2048
_UNENCODABLE = re.compile("[\0\ud800-\udfff]")
_TOO_LONG = re.compile(r"context length|too long|too large|maximum|exceed", re.IGNORECASE)
_QUESTION_PATIENCE = 10.0
"""Seconds a search waits for an endpoint; then it goes on with keywords."""

# The commonest English words are one token with the space before them, in every vocabulary.
_WORDS = """
    a about after all also an and any are as at back be because but by can come could day do
    even first for from get give go good has have he her him his how i if in into is it its just
    know like look make me most my new no not now of on one only or other our out over people say
    see she so some take than that the their them then there these they think this time to two up
    us use want was way we well were what when which who will with work would year you your
"""
_COMMON = frozenset(form for word in _WORDS.split() for form in (word, word.capitalize()))
_PIECES = re.compile(r" ?[A-Za-z]+|[^A-Za-z]")


@dataclass(frozen=True, slots=True)
class _Known:
    """What was learnt about a model, and is kept."""

    dimensions: int
    scales: Scales | None = None


class RemoteEmbedder:
    """An `Embedder` by name: `openai:text-embedding-3-small`, `bge-m3@http://host:8080/v1`.

    `base_url` is for a name without a URL. `api_key` goes to this endpoint alone; without it and
    without a URL, the provider's own environment variables apply. `max_tokens` is what the model
    takes in one text, by default from a short list of known models, else 512. `timeout` is the
    seconds one request may take, `concurrency` how many run at once in this process.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        max_tokens: int | None = None,
        timeout: float = 60.0,
        concurrency: int = 4,
        retries: Retries | None = None,
    ) -> None:
        if timeout <= 0 or concurrency < 1 or (max_tokens is not None and max_tokens < 1):
            raise InvalidInput("timeout, concurrency and max_tokens must be at least 1")
        address = address_of(name, base_url, providers=frozenset(PROVIDERS))
        self._address, key = _resolved(address, api_key)
        self._key = SecretStr(key or "")
        self._timeout = timeout
        self._concurrency = concurrency
        self._retries = retries or Retries()
        folded = address.model.casefold()
        self._prefixes = next((p[1:] for p in _PREFIXES if p[0] in folded), ("", ""))
        listed = next((tokens for part, tokens in _TOKENS if part in folded), _UNKNOWN)
        room = _SPECIAL + max(_estimate(prefix) for prefix in self._prefixes)
        self._max_tokens = max(1, (max_tokens or listed) - room)
        self._known: _Known | None = None
        self._recent: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._uses: list[ModelUse] = []
        self._client: httpx2.Client | None = None
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._learning = threading.RLock()
        self._interrupted = threading.Event()

    @property
    def id(self) -> str:
        """The model's name alone: who serves it makes no difference to its vectors."""
        return self._address.model

    @property
    def max_tokens(self) -> int:
        """See `Embedder.max_tokens`."""
        return self._max_tokens

    @property
    def dimensions(self) -> int:
        """See `Embedder.dimensions`; learnt by a call when nobody knows."""
        return self._learnt().dimensions

    def __repr__(self) -> str:
        return f"RemoteEmbedder({self._address.id!r})"

    def count_tokens(self, text: str) -> int:
        """An estimate that is never too low: no vocabulary splits a text into more than its bytes.

        Common English words count as one token with the space before them, everything else by its
        bytes in UTF-8: about twice the truth for English, and three times for Chinese.
        """
        return _estimate(self._clean(text))

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed_passages`; what was embedded lately is not sent again."""
        if isinstance(texts, str):
            raise InvalidInput("embed_passages takes a list of texts, not one text")
        return self._embed(texts, self._prefixes[1], self._retries)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See `Embedder.embed_query`; gives up sooner than `embed_passages`."""
        patience = min(self._retries.patience, _QUESTION_PATIENCE)
        hasty = Retries(
            tries=min(self._retries.tries, 3),
            timeouts=1,
            first=self._retries.first,
            longest=self._retries.longest,
            patience=patience,
        )
        self._scales(hasty)  # a search that cannot be scored fails here, where that is expected
        return self._embed([text], self._prefixes[0], hasty)[0]

    def calibrate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        """See `Embedder.calibrate`; measured on first need."""
        return self._scaled(cosines, kinship=False)

    def relate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        """See `Embedder.relate`; measured on first need."""
        return self._scaled(cosines, kinship=True)

    def take_uses(self) -> list[ModelUse]:
        """What calls have cost since this was last asked."""
        with self._lock:
            uses, self._uses = self._uses, []
        return uses

    def interrupt(self) -> None:
        """End what waits for the endpoint, with `StoreUnavailable`: no batch has failed by it."""
        self._interrupted.set()

    def _pause(self, seconds: float) -> None:
        if self._interrupted.wait(seconds):
            raise StoreUnavailable("the store is being closed; what was not embedded stays pending")

    def close(self) -> None:
        """Close the connections; it can be used again."""
        self._interrupted.clear()
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _scaled(self, cosines: NDArray[Any], *, kinship: bool) -> NDArray[np.float64]:
        given = np.asarray(cosines, np.float64)
        if not np.isfinite(given).any():
            return given.copy()
        scales = self._scales(self._retries)
        return np.interp(given, (*(scales.kinship if kinship else scales.background), 1.0), LEVELS)

    def _clean(self, text: str) -> str:
        # Endpoints refuse an empty text.
        return _UNENCODABLE.sub("\ufffd", text) or "-"

    def _embed(self, texts: Sequence[str], prefix: str, retries: Retries) -> NDArray[np.float32]:
        cleaned = [self._clean(text) for text in texts]
        for index, text in enumerate(cleaned):
            if (count := _estimate(text)) > self.max_tokens:
                raise ModelFailed(
                    f"text {index} has {count} tokens by estimate and {self.id} takes "
                    f"{self.max_tokens}; split it by count_tokens first"
                )
        keys = [sha256(f"{prefix}{text}".encode()).digest() for text in cleaned]
        found = self._remembered(keys)
        missing = {key: prefix + text for key, text in zip(keys, cleaned, strict=True)}
        for key in found:
            missing.pop(key)
        for batch in _batches(list(missing.items())):
            rows = self._ask([text for _, text in batch], retries)
            found.update((key, row) for (key, _), row in zip(batch, rows, strict=True))
            self._remember({key: found[key] for key, _ in batch})
        if not keys:
            return np.empty((0, self.dimensions), np.float32)
        return np.stack([found[key] for key in keys])

    def _remembered(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        with self._lock:
            found = {key: self._recent[key] for key in keys if key in self._recent}
            for key in found:
                self._recent.move_to_end(key)
        return found

    def _remember(self, rows: Mapping[bytes, NDArray[np.float32]]) -> None:
        with self._lock:
            self._recent.update(rows)
            while len(self._recent) > _REMEMBERED:
                self._recent.popitem(last=False)

    def _learnt(self) -> _Known:
        """The dimension: known, else kept from another time, else learnt by a call."""
        with self._learning:
            if self._known is None:
                self._known = _kept(self._file())
            if self._known is None:
                self._ask([self._prefixes[1] + "The kettle is on."], self._retries)
            assert self._known is not None
            return self._known

    def _scales(self, retries: Retries) -> Scales:
        with self._learning:
            if self._known is None:
                self._known = _kept(self._file())
            if self._known is not None and self._known.scales is not None:
                return self._known.scales
            scales = measure(
                lambda texts, query: self._embed(texts, self._prefixes[not query], retries)
            )
            self._known = _Known(self.dimensions, scales)
            _keep(self._file(), self._known)
            return scales

    def _file(self) -> Path:
        """Named by model and place: a model of the same name elsewhere may be another one."""
        named = sha256(f"{self._address.url} {self.id}".encode()).hexdigest()[:32]
        return platformdirs.user_cache_path("memstrata") / "embedders" / f"{named}.json"

    def _ask(self, texts: Sequence[str], retries: Retries) -> NDArray[np.float32]:
        """The vectors of one request, through all its tries."""
        pace = pace_of(f"{self._address.url} embeddings", self._concurrency)
        attempts = Attempts(f"the embedder {self._address.id}", retries, pace)
        while True:
            self._pause(0.0)
            attempts.begin()
            with pace.turn_blocking(attempts.until, pause=self._pause):
                answer = self._once(texts)
            if not isinstance(answer, Trouble):
                return self._expected(answer)
            attempts.after(answer)

    def _expected(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """The same rows, if they are of the model that was asked before."""
        with self._learning:
            known = self._known
            if known is None:
                known = self._known = _kept(self._file()) or _Known(rows.shape[1])
                _keep(self._file(), known)
        if rows.shape[1] != known.dimensions:
            self._known = None
            _unlink(self._file())
            raise ModelFailed(
                f"the embedder {self._address.id} gave {rows.shape[1]} numbers and before "
                f"{known.dimensions}: it is another model under the same name. Vectors of two "
                "models cannot be compared: go back, or load a dump into a new store"
            )
        return rows

    def _once(self, texts: Sequence[str]) -> NDArray[np.float32] | Trouble:
        url = f"{self._address.url}/embeddings"
        started = time.monotonic()
        try:
            response = self._http().post(
                url, json={"model": self.id, "input": list(texts)}, headers=self._headers()
            )
            body = _json(response.content)
        except (httpx2.HTTPError, ValueError) as error:
            return self._broken(error)
        if response.status_code != 200:
            return self._refused(response.status_code, response.headers, body, texts)
        try:
            rows, tokens = _read(body, len(texts))
        except (LookupError, TypeError, ValueError) as error:
            text = f"{self._address.url} sent what are no vectors: {type(error).__name__}: {error}"
            return Trouble(said(text, self._keys()), again=True)
        spent = (time.monotonic() - started) * 1000
        use = ModelUse(
            model=self._address.id,
            calls=1,
            input_tokens=tokens,
            milliseconds=spent,
            cost=price_of(self._address, tokens),
        )
        with self._lock:
            self._uses.append(use)
        return rows

    def _broken(self, error: Exception) -> Trouble:
        slow = isinstance(error, httpx2.TimeoutException)
        what = (
            f"{self._address.url} did not answer within {self._timeout:g} seconds"
            if slow
            else f"no connection to {self._address.url}: {error or type(error).__name__}"
        )
        cause = None if tells_key(error, self._keys()) else error
        return Trouble(said(what, self._keys()), again=True, slow=slow, cause=cause)

    def _refused(
        self, status: int, headers: Mapping[str, str], body: object, texts: Sequence[str]
    ) -> Trouble:
        words = said(message_of(body), self._keys(), texts)
        text = f"{self._address.url} answered {status_in_words(status)}: {words}"
        if status == 404 and (offered := self._offered()):
            text = said(f"{text}; it offers {', '.join(offered[:20])}", self._keys())
        if status in (400, 413, 422) and _TOO_LONG.search(words):
            text = (
                f"{text}. A text is longer than the model takes: set embedder_max_tokens "
                "(MEMSTRATA_EMBEDDER_MAX_TOKENS) to what it takes, and load a dump of the store"
            )
        quota = status == 429 and "insufficient_quota" in str(body)
        return Trouble(
            text,
            status=status,
            again=may_pass(status) and not quota,
            wait=retry_after(headers),
        )

    def _offered(self) -> list[str]:
        try:
            response = self._http().get(f"{self._address.url}/models", headers=self._headers())
            listed = cast("Any", _json(response.content))["data"]
            return sorted(str(one["id"]) for one in listed)
        except (httpx2.HTTPError, ValueError, LookupError, TypeError):
            return []

    def _keys(self) -> list[str]:
        return [self._key.get_secret_value()]

    def _headers(self) -> dict[str, str]:
        key = self._key.get_secret_value()
        return {"authorization": f"Bearer {key}"} if key else {}

    def _http(self) -> httpx2.Client:
        with self._lock:
            if self._client is None or self._pid != os.getpid():
                self._pid = os.getpid()  # connections do not survive a fork
                self._client = httpx2.Client(timeout=httpx2.Timeout(self._timeout, connect=5.0))
            return self._client


def _resolved(address: Address, key: str | None) -> tuple[Address, str | None]:
    """The URL where the name brings none, and the key that belongs to it."""
    if address.url is not None:
        return address, key
    variable, usual, key_variable = PROVIDERS[address.provider or ""]
    url = url_checked(os.environ.get(variable) or usual)
    provider = None if os.environ.get(variable) else address.provider
    return Address(address.model, provider, url), key or os.environ.get(key_variable)


def _estimate(text: str) -> int:
    """Tokens of a text, never too few. A normal form may be longer, as that of a ligature is."""
    return max(_bytes(text), _bytes(unicodedata.normalize("NFKC", text)))


def _bytes(text: str) -> int:
    return sum(map(_piece, _PIECES.findall(text)))


@lru_cache(maxsize=4096)
def _piece(piece: str) -> int:
    if piece.lstrip(" ") in _COMMON:
        return 1
    return len(piece.encode("utf-8", "replace"))


def _batches(items: list[tuple[bytes, str]]) -> list[list[tuple[bytes, str]]]:
    batches: list[list[tuple[bytes, str]]] = []
    tokens = 0
    for item in items:
        count = _estimate(item[1])
        if not batches or len(batches[-1]) == _TEXTS_AT_ONCE or tokens + count > _TOKENS_AT_ONCE:
            batches.append([])
            tokens = 0
        batches[-1].append(item)
        tokens += count
    return batches


def _json(content: bytes) -> object:
    """The value, or where an error page is none, its text."""
    try:
        return json.loads(content)
    except ValueError:
        return content.decode("utf-8", "replace")


def _read(body: Any, expected: int) -> tuple[NDArray[np.float32], int]:
    """The vectors in the order of their texts, normalised, and the tokens that were read."""
    data = sorted(body["data"], key=lambda one: one["index"])
    if [one["index"] for one in data] != list(range(expected)):
        raise ValueError(f"{len(data)} vectors for {expected} texts")
    rows = np.array([one["embedding"] for one in data], np.float64)
    if rows.ndim != 2 or not rows.shape[1]:
        raise ValueError("the vectors have no length in common")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise ValueError("a vector has no direction")
    used: Any = body.get("usage")
    tokens = used["prompt_tokens"] if used else 0
    return (rows / lengths).astype(np.float32), int(tokens)


def _kept(file: Path) -> _Known | None:
    try:
        held = json.loads(file.read_text("utf-8"))
        scales = held["scales"]
        return _Known(int(held["dimensions"]), scales and Scales(*map(_rising, scales)))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _rising(points: Sequence[float]) -> tuple[float, ...]:
    numbers = tuple(float(point) for point in points)
    if len(numbers) != len(LEVELS) - 1 or any(not math.isfinite(one) for one in numbers):
        raise ValueError("not a scale")
    return numbers


def _keep(file: Path, known: _Known) -> None:
    """Write it down; where that cannot be, it is learnt again next time."""
    part = file.with_suffix(f".{os.getpid()}.part")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.write_text(json.dumps({"dimensions": known.dimensions, "scales": known.scales}))
        part.replace(file)
    except OSError:
        _unlink(part)


def _unlink(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()
