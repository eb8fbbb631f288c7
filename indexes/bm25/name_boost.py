"""Score boost for tools whose name a query mentions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..lexical.tool_terms import ToolTerms
from ..lexical.vocabulary import Vocabulary

__all__ = ["NameBoost"]

_MAX_BOOST = 0.3


class NameBoost:
    """Raises scores by the share of a tool's name, weighted by IDF, that a query contains. Immutable.

    Args:
        documents: The terms of each tool.
        vocabulary: The vocabulary of the tools.
    """

    __slots__ = ("_idf", "_positions", "_unit")

    def __init__(self, documents: Sequence[ToolTerms], vocabulary: Vocabulary) -> None:
        self._idf = vocabulary.idf
        self._positions: dict[str, set[int]] = {}
        self._unit: list[float] = []
        positions = self._positions
        for position, document in enumerate(documents):
            name = dict.fromkeys(document.name)
            for term in name:
                if term in positions:
                    positions[term].add(position)
                else:
                    positions[term] = {position}
            self._unit.append(_MAX_BOOST / (vocabulary.mass(name) or 1.0))

    def apply(self, scores: dict[int, float], terms: Iterable[str]) -> dict[int, float]:
        """Raise each score by up to 30%: 0.3 times the share of the tool's name that the terms cover.

        Args:
            scores: Position -> score. Changed in place.
            terms: The terms of the query.

        Returns:
            The same `scores`.
        """
        factors: dict[int, float] = {}
        scored, positions, idf, unit = scores.keys(), self._positions, self._idf, self._unit
        # By term rather than by tool: the names of most tools contain none of the terms, and set intersection is fast.
        for term in terms:
            named = positions.get(term)
            if named:
                for position in scored & named:
                    factors[position] = factors.get(position, 1.0) + idf[term] * unit[position]
        for position, factor in factors.items():
            scores[position] *= factor
        return scores
