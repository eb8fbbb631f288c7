"""Weights of the terms of a query: function words, polite words, quotations and synonyms."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache

from ..text.analysis import terms
from ..text.quotes import quoted_values, remove_quoted
from ..text.stemming import stem
from ..text.stopwords import COURTESIES, FUNCTION_WORDS
from ..text.synonyms import synonyms_of
from .vocabulary import Vocabulary

__all__ = ["GUESS_WEIGHT", "add_synonyms", "function_stems", "term_weights"]

GUESS_WEIGHT = 0.5
"""Weight of a guess, such as a spelling correction, relative to an exact term."""

_COURTESY_WEIGHT = 0.3
_SYNONYM_WEIGHT = 0.25
_QUOTED_WEIGHT = 0.5
_MIN_UNQUOTED_TERMS = 3


def term_weights(query_terms: Sequence[str], text: str, compounds: Collection[str]) -> dict[str, float]:
    """Return the weight of each term of a query, without regard to rarity.

    Polite words have a small weight. Terms that only occur in quotations have half weight if the query has enough
    other terms.

    Args:
        query_terms: The terms of the query.
        text: The query.
        compounds: Terms made of two adjacent words of the query, which are guesses.
    """
    courtesies = _courtesy_stems()
    weights = {term: _COURTESY_WEIGHT if term in courtesies else 1.0 for term in query_terms}
    weights.update((term, GUESS_WEIGHT) for term in query_terms if term in compounds)
    values = quoted_values(text)
    if values:
        unquoted = set(terms(remove_quoted(text)))
        if len(unquoted.intersection(query_terms)) >= _MIN_UNQUOTED_TERMS:
            for term in weights.keys() & set(terms("\n".join(values))) - unquoted:
                weights[term] *= _QUOTED_WEIGHT
    return weights


def add_synonyms(
    weights: dict[str, float],
    answers: dict[str, tuple[str, ...]],
    source_words: dict[str, str],
    query_weights: Mapping[str, float],
    vocabulary: Vocabulary,
) -> None:
    """Add the synonyms of the query's terms with a small weight.

    A synonym that is rarer than the term of the query does not count for more than the term.

    Args:
        weights: Indexed term -> weight. Synonyms are added.
        answers: Term of the query -> the indexed terms that answer it. Synonyms are added.
        source_words: Term -> the word of the query that it came from. Synonyms are added.
        query_weights: Term of the query -> weight.
        vocabulary: The terms of the tools.
    """
    idf = vocabulary.idf
    found: dict[str, float] = {}
    courtesies = _courtesy_stems()
    for term, known in answers.items():
        if term in courtesies:
            continue
        synonyms = {
            synonym: verb
            for synonym, verb in synonyms_of(term).items()
            if synonym in idf and synonym not in weights and not vocabulary.is_common(synonym)
        }
        for synonym, verb in synonyms.items():
            weight = _SYNONYM_WEIGHT * query_weights[term] * min(1.0, idf.get(term, idf[synonym]) / idf[synonym])
            found[synonym] = max(found.get(synonym, 0.0), weight)
            source_words.setdefault(synonym, f"{source_words[term]} ({verb})")
        if synonyms:
            answers[term] = (*known, *synonyms)
    weights.update(found)


@cache
def function_stems() -> frozenset[str]:
    """Return the stems of the function words, which have no weight in a query."""
    return frozenset(map(stem, FUNCTION_WORDS))


@cache
def _courtesy_stems() -> frozenset[str]:
    return frozenset(map(stem, COURTESIES)) - function_stems()
