"""Language models at an endpoint, hosted or one's own, through pydantic-ai.

What the endpoint refuses (JSON schemas, log-probabilities, a temperature) is left out from then on;
what it asks to wait is waited, by all who ask it. pydantic-ai is loaded with the first request.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from pydantic import SecretStr

from memstrata.errors import InvalidInput
from memstrata.models.address import Address, address_of, url_checked
from memstrata.models.chat import Prompt, Reply
from memstrata.models.pace import Attempts, Retries, Trouble, pace_of
from memstrata.models.prices import price_of, priced
from memstrata.records import ModelUse

if TYPE_CHECKING:
    from memstrata.models.wire import Answer, Manner, Wire

__all__ = ["Endpoint", "missing_extra"]

_WIRE = "memstrata.models.wire"
_REFUSED = (400, 404, 422, 500, 501)
_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("logprobs", re.compile("logprob", re.IGNORECASE)),
    (
        "schema",
        re.compile(r"response_?format|json_?schema|grammar|structured|guided|samplers", re.I),
    ),
    ("temperature", re.compile("temperature", re.IGNORECASE)),
    ("thinking", re.compile("reasoning|thinking", re.IGNORECASE)),
)
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_LISTED = 20


def missing_extra() -> str | None:
    """Why no endpoint can be asked, or None."""
    lacking = [name for name in ("pydantic_ai", "openai") if not importlib.util.find_spec(name)]
    if not lacking:
        return None
    return f'{lacking[0]} is not installed: pip install "memstrata[llm]"'


class Endpoint:
    """A `ChatModel` by name: `openai:gpt-5-mini`, or `qwen2.5@http://host:8080/v1`.

    `base_url` is for a name without a URL. `api_key` goes to this endpoint alone; without it and
    without a URL, the provider's own environment variables apply (`OPENAI_API_KEY`, …). `timeout`
    is the seconds one request may take, `concurrency` how many run at once against this endpoint,
    for all workers of the process. Raises `InvalidInput` for a name that says nothing, and when
    the extra is not installed.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        concurrency: int = 4,
        retries: Retries | None = None,
    ) -> None:
        if (reason := missing_extra()) is not None:
            raise InvalidInput(f"{name} cannot be asked: {reason}")
        if timeout <= 0 or concurrency < 1:
            raise InvalidInput("timeout must be more than 0 and concurrency at least 1")
        self._address, key = _resolved(address_of(name, base_url), api_key)
        self._key = SecretStr(key) if key else None
        self._timeout = timeout
        self._concurrency = concurrency
        self._retries = retries or Retries()
        self._refused: set[str] = set()
        self._wires: dict[Any, tuple[anyio.lowlevel.EventLoopToken, Wire]] = {}
        self._lock = threading.Lock()
        self._pid = os.getpid()

    @property
    def id(self) -> str:
        """See `ChatModel.id`; with a URL, its host takes the provider's place."""
        return self._address.id

    @property
    def priced(self) -> bool:
        """Whether what calls cost is known."""
        return priced(self._address)

    @property
    def schema_enforced(self) -> bool:
        """Whether the endpoint takes JSON schemas, as far as it has been asked."""
        return "schema" not in self._refused

    def __repr__(self) -> str:
        return f"Endpoint({self.id!r})"

    async def complete(self, prompt: Prompt) -> Reply:
        """See `ChatModel.complete`."""
        started = time.monotonic()
        retries = self._retries
        if prompt.patience is not None:
            retries = replace(retries, patience=min(retries.patience, prompt.patience))
        answer = await self._through(lambda wire: self._ask(wire, prompt), retries)
        return self._reply(prompt, answer, (time.monotonic() - started) * 1000)

    async def known_models(self) -> list[str] | None:
        """The models it offers; None where it does not tell."""
        return await self._wire().known_models()

    async def aclose(self) -> None:
        """Close its connections, on every event loop; it can be used again."""
        with self._lock:
            self._forget_the_parents()
            wires, self._wires = self._wires, {}
        here = anyio.lowlevel.current_token().native_token
        for native, (token, wire) in wires.items():
            if native is here:
                await wire.aclose()
            elif _runs(native):
                await anyio.to_thread.run_sync(_close_there, token, wire)

    async def _through(self, call: Callable[[Wire], Any], retries: Retries) -> Answer:
        """Make a call until it works or there is no more to try."""
        if _WIRE not in sys.modules:  # an event loop should not stand still for half a second
            await anyio.to_thread.run_sync(importlib.import_module, _WIRE)
        pace = pace_of(self._address.endpoint, self._concurrency)
        attempts = Attempts(self.id, retries, pace)
        while True:
            attempts.begin()
            async with pace.turn(attempts.until):
                answer = await call(self._wire())
            if not isinstance(answer, Trouble):
                return answer
            if answer.status in (400, 404) and (offered := await self._offered(answer)):
                raise attempts.failure(f"{answer}; {offered}", answer)
            attempts.after(answer)

    async def _ask(self, wire: Wire, prompt: Prompt) -> Answer | Trouble:
        """Ask in the best manner the endpoint takes; each is refused once at most."""
        while True:
            manner = self._manner()
            answer = await wire.ask(prompt, manner)
            if not isinstance(answer, Trouble):
                if prompt.schema is not None and manner.schema and _ignored_schema(answer):
                    self._refused.add("schema")
                return answer
            what = _refusal(answer, prompt, self._refused)
            if what is None:
                return answer
            self._refused.add(what)

    def _manner(self) -> Manner:
        taken = {name: False for name in self._refused}
        return importlib.import_module(_WIRE).Manner(**taken)

    def _wire(self) -> Wire:
        """The client on this event loop; connections cannot be shared between loops."""
        token = anyio.lowlevel.current_token()
        with self._lock:
            self._forget_the_parents()
            for native in [one for one in self._wires if not _open(one)]:
                del self._wires[native]
            known = self._wires.get(token.native_token)
        if known is not None:
            return known[1]
        module = importlib.import_module(_WIRE)
        key = self._key.get_secret_value() if self._key else None
        wire = module.Wire(self._address, key, self._timeout)
        with self._lock:
            return self._wires.setdefault(token.native_token, (token, wire))[1]

    def _forget_the_parents(self) -> None:
        """In a forked child: connections and event loops of the parent are not ours to use."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._wires.clear()

    async def _offered(self, trouble: Trouble) -> str:
        """What the endpoint offers instead, if the trouble is that it does not know the model."""
        if trouble.status == 400 and "model" not in str(trouble).lower():
            return ""
        known = await self.known_models()
        if not known or self._address.model in known:
            return ""
        more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
        return f"it offers {', '.join(known[:_LISTED])}{more}"

    def _reply(self, prompt: Prompt, answer: Answer, milliseconds: float) -> Reply:
        told = answer.input_tokens > 0
        taken = answer.input_tokens if told else _estimate(prompt.system, *prompt.turns)
        given = answer.output_tokens if told else _estimate(answer.text)
        cached = answer.cached_tokens
        use = ModelUse(
            model=self.id,
            calls=1,
            input_tokens=taken,
            output_tokens=given,
            cached_tokens=cached,
            milliseconds=milliseconds,
            cost=price_of(self._address, taken, given, cached),
        )
        return Reply(answer.text, use, answer.cut, answer.tokens)


def _resolved(address: Address, key: str | None) -> tuple[Address, str | None]:
    """OpenAI's own variables may name another server: it is one, then, with the key beside it."""
    url = os.environ.get("OPENAI_BASE_URL", "")
    if address.url is None and url and (address.provider or "").startswith("openai"):
        return replace(address, url=url_checked(url)), key or os.environ.get("OPENAI_API_KEY")
    return address, key


