"""How many tokens the definitions of a catalogue take: by tool, by source, and by how many are disclosed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ...disclosure.search_tool import SEARCH_TOOL, search_tool_parameters
from ...disclosure.sentences import search_tool_description
from ...disclosure.sessions.tool_set import ToolSet
from ...tools.tool import Tool
from .payload import PayloadCounter

__all__ = ["DefinitionSizes", "DisclosedSize", "SourceSize", "ToolSize", "measure_definitions", "round_sizes"]

_LARGEST = 20
_EVENLY = 20


@dataclass(frozen=True, slots=True)
class ToolSize:
    """The tokens of one tool's definition."""

    name: str
    source: str | None
    tokens: int


@dataclass(frozen=True, slots=True)
class SourceSize:
    """The tools of one source and the tokens of their definitions; `name` is None for tools without a source."""

    name: str | None
    tools: int
    tokens: int


@dataclass(frozen=True, slots=True)
class DisclosedSize:
    """The tokens of the definitions in a request with the search tool and so many tools beside it.

    Args:
        tools: how many are disclosed.
        average: with tools of average size.
        largest: with the largest there are.
    """

    tools: int
    average: float
    largest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionSizes:
    """Where the tokens of a catalogue's definitions are.

    Args:
        median: the tokens of a definition; half of the tools have no more.
        largest: the tools with the longest definitions, longest first; at most twenty.
        sources: all sources, the one with most tokens first.
        search_tool: the tokens of the definition of `tool_search`.
        cheaper_up_to: how many of the largest tools may be disclosed before a request carries as much as with all
            tools sent; None if the search tool alone does.
        disclosed: what a request carries, by how many tools are disclosed: from none to all.
    """

    median: float
    largest: tuple[ToolSize, ...]
    sources: tuple[SourceSize, ...]
    search_tool: int
    cheaper_up_to: int | None
    disclosed: tuple[DisclosedSize, ...]


def measure_definitions(tools: Sequence[Tool], counter: PayloadCounter) -> DefinitionSizes:
    """Count the definitions of a catalogue that is not empty, and what a request with some of them carries."""
    counts = counter.each_of(tools)
    sizes = [ToolSize(tool.name, tool.source, count) for tool, count in zip(tools, counts, strict=True)]
    largest = sorted(sizes, key=lambda size: -size.tokens)
    search_tool = counter.definitions_of([_search_tool(tools)])
    sums = list(accumulate((size.tokens for size in largest), initial=search_tool))
    average = sum(counts) / len(counts)
    whole = counter.definitions_of(tools)
    return DefinitionSizes(
        median=statistics.median(counts),
        largest=tuple(largest[:_LARGEST]),
        sources=tuple(sorted(_by_source(sizes), key=lambda source: -source.tokens)),
        search_tool=search_tool,
        cheaper_up_to=max((count for count, tokens in enumerate(sums) if tokens < whole), default=None),
        disclosed=tuple(
            DisclosedSize(count, round(search_tool + count * average, 1), sums[count])
            for count in sorted({*round_sizes(len(tools)), *(len(tools) * part // _EVENLY for part in range(_EVENLY))})
        ),
    )


def round_sizes(most: int) -> Iterator[int]:
    """Yield 0, 1, 2, 5, 10, 20, 50 and so on, and `most` at the end."""
    yield 0
    power = 1
    while power < most:
        yield from (size for size in (power, 2 * power, 5 * power) if size < most)
        power *= 10
    yield most


def _by_source(sizes: Iterable[ToolSize]) -> list[SourceSize]:
    found: dict[str | None, list[int]] = {}
    for size in sizes:
        found.setdefault(size.source, []).append(size.tokens)
    return [SourceSize(name, len(tokens), sum(tokens)) for name, tokens in found.items()]


def _search_tool(tools: Sequence[Tool]) -> Tool:
    """The search tool as `ToolSearchAdvisor` sends it for this catalogue."""
    catalog = ToolSet(tool.reference for tool in tools)
    schema = search_tool_parameters(max_results=5, limit=10, categories=bool(catalog.categories))
    return Tool(SEARCH_TOOL, search_tool_description(len(catalog), catalog.sources), schema)
