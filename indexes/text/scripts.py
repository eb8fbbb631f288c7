"""Scripts written without spaces between words, and how long a text is in words whatever its script."""

from __future__ import annotations

import re

__all__ = ["FIRST_UNSPACED", "UNSPACED", "count_words", "is_unspaced"]

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer; Han, kana, and Hangul (spaced, but its particles cling): for a class of a pattern."""

FIRST_UNSPACED = "\u0e00"
"""What is less is of a script with spaces: a quick test that nearly all words pass."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_READ = 8_000
# Han and kana, where two characters are about a word; Hangul has spaces.
_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def is_unspaced(word: str) -> bool:
    """Whether a word begins in a script without spaces.

    Example:
        >>> [is_unspaced(word) for word in ("天气", "weather", "ამინდი")]
        [True, False, False]
    """
    return word >= FIRST_UNSPACED and _UNSPACED.match(word) is not None


def count_words(text: str) -> float:
    """Return how many words a text has, two characters being a word where there are no blanks; long ones are cut.

    Example:
        >>> count_words("今天的天气"), count_words("weather today")
        (3.5, 2.0)
    """
    text = text[:_READ]
    return float(len(text.split()) + (0 if text.isascii() else len(_IDEOGRAPHS.findall(text)) / 2))
