"""Spelling correction: known words that an unknown word may stand for."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable

from .analysis import word_terms
from .scripts import is_unspaced

__all__ = ["Spelling", "is_one_edit_apart"]

_MIN_CORRECTED_LENGTH = 4
_MIN_SUBSTITUTION_LENGTH = 5
"""Minimum length for a substituted letter. In four letters it makes another word ("dogs", "docs")."""
_MIN_PREFIX_SHARE = 0.6
_MAX_CORRECTIONS = 8


class Spelling:
    """Finds known words that are one typo or an ending away from an unknown word. Immutable.

    Both words and stems are compared, because a typo can change how a word is stemmed ("tabel", "isue", "isues").

    Args:
        terms: The known stems.
        surface_texts: Strings of the words that the stems come from, separated by blanks. Two words joined by an
            underscore are adjacent in a tool.

    Example:
        >>> Spelling(["weather"], []).close_to("wether")
        {'weather': 'weather'}
    """

    __slots__ = ("_anagrams", "_heads", "_joined", "_tails", "_terms")

    def __init__(self, terms: Iterable[str], surface_texts: Iterable[str]) -> None:
        self._terms: dict[str, str] = {term: term for term in terms if _is_correctable(term)}
        forms: set[str] = set()
        for text in surface_texts:
            forms.update(text.split(" "))
        self._joined: dict[str, tuple[str, ...]] = {}
        for both in forms:
            first, separator, second = both.partition("_")
            if separator and _is_correctable(joined := first + second):
                self._joined[joined] = (*word_terms(first)[0], *word_terms(second)[0])
        for form in filter(_is_correctable, forms):
            if form not in self._terms:
                stems, _ = word_terms(form)
                if len(stems) == 1 and stems[0] in self._terms:
                    self._terms[form] = stems[0]
        # A typo keeps the first two letters, keeps the last three, or only moves a letter by one.
        self._heads: dict[str, dict[int, list[str]]] = {}
        self._tails: dict[str, list[str]] = {}
        self._anagrams: dict[str, list[str]] = {}
        for word in self._terms:
            self._heads.setdefault(word[:2], {}).setdefault(len(word), []).append(word)
            if len(word) >= _MIN_CORRECTED_LENGTH:
                self._tails.setdefault(word[-3:], []).append(word)
                self._anagrams.setdefault("".join(sorted(word)), []).append(word)

    def term_of(self, word: str) -> str | None:
        """Return the stem of a known word, or None for an unknown word."""
        return self._terms.get(word)

    def parts_of(self, word: str) -> tuple[str, ...]:
        """Return the terms of two adjacent words that together make up `word`, or () if there are none.

        Example:
            >>> Spelling(["you", "tube"], ["you tube you_tube"]).parts_of("youtube")
            ('you', 'tube')
        """
        return self._joined.get(word, ())

    def close_to(self, term: str, word: str = "") -> dict[str, str]:
        """Return the known terms that an unknown term may stand for, each with the known word that is close to it.

        A known word is close if it is one edit away (a letter inserted, omitted, substituted or swapped with the next;
        the first letter is right unless it is swapped or omitted), if it has the same first and last letters with the
        same letters in between, or if one of the two is a prefix of at least 60% of the other.

        Args:
            term: The unknown term.
            word: The word that the term is the stem of.

        Returns:
            At most eight terms, nearest in length first.

        Example:
            >>> Spelling(["issu"], ["issue"]).close_to("isu", "isue")
            {'issu': 'issue'}
        """
        found: dict[str, tuple[int, str]] = {}
        singular = word[:-1] if word.endswith("s") else word
        for asked in dict.fromkeys((term, word, singular)):
            if len(asked) >= _MIN_CORRECTED_LENGTH and _is_correctable(asked):
                for known in (*self._typos(asked), *(self._prefixes(asked) if asked == term else ())):
                    rank = abs(len(known) - len(asked)), known
                    stem = self._terms[known]
                    found[stem] = min(rank, found.get(stem, rank))
        nearest = sorted(found, key=lambda stem: (found[stem], stem))[:_MAX_CORRECTIONS]
        return {stem: found[stem][1] for stem in nearest}

    def _typos(self, word: str) -> list[str]:
        size = len(word)
        alike = self._heads.get(word[:2], {})
        # One edit keeps either the end or all but the end: a fast test that rejects most words.
        head, tail = word[: max(2, size - 3)], word[-2:]
        near = [
            known
            for n in range(max(size - 1, _MIN_CORRECTED_LENGTH), size + 2)
            for known in alike.get(n, ())
            if known.endswith(tail) or known.startswith(head)
        ]
        near += [known for known in self._tails.get(word[-3:], ()) if known[:2] != word[:2] and word[0] in known[:2]]
        found = [known for known in near if is_one_edit_apart(word, known)]
        for known in self._anagrams.get("".join(sorted(word)), ()):
            jumbled = size >= _MIN_SUBSTITUTION_LENGTH and known[0] == word[0] and known[-1] == word[-1]
            if jumbled or is_one_edit_apart(word, known):
                found.append(known)
        return found

    def _prefixes(self, word: str) -> list[str]:
        size = len(word)
        alike = self._heads.get(word[:2], {})
        found = [word[:n] for n in range(math.ceil(_MIN_PREFIX_SHARE * size), size) if word[:n] in alike.get(n, ())]
        for n in range(size + 1, int(size / _MIN_PREFIX_SHARE) + 1):
            found += [known for known in alike.get(n, ()) if known.startswith(word)]
        return found


def is_one_edit_apart(one: str, other: str) -> bool:
    """Return whether one edit turns one word into the other.

    Both words must have at least four letters. A substituted letter counts as an edit if they have at least five.

    Example:
        >>> is_one_edit_apart("weather", "wether"), is_one_edit_apart("dogs", "docs")
        (True, False)
    """
    if len(one) > len(other):
        one, other = other, one
    if len(one) < _MIN_CORRECTED_LENGTH or len(other) - len(one) > 1 or one == other:
        return False
    at, end = 0, len(one)
    while at < end and one[at] == other[at]:
        at += 1
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    swapped = one[at + 1 : at + 2] + one[at : at + 1] == other[at : at + 2]
    changed = len(one) >= _MIN_SUBSTITUTION_LENGTH and one[at + 1 :] == other[at + 1 :]
    return changed or (swapped and one[at + 2 :] == other[at + 2 :])


def _is_correctable(text: str) -> bool:
    """Return whether a word can be corrected: it consists of letters and marks in a script with spaces."""
    if len(text) < 3 or is_unspaced(text):
        return False
    return text.isalpha() or (not text.isascii() and all(unicodedata.category(char)[0] in "LM" for char in text))
