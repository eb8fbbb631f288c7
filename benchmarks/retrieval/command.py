"""Command `toolsearch bench retrieval`: quality and speed of indexes on labeled queries."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ...errors import ConfigurationError, ToolSearchError
from ..index_options import all_indexes, make_indexes, validate_embedder
from ..reports.console import log_levels, make_console, report_errors
from ..reports.output import validate_targets, write_json, write_text
from ..reports.plots import validate_plot_path, write_plot
from .contenders import Contender, index_contender, peer_contender
from .memory import measure_memory
from .peers import PEERS, installed_peers
from .queries import LabeledSet, find_catalog, load_labeled_set, read_labeled_set

__all__ = ["retrieval"]

_MAX_ERROR_LENGTH = 300

_Folders = Annotated[
    list[Path] | None, typer.Argument(metavar="DIR", help="Folders with catalog.jsonl and queries.jsonl.")
]
_Catalog = Annotated[
    Path | None,
    typer.Option(help="A file of tool definitions (OpenAI, Anthropic or MCP; JSON or JSONL). Needs --queries."),
]
_Queries = Annotated[
    Path | None,
    typer.Option(
        help='Labeled queries (JSONL): {"query": "...", "relevant": ["tool"], "any": false}. Needs --catalog.'
    ),
]
_Index = Annotated[
    list[str] | None, typer.Option(help="An index to measure; repeatable. Default: every index that is installed.")
]
_PeerNames = Annotated[
    list[str] | None,
    typer.Option("--peer", help=f"A library to compare with ({', '.join(PEERS)}); repeatable. Default: all installed."),
]
_Limit = Annotated[
    int | None,
    typer.Option(min=1, help="Use at most this many queries of each set, the same ones in every run."),
]
_Embedder = Annotated[str | None, typer.Option(help="Embedding model of vector and hybrid: a name or a folder.")]
_Memory = Annotated[bool, typer.Option(help="Measure memory; builds each index in a separate process.")]
_Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write the results as JSON; - prints them.")]
_Html = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", help="Write the tables as an HTML page, with plots if the extra plot is installed."
    ),
]
_Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the plots as .svg or .png (extra plot).")]
_Failures = Annotated[int, typer.Option(min=0, help="Show this many queries per index that found no relevant tool.")]


def retrieval(
    folders: _Folders = None,
    catalog: _Catalog = None,
    queries: _Queries = None,
    index: _Index = None,
    peer: _PeerNames = None,
    peers: Annotated[bool, typer.Option(help="Compare with other libraries that are installed.")] = True,
    limit: _Limit = None,
    embedder: _Embedder = None,
    memory: _Memory = True,
    json_file: _Json = None,
    html_file: _Html = None,
    plot: _Plot = None,
    failures: _Failures = 0,
) -> None:
    """Measure how well and how fast indexes find tools.

    Runs labeled queries on each index and each installed peer library. Prints recall, nDCG,
    hit rate, MRR, CPU time and memory.
    """
    from ..reports.provenance import provenance
    from ..reports.table_cells import retrieval_tables, set_title
    from .report import print_set, retrieval_chart, retrieval_html

    with report_errors():
        if plot:
            validate_plot_path(plot)
        validate_targets(json_file, html_file, plot)
        if peer and not peers:
            raise ConfigurationError("--peer cannot be combined with --no-peers; use one of them")
        validate_embedder(index or all_indexes(), embedder)
        sets = [(one.sample(limit), path) for one, path in _load_sets(folders or (), catalog, queries)]
        console = make_console(stderr=json_file == "-")
        contenders, skipped = _find_contenders(index, peer if peers else (), embedder, sets[0][0], console)
        results = []
        for labeled, path in sets:
            rows = _measure(labeled, path, contenders, embedder, memory, console, failures)
            result = {"name": labeled.name, "tools": len(labeled.tools), "queries": len(labeled.queries)}
            results.append({**result, "indexes": rows})
            print_set(console, set_title(results[-1]), rows)
        from .measure import mean_json

        report = {
            "format": 1,
            **provenance(),
            "limit": limit,
            "embedder": embedder,
            "skipped": skipped,
            "sets": results,
            "mean": mean_json(results),
        }
        if len(results) > 1:
            print_set(console, *retrieval_tables(report)[0])
        for name, reason in skipped.items():
            console.print(f"Left out {name}: {reason}", style="yellow", markup=False)
        if json_file:
            write_json(report, json_file)
        if html_file:
            write_text(retrieval_html(report), html_file)
        if plot:
            write_plot(retrieval_chart(report), plot)


def _load_sets(
    folders: Sequence[Path], catalog: Path | None, queries: Path | None
) -> Iterator[tuple[LabeledSet, Path]]:
    """Yield each set with the file of its catalog."""
    if (catalog is None) != (queries is None):
        raise ConfigurationError("--catalog and --queries must be given together")
    if catalog is not None and queries is not None:
        yield read_labeled_set(catalog, queries), catalog
    elif not folders:
        raise ConfigurationError("give a folder with catalog.jsonl and queries.jsonl, or --catalog and --queries")
    for folder in _unique(folders):
        yield load_labeled_set(folder), find_catalog(folder)


def _unique(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield each folder once, however it is spelled. A repeated set would count twice in the averages."""
    seen: set[Path] = set()
    for folder in folders:
        if (resolved := folder.resolve()) not in seen:
            seen.add(resolved)
            yield folder


