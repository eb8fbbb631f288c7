"""The command `toolsearch`: look at rankings, and measure what tool search saves."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .benchmarks.command import app as bench
from .benchmarks.reports.console import clear_errors, make_console

if TYPE_CHECKING:
    from .indexes.protocols import ToolIndex

__all__ = ["app", "main"]

app = typer.Typer(
    help="Tool search for LLM agents with many tools.", no_args_is_help=True, pretty_exceptions_enable=False
)
app.add_typer(bench, name="bench")


def _print_version(wanted: bool) -> None:
    if wanted:
        from . import __version__

        typer.echo(f"toolsearch {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # acted upon while it is parsed
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Tool search for LLM agents with many tools."""


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What a tool should do, as a model would ask for it.")],
    catalog: Annotated[Path, typer.Option(help="A file of tool definitions: OpenAI, Anthropic or MCP; JSON or JSONL.")],
    index: Annotated[str, typer.Option(help="regex, bm25, vector, hybrid, or the name of a plug-in.")] = "bm25",
    k: Annotated[int, typer.Option("-k", "--max-results", min=1, help="At most this many tools.")] = 5,
    category: Annotated[str | None, typer.Option(help="Only tools of this source or with this tag.")] = None,
    embedder: Annotated[str | None, typer.Option(help="The model of vector and hybrid: a name or a folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the response as JSON.")] = False,
) -> None:
    """Search a catalogue once, and see what is found and why."""
    from .benchmarks.index_options import check_embedder
    from .tools.catalog_file import load_catalog

    with clear_errors():
        check_embedder([index], embedder)
        tools = load_catalog(catalog)
        searcher = _made(index, embedder).build([tool.reference for tool in tools])
        response = searcher.search(query, max_results=k, category=category)
    if as_json:
        typer.echo(json.dumps(asdict(response), indent=1, ensure_ascii=False))
        return
    from .search_table import print_response

    print_response(make_console(), response)


def _made(name: str, embedder: str | None) -> ToolIndex:
    """The index of this name; a hybrid goes on with words where nobody named a model and the extra is not there."""
    from .benchmarks.index_options import has_vector_extra, make_indexes

    if name != "hybrid" or embedder is not None or has_vector_extra():
        return make_indexes([name], embedder)[name]
    from .indexes.hybrid.index import HybridToolIndex

    typer.echo(
        "toolsearch: hybrid goes by words alone here; for meaning install the extra 'vector': "
        "pip install 'toolsearch[vector]'",
        err=True,
    )
    return HybridToolIndex()


def main() -> None:
    """Run the command line."""
    app(prog_name="toolsearch")
