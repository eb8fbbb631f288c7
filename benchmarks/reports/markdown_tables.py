"""The outcomes of ranking and of scaling as tables in Markdown, for the pages of the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .figures import check_cells, quality_cells, sections, speed_cells

__all__ = ["markdown_table", "render_retrieval", "render_scaling"]


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column stands left, the others right."""
    align = ["---", *["---:"] * (len(headings) - 1)]
    lines = (headings, align, *([cell.replace("|", "\\|") for cell in row] for row in rows))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def render_retrieval(report: Mapping[str, Any]) -> str:
    """The averages with all figures, and recall@5 of each set."""
    limit = f", the first {report['limit']} queries of each by a hash" if report["limit"] else ""
    title, rows = sections(report)[0]
    headings = ["", *quality_cells(None), *speed_cells(None)]
    table = markdown_table(headings, [[row["name"], *quality_cells(row), *speed_cells(row)] for row in rows])
    parts = [f"**{title}**{limit}", table]
    if len(report["sets"]) > 1:
        parts += ["**recall@5 by set**", _by_set(report)]
    peers = [f"{row['name']} {row['version']}" for row in rows if row.get("version")]
    asked = f" Peers: {', '.join(peers)}." if peers else ""
    return "\n\n".join([*parts, _origin(report, "toolsearch bench retrieval") + asked])


def render_scaling(report: Mapping[str, Any]) -> str:
    """All checks with their targets."""
    rows = [check_cells(row) for row in report["checks"]]
    table = markdown_table(("", "tools", "ours, ms", "other, ms", "value", "target", ""), rows)
    return "\n\n".join([table, _origin(report, "toolsearch bench scaling") + f" Tools: {report['tools']}."])


def _by_set(report: Mapping[str, Any]) -> str:
    sets = report["sets"]
    rows = []
    for row in report["mean"]:
        found = [next(r for r in one["indexes"] if r["name"] == row["name"]) for one in sets]
        rows.append([row["name"], *(f"{r['recall_5'] * 100:.1f}" for r in found)])
    sizes = [f"{one['name']} ({one['tools']:,} tools)" for one in sets]
    return markdown_table(["", *sizes], rows)


def _origin(report: Mapping[str, Any], command: str) -> str:
    machine = report["machine"]
    return (
        f"Measured with `{command}` at commit {report['commit']} on {report['date']}, Python {machine['python']}, "
        f"{machine['processor']}, {machine['cpus']} CPUs."
    )
