"""From the forms of a word to its stem: English by its letters, other languages where the script tells which."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

__all__ = ["stem"]

_SHORTEST = 3
_lock = threading.Lock()

# Of the languages of one script the one whose endings most others share: for a Bulgarian word the Russian rules are
# better than none, as both sides of a search go through them.
_BY_SCRIPT = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0b80", "\u0bff", "tamil"),
)

# Plurals that no rule of endings reaches, as far as they are no words of their own (media, bases, lives).
# Irregular verbs were tried: they find nothing more.
_IRREGULAR = dict(
    pair.split("=")
    for pair in """
    people=person men=man women=woman children=child feet=foot teeth=tooth mice=mouse geese=goose
    knives=knife wives=wife wolves=wolf shelves=shelf halves=half thieves=thief loaves=loaf scarves=scarf selves=self
    indices=index matrices=matrix vertices=vertex appendices=appendix criteria=criterion phenomena=phenomenon
    analyses=analysis crises=crisis hypotheses=hypothesis theses=thesis diagnoses=diagnosis synopses=synopsis
    aliases=alias buses=bus gases=gas lenses=lens quizzes=quiz
    """.split()  # noqa: SIM905, a list of words is best read as words
)


def stem(word: str) -> str:
    """Return the stem of a folded word; what has no known endings, as a number or an identifier, as it is.

    ASCII words are taken for English (Porter2, irregular plurals by a list).

    Example:
        >>> [stem(word) for word in ("issues", "people", "задачами", "s3")]
        ['issu', 'person', 'задач', 's3']
    """
    if len(word) < _SHORTEST:
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
        return _stemmer(language).analyze(word)[0] or word  # of "εως" the rules leave nothing


def _language(letter: str) -> str:
    return next((language for first, last, language in _BY_SCRIPT if first <= letter <= last), "")


@cache
def _stemmer(language: str) -> TextAnalyzer:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    return TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.stemmer(language)).build()
