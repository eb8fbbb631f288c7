"""Command `toolsearch bench scaling`: speed and memory by the size of the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from ..reports.charts import Bar, BarChart, BarPanel
from ..reports.console import make_console, report_errors
from ..reports.output import validate_targets, write_json
from ..reports.plots import validate_plot_path, write_plot
from ..reports.provenance import provenance
from ..reports.table_cells import check_cells
from ..reports.terminal import make_table
from .catalogs import bundled_material, load_material
from .checks import SLACK, Check, without_time_target
from .measure import DEFAULT_SIZES, run_scaling

__all__ = ["scaling"]

_BAR_KINDS = {"ok": "own", "slack": "baseline", "missed": "bad"}
_VERDICT_STYLES = {"ok": "green", "slack": "yellow", "missed": "red"}

_Size = Annotated[list[int] | None, typer.Option(min=1, help="A size of the catalog; repeatable.")]
_Tools = Annotated[
    Path | None,
    typer.Option(
        help="A catalog, or a folder of catalogs, to repeat to each size. The time targets were measured on the "
        "bundled tools, so for your tools only memory and the number of indexes have targets."
    ),
]
_Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write the results as JSON; - prints them.")]
_Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Write plots as .svg or .png (extra plot).")]
_Check = Annotated[
    bool, typer.Option("--check", help=f"Exit with code 1 if a value exceeds {SLACK:g} times its target.")
]


def scaling(
    size: _Size = None, tools: _Tools = None, json_file: _Json = None, plot: _Plot = None, check: _Check = False
) -> None:
    """Measure how speed and memory depend on the size of the catalog.

    Prints the CPU times of builds, searches, first searches of sessions and vector searches, as
    ratios to rank_bm25, to separate indexes and to numpy, and the memory of a session. Takes
    some minutes.
    """
    with report_errors():
        if plot:
            validate_plot_path(plot)
        validate_targets(json_file, plot)
        material = load_material(tools) if tools else bundled_material()
        console = make_console(stderr=json_file == "-")
        with console.status("") as status:
            checks = list(run_scaling(material, size or DEFAULT_SIZES, progress=lambda text: status.update(text)))
        if tools:
            checks = list(map(without_time_target, checks))
        title = f"{len(material.tools)} {material.name}, repeated to size; median CPU times, one process, one thread"
        rows = [check_json(one) for one in checks]
        _print_checks(console, title, rows)
        if tools:
            console.print("Times have no targets, because those were measured on the bundled tools.", style="yellow")
        if json_file:
            write_json({"format": 1, **provenance(), "tools": material.name, "slack": SLACK, "checks": rows}, json_file)
        if plot:
            write_plot(_checks_chart(rows), plot)
    if check and any(one.verdict == "missed" for one in checks):
        raise typer.Exit(1)


def check_json(check: Check) -> dict[str, Any]:
    """Return a check with its verdict as JSON values."""
    row = {key: round(value, 6) if isinstance(value, float) else value for key, value in asdict(check).items()}
    return {**row, "verdict": check.verdict}


def _checks_chart(rows: Sequence[Mapping[str, Any]]) -> BarChart:
    """Return a chart with a panel for each kind of check and a bar for each size."""
    panels = []
    for what in dict.fromkeys(row["what"] for row in rows):
        bars = []
        for row in rows:
            if row["what"] == what:
                *_, value, target, _ = check_cells(row)
                text = f"{value}, target {target}" if target else value
                bars.append(Bar(f"{row['tools']:,} tools", row["value"], text, _BAR_KINDS.get(row["verdict"], "peer")))
        panels.append(BarPanel(what, bars, log=True))
    return BarChart("Speed and memory by size of the catalog", panels)


def _print_checks(console: Console, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    headings = ("tools", "toolsearch ms", "baseline ms", "value", "target", "")
    table = make_table(escape(title), left=("",), right=headings)
    for row in rows:
        *cells, verdict = check_cells(row)
        table.add_row(*map(escape, cells), Text(verdict, _VERDICT_STYLES.get(verdict, "")))
    console.print(table)
