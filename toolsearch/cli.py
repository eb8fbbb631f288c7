"""Command line of the library: `toolsearch search` and `toolsearch bench`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .benchmarks.command import app as bench
from .benchmarks.reports.console import make_console, report_errors, strip_control_characters

if TYPE_CHECKING:
    from .indexes.protocols import ToolIndex
    from .indexes.response import ToolHit, ToolSearchResponse

__all__ = ["app", "main"]

_MAX_DESCRIPTION_LENGTH = 70

app = typer.Typer(
    help="Tool search for LLM agents with many tools.", no_args_is_help=True, pretty_exceptions_enable=False
)
app.add_typer(bench, name="bench")


def _print_version(requested: bool) -> None:
    if requested:
        from . import __version__

        typer.echo(f"toolsearch {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Tool search for LLM agents with many tools."""


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="The task of the tool, in the words of a model.")],
    catalog: Annotated[
        Path, typer.Option(help="A file of tool definitions (OpenAI, Anthropic or MCP; JSON or JSONL).")
    ],
    index: Annotated[str, typer.Option(help="The index: regex, bm25, vector, hybrid, or a plug-in.")] = "bm25",
    k: Annotated[int, typer.Option("-k", "--max-results", min=1, help="Maximum number of tools.")] = 5,
    category: Annotated[str | None, typer.Option(help="Search only the tools of this source or with this tag.")] = None,
    embedder: Annotated[
        str | None, typer.Option(help="Embedding model of vector and hybrid: a name or a folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the search response as JSON.")] = False,
) -> None:
    """Search a catalog, and show which tools match and why."""
    from .benchmarks.index_options import validate_embedder
    from .tools.catalog_file import load_catalog

    with report_errors():
        validate_embedder([index], embedder)
        tools = load_catalog(catalog)
        searcher = _make_index(index, embedder).build([tool.reference for tool in tools])
        response = searcher.search(query, max_results=k, category=category)
    if as_json:
        typer.echo(json.dumps(asdict(response), indent=1, ensure_ascii=False))
    else:
        _print_response(make_console(), response)


def main() -> None:
    """Run the command line."""
    app(prog_name="toolsearch")


def _make_index(name: str, embedder: str | None) -> ToolIndex:
    """Create an index. Without the extra ``vector``, hybrid searches by words unless a model is given."""
    from .benchmarks.index_options import has_vector_extra, make_indexes

    if name != "hybrid" or embedder is not None or has_vector_extra():
        return make_indexes([name], embedder)[name]
    from .indexes.hybrid.index import HybridToolIndex

    typer.echo(
        "toolsearch: hybrid searches by words only, because the extra 'vector' is not installed; "
        "to search by meaning too: pip install 'toolsearch[vector]'",
        err=True,
    )
    return HybridToolIndex()


def _print_response(console: Console, response: ToolSearchResponse) -> None:
    """Print the hits, best first, with the words that matched, then the total and the reason for weak results."""
    if response.hits:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("", justify="right")
        table.add_column("tool", no_wrap=True)
        table.add_column("score", justify="right")
        table.add_column("matched")
        table.add_column("description")
        for rank, hit in enumerate(response.hits, 1):
            lines = hit.description.strip().splitlines()
            description = shorten(lines[0], _MAX_DESCRIPTION_LENGTH, placeholder="…") if lines else ""
            # Text objects, since rich would take parts of a string for markup.
            cells = (hit.name, _matches(hit), description)
            name, matched, shown = (Text(strip_control_characters(cell)) for cell in cells)
            table.add_row(str(rank), name, f"{hit.score:.3f}", matched, shown)
        console.print(table)
    metadata = response.metadata
    elapsed = f", {metadata.elapsed_ms:.1f} ms" if metadata is not None and metadata.elapsed_ms is not None else ""
    search_type = f" ({metadata.search_type}{elapsed})" if metadata is not None else ""
    console.print(f"{len(response.hits)} of {response.total_matches} matches{search_type}", markup=False)
    if response.reason:
        console.print(response.reason, markup=False, style="yellow")


def _matches(hit: ToolHit) -> str:
    return "; ".join(f"{match.term} in {', '.join(match.fields)}" for match in hit.matched)
