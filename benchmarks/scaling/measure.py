"""Scaling checks: CPU time and memory of indexes and sessions by the size of the catalog.

Absolute times differ between machines. So most values are ratios to a plain baseline that runs in turns in the same
process, in CPU time on one thread. A ratio misses its target only if it exceeds 1.5 times the target, since medians
vary from run to run.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from statistics import median

from ...disclosure.sessions import SessionToolIndex, ToolSearchRequest
from ...disclosure.sessions.tool_set import ToolSet
from ...eviction import NeverEvict
from ...indexes.bm25.index import Bm25ToolIndex
from ...indexes.protocols import ToolSearcher
from ...indexes.reference import ToolReference
from ..retrieval.baselines import NumpyNearest, NumpySearcher, RankBm25
from ..retrieval.cpu_time import cpu_medians, garbage_collection_paused
from .catalogs import Material, repeat_tools
from .checks import BUILD_TARGETS, FIRST_SEARCH_TARGETS, SEARCH_TARGETS, VECTOR_TARGETS, Check, check_ratio

__all__ = ["DEFAULT_SIZES", "run_scaling"]

DEFAULT_SIZES = (30, 300, 3_000, 30_000)
"""Sizes of the catalog."""

_LONG_QUERY_TARGET_MS = 3.0
_LONG_QUERY_TOOLS = 4_000
_SESSION_TARGET_BYTES = 1_024
_SESSIONS = 10_000
_SESSION_TOOLS = 300


def run_scaling(
    material: Material, sizes: Sequence[int] = DEFAULT_SIZES, *, progress: Callable[[str], None] = lambda _: None
) -> Iterator[Check]:
    """Measure all checks, one after the other.

    Args:
        material: The tools to repeat, and the queries.
        sizes: Sizes of the catalog for the ratios. The other checks have fixed sizes.
        progress: Called with the name of the next measurement.

    Raises:
        MissingExtraError: rank-bm25 is not installed.
    """
    for size in sizes:
        tools = repeat_tools(material.tools, size)
        progress(f"build, {size:,} tools")
        yield _build(material, size)
        searcher, baseline = Bm25ToolIndex().build(tools), RankBm25(tools)
        progress(f"search, {size:,} tools")
        yield _search(searcher, baseline, material.short, size)
        del searcher, baseline
        progress(f"first search of a session, {size:,} tools")
        yield _first_search(tools, material.short)
        progress(f"vector search, {size:,} tools")
        yield from _vectors(tools, material.short)
    progress("long queries")
    yield _long_queries(material)
    progress("memory of sessions")
    shared = repeat_tools(material.tools, _SESSION_TOOLS)
    yield _session_memory(shared)
    progress(f"indexes of {_SESSIONS:,} sessions")
    yield _shared_index(shared)


def _build(material: Material, size: int) -> Check:
    """Compare building an index over new tools with building rank_bm25 over the same tools."""
    rounds, warm = (15, 2) if size <= 300 else (5, 1) if size <= 3_000 else (3, 0)
    # Every round has different tools, since the analysis of a tool is cached. They are created before the measurement.
    fresh = [repeat_tools(material.tools, size, salt=str(number)) for number in range(rounds + warm)]
    index = Bm25ToolIndex()
    medians = cpu_medians(
        [lambda number: index.build(fresh[number]), lambda number: RankBm25(fresh[number])], rounds, warm=warm
    )
    return check_ratio("build / rank_bm25", size, medians, BUILD_TARGETS)


def _search(searcher: ToolSearcher, baseline: RankBm25, queries: Sequence[str], size: int) -> Check:
    rounds = len(queries) * max(1, min(5, 3_000 // size)) if size <= 3_000 else min(len(queries), 60)
    medians = cpu_medians(
        [
            lambda number: searcher.search(queries[number % len(queries)]),
            lambda number: baseline.search(queries[number % len(queries)], 5),
        ],
        rounds,
        warm=5,
    )
    return check_ratio("search / rank_bm25", size, medians, SEARCH_TARGETS)


def _first_search(tools: Sequence[ToolReference], queries: Sequence[str]) -> Check:
    """Compare the first search of a session on a known set of tools with building an index and searching it.

    The analysis of the tools is cached, so this build is faster than the one over new tools.
    """
    known = ToolSet(tools)
    sessions = SessionToolIndex(Bm25ToolIndex(), NeverEvict())
    sessions.index("first session", known)
    numbers = count()

    def shared(_number: int) -> None:
        session = next(numbers)
        sessions.index(session, known)
        sessions.search(ToolSearchRequest(session_id=session, query=queries[session % len(queries)]))

    def separate(number: int) -> None:
        Bm25ToolIndex().build(tools).search(queries[number % len(queries)])

    rounds = 41 if len(tools) <= 300 else 9 if len(tools) <= 3_000 else 3
    # The fast function runs ten times per round, since its median over few rounds would vary much.
    *toolsearch, baseline = cpu_medians([shared] * 10 + [separate], rounds, warm=1)
    what = "first search of a session / separate build and search"
    return check_ratio(what, len(tools), [median(toolsearch), baseline], FIRST_SEARCH_TARGETS)


def _vectors(tools: Sequence[ToolReference], queries: Sequence[str]) -> Iterator[Check]:
    """Compare vector search with the same search in numpy, and with numpy without validation and response.

    The embeddings are random and looked up, so the cost of a model is not part of the comparison.
    """
    try:
        import numpy as np

        from ...indexes.vector.index import VectorToolIndex
        from .random_embedder import RandomEmbedder

        embedder = RandomEmbedder()
        searcher = VectorToolIndex(embedder).build(tools)
    except ImportError:
        return  # the extra `vector` is not installed
    rows = np.ascontiguousarray(embedder.embed([tool.name for tool in tools]))
    full_search, minimal_search = (
        NumpySearcher(tools, embedder, rows),
        NumpyNearest([tool.name for tool in tools], rows),
    )
    embedded = [embedder.embed([query])[0] for query in queries]
    toolsearch, full, minimal = cpu_medians(
        [
            lambda number: searcher.search(queries[number % len(queries)]),
            lambda number: full_search.search(queries[number % len(queries)]),
            lambda number: minimal_search.search(embedded[number % len(embedded)], 5),
        ],
        300,
        warm=5,
    )
    yield check_ratio("vector search / same search in numpy", len(tools), [toolsearch, full], VECTOR_TARGETS)
    yield check_ratio("vector search / numpy without response", len(tools), [toolsearch, minimal], None)


def _long_queries(material: Material) -> Check:
    searcher = Bm25ToolIndex().build(repeat_tools(material.tools, _LONG_QUERY_TOOLS))
    queries = material.long
    rounds = max(60, 3 * len(queries))
    (seconds,) = cpu_medians([lambda number: searcher.search(queries[number % len(queries)])], rounds, warm=3)
    what = "search, query of 50 words"
    return Check(what=what, tools=_LONG_QUERY_TOOLS, value=seconds * 1000, target=_LONG_QUERY_TARGET_MS, unit="ms")


def _session_memory(tools: Sequence[ToolReference]) -> Check:
    """Measure the memory that Python allocates per session. The sessions share an index that exists before."""
    known = ToolSet(tools)
    sessions = SessionToolIndex(Bm25ToolIndex(), NeverEvict())
    sessions.index("first session", known)
    names = [f"session {number}" for number in range(_SESSIONS)]
    with garbage_collection_paused():
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            for name in names:
                sessions.index(name, known)
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    value = (after - before) / _SESSIONS
    what = "memory of a session"
    return Check(what=what, tools=len(tools), value=value, target=_SESSION_TARGET_BYTES, unit="bytes")


def _shared_index(tools: Sequence[ToolReference]) -> Check:
    index = _CountingIndex()
    sessions = SessionToolIndex(index, NeverEvict())
    for number in range(_SESSIONS):
        sessions.index(number, ToolSet(tools))  # each session has its own set, equal to the others
    what = f"indexes of {_SESSIONS:,} sessions with equal tools"
    return Check(what=what, tools=len(tools), value=index.builds, target=1, unit="built", slack=1)


class _CountingIndex:
    def __init__(self) -> None:
        self.builds = 0

    def build(self, tools: Sequence[ToolReference]) -> ToolSearcher:
        self.builds += 1
        return Bm25ToolIndex().build(tools)
