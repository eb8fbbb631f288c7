"""Letters as most writers type them: no case, no accents, no vowel signs that are usually left out."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["fold"]

# Vowel signs of Arabic and Hebrew, and the stretching stroke: most writers leave them out.
_UNWRITTEN = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
_WITHOUT_ACCENT = str.maketrans(
    {"ı": "i", "ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ё": "е"}
)


def fold(word: str) -> str:
    """Return `word` without case, accents of Latin and Greek letters, and unwritten vowels."""
    if word.isascii():
        return word.lower()
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", word.casefold()))
    kept: list[str] = []
    european = False
    for char in _UNWRITTEN.sub("", folded):
        if not unicodedata.combining(char):
            european = unicodedata.name(char, "").startswith(("LATIN", "GREEK"))
        elif european:
            continue
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_WITHOUT_ACCENT)
