"""Tokens of the definitions of a catalog: per tool, per source, and per number of revealed tools."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ...disclosure.search_tool import SEARCH_TOOL, search_tool_parameters
from ...disclosure.sentences import search_tool_description
from ...disclosure.sessions.tool_set import ToolSet
from ...tools.tool_type import Tool
from .payload import PayloadCounter

__all__ = ["DefinitionSizes", "RevealedSize", "SourceSize", "ToolSize", "measure_definitions", "round_sizes"]

_MAX_LARGEST = 20
_STEPS = 20


@dataclass(frozen=True, slots=True)
class ToolSize:
    """Tokens of the definition of one tool."""

    name: str
    source: str | None
    tokens: int


@dataclass(frozen=True, slots=True)
class SourceSize:
    """Number of tools of one source and tokens of their definitions. The name is None for tools without a source."""

    name: str | None
    tools: int
    tokens: int


@dataclass(frozen=True, slots=True)
class RevealedSize:
    """Tokens of the definitions in a request with the search tool and a number of revealed tools.

    Args:
        tools: Number of revealed tools.
        average: Tokens with tools of average size.
        largest: Tokens with the largest tools of the catalog.
    """

    tools: int
    average: float
    largest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionSizes:
    """Distribution of the tokens of a catalog's definitions.

    Args:
        median: Median tokens of a definition.
        largest: The at most twenty tools with the largest definitions, largest first.
        sources: All sources, by tokens in descending order.
        search_tool: Tokens of the definition of ``tool_search``.
        cheaper_up_to: The largest number of revealed tools, taken from the largest ones, with which a request has
            fewer tokens than with all tools sent. None if the search tool alone has more.
        revealed: Tokens in a request by the number of revealed tools, from none to all.
    """

    median: float
    largest: tuple[ToolSize, ...]
    sources: tuple[SourceSize, ...]
    search_tool: int
    cheaper_up_to: int | None
    revealed: tuple[RevealedSize, ...]


def measure_definitions(tools: Sequence[Tool], counter: PayloadCounter) -> DefinitionSizes:
    """Count the tokens of the definitions of a catalog of at least one tool."""
    counts = counter.each_of(tools)
    sizes = [ToolSize(tool.name, tool.source, count) for tool, count in zip(tools, counts, strict=True)]
    largest = sorted(sizes, key=lambda size: -size.tokens)
    search_tool = counter.definitions_of([_search_tool(tools)])
    sums = list(accumulate((size.tokens for size in largest), initial=search_tool))
    average = sum(counts) / len(counts)
    total = counter.definitions_of(tools)
    return DefinitionSizes(
        median=statistics.median(counts),
        largest=tuple(largest[:_MAX_LARGEST]),
        sources=tuple(sorted(_by_source(sizes), key=lambda source: -source.tokens)),
        search_tool=search_tool,
        cheaper_up_to=max((count for count, tokens in enumerate(sums) if tokens < total), default=None),
        revealed=tuple(
            RevealedSize(count, round(search_tool + count * average, 1), sums[count])
            for count in sorted({*round_sizes(len(tools)), *(len(tools) * part // _STEPS for part in range(_STEPS))})
        ),
    )


def round_sizes(maximum: int) -> Iterator[int]:
    """Yield 0, 1, 2, 5, 10, 20, 50, ... below `maximum`, then `maximum`."""
    yield 0
    power = 1
    while power < maximum:
        yield from (size for size in (power, 2 * power, 5 * power) if size < maximum)
        power *= 10
    yield maximum


def _by_source(sizes: Iterable[ToolSize]) -> list[SourceSize]:
    found: dict[str | None, list[int]] = {}
    for size in sizes:
        found.setdefault(size.source, []).append(size.tokens)
    return [SourceSize(name, len(tokens), sum(tokens)) for name, tokens in found.items()]


def _search_tool(tools: Sequence[Tool]) -> Tool:
    """Return the search tool as `ToolSearchAdvisor` sends it for this catalog by default."""
    catalog = ToolSet(tool.reference for tool in tools)
    schema = search_tool_parameters(max_results=5, limit=10, categories=bool(catalog.categories))
    return Tool(SEARCH_TOOL, search_tool_description(len(catalog), catalog.sources), schema)
