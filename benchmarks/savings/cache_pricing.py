"""Cost of a conversation with a provider that caches prompt prefixes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...errors import ConfigurationError
from .payload import Payload, PayloadCounter

__all__ = ["CachePrices", "Exchange", "cached_cost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePrices:
    """Prices of tokens, relative to a token of plain input.

    The defaults are close to Anthropic's prices. OpenAI charges 1.0 for writing.

    Args:
        input: Price of a token that is neither read from the cache nor written to it.
        read: Price of a token read from the cache.
        write: Price of a token written to the cache.
        output: Price of a token of output.
        minimum: Minimum length of a cached prefix, in tokens.

    Raises:
        ConfigurationError: A price is negative or not finite.

    Example:
        >>> CachePrices(read=0.5, write=1.0).output
        4.0
    """

    input: float = 1.0
    read: float = 0.1
    write: float = 1.25
    output: float = 4.0
    minimum: int = 1_024

    def __post_init__(self) -> None:
        for name in ("input", "read", "write", "output", "minimum"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ConfigurationError(f"{name} must be a finite number of at least 0, got {value!r}")


@dataclass(frozen=True, slots=True)
class Exchange:
    """Request and the number of tokens of its answer."""

    payload: Payload
    output: int


def cached_cost(
    exchanges: Iterable[Exchange], counter: PayloadCounter, prices: CachePrices, *, warm: bool = False
) -> float:
    """Return the cost of one conversation in tokens of plain input.

    Providers cache a prefix of the prompt, which they render as tools, system message, messages. A request reads the
    longest prefix that it shares with an earlier request of its conversation, if that has at least ``prices.minimum``
    tokens, and writes the rest. A request that is shorter than the minimum neither reads nor writes.

    Args:
        exchanges: The requests and answers of the conversation, in order.
        counter: Counts tokens.
        prices: Prices of tokens.
        warm: Assume that another conversation has left the same tools and system message in the cache.
    """
    earlier: list[Payload] = []
    cost = 0.0
    for exchange in exchanges:
        payload = exchange.payload
        if warm and not earlier:
            earlier.append(replace(payload, messages=()))
        total = counter.count(payload)
        shared = max((counter.shared(payload, before) for before in earlier), default=0)
        read = min(shared, total) if shared >= prices.minimum else 0
        fresh = (total - read) * (prices.write if total >= prices.minimum else prices.input)
        cost += read * prices.read + fresh + exchange.output * prices.output
        earlier.append(payload)
    return cost
