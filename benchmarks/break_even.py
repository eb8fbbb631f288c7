"""From how many tools on tool search pays, for a catalogue whose definitions are of this size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..indexes.protocols import ToolIndex
from ..tool import Tool
from ..tool_calling import ToolCallingAdvisor
from ..tool_search import ToolSearchAdvisor
from .caching import CachePrices
from .payload import PayloadCounter
from .savings import play
from .tasks import Step, Task

__all__ = ["BreakEven", "find_break_even"]

_TARGETS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Where sending all tools and searching cost the same, for tasks of one call found by the first search.

    Args:
        tools: the smallest number of tools with which search costs less; None if it does not even with all of them.
        average_definition: tokens of a definition, on average.
        with_all: tokens of such a task with all tools sent.
        with_search: the same with search, at the size of the catalogue.
    """

    tools: int | None
    average_definition: float
    with_all: float
    with_search: float


def find_break_even(tools: Sequence[Tool], index: ToolIndex | str, counter: PayloadCounter) -> BreakEven:
    """Measure tasks of one call on evenly drawn parts of the catalogue, and halve the interval until it is found.

    Each task calls one of a dozen evenly drawn tools and searches by its name, so ranking plays no part: this is about
    sizes. Arguments are left out; what a tool says to that costs both sides the same.
    """
    targets = _evenly(tools, min(_TARGETS, len(tools)))

    def costs(size: int) -> tuple[float, float]:
        plain = search = 0
        for target in targets:
            part = _with(target, tools, size)
            step = Step(tool=target.name, phrasings=(target.name,))
            task = Task(id=target.name, prompt=f"Please use {target.name}.", steps=(step,))
            for advisor in (ToolCallingAdvisor(), ToolSearchAdvisor(index)):
                (run,) = play(advisor, part, [task], counter, CachePrices(), accept_errors=True)
                if isinstance(advisor, ToolSearchAdvisor):
                    search += run.total
                else:
                    plain += run.total
        return plain / len(targets), search / len(targets)

    with_all, with_search = costs(len(tools))
    low, high = 0, len(tools)  # search does not pay with `low` tools, and does with `high`
    while with_search < with_all and high - low > 1:
        middle = (low + high) // 2
        plain, search = costs(middle)
        low, high = (low, middle) if search < plain else (middle, high)
    return BreakEven(
        tools=high if with_search < with_all else None,
        average_definition=counter.definitions_of(tools) / len(tools),
        with_all=with_all,
        with_search=with_search,
    )


def _evenly(tools: Sequence[Tool], count: int) -> list[Tool]:
    return [tools[at * len(tools) // count] for at in range(count)]


def _with(target: Tool, tools: Sequence[Tool], size: int) -> list[Tool]:
    """`size` tools drawn evenly, `target` among them."""
    drawn = _evenly(tools, size)
    return drawn if target in drawn else [target, *drawn[1:]]
