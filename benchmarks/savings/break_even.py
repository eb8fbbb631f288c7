"""Break-even number of tools: the smallest catalog for which search saves tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from ...disclosure.advisor import ToolSearchAdvisor
from ...indexes.protocols import ToolIndex
from ...loop.tool_calling import ToolCallingAdvisor
from ...tools.tool_type import Tool
from .cache_pricing import CachePrices
from .measure import play_tasks
from .payload import PayloadCounter
from .tasks import Step, Task

__all__ = ["BreakEven", "CostAtSize", "find_break_even", "smallest"]

_T = TypeVar("_T")
_MAX_TARGETS = 12
_MAX_SAMPLED_SIZE = 64


@dataclass(frozen=True, slots=True)
class CostAtSize:
    """Tokens of a task of one call at one size of the catalog.

    Args:
        tools: Number of tools of the catalog that are used.
        with_all: Tokens with all of them sent.
        with_search: Tokens with search.
    """

    tools: int
    with_all: float
    with_search: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Break-even of search for tasks of one call whose tool is found by the first search.

    Args:
        tools: The smallest number of tools with which search saves tokens, or None if it never does.
        average_definition: Average tokens of a definition.
        with_all: Tokens of a task over the whole catalog with all tools sent.
        with_search: Tokens of a task over the whole catalog with search.
        sizes: The same for 1, 2, 4, 8, ... tools beyond the break-even, and for all tools.
    """

    tools: int | None
    average_definition: float
    with_all: float
    with_search: float
    sizes: tuple[CostAtSize, ...] = ()


def find_break_even(tools: Sequence[Tool], index: ToolIndex | str, counter: PayloadCounter) -> BreakEven:
    """Find the break-even by a binary search over samples of the catalog.

    A task calls one of twelve evenly spaced tools and searches for it by name, so only sizes matter, not ranking.
    Calls have no arguments; the resulting errors cost the same with and without search.

    Args:
        tools: The catalog, at least one tool.
        index: The index to search with.
        counter: Counts tokens.
    """

    @cache
    def costs(size: int) -> tuple[float, float]:
        both = [_average_costs(part, targets, index, counter) for part, targets in _samples(tools, size)]
        return sum(plain for plain, _ in both) / len(both), sum(search for _, search in both) / len(both)

    with_all, with_search = costs(len(tools))
    pays = smallest(lambda size: _saves_tokens(costs(size)), len(tools)) if with_search < with_all else None
    return BreakEven(
        tools=pays,
        average_definition=counter.definitions_of(tools) / len(tools),
        with_all=with_all,
        with_search=with_search,
        sizes=tuple(CostAtSize(size, *costs(size)) for size in _reported_sizes(pays or len(tools), len(tools))),
    )


def smallest(pays: Callable[[int], bool], maximum: int) -> int:
    """Return the smallest size for which `pays` is true, given that it is true for `maximum`.

    The search starts with small sizes, since the answer is usually small and small sizes are fast to measure.
    """
    low, high = 0, 1  # `pays` is false for `low`, and true for `high` after the first loop
    while high < maximum and not pays(high):
        low, high = high, min(2 * high, maximum)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if pays(middle) else (middle, high)
    return high


def _reported_sizes(break_even: int, total: int) -> list[int]:
    """Return the powers of two up to about twice the break-even, the break-even, and the size of the catalog."""
    powers = (1 << power for power in range((2 * break_even).bit_length() + 1) if 1 << power < total)
    return sorted({*powers, break_even, total})


def _saves_tokens(costs: tuple[float, float]) -> bool:
    plain, search = costs
    return search < plain


def _average_costs(
    part: Sequence[Tool], targets: Sequence[Tool], index: ToolIndex | str, counter: PayloadCounter
) -> tuple[float, float]:
    """Return the average tokens of a task that calls a target: with all tools of `part` sent, and with search."""
    tasks = {target.name: _task(target) for target in targets}
    searched = play_tasks(ToolSearchAdvisor(index), part, tasks.values(), counter, CachePrices(), accept_errors=True)
    definitions = counter.definitions_of(part)
    plain = 0
    for target in targets:
        # The other tools only add their definitions to each request, so their tokens are added to a run without them.
        task = [tasks[target.name]]
        (run,) = play_tasks(ToolCallingAdvisor(), [target], task, counter, CachePrices(), accept_errors=True)
        plain += run.total + run.requests * (definitions - counter.definitions_of([target]))
    return plain / len(targets), sum(run.total for run in searched) / len(targets)


def _task(target: Tool) -> Task:
    step = Step(tool=target.name, phrasings=(target.name,))
    return Task(id=target.name, prompt=f"Please use {target.name}.", steps=(step,))


def _samples(tools: Sequence[Tool], size: int) -> Iterator[tuple[Sequence[Tool], Sequence[Tool]]]:
    """Yield samples of the catalog with their targets: twelve small ones, since they vary, or one large one."""
    starts = [0] if size > _MAX_SAMPLED_SIZE or size == len(tools) else _evenly_spaced(range(len(tools)), _MAX_TARGETS)
    for start in starts:
        part = [tools[(start + at * len(tools) // size) % len(tools)] for at in range(size)]
        yield part, _evenly_spaced(part, _MAX_TARGETS) if len(starts) == 1 else part[:1]


def _evenly_spaced(items: Sequence[_T], maximum: int) -> list[_T]:
    count = min(maximum, len(items))
    return [items[at * len(items) // count] for at in range(count)]
