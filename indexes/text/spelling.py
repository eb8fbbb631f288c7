"""Which words of a set of tools a word that is not among them may stand for."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable

from .analysis import word_terms
from .scripts import is_unspaced

__all__ = ["Spelling", "is_one_edit_apart"]

_SHORTEST_GUESSED = 4
_SHORTEST_CHANGED = 5
"""In a word of four letters another letter makes another word ("dogs", "docs"); a missing or moved one, a slip."""
_PREFIX_SHARE = 0.6
_MOST_GUESSES = 8


class Spelling:
    """Finds the known words that are one slip of the fingers, or an ending, away from an unknown one. Immutable.

    Words are compared as they are written and as stems: a slip may cost a word more of its ending than the letter
    ("tabel", "isue"), or hide behind it ("isues").

    Args:
        terms: the stems known.
        written: texts of the words they come from, joined by blanks.
    """

    __slots__ = ("_anagrams", "_heads", "_joined", "_tails", "_terms")

    def __init__(self, terms: Iterable[str], written: Iterable[str]) -> None:
        self._terms: dict[str, str] = {term: term for term in terms if _guessable(term)}
        forms: set[str] = set()
        for text in written:
            forms.update(text.split(" "))
        self._joined: dict[str, tuple[str, ...]] = {}
        for both in forms:
            first, separator, second = both.partition("_")
            if separator and _guessable(joined := first + second):
                self._joined[joined] = (*word_terms(first)[0], *word_terms(second)[0])
        for form in filter(_guessable, forms):
            if form not in self._terms:
                stems, _ = word_terms(form)
                if len(stems) == 1 and stems[0] in self._terms:
                    self._terms[form] = stems[0]
        # A slip leaves the first two letters as they are, or the last three, or only moves a letter by one.
        self._heads: dict[str, dict[int, list[str]]] = {}
        self._tails: dict[str, list[str]] = {}
        self._anagrams: dict[str, list[str]] = {}
        for word in self._terms:
            self._heads.setdefault(word[:2], {}).setdefault(len(word), []).append(word)
            if len(word) >= _SHORTEST_GUESSED:
                self._tails.setdefault(word[-3:], []).append(word)
                self._anagrams.setdefault("".join(sorted(word)), []).append(word)

    def term_of(self, word: str) -> str | None:
        """Return the stem of a word that the tools have as it is written, else None."""
        return self._terms.get(word)

    def parts_of(self, word: str) -> tuple[str, ...]:
        """Return the terms of the two words that stand next to each other and make up `word` together, if any do.

        Example:
            >>> Spelling(["you", "tube"], ["you tube you_tube"]).parts_of("youtube")
            ('you', 'tube')
        """
        return self._joined.get(word, ())

    def close_to(self, term: str, word: str = "") -> dict[str, str]:
        """Return the known terms that an unknown `term`, and the `word` it is the stem of, may stand for.

        Each comes with the known word that is close to it.

        They are one edit away (a letter put in, left out, changed, or changed places with its neighbour; the first
        letter is right unless it changed places or was left out) or have the same letters between the same first and
        last one, or one of the two is a prefix of the other that covers 60 % of it. Nearest in length first, eight
        at most.

        Example:
            >>> Spelling(["issu"], ["issue"]).close_to("isu", "isue")
            {'issu': 'issue'}
        """
        found: dict[str, tuple[int, str]] = {}
        singular = word[:-1] if word.endswith("s") else word
        for asked in dict.fromkeys((term, word, singular)):
            if len(asked) >= _SHORTEST_GUESSED and _guessable(asked):
                for known in (*self._slips(asked), *(self._cut(asked) if asked == term else ())):
                    rank = abs(len(known) - len(asked)), known
                    stem = self._terms[known]
                    found[stem] = min(rank, found.get(stem, rank))
        nearest = sorted(found, key=lambda stem: (found[stem], stem))[:_MOST_GUESSES]
        return {stem: found[stem][1] for stem in nearest}

    def _slips(self, word: str) -> list[str]:
        size = len(word)
        alike = self._heads.get(word[:2], {})
        # One edit leaves either the end as it is or all but the end: a cheap test that few words pass.
        head, tail = word[: max(2, size - 3)], word[-2:]
        near = [
            known
            for n in range(max(size - 1, _SHORTEST_GUESSED), size + 2)
            for known in alike.get(n, ())
            if known.endswith(tail) or known.startswith(head)
        ]
        near += [known for known in self._tails.get(word[-3:], ()) if known[:2] != word[:2] and word[0] in known[:2]]
        found = [known for known in near if is_one_edit_apart(word, known)]
        for known in self._anagrams.get("".join(sorted(word)), ()):
            jumbled = size >= _SHORTEST_CHANGED and known[0] == word[0] and known[-1] == word[-1]
            if jumbled or is_one_edit_apart(word, known):
                found.append(known)
        return found

    def _cut(self, word: str) -> list[str]:
        size = len(word)
        alike = self._heads.get(word[:2], {})
        found = [word[:n] for n in range(math.ceil(_PREFIX_SHARE * size), size) if word[:n] in alike.get(n, ())]
        for n in range(size + 1, int(size / _PREFIX_SHARE) + 1):
            found += [known for known in alike.get(n, ()) if known.startswith(word)]
        return found


def is_one_edit_apart(one: str, other: str) -> bool:
    """Tell whether one edit turns `one` into `other`, both being four letters or more.

    Another letter counts as an edit in words of five letters or more.
    """
    if len(one) > len(other):
        one, other = other, one
    if len(one) < _SHORTEST_GUESSED or len(other) - len(one) > 1 or one == other:
        return False
    at, end = 0, len(one)
    while at < end and one[at] == other[at]:
        at += 1
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    swapped = one[at + 1 : at + 2] + one[at : at + 1] == other[at : at + 2]
    changed = len(one) >= _SHORTEST_CHANGED and one[at + 1 :] == other[at + 1 :]
    return changed or (swapped and one[at + 2 :] == other[at + 2 :])


def _guessable(text: str) -> bool:
    """Whether it is a word of letters, with marks on them or not, in a script with spaces."""
    if len(text) < 3 or is_unspaced(text):
        return False
    return text.isalpha() or (not text.isascii() and all(unicodedata.category(char)[0] in "LM" for char in text))
