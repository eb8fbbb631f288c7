"""Text analysis: the terms of a string, computed in the same way for tools and for queries.

A string is split into words, and each word into forms: camelCase is split, case and accents are folded, and scripts
without spaces give their characters and character pairs. The stem of a form is a term. Words repeat, so the terms of
each word are cached.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from ...text import replace_surrogates
from .folding import fold
from .scripts import UNSPACED
from .stemming import stem

__all__ = ["MAX_TERM_LENGTH", "MAX_WORD_LENGTH", "analyze", "compound_term", "terms", "word_terms", "words"]

MAX_WORD_LENGTH = 80
"""Maximum length of a word in characters. Longer runs are data (a pasted image, a key) and are dropped."""

MAX_TERM_LENGTH = 40
"""Maximum length of a term in characters. Longer words, such as compounds and hashes, are cut."""

_MAX_CACHED_WORDS = 65_536
_ASCII_WORDS = re.compile(r"([A-Za-z0-9]+)(?:'[sS]\b)?")
_POSSESSIVE = re.compile(r"(?<=\w)['’][sS]\b")
# getHTTPServer -> get, HTTP, Server; S3Bucket -> S3, Bucket; userIDs -> user, IDs.
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))")
# Their letters are not words, but would match a parameter named "e".
_ABBREVIATIONS = re.compile(r"\b(?:e\.\s?g|i\.\s?e)\b\.?", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_FIRST_IDEOGRAPH = "\u3005"
_RUNS = re.compile(f"([{UNSPACED}]+)|([^{UNSPACED}]+)")
_ZERO_WIDTH_IN_WORD = re.compile(f"(?<![{UNSPACED}])\u200b(?![{UNSPACED}])")


class _Separators(dict[int, str]):
    """Table for `str.translate` that keeps letters, digits and marks. Entries are added on first use."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = unicodedata.category(char)
        # Invisible joiners and soft hyphens occur within words; a zero-width space that `words` keeps, between words.
        invisible = kind == "Cf" and code != 0x200B
        kept = char if kind[0] in "LMN" else "" if invisible else " "
        if len(self) < _MAX_CACHED_WORDS:
            self[code] = kept
        return kept


_separators = _Separators()
_word_terms: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}


def terms(text: str) -> list[str]:
    """Return the terms of a string in order, with repetitions.

    Example:
        >>> terms("Users' openPullRequests: naïve")
        ['user', 'openpullrequest', 'open', 'pull', 'request', 'naiv']
    """
    return analyze(text)[0]


def analyze(text: str) -> tuple[list[str], list[str]]:
    """Return the terms of a string, and for each term the form it is the stem of.

    Example:
        >>> analyze("Creating issues")
        (['creat', 'issu'], ['creating', 'issues'])
    """
    found: list[str] = []
    forms: list[str] = []
    if text:
        known = _word_terms
        for word in words(text):
            stems, own = known.get(word) or word_terms(word)
            found += stems
            forms += own
    return found, forms


def words(text: str) -> list[str]:
    """Return the words of a string: runs of letters, digits and marks, without a possessive s. Case is kept."""
    if "e.g" in text or "i.e" in text or "E.g" in text or "I.e" in text:
        text = _ABBREVIATIONS.sub(" ", text)
    if text.isascii():
        return _ASCII_WORDS.findall(text)
    normal = unicodedata.normalize("NFKC", replace_surrogates(text))
    if "\u200b" in normal:  # separates words only in scripts without spaces; elsewhere it marks a possible line break
        normal = _ZERO_WIDTH_IN_WORD.sub("", normal)
    return _POSSESSIVE.sub("", normal).translate(_separators).split()


def word_terms(word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the terms and the forms of a word. Both are empty for a word longer than `MAX_WORD_LENGTH`."""
    found = _word_terms.get(word)
    if found is None:
        forms = _ascii_forms(word) if word.isascii() and word.isalpha() else tuple(_forms(word))
        found = tuple(map(stem, forms)), forms
        if len(_word_terms) >= _MAX_CACHED_WORDS:
            _word_terms.clear()
        if len(word) <= MAX_WORD_LENGTH:
            _word_terms[word] = found
    return found


def compound_term(text: str) -> str | None:
    """Return the term for a whole name of several words, or None for a single word.

    Example:
        >>> compound_term("create_issue"), compound_term("create")
        ('createissu', None)
    """
    pieces = [fold(piece) for word in words(text) for piece in _split_camel_case(word)]
    whole = "".join(pieces)
    return stem(whole) if len(pieces) > 1 and len(whole) <= MAX_TERM_LENGTH else None


def _ascii_forms(word: str) -> tuple[str, ...]:
    """Return the form of an ASCII word; faster than `_forms` for words that are not camelCase."""
    if word.islower():
        return (word[:MAX_TERM_LENGTH],) if len(word) <= MAX_WORD_LENGTH else ()
    return _ascii_forms(word.lower()) if word.istitle() or word.isupper() else tuple(_forms(word))


def _forms(word: str) -> Iterator[str]:
    for unspaced, spaced in _RUNS.findall(word):
        if unspaced:
            yield from _character_pairs(fold(unspaced))
            continue
        pieces = _split_camel_case(spaced)
        if len(pieces) > 1 and len(spaced) <= MAX_TERM_LENGTH:
            yield fold(spaced)  # "GitHub" also gives "github"
        for piece in pieces:
            yield from _spaced_forms(fold(piece))


def _split_camel_case(word: str) -> list[str]:
    """Split camelCase. A capital after a digit starts a piece only before a lowercase letter."""
    if word.islower() or not word.isascii():
        return [word] if word.islower() else _split_unicode_camel_case(word)
    return _CAMEL.split(word)


def _split_unicode_camel_case(word: str) -> list[str]:
    pieces: list[str] = []
    start = 0
    for at in range(1, len(word)):
        before, after = word[at - 1], word[at + 1 : at + 2]
        if word[at].isupper() and (before.islower() or (before.isalnum() and after.islower())):
            pieces.append(word[start:at])
            start = at
    pieces.append(word[start:])
    return pieces


def _spaced_forms(run: str) -> Iterator[str]:
    if len(run) > MAX_WORD_LENGTH:
        return
    yield run[:MAX_TERM_LENGTH]
    letters = _DIGITS.split(run)
    if len(letters) > 1:
        yield from (part[:MAX_TERM_LENGTH] for part in letters if len(part) > 1)


def _character_pairs(run: str) -> Iterator[str]:
    """Yield pairs of adjacent characters with their marks, and single characters in scripts where they are words."""
    characters: list[str] = []
    for char in run:
        if characters and unicodedata.category(char)[0] == "M":
            characters[-1] += char
        else:
            characters.append(char)
    if len(characters) == 1 or run >= _FIRST_IDEOGRAPH:
        yield from characters
    for first, second in pairwise(characters):
        yield first + second
