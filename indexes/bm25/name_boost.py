"""Raises the score of a tool by how much of its name a query holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..lexical.tool_terms import ToolTerms
from ..lexical.vocabulary import Vocabulary

__all__ = ["NameBoost"]

_WEIGHT = 0.3


class NameBoost:
    """Which tools have a term in their name, and what share of the name it is, by IDF. Immutable."""

    __slots__ = ("_holders", "_idf", "_unit")

    def __init__(self, documents: Sequence[ToolTerms], vocabulary: Vocabulary) -> None:
        self._idf = vocabulary.idf
        self._holders: dict[str, set[int]] = {}
        self._unit: list[float] = []
        holders = self._holders
        for position, document in enumerate(documents):
            name = dict.fromkeys(document.name)
            for term in name:
                if term in holders:
                    holders[term].add(position)
                else:
                    holders[term] = {position}
            self._unit.append(_WEIGHT / (vocabulary.mass(name) or 1.0))

    def raised(self, scores: dict[int, float], terms: Iterable[str]) -> dict[int, float]:
        """Return `scores`, each raised by 0.3 of the share of the tool's name that `terms` make up; changes it."""
        covered: dict[int, float] = {}
        positions, holders, idf, unit = scores.keys(), self._holders, self._idf, self._unit
        # By term, not by tool: most tools found have none of the terms in their name, and sets meet quickly.
        for term in terms:
            named = holders.get(term)
            if named:
                for position in positions & named:
                    covered[position] = covered.get(position, 1.0) + idf[term] * unit[position]
        for position, factor in covered.items():
            scores[position] *= factor
        return scores
