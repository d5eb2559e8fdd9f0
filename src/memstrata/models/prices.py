"""What calls cost, by the price list that comes with pydantic-ai; nothing is fetched for it."""

from __future__ import annotations

import importlib
import importlib.util

from memstrata.models.address import Address

__all__ = ["price_of", "priced"]


def price_of(
    address: Address, input_tokens: int, output_tokens: int = 0, cached_tokens: int = 0
) -> float | None:
    """US dollars for one call; None where the price is not known, as of servers of one's own."""
    if importlib.util.find_spec("genai_prices") is None:
        return None
    prices = importlib.import_module("genai_prices")
    usage = prices.Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=min(cached_tokens, input_tokens) or None,
    )
    # A URL says more than a name: the same model may be served by several, at several prices.
    provider = (address.provider or "").removesuffix("-chat").removesuffix("-responses")
    by = {"provider_api_url": address.url} if address.url else {"provider_id": provider}
    try:
        return float(prices.calc_price(usage, address.model, **by).total_price)
    except (LookupError, ValueError):
        return None


def priced(address: Address) -> bool:
    """Whether the price of calls to this model is known."""
    return price_of(address, 1000, 1000) is not None
