"""Quality metrics of rankings: recall, hit rate, nDCG and MRR."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from statistics import fmean

__all__ = ["Quality", "average", "percentile", "score_ranking"]

_MAX_RANK = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Quality of the results of one query, or the average over several. Every metric is between 0 and 1.

    Args:
        recall_1: Share of the relevant tools in the first result.
        recall_5: Share of the relevant tools in the first five results.
        recall_10: Share of the relevant tools in the first ten results.
        hit_1: Whether the first result is relevant.
        hit_5: Whether any of the first five results is relevant.
        full_5: Whether the first five results have all relevant tools.
        ndcg_5: Normalized discounted cumulative gain of the first five results, with a gain of 1 per relevant tool.
        mrr: Reciprocal rank of the first relevant result, 0 after the tenth.

    Example:
        >>> quality = score_ranking(["read_file", "send_mail"], ["send_mail"])
        >>> quality.recall_5, quality.hit_1, quality.mrr
        (1.0, 0.0, 0.5)
    """

    recall_1: float
    recall_5: float
    recall_10: float
    hit_1: float
    hit_5: float
    full_5: float
    ndcg_5: float
    mrr: float


def score_ranking(found: Sequence[str], relevant: Iterable[str], *, alternatives: bool = False) -> Quality:
    """Return the quality of the results of one query.

    Args:
        found: Names of the results, best first. Of a repeated name, only the first position counts.
        relevant: Names of the relevant tools, at least one.
        alternatives: One of `relevant` is enough: only the first one found counts.

    Example:
        >>> score_ranking(["a", "x", "b"], {"a", "b"}).recall_5
        1.0
        >>> score_ranking(["x", "b"], {"a", "b"}, alternatives=True).mrr
        0.5
    """
    wanted = frozenset(relevant)
    ranked = list(dict.fromkeys(found))[:_MAX_RANK]
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
    """Return the mean of each metric over at least one query."""
    return Quality(**{part.name: fmean(getattr(one, part.name) for one in qualities) for part in fields(Quality)})


def percentile(values: Iterable[float], percent: float) -> float:
    """Return the smallest value that at least `percent` percent of the values do not exceed.

    Example:
        >>> percentile([4, 1, 3, 2], 50), percentile([4, 1, 3, 2], 99)
        (2, 4)
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]
