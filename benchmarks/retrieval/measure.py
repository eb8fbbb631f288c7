"""Measurement of retrieval: quality, CPU time and memory of a contender on labeled queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...indexes.lexical.tool_terms import shared_terms_cache
from .contenders import Contender
from .cpu_time import cpu_seconds, garbage_collection_paused
from .metrics import Quality, average, percentile, score_ranking
from .peers import Search
from .queries import LabeledQuery, LabeledSet

__all__ = ["FailedQuery", "Measurement", "mean_json", "measure_retrieval"]

_MAX_RESULTS = 10
_WARM_UP_TOOLS = 20
_WARM_UP_QUERIES = 3


@dataclass(frozen=True, slots=True)
class FailedQuery:
    """Query without a relevant tool in its first five results.

    Args:
        query: The query.
        found: Names of the first five results.

    Example:
        >>> from toolsearch.benchmarks import LabeledQuery
        >>> FailedQuery(LabeledQuery("ring", ("ring_bell",)), ("send_mail",)).found
        ('send_mail',)
    """

    query: LabeledQuery
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Results of one contender on one set.

    Args:
        contender: Name of the contender.
        peer: Whether it is another library.
        version: Version of that library.
        quality: Average quality over the queries.
        empty: Number of queries without results.
        build_ms: CPU time to index the catalog, in milliseconds, without loading models.
        p50_ms: Median CPU time of a search in milliseconds, including the embedding of the query.
        p99_ms: 99th percentile of the CPU time of a search, in milliseconds.
        memory: Memory of the index in bytes, or None if it was not measured.
        failures: Queries without a relevant tool in their first five results.

    Example:
        >>> from toolsearch.benchmarks import LabeledQuery, LabeledSet, index_contender
        >>> from toolsearch.indexes import RegexToolIndex, ToolReference
        >>> queries = (LabeledQuery("ring a bell", ("ring_bell",)),)
        >>> bells = LabeledSet("bells", (ToolReference(name="ring_bell"),), queries)
        >>> measurement = measure_retrieval(bells, index_contender("regex", RegexToolIndex()))
        >>> measurement.quality.recall_5, measurement.failures
        (1.0, ())
    """

    contender: str
    peer: bool
    version: str | None
    quality: Quality
    empty: int
    build_ms: float
    p50_ms: float
    p99_ms: float
    memory: int | None
    failures: tuple[FailedQuery, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the measured values, without the queries."""
        return {
            "name": self.contender,
            "peer": self.peer,
            "version": self.version,
            **{name: round(value, 5) for name, value in asdict(self.quality).items()},
            "empty": self.empty,
            "build_ms": round(self.build_ms, 3),
            "p50_ms": round(self.p50_ms, 4),
            "p99_ms": round(self.p99_ms, 4),
            "memory_mb": None if self.memory is None else round(self.memory / 2**20, 2),
        }


def measure_retrieval(
    labeled: LabeledSet,
    contender: Contender,
    *,
    memory: Callable[[], int | None] = lambda: None,
    progress: Callable[[], None] = lambda: None,
) -> Measurement:
    """Index the catalog of a set with a contender, and run all queries one at a time.

    Args:
        labeled: The catalog with its queries.
        contender: The index or library to measure.
        memory: Returns the memory of the index in bytes, measured in another process.
        progress: Called after each query.

    Raises:
        IndexingError: The index failed. Exceptions of other libraries are not converted.
    """
    contender.prepare(labeled.tools[:_WARM_UP_TOOLS])()("warm", 1)  # loads imports and models before the measurement
    build = contender.prepare(labeled.tools)
    built: list[Search] = []
    shared_terms_cache.clear()  # the next index must not profit from an earlier analysis
    with garbage_collection_paused():
        build_seconds = cpu_seconds(lambda: built.append(build()))
    search = built[0]
    for query in labeled.queries[:_WARM_UP_QUERIES]:
        search(query.text, _MAX_RESULTS)
    taken: list[float] = []
    answers: list[Sequence[str]] = []
    with garbage_collection_paused():
        for query in labeled.queries:
            started = time.process_time()
            answer = search(query.text, _MAX_RESULTS)
            taken.append(time.process_time() - started)
            answers.append(answer)
            progress()
    answered = list(zip(labeled.queries, answers, strict=True))
    qualities = [score_ranking(found, query.relevant, alternatives=query.alternatives) for query, found in answered]
    return Measurement(
        contender=contender.name,
        peer=contender.peer,
        version=contender.version,
        quality=average(qualities),
        empty=sum(not found for found in answers),
        build_ms=build_seconds * 1000,
        p50_ms=percentile(taken, 50) * 1000,
        p99_ms=percentile(taken, 99) * 1000,
        memory=memory(),
        failures=tuple(
            FailedQuery(query, tuple(found[:5]))
            for (query, found), quality in zip(answered, qualities, strict=True)
            if not quality.hit_5
        ),
    )


def mean_json(sets: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the unweighted averages over the sets of each contender that was measured on all of them."""
    names = [row["name"] for row in sets[0]["indexes"]]
    means: list[dict[str, Any]] = []
    for name in names:
        rows = [row for one in sets for row in one["indexes"] if row["name"] == name]
        if len(rows) == len(sets):
            metrics = [key for key, value in rows[0].items() if isinstance(value, float)]
            means.append(
                {
                    "name": name,
                    "peer": rows[0]["peer"],
                    "version": rows[0]["version"],
                    "memory_mb": None,
                    **{
                        key: round(sum(row[key] for row in rows) / len(rows), 5)
                        for key in metrics
                        if all(row[key] is not None for row in rows)
                    },
                }
            )
    return means
