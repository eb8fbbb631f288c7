"""Reports of a retrieval run: terminal tables, a plot, and an HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from ...text import short_repr
from ..reports.charts import Bar, BarChart, BarPanel
from ..reports.html_page import HtmlPage
from ..reports.provenance import provenance_sentence
from ..reports.table_cells import (
    QUALITY,
    RETRIEVAL_HEADINGS,
    number_text,
    quality_cells,
    retrieval_tables,
    set_title,
    speed_cells,
)
from ..reports.terminal import make_table
from ..reports.wording import count_noun
from .measure import Measurement

__all__ = ["print_failures", "print_set", "retrieval_chart", "retrieval_html"]

_Rows = Sequence[Mapping[str, Any]]

_MAX_QUERY_LENGTH = 200
_EXPLANATION = (
    "Quality in percent, averaged over the queries of a set, then over the sets. Times are CPU time of one process, "
    "one query at a time with up to ten results, and include the embedding of the query. MB is the growth of the "
    "memory of a new process when it indexes the catalog."
)


def print_set(console: Console, title: str, rows: _Rows) -> None:
    """Print the table of one set or of the averages. Rows of other libraries are dim."""
    table = make_table(escape(title), left=("",), right=RETRIEVAL_HEADINGS)
    for row in rows:
        table.add_row(*map(escape, _cells(row)), style="dim" if row["peer"] else None)
    console.print(table)


def print_failures(console: Console, measurement: Measurement, count: int) -> None:
    """Print the first queries without a relevant tool in their first five results."""
    failed = count_noun(len(measurement.failures), "query", "queries")
    console.print(f"[bold]{escape(measurement.contender)}[/bold]: {failed} found no relevant tool")
    for failure in measurement.failures[:count]:
        console.print(f"  {short_repr(failure.query.text, _MAX_QUERY_LENGTH)}", markup=False)
        console.print(f"    relevant  {', '.join(failure.query.relevant)}", markup=False, style="dim")
        console.print(f"    found     {', '.join(failure.found) or 'nothing'}", markup=False, style="dim")


def retrieval_chart(report: Mapping[str, Any]) -> BarChart:
    """Return a chart of the averages over the sets."""
    rows = report["mean"]
    panels = [_quality_panel(heading, key, rows) for key, heading in QUALITY if key in ("recall_5", "ndcg_5", "hit_1")]
    panels.append(_resource_panel("search, median ms of CPU time (log)", "p50_ms", rows))
    panels.append(_resource_panel("build, ms of CPU time (log)", "build_ms", rows))
    if any(row["memory_mb"] for row in rows):
        panels.append(_resource_panel("memory of the index, MB (log)", "memory_mb", rows))
    return BarChart(_title(report), panels)


def retrieval_html(report: Mapping[str, Any]) -> str:
    """Return the report as an HTML page in one file."""
    page = HtmlPage(_title(report))
    page.paragraph(_EXPLANATION)
    page.plot(retrieval_chart(report))
    for title, rows in retrieval_tables(report):
        page.heading(title)
        page.table(("", *RETRIEVAL_HEADINGS), [_cells(row) for row in rows])
    if report["skipped"]:
        page.heading("Left out")
        page.bullets([f"{name}: {reason}" for name, reason in report["skipped"].items()])
    return page.render(provenance_sentence(report))


def _cells(row: Mapping[str, Any]) -> list[str]:
    return [row["name"], *quality_cells(row), *speed_cells(row)]


def _title(report: Mapping[str, Any]) -> str:
    sets = report["sets"]
    return f"Finding tools: {set_title(sets[0])}" if len(sets) == 1 else f"Finding tools: average of {len(sets)} sets"


def _quality_panel(heading: str, key: str, rows: _Rows) -> BarPanel:
    bars = [Bar(row["name"], row[key], f"{row[key] * 100:.1f}%", _kind(row)) for row in rows]
    return BarPanel(heading, bars, maximum=1.0)


def _resource_panel(title: str, key: str, rows: _Rows) -> BarPanel:
    bars = [Bar(row["name"], row.get(key), number_text(row.get(key)), _kind(row)) for row in rows]
    return BarPanel(title, bars, log=True)


def _kind(row: Mapping[str, Any]) -> str:
    return "peer" if row["peer"] else "own"
