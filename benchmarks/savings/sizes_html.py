"""The sizes of a catalogue in a report: definitions, what a request carries, and from how many tools search pays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..reports.html_page import html_table
from ..reports.line_chart import Line, line_chart
from ..reports.svg import Bar, Panel, figure, plain
from ..reports.wording import count_of, pays_sentence, source_name
from .definition_sizes import round_sizes

__all__ = ["break_even_html", "definitions_html"]

_SOURCES_DRAWN = 20
_LETTERS = 64


def definitions_html(suite: Mapping[str, Any]) -> str:
    """Return tables and plots of where the tokens of a suite's definitions are, and of what is sent of them."""
    found = suite["definitions"]
    largest = [(tool["name"], source_name(tool["source"]), f"{tool['tokens']:,}") for tool in found["largest"]]
    parts = [
        "<h3>Definitions</h3>",
        f"<p>{plain(_overview(suite))}</p>",
        figure("Tokens of definitions", _panels(suite), columns=1),
    ]
    if not _has_sources(found):
        parts.append(html_table(("tool", "tokens"), [(name, tokens) for name, _, tokens in largest]))
    else:
        parts.append(html_table(("tool", "source", "tokens"), largest))
        headings = ("source", "tools", "tokens", "of all", "a tool")
        everything = sum(source["tokens"] for source in found["sources"])
        parts.append(html_table(headings, [_source(source, everything) for source in found["sources"]]))
    return "\n".join([*parts, _disclosed(suite, found)])


def break_even_html(suite: Mapping[str, Any]) -> str:
    """Return from how many tools searching takes fewer tokens: a sentence, a plot, and the figures in a table."""
    found = suite["break_even"]
    if not found:
        return ""
    parts = ["<h3>From how many tools search pays</h3>", f"<p>{plain(pays_sentence(suite))}</p>"]
    sizes = found.get("sizes")
    if sizes:
        rows = [
            (f"{size['tools']:,}", f"{size['with_all']:,.0f}", f"{size['with_search']:,.0f}", _change(size))
            for size in sizes
        ]
        if len(sizes) > 1:
            parts.append(_costs_chart(sizes, found["tools"]))
        parts.append(html_table(("tools", "all sent", "with search", "saved"), rows))
    return "\n".join(parts)


def _overview(suite: Mapping[str, Any]) -> str:
    found = suite["definitions"]
    count = suite["tools"]
    if count == 1:
        return f"One tool; its definition takes {suite['definition_tokens']:,} tokens."
    average = suite["definition_tokens"] / count
    shown = len(found["largest"])
    part = "" if shown == count else f" The {shown} largest take {_share(found['largest'], suite)} of all."
    return (
        f"{count_of(count, 'tool')}, {suite['definition_tokens']:,} tokens together: {average:,.0f} a tool on average, "
        f"{found['median']:,.0f} for the median.{part}"
    )


def _share(tools: Sequence[Mapping[str, Any]], suite: Mapping[str, Any]) -> str:
    return f"{min(1.0, sum(tool['tokens'] for tool in tools) / suite['definition_tokens']):.0%}"


def _panels(suite: Mapping[str, Any]) -> list[Panel]:
    found = suite["definitions"]
    tools, sources = found["largest"], found["sources"][:_SOURCES_DRAWN] if _has_sources(found) else []
    names = [*(tool["name"] for tool in tools), *(source_name(source["name"]) for source in sources)]
    letters = min(_LETTERS, max(map(len, names)))  # alike in both, so that the bars stand below each other
    panels = [
        Panel(
            "tools" if len(tools) == suite["tools"] else f"the {len(tools)} largest tools",
            [Bar(tool["name"], tool["tokens"], f"{tool['tokens']:,}") for tool in tools],
            letters=letters,
        )
    ]
    if sources:
        bars = [
            Bar(
                source_name(source["name"]),
                source["tokens"],
                f"{source['tokens']:,}, {count_of(source['tools'], 'tool')}",
            )
            for source in sources
        ]
        title = "sources" if len(bars) == len(found["sources"]) else f"the {len(bars)} largest sources"
        panels.append(Panel(title, bars, letters=letters))
    return panels


def _has_sources(found: Mapping[str, Any]) -> bool:
    return any(source["name"] is not None for source in found["sources"])


def _source(source: Mapping[str, Any], everything: int) -> tuple[str, ...]:
    tokens, tools = source["tokens"], source["tools"]
    share = f"{tokens / everything:.0%}"
    return source_name(source["name"]), f"{tools:,}", f"{tokens:,}", share, f"{tokens / tools:,.0f}"


def _disclosed(suite: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """What one request carries, by how many tools have been disclosed, beside the whole catalogue."""
    whole, points, up_to = suite["definition_tokens"], found["disclosed"], found["cheaper_up_to"]
    shown = set(round_sizes(suite["tools"]))
    rows = [_request(point, whole) for point in points if point["tools"] in shown]
    lines = [
        Line("all tools sent", [(0, whole), (suite["tools"], whole)], "base"),
        Line("search tool and average tools", [(point["tools"], point["average"]) for point in points]),
        Line(
            "search tool and the largest tools", [(point["tools"], point["largest"]) for point in points], "bad", True
        ),
    ]
    limit = "that alone is more than all tools take."
    if up_to is not None:
        limit = f"with {count_of(up_to, 'tool')} disclosed a request still carries less than with all tools sent."
    chart = line_chart(
        "Definitions in one request",
        lines,
        across="tools disclosed",
        up="tokens",
        mark=up_to or None,
        mark_text="" if up_to is None else f"less with up to {count_of(up_to, 'tool')}",
    )
    return "\n".join(
        [
            "<h3>Definitions in one request</h3>",
            f"<p>The search tool takes {found['search_tool']:,} tokens; {limit}</p>",
            chart,
            html_table(("tools disclosed", "average ones", "saved", "the largest", "saved"), rows),
        ]
    )


def _request(point: Mapping[str, Any], whole: int) -> tuple[str, ...]:
    average, largest = point["average"], point["largest"]
    saved = (f"{1 - tokens / whole:.1%}" for tokens in (average, largest))
    return f"{point['tools']:,}", f"{average:,.0f}", next(saved), f"{largest:,}", next(saved)


def _costs_chart(sizes: Sequence[Mapping[str, Any]], pays: int | None) -> str:
    """The part of the sizes in which the two cross; with all of a large catalogue it could not be seen."""
    near = [size for size in sizes if pays is None or size["tools"] <= 4 * pays]
    lines = [
        Line("all tools sent", [(size["tools"], size["with_all"]) for size in near], "base"),
        Line("tool search", [(size["tools"], size["with_search"]) for size in near]),
    ]
    text = "" if pays is None else f"search pays from {count_of(pays, 'tool')} on"
    return line_chart(
        "Tokens of a task of one call", lines, across="tools in the catalogue", up="tokens", mark=pays, mark_text=text
    )


def _change(size: Mapping[str, Any]) -> str:
    return f"{1 - size['with_search'] / size['with_all']:.0%}"