def _refusal(trouble: Trouble, prompt: Prompt, refused: set[str]) -> str | None:
    """What of the manner an endpoint does not take, going by what it says."""
    if trouble.status not in _REFUSED:
        return None
    for what, words in _WORDS:
        asked = {"logprobs": bool(prompt.logprobs), "schema": prompt.schema is not None}
        if what not in refused and asked.get(what, True) and words.search(str(trouble)):
            return what
    return None


def _ignored_schema(answer: Answer) -> bool:
    """Whether a whole reply is no JSON, as none of an endpoint that holds the model to a schema."""
    if not answer.finished or not answer.text.strip():
        return False
    try:
        json.loads(_THOUGHTS.sub("", answer.text))
    except ValueError:
        return True
    return False


def _estimate(*texts: Any) -> int:
    """Tokens where the endpoint does not count them: three bytes of UTF-8 each."""
    text = "".join(one if isinstance(one, str) else one.text for one in texts)
    return -(-len(text.encode("utf-8", "replace")) // 3)


def _open(native: Any) -> bool:
    closed = getattr(native, "is_closed", None)
    return closed is None or not closed()


def _runs(native: Any) -> bool:
    running = getattr(native, "is_running", None)
    return running is None or bool(running())


def _close_there(token: anyio.lowlevel.EventLoopToken, wire: Wire) -> None:
    # The loop may end meanwhile, and its connections with it.
    with contextlib.suppress(RuntimeError):
        anyio.from_thread.run(wire.aclose, token=token)
