"""Choice of how much examples may change a ranking. The examples choose it themselves, by leave-one-out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping

from .votes import Vote, Votes

__all__ = ["add_bonus", "choose_weight"]

_WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)
_MAX_JUDGED = 200
_TWIN_LIKENESS = 0.9
_CARE_WEIGHT = 2.0
"""The weight of tools without examples, which lose what others gain."""
_CAUTION = 0.25


def add_bonus(
    scores: Mapping[int, float], votes: Mapping[int, Vote], weight: float, population: int
) -> dict[int, float]:
    """Return scores (in deviations) with the bonus of each vote.

    A tool that one example speaks for gains half of the first tool's lead over the mean at most, so a clear win stays.
    """
    if not scores:
        return {}
    room = max(0.0, max(scores.values()) - sum(scores.values()) / population)
    bonus = {p: min(weight * v.evidence, v.count / (v.count + 1) * room) for p, v in votes.items()}
    return {**scores, **{p: scores.get(p, 0.0) + b for p, b in bonus.items() if b > 0}}


def choose_weight(votes: Votes, score: Callable[[str], Mapping[int, float]], population: int) -> float:
    """Return the weight that ranks the tools of the examples best, each judged by the other examples."""
    uses = Counter(position for served in votes.served for position in served)
    unused = sum(count == 1 for count in uses.values()) / sum(uses.values())
    utility = dict.fromkeys(_WEIGHTS, 0.0)
    for number in sorted(range(len(votes)), key=lambda n: hashlib.sha256(repr(votes.queries[n]).encode()).digest())[
        :_MAX_JUDGED
    ]:
        scores = score(votes.queries[number])
        likeness = votes.likeness(votes.queries[number])
        twins = {number, *(n for n, s in likeness.items() if s > _TWIN_LIKENESS)}
        gain = votes.count(likeness, twins)
        for position in sorted(votes.served[number]):
            care = votes.count(likeness, twins | {n for n, served in enumerate(votes.served) if position in served})
            share = 1 / len(votes.served[number])
            for weight in _WEIGHTS:
                utility[weight] += (
                    share * (1 - unused) * _quality(add_bonus(scores, gain, weight, population), position)
                )
                with_care = _quality(add_bonus(scores, care, weight, population), position)
                utility[weight] += share * _CARE_WEIGHT * unused * with_care
    return max(_WEIGHTS, key=lambda weight: (utility[weight] - _CAUTION * weight / 4, -weight))


def _quality(scores: Mapping[int, float], position: int) -> float:
    """Return 1 / rank of a tool, 0 if it is not ranked."""
    own = scores.get(position)
    if own is None:
        return 0.0
    return 1 / (1 + sum(value > own or (value == own and other < position) for other, value in scores.items()))
