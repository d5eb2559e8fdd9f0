"""Where a model is: `openai:gpt-5-mini`, or `qwen2.5@http://host:8080/v1` for one's own server."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from memstrata.errors import InvalidInput

__all__ = ["CHAT_PROVIDERS", "Address", "address_of", "url_checked"]

_NAMES = (
    *(
        "alibaba",
        "anthropic",
        "azure",
        "azure-responses",
        "bedrock",
        "cerebras",
        "cohere",
        "deepseek",
        "fireworks",
        "github",
        "google",
        "google-cloud",
        "groq",
        "heroku",
        "huggingface",
        "litellm",
        "mistral",
        "moonshotai",
        "nebius",
        "ollama",
        "openai",
        "openai-chat",
        "openai-responses",
        "openrouter",
        "ovhcloud",
        "sambanova",
        "together",
        "vercel",
        "vllm",
        "xai",
        "zai",
    ),
)
CHAT_PROVIDERS = frozenset(_NAMES)
"""The providers whose own address is known. Before a colon another word is part of a model's name,
as in `qwen2.5:7b`."""


@dataclass(frozen=True, slots=True)
class Address:
    """A model, and who serves it."""

    model: str
    provider: str | None = None
    """Named before the colon; None where the URL alone says who serves it."""
    url: str | None = None
    """None: the provider's own."""

    @property
    def id(self) -> str:
        """What the model is called in ledgers: provider or host are part of it."""
        if self.url is not None:
            return f"{self.model}@{urlsplit(self.url).netloc}"
        return f"{self.provider}:{self.model}"

    @property
    def endpoint(self) -> str:
        """Who is asked; models with the same have their limits in common."""
        return self.url or self.provider or ""


def address_of(
    name: str, base_url: str | None = None, *, providers: frozenset[str] = CHAT_PROVIDERS
) -> Address:
    """Read a name; `base_url` is for one that brings no URL itself. Raises `InvalidInput`."""
    model, separator, own = name.strip().partition("@http")
    url = url_checked(f"http{own}") if separator else base_url and url_checked(base_url)
    provider, colon, rest = model.partition(":")
    known = bool(colon) and provider.casefold() in providers
    address = Address(rest if known else model, provider.casefold() if known else None, url or None)
    if not address.model:
        raise InvalidInput(f"{name!r} names no model: write provider:model or model@https://…")
    if address.url is None and address.provider is None:
        raise InvalidInput(
            f"nobody is known to serve {name!r}: write provider:model, the provider being one of "
            f"{', '.join(sorted(providers))}; or model@http://host:port/v1 for any endpoint that "
            "speaks as OpenAI's does"
        )
    return address


def url_checked(url: str) -> str:
    """A base URL without a slash at its end. Raises `InvalidInput`; keys have no place in it."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good, parts = False, urlsplit("")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidInput(
            "a model's URL has a user, a password, a query or a fragment in it: URLs are shown and "
            "logged, so give keys as llm_api_key or embedder_api_key"
        )
    if not good or any(character.isspace() for character in url):
        raise InvalidInput(f"{url!r} is no URL of an endpoint: it looks like https://host/v1")
    return url.rstrip("/")
