"""`toolsearch bench retrieval`: how well and how fast the indexes find tools."""

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
from ..index_options import INDEXES, check_embedder, make_indexes
from ..reports.console import clear_errors, make_console, quiet_logs
from ..reports.output import check_targets, write_json, write_text
from ..reports.svg import check_image, write_image
from .contenders import Rival, own_rival, peer_rival
from .memory import measure_memory
from .peers import PEERS, installed_peers
from .queries import LabelledSet, catalog_in, labelled_set, load_labelled_set

__all__ = ["retrieval"]

_Folders = Annotated[
    list[Path] | None, typer.Argument(metavar="DIR", help="Folders with catalog.jsonl and queries.jsonl.")
]
_Catalog = Annotated[Path | None, typer.Option(help="A catalogue of your own, in any form; goes with --queries.")]
_Queries = Annotated[
    Path | None, typer.Option(help='Labelled queries (JSONL): {"query": "...", "relevant": ["tool"], "any": false}.')
]
_Index = Annotated[
    list[str] | None, typer.Option(help="An index; may be given again. Default: all that can be used here.")
]
_PeerNames = Annotated[
    list[str] | None,
    typer.Option("--peer", help=f"A peer ({', '.join(PEERS)}); may be given again. Default: all that are installed."),
]
_Limit = Annotated[
    int | None,
    typer.Option(min=1, help="At most this many queries a set, always the same ones, by a hash of the text."),
]
_Embedder = Annotated[str | None, typer.Option(help="The model of vector and hybrid: a name or a folder.")]
_Json = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write the outcome here as JSON; - prints it.")
]
_Plot = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the plots alone: .svg, or .png with the extra plot.")
]
_Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write the tables and plots here, as one page.")
]
_Failures = Annotated[int, typer.Option(min=0, help="Show so many queries of each index that found nothing right.")]


def retrieval(
    folders: _Folders = None,
    catalog: _Catalog = None,
    queries: _Queries = None,
    index: _Index = None,
    peer: _PeerNames = None,
    peers: Annotated[bool, typer.Option(help="Measure other libraries too, where they are installed.")] = True,
    limit: _Limit = None,
    embedder: _Embedder = None,
    memory: Annotated[bool, typer.Option(help="Measure memory, each index in a process of its own.")] = True,
    json_file: _Json = None,
    html_file: _Html = None,
    plot: _Plot = None,
    failures: _Failures = 0,
) -> None:
    """Ask indexes labelled queries: recall, nDCG, hit rate, MRR, speed and memory of each, and of its peers."""
    from ..reports.figures import sections, set_title
    from ..reports.provenance import provenance
    from .report import print_set, retrieval_html

    with clear_errors():
        _check_plot(plot)
        check_targets(json_file, html_file, plot)
        if peer and not peers:
            raise ConfigurationError("--peer asks for what --no-peers leaves out; give one of them")
        check_embedder(index or INDEXES, embedder)
        sets = [(one.sample(limit), path) for one, path in _sets(folders or (), catalog, queries)]
        console = make_console(stderr=json_file == "-")
        rivals, skipped = _rivals(index, peer if peers else (), embedder, sets[0][0], console)
        outcomes = []
        for labelled, path in sets:
            rows = _measure(labelled, path, rivals, embedder, memory, console, failures)
            outcome = {"name": labelled.name, "tools": len(labelled.tools), "queries": len(labelled.queries)}
            outcomes.append({**outcome, "indexes": rows})
            print_set(console, set_title(outcomes[-1]), rows)
        from .measure import mean_json

        report = {
            "format": 1,
            **provenance(),
            "limit": limit,
            "embedder": embedder,
            "skipped": skipped,
            "sets": outcomes,
            "mean": mean_json(outcomes),
        }
        if len(outcomes) > 1:
            print_set(console, *sections(report)[0])
        for name, reason in skipped.items():
            console.print(f"Left out {name}: {reason}", style="yellow", markup=False)
        if json_file:
            write_json(report, json_file)
        if html_file:
            write_text(retrieval_html(report), html_file)
        if plot:
            _draw(report, plot)


