"""How speed and memory grow with the catalogue: ``python -m toolsearch.benchmarks.scaling.measure``.

Absolute times say little on a machine one does not know, so most figures are ratios to a plain way of doing the same,
measured in the same process in turns, in CPU time, on one thread. Each has a target; it is missed only when the ratio
is more than half as much again, for even ratios of medians move from run to run.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from statistics import median

from ...disclosure.sessions.session_index import SessionToolIndex, ToolSearchRequest
from ...disclosure.sessions.tool_set import ToolSet
from ...eviction import NeverEvict
from ...indexes.bm25.index import Bm25ToolIndex
from ...indexes.protocols import ToolSearcher
from ...indexes.reference import ToolReference
from ..retrieval.baselines import NumpyNearest, NumpySearcher, RankBm25
from ..retrieval.cpu_time import cpu_medians, quiet
from .catalogs import Material, grown

__all__ = ["SIZES", "SLACK", "Check", "run_scaling", "without_target"]

SIZES = (30, 300, 3_000, 30_000)
SLACK = 1.5

_SEARCH = {30: 4.0, 300: 1.7, 3_000: 0.3, 30_000: 0.1}
_BUILD = {30: 8.0, 300: 3.0, 3_000: 3.0, 30_000: 3.0}
_KNOWN = {30: 0.04, 300: 0.02, 3_000: 0.01, 30_000: 0.01}
_VECTOR = {30: 1.0, 300: 1.0, 3_000: 1.0, 30_000: 1.1}
_LONG_MS = 3.0
_LONG_TOOLS = 4_000
_SESSION_BYTES = 1_024
_SESSIONS = 10_000
_SHARED_TOOLS = 300
_WIDTH = 384


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One figure with its target.

    Args:
        what: what was measured, and against what if it is a ratio.
        tools: the size of the catalogue.
        value: the ratio, or the figure itself in `unit`.
        target: what it should not exceed; None where it is only told.
        unit: of the value; empty for a ratio.
        ours_ms: CPU time of ours, where it is a ratio.
        other_ms: CPU time of what it is compared with.
        slack: the factor by which the target may be exceeded before it counts as missed.
    """

    what: str
    tools: int
    value: float
    target: float | None
    unit: str = ""
    ours_ms: float | None = None
    other_ms: float | None = None
    slack: float = SLACK

    @property
    def verdict(self) -> str:
        """``ok`` within the target, ``slack`` within the slack, else ``missed``; empty without a target."""
        if self.target is None:
            return ""
        if self.value <= self.target:
            return "ok"
        return "slack" if self.value <= self.target * self.slack else "missed"


def run_scaling(
    material: Material, sizes: Sequence[int] = SIZES, *, progress: Callable[[str], None] = lambda _: None
) -> Iterator[Check]:
    """Measure everything, one check after the other.

    Args:
        material: the tools to repeat to size, and the requests.
        sizes: of the catalogues for the ratios; the other checks have sizes of their own.
        progress: called with what is measured next.

    Raises:
        MissingExtraError: rank-bm25 is not installed.
    """
    for size in sizes:
        tools = grown(material.tools, size)
        progress(f"building over {size:,} tools")
        yield _build(material, size)
        searcher, baseline = Bm25ToolIndex().build(tools), RankBm25(tools)
        progress(f"searching {size:,} tools")
        yield _search(searcher, baseline, material.short, size)
        del searcher, baseline
        progress(f"new sessions over {size:,} tools")
        yield _known_set(tools, material.short)
        progress(f"vectors of {size:,} tools")
        yield from _vectors(tools, material.short)
    progress("requests of several intents")
    yield _long_requests(material)
    progress("memory of sessions")
    shared = grown(material.tools, _SHARED_TOOLS)
    yield _session_memory(shared)
    progress(f"{_SESSIONS:,} sessions over one catalogue")
    yield _one_index(shared)


def without_target(check: Check) -> Check:
    """Return a check of tools other than the bundled ones, on which the targets of times were measured.

    The memory of a session and the number of indexes depend on no tools, so they keep theirs.
    """
    return check if check.unit in ("bytes", "built") else replace(check, target=None)


def _ratio(what: str, tools: int, medians: Sequence[float], targets: dict[int, float] | None) -> Check:
    ours, other = medians
    # Between the sizes that have a target, the next smaller one's holds.
    target = targets[max((size for size in targets if size <= tools), default=min(targets))] if targets else None
    return Check(what=what, tools=tools, value=ours / other, target=target, ours_ms=ours * 1000, other_ms=other * 1000)


