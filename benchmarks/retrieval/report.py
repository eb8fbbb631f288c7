"""The outcome of a retrieval run: tables in a terminal, plots, and a page of HTML that holds both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from ...text import short_repr
from ..reports.figures import HEADINGS, QUALITY, figure_text, quality_cells, sections, set_title, speed_cells
from ..reports.html_page import html_page, html_table
from ..reports.svg import Bar, Panel, figure, plain
from ..reports.terminal import make_table
from ..reports.wording import count_of
from .measure import Measured

__all__ = ["print_failures", "print_set", "retrieval_figure", "retrieval_html", "table_rows"]


def table_rows(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return the rows of a table: the name, the qualities in percent, then the figures of speed and size."""
    return [(row["name"], *quality_cells(row), *speed_cells(row)) for row in rows]


def print_set(console: Console, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print one set's table, or that of the averages; another library's rows are dim."""
    table = make_table(title, left=("",), right=HEADINGS)
    for cells, row in zip(table_rows(rows), rows, strict=True):
        table.add_row(*map(escape, cells), style="dim" if row["peer"] else None)
    console.print(table)


def print_failures(console: Console, measured: Measured, count: int) -> None:
    """Print the first queries that found none of their tools."""
    shown = measured.failures[:count]
    failed = count_of(len(measured.failures), "query", "queries")
    console.print(f"[bold]{escape(measured.rival)}[/bold]: {failed} found none of the tools wanted")
    for failure in shown:
        console.print(f"  {short_repr(failure.query.text, 200)}", markup=False)
        console.print(f"    wanted {', '.join(failure.query.relevant)}", markup=False, style="dim")
        console.print(f"    found  {', '.join(failure.found) or 'nothing'}", markup=False, style="dim")


def retrieval_figure(report: Mapping[str, Any]) -> str:
    """The averages over the sets as an SVG document."""
    rows = report["mean"]
    panels = [_quality_panel(heading, key, rows) for key, heading in QUALITY if key in ("recall_5", "ndcg_5", "hit_1")]
    panels.append(_speed_panel("one search, p50, ms of CPU (log)", "p50_ms", rows))
    panels.append(_speed_panel("building the index, ms of CPU (log)", "build_ms", rows))
    if any(row["memory_mb"] for row in rows):
        panels.append(_speed_panel("memory held by the index, MB (log)", "memory_mb", rows))
    return figure(_title(report), panels)


def retrieval_html(report: Mapping[str, Any]) -> str:
    """The whole report as one file that needs no other."""
    tables = []
    for title, rows in sections(report):
        tables.append(f"<h2>{plain(title)}</h2>{html_table(('', *HEADINGS), table_rows(rows))}")
    skipped = "".join(f"<li>{plain(name)}: {plain(reason)}</li>" for name, reason in report["skipped"].items())
    left_out = f"<h2>Left out</h2><ul>{skipped}</ul>" if skipped else ""
    return html_page(
        _title(report), f"<p>{plain(MEANING)}</p>{retrieval_figure(report)}{''.join(tables)}{left_out}", report
    )


MEANING = (
    "Qualities in percent: averages over the queries of a set, then over sets. Times are CPU time of one process, one "
    "query at a time, ten results asked for, and include the embedding of the query. MB is what a fresh process holds "
    "more once the catalogue is indexed."
)


def _title(report: Mapping[str, Any]) -> str:
    sets = report["sets"]
    return f"Finding tools: {set_title(sets[0])}" if len(sets) == 1 else f"Finding tools: average of {len(sets)} sets"


def _quality_panel(heading: str, key: str, rows: Sequence[Mapping[str, Any]]) -> Panel:
    bars = [Bar(row["name"], row[key], f"{row[key] * 100:.1f} %", _kind(row)) for row in rows]
    return Panel(heading, bars, most=1.0)


def _speed_panel(title: str, key: str, rows: Sequence[Mapping[str, Any]]) -> Panel:
    return Panel(
        title, [Bar(row["name"], row.get(key), figure_text(row.get(key)), _kind(row)) for row in rows], log=True
    )


def _kind(row: Mapping[str, Any]) -> str:
    return "peer" if row["peer"] else "own"
