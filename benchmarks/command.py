"""Command `toolsearch bench`: tokens that tool search saves."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ..chat.tokens import token_counter
from ..errors import ConfigurationError, ToolSearchError
from ..indexes.protocols import ToolIndex
from .heartbeat.command import heartbeat
from .index_options import default_indexes, make_indexes, validate_embedder
from .reports.console import log_levels, make_console, report_errors
from .reports.output import validate_targets, write_json, write_text
from .reports.terminal import print_servers, print_suite
from .retrieval.command import retrieval
from .savings.cache_pricing import CachePrices
from .savings.suites import Suite, bundled_suites, catalog_suite, run_suite
from .scaling.command import scaling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .savings.servers import ServerListing

__all__ = ["app"]

app = typer.Typer(
    help="Measure the tokens that tool search saves.",
    invoke_without_command=True,
    context_settings={"max_content_width": 100},
)

app.command()(retrieval)
app.command()(scaling)
app.command()(heartbeat)

_Catalog = Annotated[
    Path | None,
    typer.Option(help="A file of tool definitions (OpenAI, Anthropic or MCP; JSON or JSONL). Default: MCP servers."),
]
_Tasks = Annotated[
    Path | None,
    typer.Option(help="Tasks to play on the catalog (JSONL). Without tasks: token sizes and the break-even only."),
]
_Index = Annotated[
    list[str] | None,
    typer.Option(help="An index; repeatable. Default: every index that is installed; bm25 without tasks."),
]
_Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write the results as JSON; - prints them.")]
_Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write the tables as an HTML page; with the extra plot, plots too."),
]
_ServersEnv = Annotated[Path, typer.Option(help="Virtual environment of the MCP servers; make servers creates it.")]
_FailOnLoss = Annotated[bool, typer.Option("--fail-on-loss", help="Exit with code 1 if search lost a task.")]
_Counter = Annotated[
    str,
    typer.Option(help="Token counter: o200k_base, cl100k_base, estimate, or auto (o200k_base if installed)."),
]
_Embedder = Annotated[str | None, typer.Option(help="Embedding model of vector and hybrid: a name or a folder.")]
_PriceRead = Annotated[float, typer.Option(help="Price of a token read from the prompt cache; plain input costs 1.")]
_PriceWrite = Annotated[float, typer.Option(help="Price of a token written to the prompt cache.")]
_PriceOutput = Annotated[float, typer.Option(help="Price of a token of output.")]
_CacheMinimum = Annotated[int, typer.Option(help="Minimum length of a cached prompt, in tokens.")]


@app.callback()
def savings(
    context: typer.Context,
    catalog: _Catalog = None,
    tasks: _Tasks = None,
    index: _Index = None,
    json_file: _Json = None,
    html_file: _Html = None,
    servers_env: _ServersEnv = Path(".venv-servers"),
    fail_on_loss: _FailOnLoss = False,
    counter: _Counter = "auto",
    embedder: _Embedder = None,
    price_read: _PriceRead = 0.1,
    price_write: _PriceWrite = 1.25,
    price_output: _PriceOutput = 4.0,
    cache_minimum: _CacheMinimum = 1_024,
) -> None:
    """Measure the tokens that tool search saves.

    Plays tasks with all tools sent and with tool search, and compares the tokens. No tool runs,
    and no model is called: a scripted model calls the tools it needs, and searches for those it
    does not see.

    Without --catalog, measures the tools of MCP servers, and a task that Spring AI published
    results for.
    """
    if context.invoked_subcommand is not None:
        return
    with report_errors():
        prices = CachePrices(read=price_read, write=price_write, output=price_output, minimum=cache_minimum)
        counts = token_counter(counter)  # type: ignore[arg-type]  # raises for other names
        validate_targets(json_file, html_file)
        sizes_only = catalog is not None and tasks is None
        names = tuple(index or (("bm25",) if sizes_only else default_indexes()))
        validate_embedder(names, embedder)
        indexes = make_indexes(names, embedder)
        console = make_console(stderr=json_file == "-")
        if fail_on_loss and sizes_only:
            raise ConfigurationError("--fail-on-loss needs --tasks; without tasks, nothing can be lost")
        suites, servers = _load_suites(catalog, tasks, servers_env, console)
        if not index:
            indexes = _usable_indexes(indexes, suites[0], console)
        results = []
        for suite in suites:
            with _progress_bar(suite, indexes) as advance:
                result = run_suite(suite, indexes, counts, prices, progress=advance)
            print_suite(console, result, counts.name, asdict(prices))
            results.append(result)
        if json_file or html_file:
            from .savings.html_report import savings_html
            from .savings.results import report_json

            report = report_json(results, counts.name, prices, servers)
            if json_file:
                write_json(report, json_file)
            if html_file:
                write_text(savings_html(report), html_file)
    if fail_on_loss and any(result["losses"] for result in results):
        raise typer.Exit(1)


def _load_suites(
    catalog: Path | None, tasks: Path | None, environment: Path, console: Console
) -> tuple[Sequence[Suite], Sequence[ServerListing]]:
    """Return the suites to measure, and the servers that listed their tools."""
    if catalog is not None:
        return [catalog_suite(catalog, tasks)], ()
    if tasks is not None:
        raise ConfigurationError("--tasks needs --catalog; without a catalog, the bundled tasks are played")
    from .savings.servers import list_servers

    # One server prints a greeting to the protocol stream, which the SDK logs with a traceback. The table lists the
    # servers that did not start.
    quiet = log_levels(mcp=logging.CRITICAL, toolsearch=logging.ERROR)
    with quiet, console.status("starting MCP servers and listing their tools"):
        listing = list_servers(environment)
    print_servers(console, [asdict(server) for server in listing.servers])
    return bundled_suites(listing.tools), listing.servers


def _usable_indexes(indexes: Mapping[str, ToolIndex], suite: Suite, console: Console) -> dict[str, ToolIndex]:
    """Return the default indexes that can be built here, and print the reason for each that is left out."""
    usable: dict[str, ToolIndex] = {}
    failure = ""
    for name, index in indexes.items():
        try:
            # hybrid shares the embedder of vector, so it would fail in the same way.
            if not (failure and name == "hybrid"):
                index.build([suite.tools[0].reference])
                usable[name] = index
                continue
        except (ToolSearchError, OSError) as error:
            failure = str(error).splitlines()[0]
        console.print(f"Left out {name}: {failure}", style="yellow", markup=False)
    return usable


@contextmanager
def _progress_bar(suite: Suite, indexes: Mapping[str, ToolIndex]) -> Iterator[Callable[[], None]]:
    """Show a progress bar of the tasks on standard error."""
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(f"playing {suite.name}", total=len(suite.tasks) * (1 + len(indexes)))
        yield lambda: progress.advance(bar)
