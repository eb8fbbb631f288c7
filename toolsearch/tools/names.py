"""Tool names: which ones providers accept, and which known name a wrong name probably meant."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Container, Iterable
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from heapq import nlargest
from itertools import pairwise

from ..errors import ConfigurationError

__all__ = [
    "MAX_NAME_LENGTH",
    "NOTHING_TO_SEARCH",
    "READ_TOOL",
    "RESERVED_NAMES",
    "SEARCH_TOOL",
    "called_name",
    "closest_names",
    "is_wire_name",
    "name_digest",
    "readable_name",
    "wire_name",
    "words_of",
]

MAX_NAME_LENGTH = 64
"""The longest name, in characters, that a provider accepts."""

SEARCH_TOOL = "tool_search"
"""The name of the search tool."""

READ_TOOL = "read_tool_result"
"""The name of the tool that reads the rest of a long result."""

RESERVED_NAMES = frozenset({SEARCH_TOOL, READ_TOOL})
"""The names of the library's own tools. No other tool can have them."""

NOTHING_TO_SEARCH = f"There is no tool '{SEARCH_TOOL}': all tools are in your tool list already. Call them directly."
"""The answer to a search where all tools are sent, for example after a turn with tool search."""

_VALID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_INVALID = re.compile(r"[^a-zA-Z0-9_-]+")
_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+")
_PREFIX_END = re.compile(r"::|__|[.:/]")
_SPECIAL_TOKEN = re.compile(r"<[|\uff5c].*", re.DOTALL)
_CALLED = re.compile(
    r"(?:(?:to=)?(?:functions?|tools?|default_api|multi_tool_use)[.:])?(?P<name>.+?)(?::\d+)?", re.DOTALL
)
_MAX_COMPARED_CHARACTERS = 150
_MAX_PREFIXES = 8
_SIMILARITY_THRESHOLD = 0.6
_MAX_COMPARED_NAMES = 500


def is_wire_name(name: str) -> bool:
    """Return whether providers accept `name` as it is.

    Example:
        >>> is_wire_name("get_weather"), is_wire_name("weather.get")
        (True, False)
    """
    return _VALID.fullmatch(name) is not None


def wire_name(name: str, taken: Container[str] = ()) -> str:
    """Return the name to send for `name`: itself if providers accept it, else a readable form with a hash.

    The result depends on `name` alone, so it stays the same when other tools are added or removed. Only if it is in
    `taken` is the hash longer.

    Raises:
        ConfigurationError: If the name is empty.

    Example:
        >>> wire_name("get_weather"), wire_name("weather.get")
        ('get_weather', 'weather_get_01d19b2d')
    """
    if not name:
        raise ConfigurationError("a tool's name must not be empty")
    if is_wire_name(name):
        return name
    digest, readable = name_digest(name), readable_name(name)
    for length in range(8, len(digest) + 1, 4):
        candidate = f"{readable[: MAX_NAME_LENGTH - length - 1]}_{digest[:length]}"
        if candidate not in taken:
            return candidate
    raise ConfigurationError(f"every name that could be sent for the tool {name!r} is taken")


def name_digest(*parts: str) -> str:
    """Return a hex digest of 32 characters over the parts of a name."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def readable_name(name: str) -> str:
    """Return what is left of a name without accents and with ``_`` for invalid characters.

    Example:
        >>> readable_name("café.préparer")
        'cafe_preparer'
    """
    folded = "".join(char for char in unicodedata.normalize("NFKD", name) if not unicodedata.combining(char))
    return _INVALID.sub("_", folded).strip("_") or "tool"


def words_of(name: str) -> list[str]:
    """Split an identifier at separators and changes of case into lower-case words.

    Example:
        >>> words_of("getHTTPStatus_for-host")
        ['get', 'http', 'status', 'for', 'host']
    """
    return [word.casefold() for word in _BOUNDARY.split(name) if word]


def called_name(name: str, known: Container[str]) -> str:
    """Return the known name that a model called, or `name` if there is none.

    Some servers leave parts of the model's format in the name: a namespace, a number, or special tokens behind it.

    Example:
        >>> known = {"get_weather"}
        >>> called_name("functions.get_weather:0", known), called_name("get_weather<|channel|>commentary", known)
        ('get_weather', 'get_weather')
        >>> called_name("functions.send_mail", known)
        'functions.send_mail'
    """
    if name in known:
        return name
    whole = _SPECIAL_TOKEN.sub("", name).strip()
    called = _CALLED.fullmatch(whole)
    return next((form for form in (whole, called and called["name"]) if form and form in known), name)


def closest_names(name: str, names: Iterable[str], n: int = 3) -> list[str]:
    """Return up to `n` of `names` that a wrong name probably meant, the most likely first.

    The same words in another spelling come first, then the same name with or without a prefix (``server::x``,
    ``functions.x``, ``mcp__server__x``), then names of similar spelling. Ties are sorted by name.

    Example:
        >>> closest_names("functions.getWeather", ["get_weather", "get_water", "send_mail"])
        ['get_weather', 'get_water']
    """
    known: dict[str, dict[str, int]] = {}  # key -> the names that have it, with the number of prefixes removed
    for candidate in names:
        for removed, key in enumerate(_keys(candidate)):
            known.setdefault(key, {}).setdefault(candidate, removed)
    known.pop("", None)
    keys = [key for key in _keys(name) if key]
    if not keys or n < 1:
        return []
    ranks: dict[str, tuple[float, int]] = {}
    for removed, key in enumerate(keys):
        for candidate, removed_there in known.get(key, {}).items():
            ranks.setdefault(candidate, (-2.0, removed + removed_there))
    if len(ranks) < n:
        matcher = SequenceMatcher(b=keys[-1])
        for key in get_close_matches(keys[-1], _nearest(keys[-1], known), n + len(ranks), _SIMILARITY_THRESHOLD):
            matcher.set_seq1(key)
            for candidate, removed_there in known[key].items():
                ranks.setdefault(candidate, (-matcher.ratio(), removed_there))
    return sorted(ranks, key=lambda candidate: (*ranks[candidate], candidate))[:n]


def _nearest(key: str, keys: Collection[str]) -> Collection[str]:
    """Return the keys to compare with `key` in full: of many, those that share the most pairs of characters with it."""
    if len(keys) <= _MAX_COMPARED_NAMES:
        return keys
    pairs = set(map("".join, pairwise(key)))
    return nlargest(_MAX_COMPARED_NAMES, keys, key=lambda other: sum(pair in other for pair in pairs) - len(other) / 8)


def _keys(name: str) -> tuple[str, ...]:
    """Return the joined words of a name, then of what is left of it after each prefix."""
    return _keys_of(name[:_MAX_COMPARED_CHARACTERS])


@lru_cache(maxsize=16_384)
def _keys_of(name: str) -> tuple[str, ...]:
    tails = [name, *(name[match.end() :] for match in _PREFIX_END.finditer(name))][:_MAX_PREFIXES]
    return tuple("".join(words_of(tail)) for tail in tails)
