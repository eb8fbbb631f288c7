"""Identifiers: comparison keys for names, and the identifiers in a string."""

from __future__ import annotations

import re
import unicodedata

from ...text import replace_surrogates
from .folding import fold

__all__ = ["accented_key", "identifier_key", "identifiers_in"]

_EDGES = " \t\r\n\"'`´‘’“”«»()[]{}<>,;:!?。！？；，、…*=|"
_BACKQUOTED = re.compile(r"`([^`\s][^`\n]{0,200})`")
# A separator within the word, or a capital after a lowercase letter or digit. Prose has neither.
_IDENTIFIER = re.compile(r"[^\W_][_\-./:]+[^\W_]|[^\W\d_A-Z][A-Z]|\d[A-Z]")
_MAX_LENGTH = 200
_MAX_TEXT_CHARACTERS = 20_000


def identifier_key(text: str) -> str:
    """Return a key that ignores case, separators and accents. A name without letters and digits is its own key.

    Example:
        >>> identifier_key("getWeather"), identifier_key("get-weather")
        ('getweather', 'getweather')
    """
    if text.isascii():
        return _ascii_key(text) or text.strip()
    key = accented_key(text)
    return fold(key) or key


def accented_key(text: str) -> str:
    """Return a key that ignores case and separators and keeps accents.

    Example:
        >>> accented_key("Größe")
        'grösse'
    """
    if text.isascii():
        return identifier_key(text)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", replace_surrogates(text)).casefold())
    key = "".join(char for char in folded if char.isalnum() or unicodedata.category(char)[0] == "M")
    return unicodedata.normalize("NFC", key) or folded.strip()


def identifiers_in(text: str) -> list[str]:
    """Return the words of a string that look like names in code, without duplicates.

    A name contains a separator, has a capital after a lowercase letter or digit, or is between backquotes. Of a very
    long string only the beginning is read.

    Example:
        >>> identifiers_in("Call `fetch` and then create_issue, please.")
        ['fetch', 'create_issue']
    """
    if len(text) > _MAX_TEXT_CHARACTERS:  # the request itself stands at the beginning or at the end
        half = _MAX_TEXT_CHARACTERS // 2
        text = f"{text[:half]} {text[-half:]}"
    if "`" not in text and not _IDENTIFIER.search(text):
        return []
    found = dict.fromkeys(_BACKQUOTED.findall(text))
    for word in text.split():
        bare = word.strip(_EDGES).rstrip(".")
        if len(bare) <= _MAX_LENGTH and _IDENTIFIER.search(bare):
            found[bare] = None
    return list(found)


def _ascii_key(text: str) -> str:
    lowered = text.lower()
    return lowered if lowered.isalnum() else "".join(filter(str.isalnum, lowered))
