"""Catalogs and tasks of the savings benchmark, and the run of one of them."""

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
from ...tools.tool_type import Tool
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

_DATA = Path(__file__).parents[1] / "data"
_PUBLISHED_NOTE = (
    "Spring AI published savings of 34 to 64% of all tokens for a task of this kind over 28 tools, measured with real "
    "models, whose reasoning and answers differ from run to run."
)


@dataclass(frozen=True, slots=True)
class Suite:
    """Catalog with the tasks to play on it, and a note for reports."""

    name: str
    tools: Sequence[Tool]
    tasks: Sequence[Task]
    note: str = ""


def bundled_suites(servers_tools: Sequence[Tool]) -> tuple[Suite, ...]:
    """Return the bundled tasks on the tools of the servers, and the task that Spring AI published results for."""
    outfit = load_catalog(_DATA / "outfit_catalog.json")
    return (
        Suite("MCP servers", servers_tools, load_tasks(_DATA / "tasks.jsonl", servers_tools, accept_unknown=True)),
        Suite("what to wear", outfit, load_tasks(_DATA / "outfit_tasks.jsonl"), _PUBLISHED_NOTE),
    )


def catalog_suite(catalog: Path, tasks: Path | None) -> Suite:
    """Return the suite of a catalog file, with the tool names that a model sees.

    Args:
        catalog: File of tool definitions.
        tasks: File of tasks, or None for a suite without tasks.

    Raises:
        ConfigurationError: A file is invalid, or a task names a tool that is not in the catalog.
        DuplicateToolError: A tool has a reserved name.
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
    """Measure one suite and return its results as JSON. Without tasks, measure only sizes and the break-even.

    Args:
        suite: The suite.
        indexes: The indexes to compare, by name. The break-even uses bm25 if it is one of them, else the first one.
        counter: Counts tokens.
        prices: Prices of tokens with a prompt cache.
        progress: Called after each task of each strategy.

    Raises:
        ConfigurationError: The suite has tasks, and every one of them needs a tool that is not in the catalog.
    """
    payloads = PayloadCounter(counter)
    savings = measure_savings(suite.name, suite.tools, suite.tasks, indexes, payloads, prices, progress=progress)
    if suite.tasks and not savings.baseline.runs:
        raise ConfigurationError(
            f"{suite.name}: no task can be played: all {len(suite.tasks)} need tools that are not in the catalog"
        )
    index = indexes.get("bm25") or next(iter(indexes.values()))
    return suite_json(
        savings,
        find_break_even(suite.tools, index, payloads),
        suite.note,
        measure_definitions(suite.tools, payloads),
    )