def _sets(folders: Sequence[Path], catalog: Path | None, queries: Path | None) -> Iterator[tuple[LabelledSet, Path]]:
    """The sets, each with the file of its catalogue."""
    if (catalog is None) != (queries is None):
        raise ConfigurationError("--catalog and --queries go together")
    if catalog is not None and queries is not None:
        yield labelled_set(catalog, queries), catalog
    elif not folders:
        raise ConfigurationError("give a folder with catalog.jsonl and queries.jsonl, or --catalog and --queries")
    for folder in _each_once(folders):
        yield load_labelled_set(folder), catalog_in(folder)


def _each_once(folders: Sequence[Path]) -> Iterator[Path]:
    """However they are written: a set that is given again would count twice in the average."""
    met: set[Path] = set()
    for folder in folders:
        if (place := folder.resolve()) not in met:
            met.add(place)
            yield folder


def _rivals(
    names: Sequence[str] | None, peers: Sequence[str] | None, embedder: str | None, few: LabelledSet, console: Console
) -> tuple[list[Rival], dict[str, str]]:
    """What is measured, and what is left out and why; an index asked for by name is never left out."""
    skipped: dict[str, str] = {}
    own: list[Rival] = []
    for name in dict.fromkeys(names or INDEXES):
        try:
            # Each by itself: a vector index shared with hybrid would have embedded the tools for it.
            index = make_indexes([name], embedder)[name]
            with console.status(f"loading {name}"):
                index.build(few.tools[:1])
        except (ToolSearchError, OSError) as error:
            if names:
                raise
            skipped[name] = str(error).splitlines()[0]
        else:
            own.append(own_rival(name, index))
    with console.status("looking for peers"):
        found, missing = installed_peers(peers)
    return [*own, *map(peer_rival, found)], {**skipped, **missing}


def _measure(
    labelled: LabelledSet,
    catalog: Path,
    rivals: Sequence[Rival],
    embedder: str | None,
    memory: bool,
    console: Console,
    failures: int,
) -> list[dict[str, Any]]:
    from .measure import measure
    from .report import print_failures

    rows: list[dict[str, Any]] = []
    with quiet_logs(toolsearch=logging.ERROR), _progress(labelled, len(rivals)) as bar:
        for rival in rivals:
            try:
                measured = measure(
                    labelled,
                    rival,
                    memory=partial(measure_memory, catalog, rival.name, embedder) if memory else lambda: None,
                    progress=bar(rival.name),
                )
            except ToolSearchError:
                raise
            except Exception as error:  # a peer may choke on a catalogue; the others go on
                if not rival.peer:
                    raise
                console.print(f"{rival.name} failed on {labelled.name}: {error!r}"[:300], style="yellow", markup=False)
                continue
            rows.append(measured.as_json())
            if failures and not rival.peer:
                print_failures(console, measured, failures)
    return rows


@contextmanager
def _progress(labelled: LabelledSet, count: int) -> Iterator[Callable[[str], Callable[[], None]]]:
    """A bar on standard error that moves with every query."""
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(labelled.name, total=len(labelled.queries) * count)

        def begin(name: str) -> Callable[[], None]:
            progress.update(bar, description=f"{labelled.name}: {name}")
            return lambda: progress.advance(bar)

        yield begin


def _check_plot(plot: Path | None) -> None:
    """Before the long run, not after it."""
    if plot is not None and plot.suffix.lower() != ".html":
        check_image(plot)


def _draw(report: dict[str, Any], plot: Path) -> None:
    from .report import retrieval_figure, retrieval_html

    if plot.suffix.lower() == ".html":
        write_text(retrieval_html(report), plot)
    else:
        write_image(retrieval_figure(report), plot)
