"""Why a tool was found, and whether what was found is much of what was asked."""

from __future__ import annotations

from collections.abc import Sequence

from ..response import Match
from .empty_queries import NO_WORDS_REASON, ONLY_FUNCTION_WORDS_REASON, are_function_words
from .query import Clause, ParsedQuery
from .tool_terms import ToolTerms
from .vocabulary import Vocabulary

__all__ = ["Explainer"]

_DOUBTED_BELOW = 1 / 3
"""Requests are full of names and values no tool knows: half unmatched is usual, two thirds are less so.

By the share alone a third of the requests of six public sets would be doubted that have their tool among the first
five, most of them long ones. So what one tool matches also says enough if it weighs as much as a word that no other
tool has.
"""

_WORDS_NAMED = 8


class Explainer:
    """Explains the results of one query; made for it and dropped with it."""

    __slots__ = ("_documents", "_idf", "_matched", "_query", "_single")

    def __init__(self, query: ParsedQuery, documents: Sequence[ToolTerms], vocabulary: Vocabulary) -> None:
        self._query = query
        self._documents = documents
        self._idf = vocabulary.idf
        self._single = vocabulary.single_idf
        self._matched: dict[int, dict[str, list[str]]] = {}

    def matches(self, position: int) -> tuple[Match, ...]:
        """Return the words of the query that one tool has and the parts it has them in, weightiest words first."""
        query, idf = self._query, self._idf
        matched = self._fields(position)
        order = sorted(matched, key=lambda term: (-query.weights[term] * idf[term], term))
        return tuple(Match(query.shown.get(term, term), tuple(matched[term])) for term in order)

    def share(self, position: int) -> float:
        """Return the share, 0 to 1, of the query or of the clause it fits best, that one tool matches."""
        known = self._fields(position)
        whole = self._query.matched_share(known)
        return max([whole, *(self.clause_share(clause, position) for clause in self._query.clauses)])

    def clause_share(self, clause: Clause, position: int) -> float:
        """Return the share, 0 to 1, of a clause that one tool matches."""
        return self._query.matched_share(self._fields(position), clause.asked)

    def doubt(self, positions: Sequence[int]) -> str:
        """Return a sentence naming what is missing if these tools match little of the query, or "".

        Little is under a third by all of them together, and by none of them as much as a word of one tool alone. A
        query of function words only is matched by chance, however much of it is.
        """
        if not self._query.mass:
            return NO_WORDS_REASON
        if are_function_words(self._query.mass):
            return ONLY_FUNCTION_WORDS_REASON
        if any(self._weight(position) >= self._single for position in positions):
            return ""
        known = {term for position in positions for term in self._fields(position)}
        if self._query.matched_share(known) >= _DOUBTED_BELOW:
            return ""
        missing = ", ".join(self._query.missing(known)[:_WORDS_NAMED])
        return f"These match only part of the query; none of them has: {missing}."

    def _weight(self, position: int) -> float:
        return sum(self._query.mass.get(term, 0.0) for term in self._fields(position))

    def _fields(self, position: int) -> dict[str, list[str]]:
        found = self._matched.get(position)
        if found is None:
            found = {}
            asked = self._query.weights.keys()
            for part, terms in self._documents[position].parts():
                if terms:
                    for term in asked & terms:
                        found.setdefault(term, []).append(part)
            self._matched[position] = found
        return found
