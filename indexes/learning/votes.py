"""Votes of examples for tools: how alike a query and each example are, and what the alike ones say together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..lexical.tool_terms import analyze_tool
from ..reference import ToolReference
from ..text.analysis import analyze
from ..text.stopwords import FUNCTION_WORDS
from .example import ToolExample

__all__ = ["Vote", "Votes"]

_MIN_LIKENESS, _FULL_LIKENESS = 0.1, 0.8
_ACTIVATION_POWER = 1.5
_MAX_NEIGHBORS = 20
_NOTHING_ALIKE = 0.5
"""The weight of "nobody asked this before" among the votes."""


@dataclass(frozen=True, slots=True)
class Vote:
    """Result of the vote for one tool.

    Args:
        evidence: The share of the votes, from 0 to 1.
        count: The number of examples that speak for the tool alike: 1 for one example.
    """

    evidence: float
    count: float


class Votes:
    """Examples of a catalog's tools, deduplicated, in an order that depends on their content only.

    Args:
        tools: The tools of the catalog.
        examples: The examples. Repetitions and examples of other definitions are ignored.
    """

    def __init__(self, tools: Sequence[ToolReference], examples: Iterable[ToolExample]) -> None:
        positions: dict[bytes, set[int]] = {}
        for position, tool in enumerate(tools):
            positions.setdefault(tool.digest, set()).add(position)
        found: dict[tuple[str, ...], tuple[str, set[int]]] = {}
        for example in sorted(set(examples), key=lambda example: (example.query, example.digest)):
            key = tuple(sorted(_content_terms(example.query)))
            if key and (served := positions.get(example.digest)):
                found.setdefault(key, (example.query, set()))[1].update(served)
        ordered = sorted(found.items())
        self.queries = tuple(query for _, (query, _) in ordered)
        self.served = tuple(frozenset(served) for _, (_, served) in ordered)
        documents = [frozenset(key) for key, _ in ordered]
        known = [{term for _, field in analyze_tool(tool).fields() for term in field} for tool in tools]
        self._frequency = Counter(term for document in [*documents, *known] for term in document)
        self._size = len(documents) + len(known)
        self._postings: dict[str, list[int]] = {}
        for number, document in enumerate(documents):
            for term in sorted(document):
                self._postings.setdefault(term, []).append(number)
        self._sums = [math.fsum(map(self._idf, sorted(document))) for document in documents]

    def __len__(self) -> int:
        return len(self.queries)

    def likeness(self, query: str) -> dict[int, float]:
        """Return the likeness, from 0 to 1, of each example that shares a term with the query."""
        query_terms = sorted(_content_terms(query))
        common: dict[int, float] = {}
        for term in query_terms:
            idf = self._idf(term)
            for number in self._postings.get(term, ()):
                common[number] = common.get(number, 0.0) + idf
        own = math.fsum(map(self._idf, query_terms))
        return {number: 2 * weight / (own + self._sums[number]) for number, weight in common.items()}

    def count(self, likeness: Mapping[int, float], without: Collection[int] = ()) -> dict[int, Vote]:
        """Return the vote for each tool that an alike example served.

        Args:
            likeness: The likeness of each example.
            without: The examples to ignore.
        """
        alike = [(-s, n) for n, s in likeness.items() if s > _MIN_LIKENESS and n not in without]
        activations: dict[int, list[float]] = {}
        total = 0.0
        for negative, number in sorted(alike)[:_MAX_NEIGHBORS]:
            scaled = (-negative - _MIN_LIKENESS) / (_FULL_LIKENESS - _MIN_LIKENESS)
            activation = float(min(1.0, scaled) ** _ACTIVATION_POWER)
            total += activation
            for position in self.served[number]:
                activations.setdefault(position, []).append(activation)
        return {p: Vote(sum(a) / (_NOTHING_ALIKE + total), sum(a) / max(a)) for p, a in sorted(activations.items())}

    def _idf(self, term: str) -> float:
        frequency = self._frequency[term]
        return math.log1p((self._size - frequency + 0.5) / (frequency + 0.5))


def _content_terms(text: str) -> set[str]:
    return {term for term, form in zip(*analyze(text), strict=True) if form.lower() not in FUNCTION_WORDS}
