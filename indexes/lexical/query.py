"""A request in terms: which words count and how much, and into which clauses it falls."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from ..text.analysis import compound_term, terms, word_terms, words
from ..text.clauses import split_clauses
from ..text.identifiers import identifiers_in
from ..text.ngrams import missing_spans
from ..text.quotes import quoted_values, remove_quoted
from ..text.scripts import is_unspaced
from ..text.stemming import stem
from ..text.stopwords import COURTESIES, FUNCTION_WORDS
from ..text.synonyms import synonyms_of
from ..text.word_pairs import adjacent_words, pair_term
from .vocabulary import Vocabulary

__all__ = ["Clause", "ParsedQuery", "function_stems", "parse"]

_HEAD, _TAIL = 12_000, 4_000
_MOST_TERMS = 96
_PLENTY = 16
"""Where so many words tell tools apart, those that most tools have are left out: they cost most and change nothing."""
_ENOUGH = 24
"""Where so many words tell tools apart, there is no need for synonyms of theirs."""
_COURTESY_WEIGHT = 0.3
_GUESS_WEIGHT = 0.5
_SHORTEST_PART, _SHORTEST_JOINED = 2, 5
_SYNONYM_WEIGHT = 0.25
_QUOTED_WEIGHT = 0.5
_ENOUGH_UNQUOTED = 3

_LAST_WORD = re.compile(r"\w{1,40}$")
_FIRST_WORD = re.compile(r"^\w{1,40}")


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a request that may want a tool of its own.

    Args:
        terms: its indexed terms.
        asked: the same in terms of the query, for `ParsedQuery.matched_share`.
        written: its words and pairs of words as they are written.
    """

    terms: tuple[str, ...]
    asked: tuple[str, ...]
    written: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What a query asks of one vocabulary.

    Args:
        weights: indexed term -> its weight; guesses for unknown words and synonyms included.
        clauses: the clauses if there are several.
        asked: term of the query that counts -> the indexed terms that answer it: itself or its guesses, and its synonyms.
        shown: term -> the word of the query it came from.
        mass: term of the query -> its IDF times its weight.
        written: word or pair of words as it is written, of indexed terms -> its weight.
        unspaced: of each word in a script without spaces, the terms it is searched by.
    """

    weights: dict[str, float]
    clauses: tuple[Clause, ...]
    asked: dict[str, tuple[str, ...]]
    shown: dict[str, str]
    mass: dict[str, float]
    written: dict[str, float]
    unspaced: tuple[tuple[str, ...], ...] = ()

    def matched_share(self, known: Collection[str], clause: Iterable[str] | None = None) -> float:
        """Return the share of the query's mass, or of a clause's, that is `known`; a guess or a synonym counts half."""
        total = matched = 0.0
        for term in self.mass if clause is None else clause:
            mass = self.mass[term]
            total += mass
            if term in known:
                matched += mass
            elif any(guess in known for guess in self.asked[term]):
                matched += _GUESS_WEIGHT * mass
        return matched / total if total else 0.0

    def missing(self, known: Collection[str]) -> list[str]:
        """Return the words of the query that are not `known`, weightiest first."""
        unknown = [term for term in self.mass if term not in known and not any(g in known for g in self.asked[term])]
        shown = {term: self.shown[term] for term in sorted(unknown, key=lambda term: -self.mass[term])}
        for fragments in self.unspaced:
            shown.update(missing_spans(fragments, shown.keys()))
        return list(dict.fromkeys(filter(None, shown.values()))) or list(shown)


def parse(text: str, vocabulary: Vocabulary) -> ParsedQuery:
    """Analyse `text`. What is very long is read at its beginning and end, and by the rarest terms the tools have."""
    if len(text) > _HEAD + _TAIL:
        text = f"{_LAST_WORD.sub('', text[:_HEAD])}\n{_FIRST_WORD.sub('', text[-_TAIL:])}"
    reader = _Reader(vocabulary)
    parts = [reader.read(part) for part in split_clauses(text)]
    shown = reader.shown
    every = dict.fromkeys(term for part, _ in parts for term in part)
    functional = function_stems()
    kept = [term for term in every if term not in functional] or list(every)
    worth = _worth(kept, text, reader.together)
    masses = {term: vocabulary.idf.get(term, vocabulary.unknown_idf) * worth[term] for term in kept}
    telling = [term for term in masses if not vocabulary.is_common(term)]
    if len(telling) >= _PLENTY:
        masses = {term: masses[term] for term in telling}
    if len(masses) > _MOST_TERMS:
        rarest_known = sorted(masses, key=lambda term: (term not in vocabulary.idf, -masses[term]))
        masses = {term: masses[term] for term in rarest_known[:_MOST_TERMS]}
    asked: dict[str, tuple[str, ...]] = {}
    weights: dict[str, float] = {}
    forms = {term: form for _, stems in reversed(parts) for form, term in reversed(stems)}
    for term in masses:
        if term in vocabulary.idf:
            asked[term] = (term,)
            weights[term] = max(weights.get(term, 0.0), worth[term])
            continue
        form = forms.get(term, "")
        guesses = vocabulary.spelling.close_to(term, form)
        for found in vocabulary.spelling.parts_of(form):
            if found in vocabulary.idf:
                guesses.setdefault(found, form)
        asked[term] = tuple(guesses)
        for guess, known in guesses.items():
            weights[guess] = max(weights.get(guess, 0.0), _GUESS_WEIGHT * worth[term])
            shown.setdefault(guess, shown[term] if known == form else f"{shown[term]} ({known})")
    if len(telling) < _ENOUGH:
        _add_synonyms(weights, asked, shown, worth, vocabulary)
    written: dict[str, float] = {}
    wanted: dict[tuple[str, ...], Clause] = {}
    for part, stems in parts:
        own = tuple(dict.fromkeys(term for term in part if term in asked))
        indexed = tuple(dict.fromkeys(found for term in own for found in asked[term]))
        as_written = _as_written(stems, {term: weights[term] for term in own if term in vocabulary.idf})
        written.update(as_written)
        if indexed:
            wanted.setdefault(indexed, Clause(indexed, own, tuple(as_written)))
    several = tuple(wanted.values()) if len(wanted) > 1 else ()
    return ParsedQuery(weights, several, asked, shown, masses, written, tuple(reader.unspaced))


class _Reader:
    """Reads the clauses of one query.

    Attributes:
        shown: term -> the word, or the words, of the query it came from.
        together: the terms of neighbours in the query that tools write as one word.
        unspaced: of each word in a script without spaces, the terms it is searched by.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.shown: dict[str, str] = {}
        self.together: set[str] = set()
        self.unspaced: dict[tuple[str, ...], None] = {}

    def read(self, text: str) -> tuple[list[str], list[tuple[str, str]]]:
        """Return the terms of a clause, and its forms in order, each with the term it gives."""
        found: list[str] = []
        stems: list[tuple[str, str]] = []
        for word in words(text):
            own, forms = word_terms(word)
            for term in own:
                self.shown.setdefault(term, word.lower() if len(own) == 1 else term)
            if len(own) > 1 and any(map(is_unspaced, own)):
                self.unspaced[own] = None
            self.together.difference_update(own)  # written as one word after all
            found += own
            stems += zip(forms, own, strict=True)
        found += self._joined([form for form, _ in stems])
        for identifier in identifiers_in(text):
            whole = compound_term(identifier)
            # Hyphens and slashes join ordinary words too: the whole counts only where a tool has it.
            if whole is not None and whole in self._vocabulary.idf:
                self.shown.setdefault(whole, identifier)
                found.append(whole)
        return found, stems

    def _joined(self, forms: Sequence[str]) -> Iterator[str]:
        """Give the terms of neighbours that tools write as one word ("log in", "spread sheet").

        Only where one of the two says nothing by itself: "passenger name" is found well enough by both its words.
        """
        spelling = self._vocabulary.spelling
        for first, second in pairwise(forms):
            if min(len(first), len(second)) < _SHORTEST_PART or len(first) + len(second) < _SHORTEST_JOINED:
                continue
            if self._says(first) and self._says(second):
                continue
            term = spelling.term_of(first + second)
            if term is not None and term not in self.shown and term not in function_stems():
                self.shown[term] = f"{first} {second}"
                self.together.add(term)
                yield term

    def _says(self, form: str) -> bool:
        return form not in FUNCTION_WORDS and self._vocabulary.spelling.term_of(form) is not None


