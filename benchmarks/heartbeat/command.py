"""Command `toolsearch bench heartbeat`: how long hostile inputs hold up an event loop."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.text import Text

from ..reports.console import log_levels, make_console, report_errors
from ..reports.output import validate_targets, write_json
from ..reports.provenance import provenance
from ..reports.terminal import make_table
from .measure import MAX_PAUSE_SECONDS, Pause, run_heartbeat

__all__ = ["heartbeat"]

_Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write the results as JSON; - prints them.")]
_Check = Annotated[bool, typer.Option("--check", help="Exit with code 1 if the event loop stood still for too long.")]


def heartbeat(json_file: _Json = None, check: _Check = False) -> None:
    """Measure how long blocking work and hostile inputs hold up an event loop.

    A task wakes up every 5 ms while turns run with blocking tools, and with arguments, schemas,
    patterns, answers and results that are made to cause much work. Prints the longest time between
    two wake-ups. Takes a few minutes.
    """
    with report_errors():
        validate_targets(json_file)
        console = make_console(stderr=json_file == "-")
        with log_levels(toolsearch=logging.CRITICAL), console.status("") as status:
            pauses = list(run_heartbeat(progress=lambda text: status.update(escape(text))))
        table = make_table("Longest pause of an event loop", left=("", "event loop"), right=("pause ms", "turn ms", ""))
        for one in pauses:
            verdict = Text("blocked", "red") if one.is_blocked else Text("ok", "green")
            cells = [f"{one.pause_seconds * 1000:.1f}", f"{one.turn_seconds * 1000:,.0f}"]
            table.add_row(escape(one.case), one.backend, *cells, verdict)
        console.print(table)
        if json_file:
            limit = MAX_PAUSE_SECONDS * 1000
            rows = [pause_json(one) for one in pauses]
            write_json({"format": 1, **provenance(), "limit_ms": limit, "pauses": rows}, json_file)
    if check and any(one.is_blocked for one in pauses):
        raise typer.Exit(1)


def pause_json(pause: Pause) -> dict[str, Any]:
    """Return a pause as JSON values, in milliseconds."""
    row = asdict(pause)
    seconds = {name.removesuffix("_seconds"): row.pop(name) for name in ("pause_seconds", "turn_seconds")}
    return {**row, **{f"{name}_ms": round(value * 1000, 1) for name, value in seconds.items()}}
