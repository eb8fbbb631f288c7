"""Costs follow the prefix caching of providers: tools, then system message, then messages."""

from __future__ import annotations

import pytest

from toolsearch.benchmarks.savings.cache_pricing import CachePrices, Exchange, cached_cost
from toolsearch.benchmarks.savings.payload import Payload, PayloadCounter
from toolsearch.errors import ConfigurationError

PRICES = CachePrices(input=1, read=0.1, write=1.25, output=4, minimum=100)


class CharacterCounter:
    """Counter with one token per character, so that costs can be calculated by hand."""

    name = "characters"

    def count(self, text: str) -> int:
        return len(text)


COUNTER = PayloadCounter(CharacterCounter())
TOOLS = ("T" * 198,)  # 200 with the brackets of the array
SYSTEM = ("S" * 48,)
FIRST = ("u" * 50,)


def cost(*payloads: Payload, warm: bool = False, prices: CachePrices = PRICES, output: int = 0) -> float:
    return cached_cost([Exchange(payload, output) for payload in payloads], COUNTER, prices, warm=warm)


def test_first_request_is_written() -> None:
    payload = Payload(TOOLS, SYSTEM, FIRST)
    assert COUNTER.count(payload) == 200 + 101
    assert cost(payload) == pytest.approx(301 * 1.25)


def test_output_has_its_own_price() -> None:
    assert cost(Payload(TOOLS, (), ()), output=10) == pytest.approx((200 + 2) * 1.25 + 40)


def test_next_request_reads_the_shared_prefix_and_writes_the_rest() -> None:
    first = Payload(TOOLS, SYSTEM, FIRST)
    second = Payload(TOOLS, SYSTEM, (*FIRST, "a" * 30))
    assert COUNTER.shared(second, first) == 301
    assert cost(first, second) == pytest.approx(301 * 1.25 + 301 * 0.1 + (332 - 301) * 1.25)


def test_appended_tool_keeps_the_cached_tools_but_not_the_messages() -> None:
    first = Payload(TOOLS, SYSTEM, FIRST)
    second = Payload((*TOOLS, "N" * 20), SYSTEM, FIRST)
    assert COUNTER.shared(second, first) == 200


def test_inserted_first_tool_invalidates_the_cache() -> None:
    first = Payload(TOOLS, SYSTEM, FIRST)
    assert COUNTER.shared(Payload(("N" * 20, *TOOLS), SYSTEM, FIRST), first) == 0


def test_other_system_message_shares_only_the_tools() -> None:
    first = Payload(TOOLS, SYSTEM, FIRST)
    assert COUNTER.shared(Payload(TOOLS, ("other",), FIRST), first) == 200


def test_request_below_the_minimum_is_not_cached() -> None:
    small = Payload((), (), ("u" * 50,))
    assert cost(small, small) == pytest.approx(2 * 52 * 1.0)


def test_shared_prefix_below_the_minimum_is_not_read() -> None:
    first = Payload(("T" * 50,), (), ("u" * 200,))
    second = Payload(("T" * 50,), (), ("v" * 200,))
    assert cost(first, second) == pytest.approx(2 * (52 + 202) * 1.25)


def test_any_earlier_request_can_be_read() -> None:
    first, other = Payload(TOOLS, SYSTEM, FIRST), Payload((), (), ("x" * 50,))
    assert cost(first, other, first) == pytest.approx(301 * 1.25 + 52 + 301 * 0.1)


def test_warm_cache_has_tools_and_system_message_only() -> None:
    payload = Payload(TOOLS, SYSTEM, FIRST)
    held = 200 + 50
    assert cost(payload, warm=True) == pytest.approx(held * 0.1 + (301 - held) * 1.25)


def test_conversation_without_requests_costs_nothing() -> None:
    assert cost() == 0
    assert cost(warm=True) == 0


@pytest.mark.parametrize("field", ["input", "read", "write", "output", "minimum"])
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
def test_invalid_price_is_an_error(field: str, value: float) -> None:
    with pytest.raises(ConfigurationError, match=field):
        CachePrices(**{field: value})  # type: ignore[arg-type]  # wrong on purpose
