"""One model on one event loop, through pydantic-ai: requests out, replies or troubles in.

Loaded when a model is first asked: pydantic-ai takes half a second to import. Foreign errors end
here. What they say becomes a `Trouble`, given back and not raised, so that no error that might
print a key is left as the context of ours.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import httpx2
import openai
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from memstrata.errors import ModelFailed
from memstrata.models.address import Address
from memstrata.models.chat import Prompt, TokenProbability
from memstrata.models.pace import Trouble, retry_after
from memstrata.models.saying import may_pass, message_of, said, status_in_words, tells_key

__all__ = ["Answer", "Manner", "Wire"]

_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
"""What endpoints do not allow in the name of a schema."""
_THOUGHTS = 4096
"""Tokens beyond those of the reply for a model that cannot but think first."""
# pydantic-ai reads a body before it checks its form: an odd one raises whatever comes of that.
_ODD = (ValueError, TypeError, AttributeError, LookupError)
_FOREIGN = (AgentRunError, UserError, openai.OpenAIError, httpx2.HTTPError, *_ODD)


@dataclass(frozen=True, slots=True)
class Manner:
    """How a model is asked; what its endpoint refuses is left out from then on."""

    schema: bool = True
    """Whether the schema goes to the endpoint, which holds the model to it; else to the model."""
    logprobs: bool = True
    temperature: bool = True
    thinking: bool = True
    """Whether the model is told how much to think: as little as it can."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    text: str
    cut: bool
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    finished: bool
    """Whether the model ended by itself."""
    tokens: tuple[TokenProbability, ...]


class Wire:
    """A model and its HTTP client. Raises `ModelFailed` if there can be none."""

    def __init__(self, address: Address, key: str | None, timeout: float) -> None:
        self._address = address
        self._timeout = timeout
        self._keys = [key] if key else []
        self._entered = False
        try:
            self._provider = _provider(address, key)
            self._model = _model(address, self._provider)
        except (ImportError, UserError, openai.OpenAIError, ValueError) as error:
            failure = f"{address.id}: {said(_unready(error), self._keys)}"
        else:
            self._keys += _keys_of(self._provider)
            return
        raise ModelFailed(failure)

    async def aclose(self) -> None:
        """Close its connections."""
        await self._provider.__aexit__(None, None, None)

    async def ask(self, prompt: Prompt, manner: Manner) -> Answer | Trouble:
        """One request."""
        await self._enter()
        wanted = _parameters(prompt, manner)
        try:
            response = await model_request(
                self._model,
                _messages(prompt, manner),
                model_settings=self._settings(prompt, manner),
                model_request_parameters=wanted,
                instrument=False,
            )
        except _FOREIGN as error:
            return self._trouble(error, prompt)
        return _answer(response)

    async def known_models(self) -> list[str] | None:
        """The models the endpoint offers; None where it does not tell."""
        client = self._provider.client
        if not isinstance(client, openai.AsyncOpenAI):
            return None
        try:
            page = await client.with_options(max_retries=0, timeout=10.0).models.list()
        except (openai.OpenAIError, httpx2.HTTPError, ValueError):
            return None
        listed = cast("Sequence[Any] | None", getattr(page, "data", None)) or ()
        return sorted({str(getattr(one, "id", "")) for one in listed} - {""})

    async def _enter(self) -> None:
        if not self._entered:
            self._entered = True
            await self._provider.__aenter__()

    def _settings(self, prompt: Prompt, manner: Manner) -> OpenAIChatModelSettings:
        """What all providers share is named so for all; the rest only OpenAI's look at."""
        profile = self._model.profile
        thinks = profile.get("thinking_always_enabled", False) or (
            not manner.thinking and profile.get("thinking_enabled_by_default", False)
        )
        seconds = self._seconds(prompt)
        settings = OpenAIChatModelSettings(
            max_tokens=prompt.max_tokens + (_THOUGHTS if thinks else 0),
            timeout=seconds,
            request_timeout=seconds,
            max_retries=0,
        )
        if manner.thinking and profile.get("supports_thinking", False):
            settings["thinking"] = False
        if manner.temperature and not thinks:
            settings["temperature"] = prompt.temperature
        tells = manner.logprobs and not thinks and isinstance(self._model, OpenAIChatModel)
        if tells and prompt.logprobs:
            settings["openai_logprobs"] = True
            settings["openai_top_logprobs"] = prompt.logprobs
        return settings

    def _seconds(self, prompt: Prompt) -> float:
        """How long one request may take."""
        return self._timeout if prompt.patience is None else min(self._timeout, prompt.patience)

    def _trouble(self, error: Exception, prompt: Prompt) -> Trouble:
        text, again = _in_words(error, self._address, self._seconds(prompt))
        told = [turn.text for turn in prompt.turns]
        status = error.status_code if isinstance(error, ModelHTTPError) else None
        wait = error.retry_after if isinstance(error, ModelAPIError) else None
        if isinstance(error, ModelHTTPError) and error.headers:
            wait = retry_after(error.headers) if wait is None else wait
        return Trouble(
            said(text, self._keys, told),
            status=status,
            again=again,
            wait=wait,
            slow=isinstance(error, ModelTimeoutError | ModelRequestTimeout),
            cause=None if tells_key(error, self._keys) else error,
        )


