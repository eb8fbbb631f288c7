"""Names as people write them: one key for every casing and separator, and the identifiers a text holds."""

from __future__ import annotations

import re
import unicodedata

from ...text import replace_surrogates
from .folding import fold

__all__ = ["accented_key", "identifier_key", "identifiers_in"]

_EDGES = " \t\r\n\"'`´‘’“”«»()[]{}<>,;:!?。！？；，、…*=|"
_QUOTED = re.compile(r"`([^`\s][^`\n]{0,200})`")
# A separator inside the word, or a capital after a small letter or digit: prose has neither.
_SHAPE = re.compile(r"[^\W_][_\-./:]+[^\W_]|[^\W\d_A-Z][A-Z]|\d[A-Z]")
_LONGEST = 200


def identifier_key(text: str) -> str:
    """Return what is left of a name when casing, separators and accents are ignored: ``getWeather``, ``get-weather``.

    Both give ``getweather``. A name without any letter or digit is its own key.
    """
    if text.isascii():
        return _plain_key(text) or text.strip()
    key = accented_key(text)
    return fold(key) or key


def accented_key(text: str) -> str:
    """Return as `identifier_key` does, but with the accents on: ``Größe`` gives ``grösse``."""
    if text.isascii():
        return identifier_key(text)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", replace_surrogates(text)).casefold())
    key = "".join(char for char in folded if char.isalnum() or unicodedata.category(char)[0] == "M")
    return unicodedata.normalize("NFC", key) or folded.strip()


def identifiers_in(text: str) -> list[str]:
    """Return the words of `text` that look like a name in code, as written, each once.

    That is what has a separator inside, a capital after a small letter, or stands between backquotes.
    """
    if "`" not in text and not _SHAPE.search(text):
        return []
    found = dict.fromkeys(_QUOTED.findall(text))
    for word in text.split():
        bare = word.strip(_EDGES).rstrip(".")
        if len(bare) <= _LONGEST and _SHAPE.search(bare):
            found[bare] = None
    return list(found)


def _plain_key(text: str) -> str:
    lowered = text.lower()
    return lowered if lowered.isalnum() else "".join(filter(str.isalnum, lowered))
