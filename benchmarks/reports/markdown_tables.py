"""Results of benchmarks as Markdown tables, for the README and the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .table_cells import (
    QUALITY_HEADINGS,
    SPEED_HEADINGS,
    check_cells,
    percent,
    quality_cells,
    retrieval_tables,
    speed_cells,
)
from .wording import count_noun

__all__ = ["markdown_table", "render_heartbeat", "render_retrieval", "render_savings", "render_scaling"]


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table. The first column is aligned left, the others right."""
    align = ["---", *["---:"] * (len(headings) - 1)]
    lines = (headings, align, *([cell.replace("|", "\\|") for cell in row] for row in rows))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def render_savings(report: Mapping[str, Any]) -> str:
    """Return the tables of a savings report, with the command that measures them again."""
    prices = report["prices"]
    extras = " EXTRAS=vector" if any(s["name"] == "vector" for s in report["suites"][0]["strategies"]) else ""
    note = (
        f"Costs are in tokens of plain input: {prices['read']:g} to read a token from the prompt cache, "
        f"{prices['write']:g} to write one, {prices['output']:g} for a token of output. A warm cache already contains "
        "the tools and the system message."
    )
    suites = [_suite(suite, report["counter"]) for suite in report["suites"]]
    return "\n\n".join([*suites, f"{_origin(report, f'make demo{extras}')} {note}"])


def render_retrieval(report: Mapping[str, Any]) -> str:
    """Return the averages of a retrieval report with all columns, and recall@5 of each set."""
    limit = f" (at most {report['limit']} queries per set)" if report["limit"] else ""
    title, rows = retrieval_tables(report)[0]
    headings = ["", *QUALITY_HEADINGS, *SPEED_HEADINGS]
    table = markdown_table(headings, [[row["name"], *quality_cells(row), *speed_cells(row)] for row in rows])
    parts = [f"**{title}**{limit}", table]
    if len(report["sets"]) > 1:
        parts += ["**recall@5 of each set**", _recall_table(report)]
    versions = [f"{row['name']} {row['version']}" for row in rows if row.get("version")]
    libraries = f" Other libraries: {', '.join(versions)}." if versions else ""
    return "\n\n".join([*parts, _origin(report, "toolsearch bench retrieval") + libraries])


def render_scaling(report: Mapping[str, Any]) -> str:
    """Return all checks of a scaling report with their targets."""
    headings = ("", "tools", "toolsearch, ms", "baseline, ms", "value", "target", "")
    table = markdown_table(headings, [check_cells(row) for row in report["checks"]])
    return "\n\n".join([table, f"{_origin(report, 'toolsearch bench scaling')} Tools: {report['tools']}."])


def render_heartbeat(report: Mapping[str, Any]) -> str:
    """Return the longest pause of each case on each event loop, in milliseconds."""
    backends = list(dict.fromkeys(row["backend"] for row in report["pauses"]))
    cases: dict[str, dict[str, float]] = {}
    for row in report["pauses"]:
        cases.setdefault(row["case"], {})[row["backend"]] = row["pause_ms"]
    rows = [[case, *(f"{pauses[backend]:.1f}" for backend in backends)] for case, pauses in cases.items()]
    table = markdown_table(["longest pause, ms", *backends], rows)
    return "\n\n".join([table, _origin(report, "toolsearch bench heartbeat")])


def _suite(suite: Mapping[str, Any], counter: str) -> str:
    caption = (
        f"**{suite['name']}**: {count_noun(suite['tools'], 'tool')}, {suite['definition_tokens']:,} tokens of "
        f"definitions (counted by `{counter}`), {count_noun(suite['tasks'], 'task')}"
    )
    rows = [suite["baseline"], *suite["strategies"]]
    headings = ["", "tokens per task", "saved", "requests", "tasks completed", "cost, cold cache", "cost, warm cache"]
    cells = [_strategy_cells(row, baseline=row is rows[0]) for row in rows]
    if "paraphrase" in suite["baseline"]["styles"]:
        headings.insert(5, "of the tasks that share no word with the tool's name")
        for row, listed in zip(rows, cells, strict=True):
            style = row["styles"]["paraphrase"]
            listed.insert(5, f"{style['succeeded']} of {style['tasks']}")
    break_even = (suite["break_even"] or {}).get("tools")
    sentence = f"For a task with one call, search saves tokens once there are {break_even} or more tools of this size."
    below = " ".join(filter(None, [suite["note"], sentence if break_even else ""]))
    return "\n\n".join(filter(None, [caption, markdown_table(headings, cells), below]))


def _strategy_cells(row: Mapping[str, Any], *, baseline: bool) -> list[str]:
    tasks = row["tasks"]

    def cost(kind: str) -> str:
        average = f"{row[kind] / tasks:,.0f}"
        saving = row[f"saving_{kind}"]
        return average if baseline else f"{average} ({percent(abs(saving))} {'less' if saving >= 0 else 'more'})"

    return [
        row["name"],
        f"{row['total'] / tasks:,.0f}",
        "" if baseline else percent(row["saving"]),
        f"{row['requests'] / tasks:.1f}",
        f"{row['succeeded']} of {tasks}",
        cost("cold"),
        cost("warm"),
    ]


def _recall_table(report: Mapping[str, Any]) -> str:
    sets = report["sets"]
    rows = []
    for row in report["mean"]:
        found = [next(r for r in one["indexes"] if r["name"] == row["name"]) for one in sets]
        rows.append([row["name"], *(f"{r['recall_5'] * 100:.1f}" for r in found)])
    return markdown_table(["", *(f"{one['name']} ({one['tools']:,} tools)" for one in sets)], rows)


def _origin(report: Mapping[str, Any], command: str) -> str:
    machine = report["machine"]
    return (
        f"Measured with `{command}` at commit {report['commit']} on {report['date']}, Python {machine['python']}, "
        f"{machine['processor']}, {machine['cpus']} CPUs."
    )