def _build(material: Material, size: int) -> Check:
    """An index over tools not met before, against rank_bm25's over as many."""
    rounds, warm = (15, 2) if size <= 300 else (5, 1) if size <= 3_000 else (3, 0)
    # Of each round's own, since analyzed tools are remembered; made before the clock runs.
    fresh = [grown(material.tools, size, salt=str(number)) for number in range(rounds + warm)]
    index = Bm25ToolIndex()
    medians = cpu_medians(
        [lambda number: index.build(fresh[number]), lambda number: RankBm25(fresh[number])], rounds, warm=warm
    )
    return _ratio("cold build / rank_bm25", size, medians, _BUILD)


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
    return _ratio("search p50 / rank_bm25", size, medians, _SEARCH)


def _known_set(tools: Sequence[ToolReference], queries: Sequence[str]) -> Check:
    """A new session's first search where another holds the same set, against an index and a search of its own.

    The tools were analyzed before, so the index of its own is quicker to build than a cold one.
    """
    known = ToolSet(tools)
    sessions = SessionToolIndex(Bm25ToolIndex(), NeverEvict())
    sessions.index("holds the set", known)
    numbers = count()

    def shared(_number: int) -> None:
        session = next(numbers)
        sessions.index(session, known)
        sessions.search(ToolSearchRequest(session_id=session, query=queries[session % len(queries)]))

    def alone(number: int) -> None:
        Bm25ToolIndex().build(tools).search(queries[number % len(queries)])

    rounds = 41 if len(tools) <= 300 else 9 if len(tools) <= 3_000 else 3
    # The quick one goes ten times a round: over so few rounds its median would say little.
    *ours, other = cpu_medians([shared] * 10 + [alone], rounds, warm=1)
    what = "first search, known set / own build and search"
    return _ratio(what, len(tools), [median(ours), other], _KNOWN)


def _vectors(tools: Sequence[ToolReference], queries: Sequence[str]) -> Iterator[Check]:
    """A search by meaning against the same search by numpy, and against numpy with nothing around it.

    The embeddings are made up and known beforehand: an embedder's work is counted for nobody. Checking and normalising
    what it gave, and making the response, is counted for the first two.
    """
    try:
        import numpy as np

        from ...indexes.vector.index import VectorToolIndex
        from .fake_embedder import MadeUpEmbedder

        embedder = MadeUpEmbedder()
        searcher = VectorToolIndex(embedder).build(tools)
    except ImportError:
        return  # the extra `vector` is not installed
    rows = np.ascontiguousarray(embedder.embed([tool.name for tool in tools]))
    same, bare = NumpySearcher(tools, embedder, rows), NumpyNearest([tool.name for tool in tools], rows)
    asked = [embedder.embed([query])[0] for query in queries]
    ours, alike, least = cpu_medians(
        [
            lambda number: searcher.search(queries[number % len(queries)]),
            lambda number: same.search(queries[number % len(queries)]),
            lambda number: bare.search(asked[number % len(asked)], 5),
        ],
        300,
        warm=5,
    )
    yield _ratio("vector p50 / same search by numpy", len(tools), [ours, alike], _VECTOR)
    yield _ratio("vector p50 / bare numpy, no response made", len(tools), [ours, least], None)


def _long_requests(material: Material) -> Check:
    searcher = Bm25ToolIndex().build(grown(material.tools, _LONG_TOOLS))
    requests = material.long
    rounds = max(60, 3 * len(requests))
    (taken,) = cpu_medians([lambda number: searcher.search(requests[number % len(requests)])], rounds, warm=3)
    what = "search p50, request of several intents (50 words)"
    return Check(what=what, tools=_LONG_TOOLS, value=taken * 1000, target=_LONG_MS, unit="ms")


def _session_memory(tools: Sequence[ToolReference]) -> Check:
    """What Python allocates for a session; the index, which is not Python's, is shared and was there before."""
    known = ToolSet(tools)
    sessions = SessionToolIndex(Bm25ToolIndex(), NeverEvict())
    sessions.index("holds the set", known)
    names = [f"session {number}" for number in range(_SESSIONS)]
    with quiet():
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            for name in names:
                sessions.index(name, known)
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    value = (after - before) / _SESSIONS
    what = "memory of a session on a known set"
    return Check(what=what, tools=len(tools), value=value, target=_SESSION_BYTES, unit="bytes")


def _one_index(tools: Sequence[ToolReference]) -> Check:
    index = _CountingIndex()
    sessions = SessionToolIndex(index, NeverEvict())
    for number in range(_SESSIONS):
        sessions.index(number, ToolSet(tools))  # each has a set of its own, equal to the others
    what = f"indexes built for {_SESSIONS:,} sessions with equal tools"
    return Check(what=what, tools=len(tools), value=index.builds, target=1, unit="built", slack=1)


class _CountingIndex:
    def __init__(self) -> None:
        self.builds = 0

    def build(self, tools: Sequence[ToolReference]) -> ToolSearcher:
        self.builds += 1
        return Bm25ToolIndex().build(tools)
