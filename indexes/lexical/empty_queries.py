"""Queries that say nothing: without a word, or with none but the small words of the language."""

from __future__ import annotations

from collections.abc import Iterable

from ..text.analysis import word_terms, words
from ..text.identifiers import identifiers_in
from .query import function_stems

__all__ = ["NO_WORDS", "SMALL_WORDS", "are_small_words", "doubt_of_text"]

NO_WORDS = "The query holds no word or number; say what the tool should do."
SMALL_WORDS = 'The query holds only words like "the", which say nothing of what the tool should do.'

_NEAREST_ANYWAY = "The query holds no word or number; these are only the nearest in meaning."
_LONGEST = 400


def are_small_words(terms: Iterable[str]) -> bool:
    """Whether all of these terms are stems of function words."""
    return function_stems().issuperset(terms)


def doubt_of_text(query: str) -> str:
    """Return why a query can hardly mean a tool, for an index that goes by meaning, or "".

    Example:
        >>> doubt_of_text("the weather"), doubt_of_text("to-do")
        ('', '')
        >>> doubt_of_text("🎉")
        'The query holds no word or number; these are only the nearest in meaning.'
    """
    if len(query) > _LONGEST:
        return ""
    for word in (found := words(query)):
        if not are_small_words(word_terms(word)[0]):
            return ""  # mostly the first or second: this costs a search next to nothing
    if not found:
        return _NEAREST_ANYWAY
    return "" if identifiers_in(query) else SMALL_WORDS
