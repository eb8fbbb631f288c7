"""Fusion of the scores of several indexes, by z-score, and of the ranks of indexes without scores.

The z-score of a tool is (x - mean) / deviation over all tools. The means add the same constant to every tool, so a
weighted sum of z-scores ranks like the sum of weight * x / deviation, and tools that do not match need no entry.
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
    "fuse_ranks",
    "fuse_scores",
    "meaning_weight",
    "rank_positions",
    "select_best",
    "standard_deviation",
]

RANK_CONSTANT = 5
"""k of reciprocal rank fusion. The usual 60 scores the first and the tenth rank almost equally and fuses worse."""

_BASE_MEANING_WEIGHT = 2.0
_MIN_LEXICAL_POPULATION = 100
"""The minimum number of tools over which a lexical deviation is computed. The z-score of the only tool with a word of
the query is below 3 among nine tools and 10 among a hundred, while similarity is measured for all tools."""
_UNCERTAINTY_TOOLS = 10
"""The deviation of similarities over n tools is increased by the factor sqrt(1 + _UNCERTAINTY_TOOLS / n)."""
_TYPICAL_WORDS = 20
_MIN_LENGTH_FACTOR, _MAX_LENGTH_FACTOR = 0.4, 1.5
_MIN_LATIN_FACTOR = 0.1
_MAX_CHARACTERS_READ = 8_000
_LATIN = re.compile("[A-Za-zªº\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02b8\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a]")


def meaning_weight(query: str, *, multilingual: bool = False) -> float:
    """Return the weight of similarity of meaning in a fusion with lexical scores of weight 1.

    The weight is higher for short queries than for long ones. For an embedder that knows only English it is multiplied
    by the share of Latin letters in the query, at least 0.1.
    """
    by_length = min(
        _MAX_LENGTH_FACTOR, max(_MIN_LENGTH_FACTOR, math.sqrt(_TYPICAL_WORDS / max(count_words(query), 1.0)))
    )
    return _BASE_MEANING_WEIGHT * by_length * (1.0 if multilingual else max(_MIN_LATIN_FACTOR, _latin_share(query)))


def standard_deviation(values: Iterable[float], size: int) -> float:
    """Return the standard deviation over `size` tools, with 0 for tools that have no value; 1 if all are equal."""
    known = list(values)
    mean = math.fsum(known) / size
    squares = math.fsum((value - mean) ** 2 for value in known) + (size - len(known)) * mean**2
    return _nonzero_deviation(math.sqrt(squares / size), max(map(abs, known), default=0.0))


def fuse_scores(parts: Sequence[Scores], size: int, *, limit: int, category: Category | None = None) -> Scores:
    """Return the weighted sum of z-scores of all tools that any index matches, shifted so that 0 means no match.

    Args:
        parts: The scores of the indexes, each with its weight.
        size: The number of tools in the catalog.
        limit: The minimum number of best tools in the result.
        category: The category of the tools. Other tools are ignored, also in the deviations.
    """
    allowed = None if category is None else category.positions
    population = size if allowed is None else len(allowed)
    sums: dict[int, float] = {}
    for part in parts:
        if part.dense is not None:
            continue
        values = part.values if allowed is None else {p: v for p, v in part.values.items() if p in allowed}
        if values:
            factor = part.weight / standard_deviation(values.values(), max(population, _MIN_LEXICAL_POPULATION))
            for position, value in values.items():
                sums[position] = sums.get(position, 0.0) + factor * value
    if any(part.dense is not None for part in parts):
        return _with_dense(parts, sums, size, limit=limit, allowed=allowed)
    return Scores(values=sums, total=max([len(sums), *(part.total or 0 for part in parts)]))


def fuse_ranks(
    rankings: Sequence[Sequence[int]], weights: Sequence[float], *, k: int = RANK_CONSTANT
) -> dict[int, float]:
    """Return the sum of weight / (k + rank) for each position over rankings, each best first."""
    sums: dict[int, float] = {}
    for positions, weight in zip(rankings, weights, strict=True):
        for rank, position in enumerate(positions, start=1):
            sums[position] = sums.get(position, 0.0) + weight / (k + rank)
    return sums


def rank_positions(values: Mapping[int, float]) -> list[int]:
    """Return the positions, best first. Equal scores are in order of position."""
    return sorted(values, key=lambda position: (-values[position], position))


def select_best(values: NDArray[np.floating], matched: NDArray[np.bool_], limit: int) -> list[int]:
    """Return the positions of the `limit` best matches, unordered, including all ties with the last of them."""
    import numpy as np

    (positions,) = matched.nonzero()
    if len(positions) > limit > 0:
        scores = values[positions]
        lowest = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        positions = positions[scores >= lowest]
    found: list[int] = positions.tolist()
    return found


def _latin_share(text: str) -> float:
    text = text[:_MAX_CHARACTERS_READ]
    letters = 0 if text.isascii() else sum(map(str.isalpha, text))
    return min(1.0, len(_LATIN.findall(text)) / letters) if letters else 1.0


def _with_dense(
    parts: Sequence[Scores], sums: Mapping[int, float], size: int, *, limit: int, allowed: frozenset[int] | None
) -> Scores:
    import numpy as np

    mask = np.ones(size, dtype=np.bool_) if allowed is None else np.zeros(size, dtype=np.bool_)
    if allowed is not None:
        mask[list(allowed)] = True
    fused = np.zeros(size, dtype=np.float64)
    matched = np.zeros(size, dtype=np.bool_)
    for part in parts:
        if part.dense is not None:
            values = part.dense.values.astype(np.float64)
            population = values if allowed is None else values[mask]
            deviation = _nonzero_deviation(float(population.std()), float(np.abs(population).max(initial=0.0)))
            deviation *= math.sqrt(1 + _UNCERTAINTY_TOOLS / max(1, len(population)))
            fused += values * (part.weight / deviation)
            matched |= part.dense.matched
    where = np.fromiter(sums, dtype=np.intp, count=len(sums))
    fused[where] += np.fromiter(sums.values(), dtype=np.float64, count=len(sums))
    matched[where] = True
    matched &= mask
    best = select_best(fused, matched, limit)
    total = max([int(np.count_nonzero(matched)), *(part.total or 0 for part in parts)])
    return Scores(values=dict(zip(best, fused[best].tolist(), strict=True)), total=total)


def _nonzero_deviation(deviation: float, largest: float) -> float:
    """Return the deviation, or 1 if it is only a rounding error: equal scores must not decide the order."""
    return deviation if deviation > 1e-6 * largest and deviation > 0 else 1.0
