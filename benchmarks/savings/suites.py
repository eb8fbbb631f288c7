"""One run of the savings benchmark: which catalogues, which indexes, in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...chat.tokens import TokenCounter
from ...errors import ConfigurationError
from ...indexes.protocols import ToolIndex
from ...tools.catalog_file import load_catalog
from ...tools.collect import name_tools
from ...tools.tool import Tool
from .break_even import find_break_even
from .cache_pricing import CachePrices
from .definition_sizes import measure_definitions
from .measure import measure_savings
from .payload import PayloadCounter
from .results import suite_json
from .tasks import Task, load_tasks

__all__ = [
    "Suite",
    "bundled_suites",
    "catalog_suite",
    "run_suite",
]

"""The names of ours, in the order of tables."""

_DATA = Path(__file__).parents[1] / "data"
_PUBLISHED = (
    "For a task of this shape, over 28 tools of its own, Spring AI published savings of 34 to 64 % of all tokens, "
    "measured with real models, which also think and word their answers their own way."
)


@dataclass(frozen=True, slots=True)
class Suite:
    """A catalogue and the tasks to play against it, with a note for its readers."""

    name: str
    tools: Sequence[Tool]
    tasks: Sequence[Task]
    note: str = ""


def bundled_suites(servers_tools: Sequence[Tool]) -> tuple[Suite, ...]:
    """Our tasks over the tools that the bundled servers listed, and the task that Spring AI published figures for."""
    outfit = load_catalog(_DATA / "outfit_catalog.json")
    return (
        Suite("MCP servers", servers_tools, load_tasks(_DATA / "tasks.jsonl")),
        Suite("what to wear", outfit, load_tasks(_DATA / "outfit_tasks.jsonl"), _PUBLISHED),
    )


def catalog_suite(catalog: Path, tasks: Path | None) -> Suite:
    """The tools of a file, under the names that a model sees, and the tasks of another, if any.

    Raises:
        ConfigurationError: a file is not what it should be, or a task names a tool that the catalogue does not have.
        DuplicateToolError: a tool has a name that is reserved.
    """
    tools = name_tools(load_catalog(catalog))
    return Suite(catalog.name, tools, load_tasks(tasks, tools) if tasks else ())


def run_suite(
    suite: Suite,
    indexes: Mapping[str, ToolIndex],
    counter: TokenCounter,
    prices: CachePrices,
    *,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Measure one suite and return it as JSON; without tasks, only its sizes and the break-even size (with bm25).

    Raises:
        ConfigurationError: there are tasks, and each names a tool that is not there.
    """
    payloads = PayloadCounter(counter)
    savings = measure_savings(suite.name, suite.tools, suite.tasks, indexes, payloads, prices, progress=progress)
    if suite.tasks and not savings.baseline.runs:
        raise ConfigurationError(
            f"{suite.name}: no task can be played: each of the {len(suite.tasks)} names a tool that is not there"
        )
    index = indexes.get("bm25") or next(iter(indexes.values()))
    return suite_json(
        savings,
        find_break_even(suite.tools, index, payloads),
        suite.note,
        measure_definitions(suite.tools, payloads),
    )
