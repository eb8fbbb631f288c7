"""HTML report of a savings run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..reports.charts import Bar, BarChart, BarPanel
from ..reports.html_page import HtmlPage
from ..reports.provenance import provenance_sentence
from ..reports.table_cells import (
    COST_HEADINGS,
    LOSS_HEADINGS,
    STYLES,
    TOKEN_HEADINGS,
    cost_cells,
    loss_cells,
    token_cells,
)
from ..reports.wording import count_noun
from .size_sections import add_break_even, add_definitions

__all__ = ["savings_html"]

_Row = Mapping[str, Any]


def savings_html(report: Mapping[str, Any]) -> str:
    """Return a report of `report_json` as an HTML page in one file."""
    page = HtmlPage("What tool search saves")
    for suite in report["suites"]:
        _add_suite(page, suite, report)
    if report["servers"]:
        page.heading("Servers")
        rows = [
            (s["name"], f"{s['distribution']} {s['version']}", s["error"] or f"{s['tools']}") for s in report["servers"]
        ]
        page.table(("server", "distribution", "tools"), rows)
    return page.render(provenance_sentence(report))


def _add_suite(page: HtmlPage, suite: Mapping[str, Any], report: Mapping[str, Any]) -> None:
    page.heading(suite["name"])
    tasks = count_noun(suite["tasks"], "task") if suite["tasks"] else "no tasks"
    page.paragraph(
        f"{count_noun(suite['tools'], 'tool')}, {suite['definition_tokens']:,} tokens of definitions by "
        f"{report['counter']}, {tasks}."
    )
    if suite["tasks"]:
        _add_tasks(page, suite, report["prices"])
    if suite["skipped"]:
        page.paragraph(f"Skipped, because a tool of the task was not listed: {', '.join(suite['skipped'])}.")
    if suite["note"]:
        page.paragraph(suite["note"])
    add_break_even(page, suite)
    if suite.get("definitions"):
        add_definitions(page, suite)


def _add_tasks(page: HtmlPage, suite: Mapping[str, Any], prices: Mapping[str, Any]) -> None:
    rows = [suite["baseline"], *suite["strategies"]]
    page.plot(BarChart(f"{suite['name']}: averages per task", _panels(rows)))
    page.table(("", *TOKEN_HEADINGS), [_token_row(row["name"], row, row is rows[0]) for row in rows])
    styles = list(rows[0]["styles"])
    if len(styles) > 1:
        page.heading("By wording of the request", 3)
        for style in styles:
            page.paragraph(f"{STYLES.get(style, style)}:")
            cells = [_token_row(row["name"], row["styles"][style], row is rows[0]) for row in rows]
            page.table(("", *TOKEN_HEADINGS), cells)
    page.heading("With a prompt cache", 3)
    page.paragraph(
        f"Costs per task in tokens of plain input: {prices['read']:g} to read a token from the cache, "
        f"{prices['write']:g} to write one, {prices['output']:g} for a token of output. Prompts under "
        f"{prices['minimum']:,} tokens are not cached."
    )
    page.table(("", *COST_HEADINGS), [[row["name"], *cost_cells(row, baseline=row is rows[0])] for row in rows])
    if suite["losses"]:
        page.heading("Tasks that search lost", 3)
        page.table(LOSS_HEADINGS, [loss_cells(loss) for loss in suite["losses"]])
    else:
        page.paragraph("With search, no task failed or took more tokens.")


def _token_row(name: str, row: _Row, baseline: bool) -> list[str]:
    return [name, *token_cells(row, baseline=baseline)]


def _panels(rows: Sequence[_Row]) -> list[BarPanel]:
    tasks = rows[0]["tasks"]
    failed = [Bar(r["name"], tasks - r["succeeded"], f"{tasks - r['succeeded']} of {tasks}", "bad") for r in rows]
    return [
        _panel("tokens, all rounds", rows, "total"),
        _panel("requests", rows, "requests", digits=1),
        _panel("cost, cold prompt cache", rows, "cold"),
        _panel("cost, warm prompt cache", rows, "warm"),
        _panel("searches", rows, "searches", digits=1),
        BarPanel("tasks not completed", failed, maximum=tasks),
    ]


def _panel(title: str, rows: Sequence[_Row], key: str, *, digits: int = 0) -> BarPanel:
    bars = []
    for row in rows:
        value = row[key] / row["tasks"]
        bars.append(Bar(row["name"], value, f"{value:,.{digits}f}", "baseline" if row is rows[0] else "own"))
    return BarPanel(title, bars)
