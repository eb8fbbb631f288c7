"""From how many tools on tool search pays, for a catalogue whose definitions are of this size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from ...disclosure.advisor import ToolSearchAdvisor
from ...indexes.protocols import ToolIndex
from ...loop.tool_calling import ToolCallingAdvisor
from ...tools.tool import Tool
from .cache_pricing import CachePrices
from .measure import play
from .payload import PayloadCounter
from .tasks import Step, Task

__all__ = ["BreakEven", "CostAtSize", "find_break_even", "smallest"]

_T = TypeVar("_T")
_TARGETS = 12
_SMALL = 64


@dataclass(frozen=True, slots=True)
class CostAtSize:
    """The tokens of a task of one call over so many tools of the catalogue, with all of them sent and with search."""

    tools: int
    with_all: float
    with_search: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Where sending all tools and searching cost the same, for tasks of one call found by the first search.

    Args:
        tools: the smallest number of tools with which search costs less; None if it does not even with all of them.
        average_definition: tokens of a definition, on average.
        with_all: tokens of such a task with all tools sent.
        with_search: the same with search, at the size of the catalogue.
        sizes: the same for one tool, two, four and so on until well past where search pays, and for all tools.
    """

    tools: int | None
    average_definition: float
    with_all: float
    with_search: float
    sizes: tuple[CostAtSize, ...] = ()


def find_break_even(tools: Sequence[Tool], index: ToolIndex | str, counter: PayloadCounter) -> BreakEven:
    """Measure tasks of one call on evenly drawn parts of the catalogue: twice as large until search pays, then between.

    Each task calls one of a dozen evenly drawn tools and searches by its name, so ranking plays no part: this is about
    sizes. Arguments are left out; what a tool says to that costs both sides the same.
    """

    @cache
    def costs(size: int) -> tuple[float, float]:
        both = [_costs(part, targets, index, counter) for part, targets in _parts(tools, size)]
        return sum(plain for plain, _ in both) / len(both), sum(search for _, search in both) / len(both)

    with_all, with_search = costs(len(tools))
    pays = smallest(lambda size: _is_less(costs(size)), len(tools)) if with_search < with_all else None
    return BreakEven(
        tools=pays,
        average_definition=counter.definitions_of(tools) / len(tools),
        with_all=with_all,
        with_search=with_search,
        sizes=tuple(CostAtSize(size, *costs(size)) for size in _shown(pays or len(tools), len(tools))),
    )


def smallest(pays: Callable[[int], bool], most: int) -> int:
    """The smallest size that pays, given that `most` does.

    It begins at the small end, where the answer mostly is and a look costs little.
    """
    low, high = 0, 1  # search does not pay with `low` tools, and in the end does with `high`
    while high < most and not pays(high):
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if pays(middle) else (middle, high)
    return high


def _shown(pays: int, most: int) -> list[int]:
    """One, two, four and so on up to twice what pays or a little more, what pays itself, and all."""
    doubled = (1 << power for power in range((2 * pays).bit_length() + 1) if 1 << power < most)
    return sorted({*doubled, pays, most})


def _is_less(costs: tuple[float, float]) -> bool:
    plain, search = costs
    return search < plain


def _costs(
    part: Sequence[Tool], targets: Sequence[Tool], index: ToolIndex | str, counter: PayloadCounter
) -> tuple[float, float]:
    """The tokens of a task that calls a target, on average, with all of `part` sent and with search."""
    tasks = {target.name: _task(target) for target in targets}
    searched = play(ToolSearchAdvisor(index), part, tasks.values(), counter, CachePrices(), accept_errors=True)
    definitions = counter.definitions_of(part)
    plain = 0
    for target in targets:
        # Which other tools are sent changes nothing but the size of the requests, so they are added instead of played.
        task = [tasks[target.name]]
        (run,) = play(ToolCallingAdvisor(), [target], task, counter, CachePrices(), accept_errors=True)
        plain += run.total + run.requests * (definitions - counter.definitions_of([target]))
    return plain / len(targets), sum(run.total for run in searched) / len(targets)


def _task(target: Tool) -> Task:
    step = Step(tool=target.name, phrasings=(target.name,))
    return Task(id=target.name, prompt=f"Please use {target.name}.", steps=(step,))


def _parts(tools: Sequence[Tool], size: int) -> Iterator[tuple[Sequence[Tool], Sequence[Tool]]]:
    """Evenly drawn parts and their targets: a dozen small ones, as they differ much, or a large one for all targets."""
    starts = [0] if size > _SMALL or size == len(tools) else _evenly(range(len(tools)), _TARGETS)
    for start in starts:
        part = [tools[(start + at * len(tools) // size) % len(tools)] for at in range(size)]
        yield part, _evenly(part, _TARGETS) if len(starts) == 1 else part[:1]


def _evenly(items: Sequence[_T], most: int) -> list[_T]:
    count = min(most, len(items))
    return [items[at * len(items) // count] for at in range(count)]
