"""`toolsearch bench scaling`: how speed and memory grow with the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from ..reports.console import clear_errors, make_console
from ..reports.figures import check_cells
from ..reports.output import check_targets, write_json
from ..reports.provenance import provenance
from ..reports.svg import Bar, Panel, check_image, figure, write_image
from ..reports.terminal import make_table
from .catalogs import bundled_material, material_from
from .measure import SIZES, SLACK, Check, run_scaling, without_target

__all__ = ["print_checks", "scaling", "scaling_figure"]

_KINDS = {"ok": "own", "slack": "base", "missed": "bad"}
_STYLES = {"ok": "green", "slack": "yellow", "missed": "red"}

_Size = Annotated[list[int] | None, typer.Option(min=1, help="A size of catalogue; may be given again.")]
_Tools = Annotated[
    Path | None,
    typer.Option(
        help="A catalogue, or a folder of them, whose tools are repeated to size. The targets of times hold for the "
        "bundled tools, so of yours only memory and the number of indexes are judged, by --check too."
    ),
]
_Json = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write the outcome here as JSON; - prints it.")
]
_Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Write plots: .svg, or .png with the extra plot.")]
_Check = Annotated[bool, typer.Option("--check", help=f"Exit with 1 where a target is exceeded {SLACK:g} times.")]


def scaling(
    size: _Size = None, tools: _Tools = None, json_file: _Json = None, plot: _Plot = None, check: _Check = False
) -> None:
    """Measure search, build, first search of a session, vectors and memory over growing catalogues.

    Ratios of CPU time to rank_bm25, numpy, and an index for each session; some minutes. The tools are made up
    unless --tools is given, or the tools of real servers lie beside a checkout.
    """
    with clear_errors():
        if plot:
            check_image(plot)
        check_targets(json_file, plot)
        material = material_from(tools) if tools else bundled_material()
        console = make_console(stderr=json_file == "-")
        with console.status("") as status:
            checks = list(run_scaling(material, size or SIZES, progress=lambda what: status.update(what)))
        if tools:
            checks = list(map(without_target, checks))
        title = f"{len(material.tools)} {material.name}, repeated to size; CPU time, medians, one process, one thread"
        rows = [check_json(one) for one in checks]
        print_checks(console, title, rows)
        if tools:
            console.print("Times have no targets here: those hold for the bundled tools.", style="yellow")
        if json_file:
            write_json({"format": 1, **provenance(), "tools": material.name, "slack": SLACK, "checks": rows}, json_file)
        if plot:
            write_image(scaling_figure(rows), plot)
    if check and any(one.verdict == "missed" for one in checks):
        raise typer.Exit(1)


def check_json(check: Check) -> dict[str, Any]:
    """One check with its verdict."""
    row = {key: round(value, 6) if isinstance(value, float) else value for key, value in asdict(check).items()}
    return {**row, "verdict": check.verdict}


def scaling_figure(rows: Sequence[Mapping[str, Any]]) -> str:
    """The checks as an SVG document, each kind under its own heading with a bar for every size."""
    panels = []
    for what in dict.fromkeys(row["what"] for row in rows):
        bars = []
        for row in rows:
            if row["what"] == what:
                *_, value, target, _ = check_cells(row)
                label, text = f"{row['tools']:,} tools", f"{value}, target {target}" if target else value
                bars.append(Bar(label, row["value"], text, _KINDS.get(row["verdict"], "peer")))
        panels.append(Panel(what, bars, log=True))
    return figure("Speed and memory by size of catalogue", panels)


def print_checks(console: Console, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the checks as one table."""
    table = make_table(escape(title), left=("",), right=("tools", "ours ms", "other ms", "value", "target", ""))
    for row in rows:
        *cells, verdict = check_cells(row)
        table.add_row(*cells, Text(verdict, _STYLES.get(verdict, "")))
    console.print(table)
