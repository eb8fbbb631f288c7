"""Queries without content: no word at all, or function words only."""

from __future__ import annotations

from collections.abc import Iterable

from ..text.analysis import word_terms, words
from ..text.identifiers import identifiers_in
from .query_weights import function_stems

__all__ = ["NO_WORDS_REASON", "ONLY_FUNCTION_WORDS_REASON", "are_function_words", "explain_empty_query"]

NO_WORDS_REASON = "The query contains no word or number; say what the tool should do."
"""The reason for a query without words."""

ONLY_FUNCTION_WORDS_REASON = 'The query contains only words like "the", which do not say what the tool should do.'
"""The reason for a query of function words only."""

_NO_WORDS_NEAREST_REASON = "The query contains no word or number; these tools are only the nearest in meaning."
_MAX_CHECKED_CHARACTERS = 400


def are_function_words(terms: Iterable[str]) -> bool:
    """Return whether all terms are stems of function words."""
    return function_stems().issuperset(terms)


def explain_empty_query(query: str) -> str:
    """Explain why a query has no content, for an index that compares meaning. Return "" for any other query.

    Example:
        >>> explain_empty_query("the weather"), explain_empty_query("to-do")
        ('', '')
        >>> explain_empty_query("🎉")
        'The query contains no word or number; these tools are only the nearest in meaning.'
    """
    if len(query) > _MAX_CHECKED_CHARACTERS:
        return ""
    found = words(query)
    for word in found:
        if not are_function_words(word_terms(word)[0]):
            return ""  # usually at the first or second word, so the check is cheap
    if not found:
        return _NO_WORDS_NEAREST_REASON
    return "" if identifiers_in(query) else ONLY_FUNCTION_WORDS_REASON
