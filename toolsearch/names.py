"""Names: what a provider accepts, and which known name was meant."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Container, Iterable
from difflib import SequenceMatcher

from .errors import ConfigurationError

__all__ = ["MAX_LENGTH", "closest_names", "is_wire_name", "wire_name", "words_of"]

MAX_LENGTH = 64
"""The longest name a provider accepts."""

_VALID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_INVALID = re.compile(r"[^a-zA-Z0-9_-]+")
_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+")
_PREFIX = re.compile(r"::|__|[.:/]")
_LONGEST_GUESS = 200
_LEAST_LIKENESS = 0.6


def is_wire_name(name: str) -> bool:
    """Whether a provider takes `name` as it is.

    Example:
        >>> is_wire_name("get_weather"), is_wire_name("weather.get")
        (True, False)
    """
    return _VALID.fullmatch(name) is not None


def wire_name(name: str, taken: Container[str] = ()) -> str:
    """Return the name to send for `name`: itself where a provider takes it, else a readable form with a hash.

    The result depends on `name` alone, so that it stays when other tools come and go; only where it is in `taken`
    is the hash made longer.

    Raises:
        ConfigurationError: when the name is empty.

    Example:
        >>> wire_name("get_weather"), wire_name("weather.get")
        ('get_weather', 'weather_get_01d19b2d')
    """
    if not name:
        raise ConfigurationError("a tool's name cannot be empty")
    if is_wire_name(name):
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    folded = "".join(char for char in unicodedata.normalize("NFKD", name) if not unicodedata.combining(char))
    readable = _INVALID.sub("_", folded).strip("_") or "tool"
    for length in range(8, len(digest) + 1, 4):
        candidate = f"{readable[: MAX_LENGTH - length - 1]}_{digest[:length]}"
        if candidate not in taken:
            return candidate
    raise ConfigurationError(f"no free name can be made for the tool {name!r}")


def words_of(name: str) -> list[str]:
    """Return the words of an identifier: split at separators and changes of case, lower case.

    Example:
        >>> words_of("getHTTPStatus_for-host")
        ['get', 'http', 'status', 'for', 'host']
    """
    return [word.casefold() for word in _BOUNDARY.split(name) if word]


def closest_names(name: str, names: Iterable[str], n: int = 3) -> list[str]:
    """Return up to `n` known names that a wrong name may have meant, the likeliest first.

    Same words in another spelling come first, then the same name with or without a prefix (``server::x``,
    ``functions.x``, ``mcp__server__x``), then similar spelling. Ties break by name.

    Example:
        >>> closest_names("functions.getWeather", ["get_weather", "get_water", "send_mail"])
        ['get_weather', 'get_water']
    """
    guess = name[:_LONGEST_GUESS]
    words = words_of(guess)
    if not words or n < 1:
        return []
    tails = ["".join(words_of(tail)) for tail in _tails(guess)]
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2("".join(words_of(_tails(guess)[-1])) or "".join(words))
    ranked = []
    for known in set(names):
        rank = _rank(known, words, tails, matcher)
        if rank is not None:
            ranked.append((*rank, known))
    return [known for *_, known in sorted(ranked)[:n]]


def _tails(name: str) -> list[str]:
    """The name, then what is left of it after each prefix, the longest first."""
    return [name, *(name[match.end() :] for match in _PREFIX.finditer(name))]


def _rank(
    known: str, words: list[str], tails: Collection[str], matcher: SequenceMatcher[str]
) -> tuple[int, float] | None:
    """How near a known name is, the smaller the nearer; None when it is not."""
    known_words = words_of(known)
    joined = "".join(known_words)
    if known_words == words or joined == "".join(words):
        return 0, 0.0
    if joined and joined in tails:
        return 1, 0.0
    if set(tails) & {"".join(words_of(tail)) for tail in _tails(known)[1:]} - {""}:
        return 1, 1.0
    shorter, longer = sorted((known_words, words), key=len)
    if shorter and longer[-len(shorter) :] == shorter:
        return 2, float(len(longer) - len(shorter))
    if sorted(shorter) == sorted(longer):
        return 2, 0.5
    matcher.set_seq1(joined)
    if matcher.real_quick_ratio() < _LEAST_LIKENESS or matcher.quick_ratio() < _LEAST_LIKENESS:
        return None
    likeness = matcher.ratio()
    return (3, -likeness) if likeness >= _LEAST_LIKENESS else None
