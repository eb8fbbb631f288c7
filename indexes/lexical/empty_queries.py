"""Queries that say nothing: without a word, or with none but the small words of the language."""

from __future__ import annotations

from collections.abc import Iterable

from ..text.analysis import word_terms, words
from ..text.identifiers import identifiers_in
from .query import function_stems

__all__ = ["NO_WORDS_REASON", "ONLY_FUNCTION_WORDS_REASON", "are_function_words", "explain_empty_query"]

NO_WORDS_REASON = "The query holds no word or number; say what the tool should do."
ONLY_FUNCTION_WORDS_REASON = 'The query holds only words like "the", which say nothing of what the tool should do.'

_NEAREST_ANYWAY = "The query holds no word or number; these are only the nearest in meaning."
_LONGEST = 400


def are_function_words(terms: Iterable[str]) -> bool:
    """Whether all of these terms are stems of function words."""
    return function_stems().issuperset(terms)


def explain_empty_query(query: str) -> str:
    """Return why a query can hardly mean a tool, for an index that goes by meaning, or "".

    Example:
        >>> explain_empty_query("the weather"), explain_empty_query("to-do")
        ('', '')
        >>> explain_empty_query("🎉")
        'The query holds no word or number; these are only the nearest in meaning.'
    """
    if len(query) > _LONGEST:
        return ""
    for word in (found := words(query)):
        if not are_function_words(word_terms(word)[0]):
            return ""  # mostly the first or second: this costs a search next to nothing
    if not found:
        return _NEAREST_ANYWAY
    return "" if identifiers_in(query) else ONLY_FUNCTION_WORDS_REASON
