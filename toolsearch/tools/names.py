"""Names: what a provider accepts, and which known name was meant."""

from __future__ import annotations

import hashlib
import heapq
import re
import unicodedata
from collections.abc import Container, Iterable
from difflib import SequenceMatcher

from ..errors import ConfigurationError

__all__ = ["MAX_LENGTH", "closest_names", "is_wire_name", "wire_name", "words_of"]

MAX_LENGTH = 64
"""The longest name a provider accepts."""

_VALID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_INVALID = re.compile(r"[^a-zA-Z0-9_-]+")
_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+")
_PREFIX = re.compile(r"::|__|[.:/]")
_LONGEST_GUESS = 200
_LEAST_LIKENESS = 0.6
_MOST_COMPARED = 50


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
    guess = _Guess(name[:_LONGEST_GUESS])
    if not guess.words or n < 1:
        return []
    sure: list[tuple[int, float, str]] = []
    alike: list[tuple[float, str, str]] = []
    for known in set(names):
        words = words_of(known)
        rank = guess.rank(known, words)
        if rank is not None:
            sure.append((*rank, known))
        elif (overlap := guess.overlap("".join(words))) > 0:
            alike.append((-overlap, known, "".join(words)))
    best = sorted(sure)[:n]
    if len(best) < n:
        best += guess.likeliest(heapq.nsmallest(_MOST_COMPARED, alike))
    return [known for *_, known in best[:n]]


class _Guess:
    """A wrong name, taken apart once to be held against many known ones."""

    def __init__(self, name: str) -> None:
        self.words = words_of(name)
        self.tails = {"".join(words_of(tail)) for tail in _tails(name)} - {""}
        self.joined = "".join(self.words)
        self.last = "".join(words_of(_tails(name)[-1])) or self.joined
        self.pairs = _pairs(self.last)

    def rank(self, known: str, words: list[str]) -> tuple[int, float] | None:
        """How surely `known` was meant, the smaller the surer; None when only its spelling can tell."""
        joined = "".join(words)
        if not joined:
            return None
        if joined == self.joined:
            return 0, 0.0
        if joined in self.tails:
            return 1, 0.0
        if any("".join(words_of(tail)) in self.tails for tail in _tails(known)[1:]):
            return 1, 1.0
        shorter, longer = sorted((words, self.words), key=len)
        if longer[-len(shorter) :] == shorter:
            return 2, float(len(longer) - len(shorter))
        return (2, 0.5) if len(words) == len(self.words) and sorted(words) == sorted(self.words) else None

    def overlap(self, joined: str) -> float:
        """The share of letters and pairs of them that a known name has in common; a quick measure of likeness."""
        pairs = _pairs(joined)
        return len(pairs & self.pairs) / (len(pairs) + len(self.pairs) or 1)

    def likeliest(self, candidates: Iterable[tuple[float, str, str]]) -> list[tuple[int, float, str]]:
        """The known names that are spelt alike enough, the most alike first."""
        matcher = SequenceMatcher(autojunk=False)
        matcher.set_seq2(self.last)
        found = []
        for _, known, joined in candidates:
            matcher.set_seq1(joined[:_LONGEST_GUESS])
            likeness = matcher.ratio()
            if likeness >= _LEAST_LIKENESS:
                found.append((3, -likeness, known))
        return sorted(found)


def _pairs(text: str) -> set[str]:
    return {text[at : at + 2] for at in range(len(text) - 1)} | set(text)


def _tails(name: str) -> list[str]:
    """The name, then what is left of it after each prefix, the longest first."""
    return [name, *(name[match.end() :] for match in _PREFIX.finditer(name))]
