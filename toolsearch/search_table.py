"""The answer to one search as a table: what was found, and why."""

from __future__ import annotations

from textwrap import shorten

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .benchmarks.reports.console import harmless
from .indexes.response import ToolHit, ToolSearchResponse

__all__ = ["print_response"]


def print_response(console: Console, response: ToolSearchResponse) -> None:
    """Print the hits, best first, with the words that matched and where, then what the response says about itself."""
    if response.hits:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("", justify="right")
        table.add_column("tool", no_wrap=True)
        table.add_column("score", justify="right")
        table.add_column("matched")
        table.add_column("description")
        for rank, hit in enumerate(response.hits, 1):
            lines = hit.description.strip().splitlines()
            # Text, not str: a description may hold what rich takes for markup.
            name, reason, description = (
                Text(harmless(hit.name)),
                Text(_reason(hit)),
                Text(harmless(shorten(lines[0], 70, placeholder="…")) if lines else ""),
            )
            table.add_row(str(rank), name, f"{hit.score:.3f}", reason, description)
        console.print(table)
    metadata = response.metadata
    took = f", {metadata.elapsed_ms:.1f} ms" if metadata is not None and metadata.elapsed_ms is not None else ""
    by = f" ({metadata.search_type}{took})" if metadata is not None else ""
    console.print(f"{len(response.hits)} of {response.total_matches} matches{by}", markup=False)
    if response.reason:
        console.print(response.reason, markup=False, style="yellow")


def _reason(hit: ToolHit) -> str:
    return "; ".join(f"{match.term} in {', '.join(match.fields)}" for match in hit.matched)
