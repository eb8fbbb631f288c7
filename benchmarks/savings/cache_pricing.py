"""What a conversation costs where the provider caches the beginnings of prompts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...errors import ConfigurationError
from .payload import Payload, PayloadCounter

__all__ = ["CachePrices", "Exchange", "cached_cost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePrices:
    """Prices relative to a token of plain input. The defaults are near what Anthropic charges; OpenAI writes at 1.0.

    Args:
        input: a token that is neither read from the cache nor written to it.
        read: a token read from the cache.
        write: a token written to it.
        output: a token of the answer.
        minimum: a beginning with fewer tokens is not cached.

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
                raise ConfigurationError(f"the price {name!r} is a number of at least 0, not {value!r}")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and the tokens of its answer."""

    payload: Payload
    output: int


def cached_cost(
    exchanges: Iterable[Exchange], counter: PayloadCounter, prices: CachePrices, *, warm: bool = False
) -> float:
    """Return the cost of one conversation in tokens of plain input.

    Providers cache the beginning of a prompt, rendered as tools, system, messages. A request reads the longest
    beginning that it shares with an earlier request of its conversation, if that is at least ``prices.minimum`` tokens,
    and writes what follows; a request that is shorter than the minimum as a whole does neither.

    Args:
        exchanges: the conversation, in order.
        counter: counts tokens.
        prices: what they cost.
        warm: another conversation has just left its tools and system message in the cache.
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
