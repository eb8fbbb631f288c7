"""`toolsearch bench`: the command line of the benchmarks."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..chat.tokens import token_counter
from ..errors import ConfigurationError, ToolSearchError
from ..indexes.protocols import ToolIndex
from .index_options import check_embedder, default_indexes, make_indexes
from .reports.console import clear_errors, make_console, quiet_logs
from .reports.output import check_targets, write_json, write_text
from .retrieval.command import retrieval
from .savings.cache_pricing import CachePrices
from .savings.suites import Suite, bundled_suites, catalog_suite, run_suite
from .scaling.command import scaling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .savings.servers import ServerListing

__all__ = ["app"]

app = typer.Typer(
    help="Measure what tool search saves.", invoke_without_command=True, context_settings={"max_content_width": 100}
)

app.command()(retrieval)
app.command()(scaling)

_Catalog = Annotated[
    Path | None,
    typer.Option(help="A file of tool definitions (OpenAI, Anthropic or MCP; JSON or JSONL) instead of the servers."),
]
_Tasks = Annotated[
    Path | None,
    typer.Option(
        help="Tasks to play against the catalogue (JSONL). Without: its sizes, and from how many tools search pays."
    ),
]
_Index = Annotated[
    list[str] | None,
    typer.Option(help="An index; may be given again. Default: bm25 for sizes; for tasks all that can be used here."),
]
_Json = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write the outcome here as JSON; - prints it.")
]
_Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write the tables and plots here, as one page.")
]
_ServersEnv = Annotated[Path, typer.Option(help="The virtual environment with the MCP servers (make servers).")]
_FailOnLoss = Annotated[bool, typer.Option("--fail-on-loss", help="Exit with 1 if any task was lost by searching.")]
_Counter = Annotated[
    str, typer.Option(help="What counts tokens: o200k_base, cl100k_base, estimate, or auto: o200k_base if it is there.")
]
_Embedder = Annotated[str | None, typer.Option(help="The model of vector and hybrid: a name or a folder.")]


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
    price_read: Annotated[float, typer.Option(help="A token read from the prompt cache, input being 1.")] = 0.1,
    price_write: Annotated[float, typer.Option(help="A token written to the prompt cache.")] = 1.25,
    price_output: Annotated[float, typer.Option(help="A token of output.")] = 4.0,
    cache_minimum: Annotated[int, typer.Option(help="The shortest prompt that is cached, in tokens.")] = 1_024,
) -> None:
    """Play tasks with all tools sent and with tool search, and compare the tokens.

    Without --catalog: real MCP servers are started and list their tools; then follows the task that Spring AI
    published figures for. No tool is run and no model is asked: a replayed one calls what it is shown, and searches
    for the rest.
    """
    if context.invoked_subcommand is not None:
        return
    with clear_errors():
        prices = CachePrices(read=price_read, write=price_write, output=price_output, minimum=cache_minimum)
        counts = token_counter(counter)  # type: ignore[arg-type]  # any other name is refused there
        check_targets(json_file, html_file)
        sizes_only = catalog is not None and tasks is None
        names = tuple(index or (("bm25",) if sizes_only else default_indexes()))
        check_embedder(names, embedder)
        indexes = make_indexes(names, embedder)
        console = make_console(stderr=json_file == "-")
        if fail_on_loss and sizes_only:
            raise ConfigurationError("--fail-on-loss needs --tasks: without tasks nothing is played and nothing lost")
        suites, servers = _suites(catalog, tasks, servers_env, console)
        if not index:
            indexes = _without_unusable(indexes, suites[0], console)
        outcomes = []
        for suite in suites:
            with _progress(suite, indexes) as advance:
                outcome = run_suite(suite, indexes, counts, prices, progress=advance)
            _print(console, outcome, counts.name, prices)
            outcomes.append(outcome)
        if json_file or html_file:
            from .savings.html import savings_html
            from .savings.results import report_json

            report = report_json(outcomes, counts.name, prices, servers)
            if json_file:
                write_json(report, json_file)
            if html_file:
                write_text(savings_html(report), html_file)
    if fail_on_loss and any(outcome["losses"] for outcome in outcomes):
        raise typer.Exit(1)


def _suites(
    catalog: Path | None, tasks: Path | None, environment: Path, console: Console
) -> tuple[Sequence[Suite], Sequence[ServerListing]]:
    """What is to be measured, and the servers that were started for it."""
    if catalog is not None:
        return [catalog_suite(catalog, tasks)], ()
    if tasks is not None:
        raise ConfigurationError("--tasks goes with --catalog: the tasks of the bundled run are its own")
    from .reports.terminal import print_servers
    from .savings.servers import list_servers

    # One of the servers prints a greeting where only messages belong; the SDK logs it with a traceback. What did not
    # start is in the table.
    quiet = quiet_logs(mcp=logging.CRITICAL, toolsearch=logging.ERROR)
    with quiet, console.status("starting MCP servers and listing their tools"):
        listing = list_servers(environment)
    print_servers(console, [asdict(server) for server in listing.servers])
    return bundled_suites(listing.tools), listing.servers


def _without_unusable(indexes: Mapping[str, ToolIndex], suite: Suite, console: Console) -> dict[str, ToolIndex]:
    """Leave out, with a word, the indexes nobody asked for by name that cannot be built here (no weights, say)."""
    usable: dict[str, ToolIndex] = {}
    failed = ""
    for name, index in indexes.items():
        try:
            if not (failed and name == "hybrid"):
                index.build([suite.tools[0].reference])
                usable[name] = index
                continue
        except (ToolSearchError, OSError) as error:
            failed = str(error).splitlines()[0]
        console.print(f"Left out {name}: {failed}", style="yellow", markup=False)
    return usable


@contextmanager
def _progress(suite: Suite, indexes: Mapping[str, ToolIndex]) -> Iterator[Callable[[], None]]:
    """A bar on standard error that moves with every task played."""
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(f"playing {suite.name}", total=len(suite.tasks) * (1 + len(indexes)))
        yield lambda: progress.advance(bar)


def _print(console: Console, outcome: Mapping[str, Any], counter: str, prices: CachePrices) -> None:
    from .reports.terminal import print_suite

    print_suite(console, outcome, counter, asdict(prices))