def _unready(error: Exception) -> str:
    """Why a provider cannot be asked; of a missing key, what to set."""
    named = re.search(r"\b[A-Z][A-Z0-9_]*_(?:API_KEY|TOKEN|KEY)\b", str(error))
    if isinstance(error, UserError | openai.OpenAIError) and named:
        return f"there is no key: set {named[0]}, or MEMSTRATA_LLM_API_KEY"
    return str(error)


def _provider(address: Address, key: str | None) -> Provider[Any]:
    """Who is asked. A URL of one's own gets the key that was given for it, and no other."""
    url = address.url
    if url is not None and address.provider in (None, "openai", "openai-chat"):
        return OpenAICompatibleProvider(
            "endpoint",
            base_url=url,
            api_key=key,
            profile=OpenAIModelProfile(
                supports_json_schema_output=True,
                # Every server knows the older name of the limit.
                openai_chat_supports_max_completion_tokens=False,
            ),
        )
    made: Any = infer_provider_class(address.provider or "")
    takes = inspect.signature(made.__init__).parameters
    given: dict[str, str] = {}
    for name, names, value in (
        ("URL", ("base_url", "api_base", "azure_endpoint"), url),
        ("key", ("api_key",), key),
    ):
        fitting = next((one for one in names if one in takes), None)
        if value is not None and fitting is None:
            raise ValueError(f"{address.provider} takes no {name}: leave it out of the settings")
        if value is not None and fitting is not None:
            given[fitting] = value
    return made(**given)


def _model(address: Address, provider: Provider[Any]) -> Model:
    """Chat completions with whoever speaks as OpenAI does: they alone tell log-probabilities."""
    if address.provider in (None, "openai", "openai-chat"):
        return OpenAIChatModel(address.model, provider=provider)
    return infer_model(f"{address.provider}:{address.model}", lambda _: provider)


def _keys_of(provider: Provider[Any]) -> list[str]:
    """The keys a provider may have found in the environment."""
    own = getattr(provider.client, "api_key", None)
    named = [value for name, value in os.environ.items() if name.endswith(("_API_KEY", "_TOKEN"))]
    return [*([own] if isinstance(own, str) else []), *[key for key in named if len(key) >= 8]]


def _messages(prompt: Prompt, manner: Manner) -> list[ModelMessage]:
    system = prompt.system
    if prompt.schema is not None and not manner.schema:
        system = f"{system}\n\n{_stated(prompt.schema)}"
    parts: list[ModelRequestPart] = [SystemPromptPart(system)]
    messages: list[ModelMessage] = []
    for turn in prompt.turns:
        if turn.role == "user":
            parts.append(UserPromptPart(turn.text))
        else:
            messages += [ModelRequest(parts), ModelResponse([TextPart(turn.text)])]
            parts = []
    return [*messages, ModelRequest(parts)]


def _stated(schema: Mapping[str, Any]) -> str:
    text = json.dumps(schema, ensure_ascii=False)
    return f"Reply with JSON alone, without code fences, that fits this JSON schema:\n{text}"


def _parameters(prompt: Prompt, manner: Manner) -> ModelRequestParameters:
    if prompt.schema is None or not manner.schema:
        return ModelRequestParameters()
    name = str(prompt.schema.get("title") or prompt.purpose)
    wanted = OutputObjectDefinition(
        json_schema=dict(prompt.schema), name=_NO_NAME.sub("_", name)[:64]
    )
    return ModelRequestParameters(output_mode="native", output_object=wanted)


def _answer(response: ModelResponse) -> Answer:
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if not text and calls:  # some models reply by a tool nobody offered: what it was given counts
        text = calls[0].args_as_json_str()
    used = response.usage
    return Answer(
        text=text,
        cut=response.finish_reason == "length",
        finished=response.finish_reason == "stop",
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cached_tokens=used.cache_read_tokens,
        tokens=_probabilities((response.provider_details or {}).get("logprobs")),
    )


def _probabilities(given: object) -> tuple[TokenProbability, ...]:
    """What `provider_details` holds of log-probabilities; nothing where they have another form."""
    found: list[TokenProbability] = []
    for one in cast("list[Any]", given) if isinstance(given, list) else []:
        if not isinstance(one, Mapping):
            continue
        token = cast("Mapping[str, Any]", one)
        others = [(str(o["token"]), float(o["logprob"])) for o in token.get("top_logprobs") or ()]
        found.append(TokenProbability(str(token["token"]), float(token["logprob"]), tuple(others)))
    return tuple(found)


def _in_words(error: Exception, address: Address, timeout: float) -> tuple[str, bool]:
    """What went wrong, and whether trying again may help."""
    where = address.url or f"{address.provider}'s endpoint"
    if isinstance(error, ModelHTTPError):
        again = may_pass(error.status_code) and not isinstance(error, ModelQuotaExceededError)
        answered = status_in_words(error.status_code)
        return f"{where} answered {answered}: {message_of(error.body)}", again
    if isinstance(error, ModelTimeoutError | ModelRequestTimeout):
        return f"{where} did not answer within {timeout:g} seconds", True
    if isinstance(error, ModelConnectionError):
        return f"no connection to {where}: {_deepest(error)}", True
    if isinstance(error, UserError):
        return str(error), False
    if isinstance(error, (ModelAPIError, UnexpectedModelBehavior, openai.OpenAIError, *_ODD)):
        # Its text may quote the reply.
        return f"{where} sent what is no chat completion ({type(error).__name__})", True
    return f"{where} failed: {_deepest(error)}", isinstance(error, httpx2.HTTPError)


def _deepest(error: BaseException) -> str:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return str(error) or type(error).__name__
