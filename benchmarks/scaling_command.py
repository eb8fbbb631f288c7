"""`toolsearch bench scaling`: how speed and memory grow with the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from ..console import clear_errors, make_console
from .figures import check_cells
from .output import write_json
from .provenance import provenance
from .report import make_table
from .scaling import SIZES, SLACK, Check, run_scaling
from .scaling_tools import bundled_material, material_from

__all__ = ["print_checks", "scaling"]

_STYLES = {"ok": "green", "slack": "yellow", "missed": "red"}

_Size = Annotated[list[int] | None, typer.Option(min=1, help="A size of catalogue; may be given again.")]
_Tools = Annotated[Path | None, typer.Option(help="A folder of catalogues whose tools are repeated to size.")]
_Json = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write the outcome here as JSON; - prints it.")
]
_Check = Annotated[bool, typer.Option("--check", help=f"Exit with 1 where a target is exceeded {SLACK:g} times.")]


def scaling(size: _Size = None, tools: _Tools = None, json_file: _Json = None, check: _Check = False) -> None:
    """Measure search, build, first search of a session, vectors and memory over growing catalogues.

    Ratios of CPU time to rank_bm25, numpy, and an index for each session; some minutes. The tools are made up unless
    a folder is given, or the tools of real servers lie beside a checkout.
    """
    with clear_errors():
        material = material_from(tools) if tools else bundled_material()
        console = make_console(stderr=json_file == "-")
        with console.status("") as status:
            checks = list(run_scaling(material, size or SIZES, progress=lambda what: status.update(what)))
        title = f"{len(material.tools)} {material.name}, repeated to size; CPU time, medians, one process, one thread"
        rows = [check_json(one) for one in checks]
        print_checks(console, title, rows)
        if json_file:
            write_json({"format": 1, **provenance(), "tools": material.name, "slack": SLACK, "checks": rows}, json_file)
    if check and any(one.verdict == "missed" for one in checks):
        raise typer.Exit(1)


def check_json(check: Check) -> dict[str, Any]:
    """One check with its verdict."""
    row = {key: round(value, 6) if isinstance(value, float) else value for key, value in asdict(check).items()}
    return {**row, "verdict": check.verdict}


def print_checks(console: Console, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the checks as one table."""
    table = make_table(title, left=("",), right=("tools", "ours ms", "other ms", "value", "target", ""))
    for row in rows:
        *cells, verdict = check_cells(row)
        table.add_row(*cells, Text(verdict, _STYLES.get(verdict, "")))
    console.print(table)
