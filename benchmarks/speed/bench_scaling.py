"""Speed of indexes and sessions by the size of the catalog, compared with baselines in the same run.

::

    python -m pytest toolsearch/benchmarks/speed/bench_scaling.py

`test_ratios_are_within_their_targets` compares CPU times of toolsearch and of a baseline that run in turns. The other
tests give absolute times, which pytest-benchmark compares with a saved run; they never fail because of a time.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest

from toolsearch.benchmarks.retrieval.baselines import RankBm25
from toolsearch.benchmarks.retrieval.cpu_time import cpu_medians
from toolsearch.benchmarks.scaling.catalogs import Material, bundled_material, repeat_tools
from toolsearch.benchmarks.scaling.checks import Check
from toolsearch.benchmarks.scaling.measure import run_scaling
from toolsearch.indexes import Bm25ToolIndex

pytest.importorskip("rank_bm25")

LONG_QUERY_TOOLS = 4_000
MAX_LONG_QUERY_RATIO = 0.5
"""Maximum CPU time of a search with a query of 50 words, as a multiple of rank_bm25."""


@pytest.fixture(scope="module")
def material() -> Material:
    return bundled_material()


@pytest.fixture(scope="module")
def checks(material: Material) -> list[Check]:
    return list(run_scaling(material))


@pytest.mark.parametrize(
    "what", ["build", "search / rank_bm25", "first search", "vector search", "memory", "indexes of"]
)
def test_ratios_are_within_their_targets(checks: list[Check], what: str) -> None:
    """A target may be exceeded by half. Values in milliseconds depend on the machine, so they are not compared."""
    found = [check for check in checks if check.what.startswith(what) and check.unit != "ms"]
    missed = [f"{c.what}, {c.tools:,} tools: {c.value:.3f}, target {c.target}" for c in found if c.verdict == "missed"]
    assert missed == []
    assert found or what == "vector search", "nothing was measured"


def test_long_queries_are_within_their_ratio_to_rank_bm25(material: Material) -> None:
    tools = repeat_tools(material.tools, LONG_QUERY_TOOLS)
    searcher, baseline, queries = Bm25ToolIndex().build(tools), RankBm25(tools), material.long
    toolsearch, rank_bm25 = cpu_medians(
        [
            lambda number: searcher.search(queries[number % len(queries)]),
            lambda number: baseline.search(queries[number % len(queries)], 5),
        ],
        rounds=30,
        warm=3,
    )
    assert toolsearch / rank_bm25 < MAX_LONG_QUERY_RATIO


@pytest.mark.parametrize("size", [300, 3_000])
def test_build(benchmark: Any, material: Material, size: int) -> None:
    numbers = iter(range(1_000))

    def new_tools() -> Any:
        return (repeat_tools(material.tools, size, salt=str(next(numbers))),), {}

    benchmark.pedantic(Bm25ToolIndex().build, setup=new_tools, rounds=5)


@pytest.mark.parametrize("size", [300, 3_000])
def test_search(benchmark: Any, material: Material, size: int) -> None:
    searcher = Bm25ToolIndex().build(repeat_tools(material.tools, size))
    queries = cycle(material.short)
    benchmark(lambda: searcher.search(next(queries)))
