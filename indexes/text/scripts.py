"""Scripts without spaces between words, and word counts for any script."""

from __future__ import annotations

import re

__all__ = ["FIRST_UNSPACED", "UNSPACED", "count_words", "is_unspaced"]

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Character class of Thai, Lao, Burmese, Khmer, Han, kana, and Hangul (its particles are attached to words)."""

FIRST_UNSPACED = "\u0e00"
"""The lowest such character. A word that sorts before it is in a script with spaces: a fast test for most words."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_MAX_CHARACTERS = 8_000
# Han and kana, in which two characters make about one word. Hangul has spaces.
_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def is_unspaced(word: str) -> bool:
    """Return whether a word begins in a script without spaces.

    Example:
        >>> [is_unspaced(word) for word in ("天气", "weather", "ამინდი")]
        [True, False, False]
    """
    return word >= FIRST_UNSPACED and _UNSPACED.match(word) is not None


def count_words(text: str) -> float:
    """Return the number of words in a string, counting two characters of Han or kana as one word.

    Only the first 8000 characters are counted.

    Example:
        >>> count_words("今天的天气"), count_words("weather today")
        (3.5, 2.0)
    """
    text = text[:_MAX_CHARACTERS]
    return float(len(text.split()) + (0 if text.isascii() else len(_IDEOGRAPHS.findall(text)) / 2))
