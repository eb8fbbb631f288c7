"""Stemming: English for ASCII words, other languages where the script identifies them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ...shared.fork import new_lock

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

__all__ = ["stem"]

_MIN_LENGTH = 3
_lock = new_lock()

# Each script uses the language whose endings most other languages of the script share. Russian rules still help with
# Bulgarian words, because tools and queries use the same rules.
_BY_SCRIPT = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0b80", "\u0bff", "tamil"),
)

# Irregular plurals, except those that are also other words (media, bases, lives). Irregular verbs found nothing more.
_IRREGULAR = dict(
    pair.split("=")
    for pair in """
    people=person men=man women=woman children=child feet=foot teeth=tooth mice=mouse geese=goose
    knives=knife wives=wife wolves=wolf shelves=shelf halves=half thieves=thief loaves=loaf scarves=scarf selves=self
    indices=index matrices=matrix vertices=vertex appendices=appendix criteria=criterion phenomena=phenomenon
    analyses=analysis crises=crisis hypotheses=hypothesis theses=thesis diagnoses=diagnosis synopses=synopsis
    aliases=alias buses=bus gases=gas lenses=lens quizzes=quiz
    """.split()  # noqa: SIM905, easier to read than a list of strings
)


def stem(word: str) -> str:
    """Return the stem of a folded word, or the word itself if it has no known endings.

    ASCII words are treated as English (Porter2, with a list of irregular plurals).

    Example:
        >>> [stem(word) for word in ("issues", "people", "задачами", "s3")]
        ['issu', 'person', 'задач', 's3']
    """
    if len(word) < _MIN_LENGTH:
        return word
    if word.isascii():
        if not word.isalpha():
            return word
        word, language = _IRREGULAR.get(word, word), "english"
    else:
        language = _language(word[0])
        if not language:
            return word
    with _lock:
        return _stemmer(language).analyze(word)[0] or word  # the Greek rules reduce "εως" to nothing


def _language(letter: str) -> str:
    return next((language for first, last, language in _BY_SCRIPT if first <= letter <= last), "")


@cache
def _stemmer(language: str) -> TextAnalyzer:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    return TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.stemmer(language)).build()
