"""Case and accent folding."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["fold"]

# Arabic and Hebrew vowel signs and the Arabic tatweel, which most writers omit.
_VOWEL_SIGNS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
_WITHOUT_ACCENT = str.maketrans(
    {"ı": "i", "ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ё": "е"}
)


def fold(word: str) -> str:
    """Return a word in lowercase, without accents of Latin and Greek letters and without optional vowel signs.

    Example:
        >>> fold("Größe"), fold("й")
        ('grosse', 'й')
    """
    if word.isascii():
        return word.lower()
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", word.casefold()))
    kept: list[str] = []
    european = False
    for char in _VOWEL_SIGNS.sub("", folded):
        if not unicodedata.combining(char):
            european = unicodedata.name(char, "").startswith(("LATIN", "GREEK"))
        elif european:
            continue
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_WITHOUT_ACCENT)