def _as_written(stems: Sequence[tuple[str, str]], weights: Mapping[str, float]) -> dict[str, float]:
    """Return the forms whose terms have a weight, and the pairs of them, with their weights."""
    found = {form: weights[term] for form, term in stems if term in weights}
    for both in adjacent_words(form for form, _ in stems):
        if both[0] in found and both[1] in found:
            found[pair_term(both)] = min(found[both[0]], found[both[1]])
    return found


def _worth(kept: Sequence[str], text: str, together: Collection[str]) -> dict[str, float]:
    """Return what each term counts: words of courtesy little, and words in quotes only half, where there are others."""
    courtesies = _courtesy_stems()
    worth = {term: _COURTESY_WEIGHT if term in courtesies else 1.0 for term in kept}
    worth.update((term, _GUESS_WEIGHT) for term in kept if term in together)
    values = quoted_values(text)
    if values:
        outside = set(terms(remove_quoted(text)))
        if len(outside.intersection(kept)) >= _ENOUGH_UNQUOTED:
            for term in worth.keys() & set(terms("\n".join(values))) - outside:
                worth[term] *= _QUOTED_WEIGHT
    return worth


def _add_synonyms(
    weights: dict[str, float],
    asked: dict[str, tuple[str, ...]],
    shown: dict[str, str],
    worth: Mapping[str, float],
    vocabulary: Vocabulary,
) -> None:
    """Let what means the same count a little, and no more for being rarer than the word that was used."""
    idf = vocabulary.idf
    found: dict[str, float] = {}
    courtesies = _courtesy_stems()
    for term, answers in asked.items():
        if term in courtesies:
            continue
        others = {
            other: verb
            for other, verb in synonyms_of(term).items()
            if other in idf and other not in weights and not vocabulary.is_common(other)
        }
        for other, verb in others.items():
            weight = _SYNONYM_WEIGHT * worth[term] * min(1.0, idf.get(term, idf[other]) / idf[other])
            found[other] = max(found.get(other, 0.0), weight)
            shown.setdefault(other, f"{shown[term]} ({verb})")
        if others:
            asked[term] = (*answers, *others)
    weights.update(found)


@cache
def function_stems() -> frozenset[str]:
    """Return the terms of the words that count nothing in a query."""
    return frozenset(map(stem, FUNCTION_WORDS))


@cache
def _courtesy_stems() -> frozenset[str]:
    return frozenset(map(stem, COURTESIES)) - function_stems()
