"""Fuses the scores of several indexes into one, and the ranks of those that have no scores.

The z-score of a tool is (x - mean) / deviation over all tools. Ranking by a weighted sum of z-scores is ranking by
the sum of weight * x / deviation, because the means add the same to every tool; so what was not found needs no entry.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..text.scripts import count_words
from .catalog import Category
from .scores import Scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "RANK_CONSTANT",
    "best_of",
    "deviation",
    "fuse_ranks",
    "fuse_scores",
    "meaning_weight",
    "ranking",
]

RANK_CONSTANT = 5
"""k of reciprocal rank fusion. The usual 60 hardly tells the first from the tenth, and fuses much worse."""

_MEANING = 2.0
_FEW = 100
"""Among fewer tools a z-score says less: of nine tools the only one with a word of the query stands out by less than 3,
of a hundred by 10, while likeness is measured for all. So words count as among this many, and a deviation of likeness
counts for more the fewer tools it was measured on."""
_UNSURE = 10
_USUAL_WORDS = 20
_LEAST, _MOST = 0.4, 1.5
_OTHER_SCRIPT = 0.1
_READ = 8_000
_LATIN = re.compile("[A-Za-zªº\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02b8\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a]")


def meaning_weight(query: str, *, multilingual: bool = False) -> float:
    """Return how much similarity of meaning counts beside a lexical score of weight 1.

    Short queries lean on meaning, long ones on words. An embedder that knows only English counts for as much as the
    query is in Latin letters.
    """
    by_length = min(_MOST, max(_LEAST, math.sqrt(_USUAL_WORDS / max(count_words(query), 1.0))))
    return _MEANING * by_length * (1.0 if multilingual else max(_OTHER_SCRIPT, _latin_share(query)))


def deviation(values: Iterable[float], size: int) -> float:
    """Return the standard deviation over `size` tools, of which those not in `values` have 0; 1 where all are alike."""
    known = list(values)
    mean = math.fsum(known) / size
    squares = math.fsum((value - mean) ** 2 for value in known) + (size - len(known)) * mean**2
    return _usable(math.sqrt(squares / size), max(map(abs, known), default=0.0))


def fuse_scores(parts: Sequence[Scores], size: int, *, limit: int, category: Category | None = None) -> Scores:
    """Return the weighted sum of z-scores (shifted so that 0 is no score at all) of what any part matched.

    Args:
        parts: what the indexes scored; each counts by its `weight`.
        size: how many tools the catalog has.
        limit: at least this many of the best are returned.
        category: only its tools are looked at, as if there were no others.
    """
    inside = None if category is None else category.positions
    population = size if inside is None else len(inside)
    sums: dict[int, float] = {}
    for part in parts:
        if part.dense is not None:
            continue
        values = part.values if inside is None else {p: v for p, v in part.values.items() if p in inside}
        if values:
            factor = part.weight / deviation(values.values(), max(population, _FEW))
            for position, value in values.items():
                sums[position] = sums.get(position, 0.0) + factor * value
    if any(part.dense is not None for part in parts):
        return _with_dense(parts, sums, size, limit=limit, inside=inside)
    return Scores(values=sums, total=max([len(sums), *(part.total or 0 for part in parts)]))


def fuse_ranks(
    rankings: Sequence[Sequence[int]], weights: Sequence[float], *, k: int = RANK_CONSTANT
) -> dict[int, float]:
    """Return the sum of weight / (k + rank) of each position over the rankings, which are best first."""
    sums: dict[int, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, position in enumerate(ranking, start=1):
            sums[position] = sums.get(position, 0.0) + weight / (k + rank)
    return sums


def ranking(values: Mapping[int, float]) -> list[int]:
    """Return the positions, best first; of equal ones the first."""
    return sorted(values, key=lambda position: (-values[position], position))


def best_of(values: NDArray[np.floating], matched: NDArray[np.bool_], limit: int) -> list[int]:
    """Return the positions of the `limit` best that matched, in no order, and of all as good as the last of them."""
    import numpy as np

    (positions,) = matched.nonzero()
    if len(positions) > limit > 0:
        scores = values[positions]
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        positions = positions[scores >= least]
    found: list[int] = positions.tolist()
    return found


def _latin_share(text: str) -> float:
    text = text[:_READ]
    letters = 0 if text.isascii() else sum(map(str.isalpha, text))
    return min(1.0, len(_LATIN.findall(text)) / letters) if letters else 1.0


def _with_dense(
    parts: Sequence[Scores], sums: Mapping[int, float], size: int, *, limit: int, inside: frozenset[int] | None
) -> Scores:
    import numpy as np

    admitted = np.ones(size, dtype=np.bool_) if inside is None else np.zeros(size, dtype=np.bool_)
    if inside is not None:
        admitted[list(inside)] = True
    fused = np.zeros(size, dtype=np.float64)
    matched = np.zeros(size, dtype=np.bool_)
    for part in parts:
        if part.dense is not None:
            values = part.dense.values.astype(np.float64)
            population = values if inside is None else values[admitted]
            spread = _usable(float(population.std()), float(np.abs(population).max(initial=0.0)))
            spread *= math.sqrt(1 + _UNSURE / max(1, len(population)))
            fused += values * (part.weight / spread)
            matched |= part.dense.matched
    where = np.fromiter(sums, dtype=np.intp, count=len(sums))
    fused[where] += np.fromiter(sums.values(), dtype=np.float64, count=len(sums))
    matched[where] = True
    matched &= admitted
    best = best_of(fused, matched, limit)
    total = max([int(np.count_nonzero(matched)), *(part.total or 0 for part in parts)])
    return Scores(values=dict(zip(best, fused[best].tolist(), strict=True)), total=total)


def _usable(spread: float, largest: float) -> float:
    """Return the deviation, or 1 where it is only rounding: what is alike everywhere must not decide."""
    return spread if spread > 1e-6 * largest and spread > 0 else 1.0