def _find_contenders(
    names: Sequence[str] | None,
    peers: Sequence[str] | None,
    embedder: str | None,
    sample: LabeledSet,
    console: Console,
) -> tuple[list[Contender], dict[str, str]]:
    """Return the contenders, and the reason for each that is left out. An index given by name is never left out."""
    skipped: dict[str, str] = {}
    contenders: list[Contender] = []
    for name in dict.fromkeys(names or all_indexes()):
        try:
            # Created one by one: if hybrid shared the vector index, its tools would already be embedded.
            index = make_indexes([name], embedder)[name]
            with console.status(f"loading {name}"):
                index.build(sample.tools[:1])
        except (ToolSearchError, OSError) as error:
            if names:
                raise
            skipped[name] = str(error).splitlines()[0]
        else:
            contenders.append(index_contender(name, index))
    with console.status("looking for peers"):
        found, missing = installed_peers(peers)
    return [*contenders, *map(peer_contender, found)], {**skipped, **missing}


def _measure(
    labeled: LabeledSet,
    catalog: Path,
    contenders: Sequence[Contender],
    embedder: str | None,
    memory: bool,
    console: Console,
    failures: int,
) -> list[dict[str, Any]]:
    from .measure import measure_retrieval
    from .report import print_failures

    rows: list[dict[str, Any]] = []
    with log_levels(toolsearch=logging.ERROR), _progress_bar(labeled, len(contenders)) as start:
        for contender in contenders:
            try:
                measurement = measure_retrieval(
                    labeled,
                    contender,
                    memory=partial(measure_memory, catalog, contender.name, embedder) if memory else lambda: None,
                    progress=start(contender.name),
                )
            except ToolSearchError:
                raise
            except Exception as error:  # a peer may fail on a catalog; measure the others
                if not contender.peer:
                    raise
                message = f"{contender.name} failed on {labeled.name}: {error!r}"
                console.print(message[:_MAX_ERROR_LENGTH], style="yellow", markup=False)
                continue
            rows.append(measurement.as_json())
            if failures and not contender.peer:
                print_failures(console, measurement, failures)
    return rows


@contextmanager
def _progress_bar(labeled: LabeledSet, count: int) -> Iterator[Callable[[str], Callable[[], None]]]:
    """Show a progress bar of the queries of `count` contenders on standard error."""
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(labeled.name, total=len(labeled.queries) * count)

        def start(name: str) -> Callable[[], None]:
            progress.update(bar, description=f"{labeled.name}: {name}")
            return lambda: progress.advance(bar)

        yield start
