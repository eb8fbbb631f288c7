"""Sections of the HTML report about sizes: definitions, one request, and the break-even number of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..reports.charts import Bar, BarChart, BarPanel, Line, LineChart
from ..reports.html_page import HtmlPage
from ..reports.table_cells import percent
from ..reports.wording import break_even_sentence, count_noun, source_name
from .definition_sizes import round_sizes

__all__ = ["add_break_even", "add_definitions"]

_MAX_PLOTTED_SOURCES = 20
_BREAK_EVEN_PLOT_FACTOR = 4


def add_definitions(page: HtmlPage, suite: Mapping[str, Any]) -> None:
    """Add tables and plots of the tokens of a suite's definitions, and of the definitions in one request."""
    sizes = suite["definitions"]
    page.heading("Definitions", 3)
    page.paragraph(_overview(suite))
    page.plot(BarChart("Tokens of definitions", _definition_panels(suite), columns=1))
    if not _has_sources(sizes):
        page.table(("tool", "tokens"), [(tool["name"], f"{tool['tokens']:,}") for tool in sizes["largest"]])
    else:
        tools = [(tool["name"], source_name(tool["source"]), f"{tool['tokens']:,}") for tool in sizes["largest"]]
        page.table(("tool", "source", "tokens"), tools)
        total = sum(source["tokens"] for source in sizes["sources"])
        rows = [_source_cells(source, total) for source in sizes["sources"]]
        page.table(("source", "tools", "tokens", "share", "tokens per tool"), rows)
    _add_request(page, suite, sizes)


def add_break_even(page: HtmlPage, suite: Mapping[str, Any]) -> None:
    """Add the number of tools with which search begins to save tokens: a sentence, a plot and a table."""
    found = suite["break_even"]
    if not found:
        return
    page.heading("Break-even number of tools", 3)
    page.paragraph(break_even_sentence(suite))
    sizes = found.get("sizes")
    if not sizes:
        return
    if len(sizes) > 1:
        page.plot(_break_even_chart(sizes, found["tools"]))
    rows = [
        (
            f"{size['tools']:,}",
            f"{size['with_all']:,.0f}",
            f"{size['with_search']:,.0f}",
            percent(1 - size["with_search"] / size["with_all"]),
        )
        for size in sizes
    ]
    page.table(("tools", "tokens, all sent", "tokens, search", "saved"), rows)


def _overview(suite: Mapping[str, Any]) -> str:
    count, total = suite["tools"], suite["definition_tokens"]
    if count == 1:
        return f"The definition of the only tool takes {total:,} tokens."
    sizes = suite["definitions"]
    largest = sizes["largest"]
    share = min(1.0, sum(tool["tokens"] for tool in largest) / total)
    part = "" if len(largest) == count else f" The {len(largest)} largest take {percent(share)} of all tokens."
    return (
        f"The definitions of {count_noun(count, 'tool')} take {total:,} tokens: {total / count:,.0f} per tool on "
        f"average, with a median of {sizes['median']:,.0f}.{part}"
    )


def _definition_panels(suite: Mapping[str, Any]) -> list[BarPanel]:
    sizes = suite["definitions"]
    tools = sizes["largest"]
    title = "tools" if len(tools) == suite["tools"] else f"the {len(tools)} largest tools"
    panels = [BarPanel(title, [Bar(tool["name"], tool["tokens"], f"{tool['tokens']:,}") for tool in tools])]
    if _has_sources(sizes):
        sources = sizes["sources"][:_MAX_PLOTTED_SOURCES]
        bars = [
            Bar(source_name(s["name"]), s["tokens"], f"{s['tokens']:,}, {count_noun(s['tools'], 'tool')}")
            for s in sources
        ]
        title = "sources" if len(bars) == len(sizes["sources"]) else f"the {len(bars)} largest sources"
        panels.append(BarPanel(title, bars))
    return panels


def _has_sources(sizes: Mapping[str, Any]) -> bool:
    return any(source["name"] is not None for source in sizes["sources"])


def _source_cells(source: Mapping[str, Any], total: int) -> tuple[str, ...]:
    tokens, tools = source["tokens"], source["tools"]
    return source_name(source["name"]), f"{tools:,}", f"{tokens:,}", percent(tokens / total), f"{tokens / tools:,.0f}"


def _add_request(page: HtmlPage, suite: Mapping[str, Any], sizes: Mapping[str, Any]) -> None:
    """Add the tokens of the definitions in one request, by the number of revealed tools."""
    total, points, limit = suite["definition_tokens"], sizes["revealed"], sizes["cheaper_up_to"]
    page.heading("Definitions in one request", 3)
    comparison = "That is more than the definitions of all tools."
    if limit is not None:
        comparison = (
            f"With up to {count_noun(limit, 'revealed tool')}, even the largest ones, a request has fewer tokens of "
            "definitions than with all tools sent."
        )
    page.paragraph(f"The definition of the search tool takes {sizes['search_tool']:,} tokens. {comparison}")
    page.plot(
        LineChart(
            "Definitions in one request",
            [
                Line("all tools sent", [(0, total), (suite["tools"], total)], "baseline"),
                Line("search tool and average tools", [(point["tools"], point["average"]) for point in points]),
                Line("search tool and largest tools", [(p["tools"], p["largest"]) for p in points], "bad", dashed=True),
            ],
            x_label="revealed tools",
            y_label="tokens",
            marker=limit or None,
            marker_text="" if limit is None else f"fewer with up to {count_noun(limit, 'tool')}",
        )
    )
    shown = set(round_sizes(suite["tools"]))
    rows = [
        (
            f"{point['tools']:,}",
            f"{point['average']:,.0f}",
            f"{1 - point['average'] / total:.1%}",
            f"{point['largest']:,}",
            f"{1 - point['largest'] / total:.1%}",
        )
        for point in points
        if point["tools"] in shown
    ]
    page.table(("revealed tools", "tokens, average tools", "saved", "tokens, largest tools", "saved"), rows)


def _break_even_chart(sizes: Sequence[Mapping[str, Any]], break_even: int | None) -> LineChart:
    """Return a chart of the sizes around the break-even; a large catalog would hide it."""
    near = [s for s in sizes if break_even is None or s["tools"] <= _BREAK_EVEN_PLOT_FACTOR * break_even]
    return LineChart(
        "Tokens of a task with one call",
        [
            Line("all tools sent", [(size["tools"], size["with_all"]) for size in near], "baseline"),
            Line("tool search", [(size["tools"], size["with_search"]) for size in near]),
        ],
        x_label="tools in the catalog",
        y_label="tokens",
        marker=break_even,
        marker_text="" if break_even is None else f"search saves tokens with {break_even:,} or more tools",
    )
