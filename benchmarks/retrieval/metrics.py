"""How good a ranking is: recall, hit rate, nDCG and MRR of one query, and their averages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from statistics import fmean

__all__ = ["Quality", "average", "judge", "percentile"]

_DEPTH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How well one query, or on average several, found the tools it is labelled with; each figure from 0 to 1.

    Args:
        recall_1: the share of the labelled tools that is found at the first place.
        recall_5: that share within the first five.
        recall_10: that share within the first ten.
        hit_1: whether the first is one of them.
        hit_5: whether any of the first five is.
        full_5: whether the first five hold all of them.
        ndcg_5: the discounted gain of the first five (each labelled tool gains 1), by that of the best order.
        mrr: one by the place of the first that is found, 0 after the tenth.
    """

    recall_1: float
    recall_5: float
    recall_10: float
    hit_1: float
    hit_5: float
    full_5: float
    ndcg_5: float
    mrr: float


def judge(found: Sequence[str], relevant: Iterable[str], *, alternatives: bool = False) -> Quality:
    """Judge what one query found.

    Args:
        found: names, best first; a name found twice counts where it stands first.
        relevant: the names to be found, at least one.
        alternatives: one of `relevant` is enough: the first found counts, others neither help nor harm.

    Example:
        >>> judge(["a", "x", "b"], {"a", "b"}).recall_5
        1.0
        >>> judge(["x", "b"], {"a", "b"}, alternatives=True).mrr
        0.5
    """
    wanted = frozenset(relevant)
    ranked = list(dict.fromkeys(found))[:_DEPTH]
    hits = [name in wanted for name in ranked]
    needed = len(wanted)
    if alternatives:
        first = next((place for place, hit in enumerate(hits) if hit), None)
        hits = [place == first for place in range(len(hits))]
        needed = 1
    gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits[:5]) if hit)
    best = sum(1 / math.log2(place + 2) for place in range(min(5, needed)))
    return Quality(
        recall_1=sum(hits[:1]) / needed,
        recall_5=sum(hits[:5]) / needed,
        recall_10=sum(hits) / needed,
        hit_1=float(any(hits[:1])),
        hit_5=float(any(hits[:5])),
        full_5=float(sum(hits[:5]) == needed),
        ndcg_5=gain / best,
        mrr=next((1 / (place + 1) for place, hit in enumerate(hits) if hit), 0.0),
    )


def average(qualities: Sequence[Quality]) -> Quality:
    """Return the mean of each figure over at least one query, or over the means of several sets."""
    return Quality(**{part.name: fmean(getattr(one, part.name) for one in qualities) for part in fields(Quality)})


def percentile(values: Iterable[float], percent: float) -> float:
    """Return the least value that at least this percentage of the values do not exceed.

    Example:
        >>> percentile([4, 1, 3, 2], 50), percentile([4, 1, 3, 2], 99)
        (2, 4)
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]
