"""From text to terms: one analysis for what is indexed and for what is asked.

A text is cut into words, and each word into forms: camelCase is split, case and accents are folded, scripts
written without spaces give their characters and pairs of them. The stem of a form is a term. Words repeat, so what a
word gives is remembered and the analysis of a text is mostly looking up.
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
"""Longer runs of letters and digits are data (a pasted image, a key), not words."""

MAX_TERM_LENGTH = 40
"""Of a longer word, a compound or a hash, the beginning is its term."""

_REMEMBERED = 65_536
_ASCII_WORDS = re.compile(r"([A-Za-z0-9]+)(?:'[sS]\b)?")
_POSSESSIVE = re.compile(r"(?<=\w)['’][sS]\b")
# getHTTPServer -> get, HTTP, Server; S3Bucket -> S3, Bucket; userIDs -> user, IDs.
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))")
# Their letters are no words, but match what has them: a parameter named "e", a query string.
_ABBREVIATIONS = re.compile(r"\b(?:e\.\s?g|i\.\s?e)\b\.?", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_FIRST_IDEOGRAPH = "\u3005"
_RUNS = re.compile(f"([{UNSPACED}]+)|([^{UNSPACED}]+)")
_INSIDE = re.compile(f"(?<![{UNSPACED}])\u200b(?![{UNSPACED}])")


class _Separators(dict[int, str]):
    """A table for `str.translate` that blanks everything but letters, digits and marks; fills itself as asked."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = unicodedata.category(char)
        # Invisible joiners and soft hyphens stand inside words; the zero-width space, left by `words`, between them.
        invisible = kind == "Cf" and code != 0x200B
        kept = char if kind[0] in "LMN" else "" if invisible else " "
        if len(self) < _REMEMBERED:
            self[code] = kept
        return kept


_separators = _Separators()
_word_terms: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}


def terms(text: str) -> list[str]:
    """Return the terms of `text` in order, repeated ones too.

    Example:
        >>> terms("Users' openPullRequests: naïve")
        ['user', 'openpullrequest', 'open', 'pull', 'request', 'naiv']
    """
    return analyze(text)[0]


def analyze(text: str) -> tuple[list[str], list[str]]:
    """Return the terms of `text`, and one for one the forms they are the stems of.

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
    """Return the runs of letters, digits and marks in `text`, case kept and a possessive s cut off."""
    if "e.g" in text or "i.e" in text or "E.g" in text or "I.e" in text:
        text = _ABBREVIATIONS.sub(" ", text)
    if text.isascii():
        return _ASCII_WORDS.findall(text)
    normal = unicodedata.normalize("NFKC", replace_surrogates(text))
    if "\u200b" in normal:  # parts words of scripts without spaces; elsewhere a page breaks a long word with it
        normal = _INSIDE.sub("", normal)
    return _POSSESSIVE.sub("", normal).translate(_separators).split()


def word_terms(word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the terms and forms of one of `words`; both empty for what is longer than `MAX_WORD_LENGTH`."""
    found = _word_terms.get(word)
    if found is None:
        forms = _plain(word) if word.isascii() and word.isalpha() else tuple(_forms(word))
        found = tuple(map(stem, forms)), forms
        if len(_word_terms) >= _REMEMBERED:
            _word_terms.clear()
        if len(word) <= MAX_WORD_LENGTH:
            _word_terms[word] = found
    return found


def compound_term(text: str) -> str | None:
    """Return the one term a name of several words gives as a whole (``create_issue``: ``createissu``), if any."""
    pieces = [fold(piece) for word in words(text) for piece in _pieces(word)]
    whole = "".join(pieces)
    return stem(whole) if len(pieces) > 1 and len(whole) <= MAX_TERM_LENGTH else None


def _plain(word: str) -> tuple[str, ...]:
    """The short way for most words: those of ASCII letters that are not camelCase."""
    if word.islower():
        return (word[:MAX_TERM_LENGTH],) if len(word) <= MAX_WORD_LENGTH else ()
    return _plain(word.lower()) if word.istitle() or word.isupper() else tuple(_forms(word))


def _forms(word: str) -> Iterator[str]:
    for unspaced, spaced in _RUNS.findall(word):
        if unspaced:
            yield from _pairs(fold(unspaced))
            continue
        pieces = _pieces(spaced)
        if len(pieces) > 1 and len(spaced) <= MAX_TERM_LENGTH:
            yield fold(spaced)  # GitHub is also github
        for piece in pieces:
            yield from _spaced(fold(piece))


def _pieces(word: str) -> list[str]:
    """Split camelCase; a capital after a digit starts a piece only where a small letter follows."""
    if word.islower() or not word.isascii():
        return [word] if word.islower() else _unicode_camel(word)
    return _CAMEL.split(word)


def _unicode_camel(word: str) -> list[str]:
    pieces: list[str] = []
    start = 0
    for at in range(1, len(word)):
        before, after = word[at - 1], word[at + 1 : at + 2]
        if word[at].isupper() and (before.islower() or (before.isalnum() and after.islower())):
            pieces.append(word[start:at])
            start = at
    pieces.append(word[start:])
    return pieces


def _spaced(run: str) -> Iterator[str]:
    if len(run) > MAX_WORD_LENGTH:
        return
    yield run[:MAX_TERM_LENGTH]
    letters = _DIGITS.split(run)
    if len(letters) > 1:
        yield from (part[:MAX_TERM_LENGTH] for part in letters if len(part) > 1)


def _pairs(run: str) -> Iterator[str]:
    """Give neighbouring pairs of characters, each with the marks on it; the characters too where they have meaning."""
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
