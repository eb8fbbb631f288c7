"""Query parsing: the weighted terms and the clauses of a request."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..text.clauses import split_clauses
from ..text.ngrams import missing_spans
from ..text.word_pairs import adjacent_words, pair_term
from .query_reader import QueryReader
from .query_weights import GUESS_WEIGHT, add_synonyms, function_stems, term_weights
from .vocabulary import Vocabulary

__all__ = ["Clause", "ParsedQuery", "parse_query"]

_HEAD_CHARACTERS, _TAIL_CHARACTERS = 12_000, 4_000
_MAX_TERMS = 96
_COMMON_TERMS_THRESHOLD = 16
"""Distinctive terms from which common terms are dropped: they cost the most time and do not change the ranking."""
_SYNONYMS_THRESHOLD = 24
"""Distinctive terms from which synonyms are not added."""

_LAST_WORD = re.compile(r"\w{1,40}$")
_FIRST_WORD = re.compile(r"^\w{1,40}")


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a request that can ask for a different tool.

    Args:
        terms: The indexed terms.
        query_terms: The terms of the query, for `ParsedQuery.matched_share`.
        surface_forms: The unstemmed words and pairs of words.
    """

    terms: tuple[str, ...]
    query_terms: tuple[str, ...]
    surface_forms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query in terms of one vocabulary.

    Args:
        weights: Indexed term -> weight. Includes guesses for unknown words, and synonyms.
        clauses: The clauses, or () if there is only one.
        answers: Term of the query -> the indexed terms that answer it: itself or its guesses, and its synonyms.
        source_words: Term -> the word of the query that it came from.
        mass: Term of the query -> IDF times weight.
        surface_weights: Unstemmed word or pair of words, of indexed terms only -> weight.
        unspaced: The n-grams of each word in a script without spaces.
    """

    weights: dict[str, float]
    clauses: tuple[Clause, ...]
    answers: dict[str, tuple[str, ...]]
    source_words: dict[str, str]
    mass: dict[str, float]
    surface_weights: dict[str, float]
    unspaced: tuple[tuple[str, ...], ...] = ()

    def matched_share(self, known: Collection[str], query_terms: Iterable[str] | None = None) -> float:
        """Return the share, 0 to 1, of the query's mass that is known. A guess or a synonym counts half.

        Args:
            known: The known terms.
            query_terms: The terms of a clause, or None for the whole query.
        """
        total = matched = 0.0
        for term in self.mass if query_terms is None else query_terms:
            mass = self.mass[term]
            total += mass
            if term in known:
                matched += mass
            elif any(guess in known for guess in self.answers[term]):
                matched += GUESS_WEIGHT * mass
        return matched / total if total else 0.0

    def missing(self, known: Collection[str]) -> list[str]:
        """Return the words of the query that are not known, heaviest first."""
        unknown = [t for t in self.mass if t not in known and not any(guess in known for guess in self.answers[t])]
        labels = {term: self.source_words[term] for term in sorted(unknown, key=lambda term: -self.mass[term])}
        for ngrams in self.unspaced:
            labels.update(missing_spans(ngrams, labels.keys()))
        return list(dict.fromkeys(filter(None, labels.values()))) or list(labels)


def parse_query(text: str, vocabulary: Vocabulary) -> ParsedQuery:
    """Parse a query in terms of a vocabulary.

    Of a very long query only the beginning, the end and the rarest known terms are used.
    """
    text = _shorten(text)
    reader = QueryReader(vocabulary)
    parts = [reader.read(part) for part in split_clauses(text)]
    source_words = reader.source_words
    query_terms = list(dict.fromkeys(term for part, _ in parts for term in part))
    functional = function_stems()
    kept = [term for term in query_terms if term not in functional] or query_terms
    query_weights = term_weights(kept, text, reader.compounds)
    masses = {term: vocabulary.idf.get(term, vocabulary.unknown_idf) * query_weights[term] for term in kept}
    distinctive = [term for term in masses if not vocabulary.is_common(term)]
    if len(distinctive) >= _COMMON_TERMS_THRESHOLD:
        masses = {term: masses[term] for term in distinctive}
    if len(masses) > _MAX_TERMS:
        rarest_known = sorted(masses, key=lambda term: (term not in vocabulary.idf, -masses[term]))
        masses = {term: masses[term] for term in rarest_known[:_MAX_TERMS]}
    answers: dict[str, tuple[str, ...]] = {}
    weights: dict[str, float] = {}
    forms = {term: form for _, stems in reversed(parts) for form, term in reversed(stems)}
    for term in masses:
        if term in vocabulary.idf:
            answers[term] = (term,)
            weights[term] = max(weights.get(term, 0.0), query_weights[term])
            continue
        form = forms.get(term, "")
        guesses = _guesses(term, form, vocabulary)
        answers[term] = tuple(guesses)
        for guess, known in guesses.items():
            weights[guess] = max(weights.get(guess, 0.0), GUESS_WEIGHT * query_weights[term])
            source_words.setdefault(guess, source_words[term] if known == form else f"{source_words[term]} ({known})")
    if len(distinctive) < _SYNONYMS_THRESHOLD:
        add_synonyms(weights, answers, source_words, query_weights, vocabulary)
    surface_weights: dict[str, float] = {}
    clauses: dict[tuple[str, ...], Clause] = {}
    for part, stems in parts:
        own = tuple(dict.fromkeys(term for term in part if term in answers))
        indexed = tuple(dict.fromkeys(answer for term in own for answer in answers[term]))
        surface = _surface_weights(stems, {term: weights[term] for term in own if term in vocabulary.idf})
        surface_weights.update(surface)
        if indexed:
            clauses.setdefault(indexed, Clause(indexed, own, tuple(surface)))
    several = tuple(clauses.values()) if len(clauses) > 1 else ()
    return ParsedQuery(weights, several, answers, source_words, masses, surface_weights, tuple(reader.unspaced))


def _shorten(text: str) -> str:
    """Return the beginning and the end of a very long query, without the words that are cut."""
    if len(text) <= _HEAD_CHARACTERS + _TAIL_CHARACTERS:
        return text
    return f"{_LAST_WORD.sub('', text[:_HEAD_CHARACTERS])}\n{_FIRST_WORD.sub('', text[-_TAIL_CHARACTERS:])}"


def _guesses(term: str, form: str, vocabulary: Vocabulary) -> dict[str, str]:
    """Return the known terms that an unknown term may stand for, each with the known word."""
    guesses = vocabulary.spelling.close_to(term, form)
    for part in vocabulary.spelling.parts_of(form):
        if part in vocabulary.idf:
            guesses.setdefault(part, form)
    return guesses


def _surface_weights(stems: Sequence[tuple[str, str]], weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of the forms whose terms have a weight, and of adjacent pairs of such forms."""
    found = {form: weights[term] for form, term in stems if term in weights}
    for both in adjacent_words(form for form, _ in stems):
        if both[0] in found and both[1] in found:
            found[pair_term(both)] = min(found[both[0]], found[both[1]])
    return found
