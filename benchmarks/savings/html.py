"""The outcome of a savings run as one page of HTML, with plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..reports.html_page import html_page, html_table
from ..reports.svg import Bar, Panel, figure, plain
from ..reports.wording import count_of
from .sizes_html import break_even_html, definitions_html

__all__ = ["savings_html"]

_STYLES = {"named": "in the tool's words", "paraphrase": "no word of the tool", "no_tool": "no tool fits"}
_TOKENS = ("", "input", "output", "total", "saved", "requests", "searches", "done")
_COSTS = ("", "cold cache", "saved", "warm cache", "saved", "tasks dearer when warm")
_LOSSES = ("index", "task", "why", "tokens", "with all tools")


def savings_html(report: Mapping[str, Any]) -> str:
    """Return the page for a report as `report_json` gives it; a file that needs no other."""
    parts = [_suite(suite, report) for suite in report["suites"]]
    if report["servers"]:
        parts.append(_servers(report["servers"]))
    return html_page("What tool search saves", "\n".join(parts), report)


def _suite(suite: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    heading = f"<h2>{plain(suite['name'])}</h2>"
    tasks = count_of(suite["tasks"], "task") if suite["tasks"] else "no tasks played"
    size = (
        f"{count_of(suite['tools'], 'tool')}, {suite['definition_tokens']:,} tokens of definitions by "
        f"{report['counter']}, {tasks}"
    )
    parts = [heading, f"<p>{plain(size)}.</p>"]
    if suite["tasks"]:
        rows = [suite["baseline"], *suite["contenders"]]
        parts += [
            figure(f"{suite['name']}: averages of a task", _panels(rows)),
            html_table(_TOKENS, [_tokens(row, plain_row=row is rows[0]) for row in rows]),
            *_by_style(rows),
            "<h3>With a prompt cache</h3>",
            f"<p>{plain(_prices(report['prices']))}</p>",
            html_table(_COSTS, [_costs(row, plain_row=row is rows[0]) for row in rows]),
            _losses(suite["losses"]),
        ]
    if suite["skipped"]:
        parts.append(f"<p>Skipped, since a tool they need was not listed: {plain(', '.join(suite['skipped']))}.</p>")
    if suite["note"]:
        parts.append(f"<p>{plain(suite['note'])}</p>")
    parts.append(break_even_html(suite))
    if suite.get("definitions"):
        parts.append(definitions_html(suite))
    return "\n".join(parts)


def _panels(rows: Sequence[Mapping[str, Any]]) -> list[Panel]:
    tasks = rows[0]["tasks"]
    failed = [
        Bar(row["name"], tasks - row["succeeded"], f"{tasks - row['succeeded']} of {tasks}", "bad") for row in rows
    ]
    return [
        _panel("tokens, all rounds", rows, "total"),
        _panel("requests", rows, "requests", digits=1),
        _panel("cost, cold prompt cache", rows, "cold"),
        _panel("cost, warm prompt cache", rows, "warm"),
        _panel("searches", rows, "searches", digits=1),
        Panel("tasks not done", failed, most=tasks),
    ]


def _panel(title: str, rows: Sequence[Mapping[str, Any]], key: str, *, digits: int = 0) -> Panel:
    bars = []
    for row in rows:
        value = row[key] / row["tasks"]
        kind = "base" if row is rows[0] else "own"
        bars.append(Bar(row["name"], value, f"{value:,.{digits}f}", kind))
    return Panel(title, bars)


def _by_style(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    styles = list(rows[0]["styles"])
    if len(styles) < 2:
        return []
    parts: list[str] = ["<h3>By the words of the request</h3>"]
    for style in styles:
        cells = [_tokens({"name": row["name"], **row["styles"][style]}, plain_row=row is rows[0]) for row in rows]
        parts += [f"<p>{plain(_STYLES.get(style, style))}</p>", html_table(_TOKENS, cells)]
    return parts


def _losses(losses: Sequence[Mapping[str, Any]]) -> str:
    if not losses:
        return "<p>No task failed, or cost more tokens, with search.</p>"
    rows = [
        (
            loss["contender"],
            loss["task"],
            "tool not found" if loss["reason"] == "failed" else "more tokens",
            f"{loss['tokens']:,}",
            f"{loss['tokens_all_tools']:,}",
        )
        for loss in losses
    ]
    return f"<h3>Tasks lost by searching</h3>{html_table(_LOSSES, rows)}"


def _servers(servers: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (one["name"], f"{one['distribution']} {one['version']}", one["error"] or f"{one['tools']}") for one in servers
    ]
    return f"<h2>Servers</h2>{html_table(('server', 'distribution', 'tools'), rows)}"


def _tokens(row: Mapping[str, Any], *, plain_row: bool) -> tuple[str, ...]:
    tasks = row["tasks"]
    return (
        row["name"],
        f"{row['input'] / tasks:,.0f}",
        f"{row['output'] / tasks:,.0f}",
        f"{row['total'] / tasks:,.0f}",
        "" if plain_row else f"{row['saving']:.0%}",
        f"{row['requests'] / tasks:.1f}",
        f"{row['searches'] / tasks:.1f}",
        f"{row['succeeded']}/{tasks}",
    )


def _costs(row: Mapping[str, Any], *, plain_row: bool) -> tuple[str, ...]:
    tasks = row["tasks"]
    return (
        row["name"],
        f"{row['cold'] / tasks:,.0f}",
        "" if plain_row else f"{row['saving_cold']:.0%}",
        f"{row['warm'] / tasks:,.0f}",
        "" if plain_row else f"{row['saving_warm']:.0%}",
        "" if plain_row else f"{row['tasks_dearer_warm']} of {tasks}",
    )


def _prices(prices: Mapping[str, Any]) -> str:
    return (
        f"In tokens of plain input a task: {prices['read']:g} to read from the cache, {prices['write']:g} to write, "
        f"{prices['output']:g} for output; prompts under {prices['minimum']:,} tokens are not cached."
    )
