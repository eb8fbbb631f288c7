"""The words of one set of tools: how rare each is, and which are close to a word that is not among them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from .documents import ToolTerms

__all__ = ["Vocabulary", "one_edit_apart"]

_SHORTEST_GUESSED = 4
_SHORTEST_EDITED = 5
_PREFIX_SHARE = 0.6
_MOST_GUESSES = 8


class Vocabulary:
    """Document frequencies of a set of tools, by field and as a whole. Immutable once built."""

    __slots__ = ("_by_frequency", "_fields", "_spellings", "idf", "unknown_idf")

    def __init__(self, documents: Sequence[ToolTerms]) -> None:
        names: Counter[str] = Counter()
        texts: Counter[str] = Counter()
        details: Counter[str] = Counter()
        anywhere: Counter[str] = Counter()
        for document in documents:
            name, text, detail = set(document.name_field), set(document.text_field), set(document.detail_field)
            names.update(name)
            texts.update(text)
            details.update(detail)
            anywhere.update(name | text | detail)
        count = len(documents)
        by_frequency = [math.log(1 + (count - df + 0.5) / (df + 0.5)) for df in range(count + 1)]
        self.unknown_idf = by_frequency[0]
        """The IDF of a word no tool has."""
        self.idf: dict[str, float] = {term: by_frequency[df] for term, df in anywhere.items()}
        """term -> IDF over whole tools, for every term there is."""
        self._by_frequency = by_frequency
        self._fields = (names, texts, details)
        self._spellings: tuple[dict[str, dict[int, list[str]]], dict[str, list[str]]] | None = None

    def field_idf(self, term: str) -> tuple[float, float, float]:
        """Return the IDF of `term` within each field (name, text, detail), 0.0 where it does not occur."""
        name, text, detail = (self._by_frequency[df] if (df := field.get(term, 0)) else 0.0 for field in self._fields)
        return name, text, detail

    def close_to(self, word: str) -> list[str]:
        """Return the known words an unknown one may stand for.

        They are one edit away, or one of the two is a prefix of the other that covers 60 % of it.
        An edit is a letter put in, left out, changed, or changed places with its neighbour; the first letter is right
        unless it changed places.
        """
        size = len(word)
        if size < _SHORTEST_GUESSED or not _guessable(word):
            return []
        heads, tails = self._near()
        alike = heads.get(word[:2], {})
        found = [word[:n] for n in range(math.ceil(_PREFIX_SHARE * size), size) if word[:n] in alike.get(n, ())]
        for n in range(size + 1, int(size / _PREFIX_SHARE) + 1):
            found += [known for known in alike.get(n, ()) if known.startswith(word)]
        if size >= _SHORTEST_EDITED - 1:
            # One edit leaves either the end as it is or all but the end: a cheap test that few words pass.
            head, tail = word[: size - 3], word[-2:]
            for n in (size - 1, size, size + 1):
                found += [
                    known
                    for known in alike.get(n, ())
                    if (known.endswith(tail) or known.startswith(head)) and one_edit_apart(word, known)
                ]
            found += [
                known
                for known in tails.get(word[-3:], ())
                if known[:2] != word[:2] and word[0] in known[:2] and one_edit_apart(word, known)
            ]
        return sorted(dict.fromkeys(found), key=lambda known: (abs(len(known) - size), known))[:_MOST_GUESSES]

    def _near(self) -> tuple[dict[str, dict[int, list[str]]], dict[str, list[str]]]:
        """Return the known words by their first two letters and length, and by their last three letters.

        Made when first asked for; two threads at once make the same.
        """
        if self._spellings is None:
            heads: dict[str, dict[int, list[str]]] = {}
            tails: dict[str, list[str]] = {}
            for term in filter(_guessable, self.idf):
                heads.setdefault(term[:2], {}).setdefault(len(term), []).append(term)
                tails.setdefault(term[-3:], []).append(term)
            self._spellings = heads, tails
        return self._spellings

    def mass(self, terms: Iterable[str]) -> float:
        """Return the summed IDF of `terms`; unknown ones count as the rarest."""
        return sum(self.idf.get(term, self.unknown_idf) for term in terms)


def one_edit_apart(one: str, other: str) -> bool:
    """Tell whether one edit turns `one` into `other`, both being five letters or more."""
    if len(one) > len(other):
        one, other = other, one
    if len(one) < _SHORTEST_EDITED or len(other) - len(one) > 1 or one == other:
        return False
    at, end = 0, len(one)
    while at < end and one[at] == other[at]:
        at += 1
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    swapped = one[at + 1 : at + 2] + one[at : at + 1] == other[at : at + 2]
    return one[at + 1 :] == other[at + 1 :] or (swapped and one[at + 2 :] == other[at + 2 :])


def _guessable(term: str) -> bool:
    return term.isascii() and term.isalpha() and len(term) > 2
