"""How well and how fast indexes find tools: labelled queries asked of each, one at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...indexes.lexical.tool_terms import shared_terms_cache
from .contenders import Rival
from .cpu_time import cpu_seconds, quiet
from .metrics import Quality, average, judge, percentile
from .peers import Search
from .queries import LabelledQuery, LabelledSet

__all__ = ["Failure", "Measured", "mean_json", "measure"]

DEPTH = 10
_FEW = 20
_WARM = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """A query whose first five results hold none of the tools it should find."""

    query: LabelledQuery
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One index on one set.

    Args:
        rival: its name.
        peer: whether it is another library's.
        version: of that library.
        quality: the averages over the queries.
        empty: how many queries found nothing at all.
        build_ms: to index the catalogue, in CPU time; models were loaded before.
        p50_ms: half of the searches took no longer, in CPU time; the embedding of the query is part of it.
        p99_ms: nor did 99 of 100 take longer than this.
        memory: bytes held by the index; None if not measured.
        failures: the queries that found none of their tools.
    """

    rival: str
    peer: bool
    version: str | None
    quality: Quality
    empty: int
    build_ms: float
    p50_ms: float
    p99_ms: float
    memory: int | None
    failures: tuple[Failure, ...]

    def as_json(self) -> dict[str, Any]:
        """The figures, without the texts of the queries."""
        return {
            "name": self.rival,
            "peer": self.peer,
            "version": self.version,
            **{name: round(value, 5) for name, value in asdict(self.quality).items()},
            "empty": self.empty,
            "build_ms": round(self.build_ms, 3),
            "p50_ms": round(self.p50_ms, 4),
            "p99_ms": round(self.p99_ms, 4),
            "memory_mb": None if self.memory is None else round(self.memory / 2**20, 2),
        }


def measure(
    labelled: LabelledSet,
    rival: Rival,
    *,
    memory: Callable[[], int | None] = lambda: None,
    progress: Callable[[], None] = lambda: None,
) -> Measured:
    """Index the set's catalogue with one rival and ask it all queries.

    Args:
        labelled: the catalogue and its queries.
        rival: what to measure.
        memory: measures what it holds, elsewhere.
        progress: called after each query.

    Raises:
        IndexingError: an index of ours failed; what a peer raises passes as it is.
    """
    rival.prepare(labelled.tools[:_FEW])()("warm", 1)  # imports and models are loaded before the clock runs
    build = rival.prepare(labelled.tools)
    built: list[Search] = []
    shared_terms_cache.clear()  # otherwise a later index would reuse the analysis of an earlier one
    with quiet():
        build_seconds = cpu_seconds(lambda: built.append(build()))
    search = built[0]
    for query in labelled.queries[:_WARM]:
        search(query.text, DEPTH)
    taken: list[float] = []
    answers: list[Sequence[str]] = []
    with quiet():
        for query in labelled.queries:
            started = time.process_time()
            answer = search(query.text, DEPTH)
            taken.append(time.process_time() - started)
            answers.append(answer)
            progress()
    both = list(zip(labelled.queries, answers, strict=True))
    qualities = [judge(found, query.relevant, alternatives=query.alternatives) for query, found in both]
    return Measured(
        rival=rival.name,
        peer=rival.peer,
        version=rival.version,
        quality=average(qualities),
        empty=sum(not found for found in answers),
        build_ms=build_seconds * 1000,
        p50_ms=percentile(taken, 50) * 1000,
        p99_ms=percentile(taken, 99) * 1000,
        memory=memory(),
        failures=tuple(
            Failure(query, tuple(found[:5]))
            for (query, found), quality in zip(both, qualities, strict=True)
            if not quality.hit_5
        ),
    )


def mean_json(sets: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the averages of each rival over the sets, every set counting alike; those that took part in all sets."""
    names = [row["name"] for row in sets[0]["indexes"]]
    means: list[dict[str, Any]] = []
    for name in names:
        rows = [row for one in sets for row in one["indexes"] if row["name"] == name]
        if len(rows) == len(sets):
            figures = [key for key, value in rows[0].items() if isinstance(value, float)]
            means.append(
                {
                    "name": name,
                    "peer": rows[0]["peer"],
                    "version": rows[0]["version"],
                    "memory_mb": None,
                    **{
                        key: round(sum(row[key] for row in rows) / len(rows), 5)
                        for key in figures
                        if all(row[key] is not None for row in rows)
                    },
                }
            )
    return means
