"""Explanations of search results: the matched terms, and whether they are much of the query."""

from __future__ import annotations

from collections.abc import Sequence

from ..response import Match
from .empty_queries import NO_WORDS_REASON, ONLY_FUNCTION_WORDS_REASON, are_function_words
from .query import Clause, ParsedQuery
from .tool_terms import ToolTerms
from .vocabulary import Vocabulary

__all__ = ["Explainer"]

_WEAK_SHARE_THRESHOLD = 1 / 3
"""Share of the query under which matches are weak.

Requests are full of names and values that no tool contains: half of a request is often unmatched, two thirds rarely.
By this share alone, a third of the requests of six public data sets would count as weak though a right tool is among
the first five, most of them long ones. So a match also counts as good if it weighs as much as a term that only one
tool has.
"""

_MAX_WORDS_NAMED = 8


class Explainer:
    """Explains the results of one query.

    Args:
        query: The parsed query.
        documents: The terms of each tool.
        vocabulary: The vocabulary of the tools.
    """

    __slots__ = ("_documents", "_idf", "_matched", "_query", "_single_idf")

    def __init__(self, query: ParsedQuery, documents: Sequence[ToolTerms], vocabulary: Vocabulary) -> None:
        self._query = query
        self._documents = documents
        self._idf = vocabulary.idf
        self._single_idf = vocabulary.single_idf
        self._matched: dict[int, dict[str, list[str]]] = {}

    def matches(self, position: int) -> tuple[Match, ...]:
        """Return the words of the query that one tool has and the fields that have them, heaviest words first."""
        query, idf = self._query, self._idf
        matched = self._matched_fields(position)
        order = sorted(matched, key=lambda term: (-query.weights[term] * idf[term], term))
        return tuple(Match(query.source_words.get(term, term), tuple(matched[term])) for term in order)

    def share(self, position: int) -> float:
        """Return the share, 0 to 1, of the query or of its best clause that one tool matches."""
        known = self._matched_fields(position)
        whole = self._query.matched_share(known)
        return max([whole, *(self.clause_share(clause, position) for clause in self._query.clauses)])

    def clause_share(self, clause: Clause, position: int) -> float:
        """Return the share, 0 to 1, of a clause that one tool matches."""
        return self._query.matched_share(self._matched_fields(position), clause.query_terms)

    def doubt(self, positions: Sequence[int]) -> str:
        """Return a sentence that names the missing words if the tools match little of the query, otherwise "".

        The match is weak if all tools together match under a third of the query, and no tool matches as much as a term
        that only one tool has. A query of function words only is always a weak match.

        Args:
            positions: The positions of the tools in the catalog.
        """
        if not self._query.mass:
            return NO_WORDS_REASON
        if are_function_words(self._query.mass):
            return ONLY_FUNCTION_WORDS_REASON
        if any(self._matched_mass(position) >= self._single_idf for position in positions):
            return ""
        known = {term for position in positions for term in self._matched_fields(position)}
        if self._query.matched_share(known) >= _WEAK_SHARE_THRESHOLD:
            return ""
        missing = ", ".join(self._query.missing(known)[:_MAX_WORDS_NAMED])
        return f"These match only part of the query; none of them has: {missing}."

    def _matched_mass(self, position: int) -> float:
        return sum(self._query.mass.get(term, 0.0) for term in self._matched_fields(position))

    def _matched_fields(self, position: int) -> dict[str, list[str]]:
        matched = self._matched.get(position)
        if matched is None:
            matched = {}
            wanted = self._query.weights.keys()
            for field, terms in self._documents[position].fields():
                if terms:
                    for term in wanted & terms:
                        matched.setdefault(term, []).append(field)
            self._matched[position] = matched
        return matched
