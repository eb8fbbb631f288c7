"""Terms of the clauses of a query, with the words they came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..text.analysis import compound_term, word_terms, words
from ..text.identifiers import identifiers_in
from ..text.scripts import is_unspaced
from ..text.stopwords import FUNCTION_WORDS
from .query_weights import function_stems
from .vocabulary import Vocabulary

__all__ = ["QueryReader"]

_MIN_PART_LENGTH = 2
_MIN_COMPOUND_LENGTH = 5


class QueryReader:
    """Reads the clauses of one query.

    Args:
        vocabulary: The terms of the tools.

    Attributes:
        source_words: Term -> the word or words of the query that it came from.
        compounds: Terms of two adjacent words of the query that tools write as one word.
        unspaced: The n-grams of each word in a script without spaces.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.source_words: dict[str, str] = {}
        self.compounds: set[str] = set()
        self.unspaced: dict[tuple[str, ...], None] = {}

    def read(self, text: str) -> tuple[list[str], list[tuple[str, str]]]:
        """Return the terms of a clause, and its forms in order, each with its term."""
        found: list[str] = []
        stems: list[tuple[str, str]] = []
        for word in words(text):
            own, forms = word_terms(word)
            for term in own:
                self.source_words.setdefault(term, word.lower() if len(own) == 1 else term)
            if len(own) > 1 and any(map(is_unspaced, own)):
                self.unspaced[own] = None
            self.compounds.difference_update(own)  # the query also writes these as one word
            found += own
            stems += zip(forms, own, strict=True)
        found += self._compound_terms([form for form, _ in stems])
        for identifier in identifiers_in(text):
            whole = compound_term(identifier)
            # Hyphens and slashes also join ordinary words, so the whole counts only if a tool has it.
            if whole is not None and whole in self._vocabulary.idf:
                self.source_words.setdefault(whole, identifier)
                found.append(whole)
        return found, stems

    def _compound_terms(self, forms: Sequence[str]) -> Iterator[str]:
        """Yield the terms of adjacent words that tools write as one word ("log in", "spread sheet").

        If both words are known, as in "passenger name", they find the tool without a compound.
        """
        spelling = self._vocabulary.spelling
        for first, second in pairwise(forms):
            if min(len(first), len(second)) < _MIN_PART_LENGTH or len(first) + len(second) < _MIN_COMPOUND_LENGTH:
                continue
            if self._is_known(first) and self._is_known(second):
                continue
            term = spelling.term_of(first + second)
            if term is not None and term not in self.source_words and term not in function_stems():
                self.source_words[term] = f"{first} {second}"
                self.compounds.add(term)
                yield term

    def _is_known(self, form: str) -> bool:
        return form not in FUNCTION_WORDS and self._vocabulary.spelling.term_of(form) is not None
