"""Secrets: a value that no text shows by accident, and texts without the credentials that they quote."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

__all__ = ["HIDDEN", "Secret", "redact", "redact_urls", "reveal"]

_T = TypeVar("_T")

HIDDEN = "***"
"""The text in place of a secret."""

_MIN_PLAIN_CHARACTERS = 8
_MAX_CHARACTERS = 100_000
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{0,30}://[^\s\"'<>]+")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.%]*\]|[^:\[\]]*)(:\d*)?")
_TOKEN = re.compile(r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z]).{20,}|.*[=;].*")


class Secret:
    """A string, such as a password or a key, that is shown only by `reveal`.

    ``repr``, ``str``, formatting and logging show ``***``. Two secrets with the same value are equal. A secret cannot
    be pickled, because that would write its value. Headers and environment variables of MCP servers and the key of a
    model accept it in place of a string.

    Args:
        value: The string to keep.

    Raises:
        TypeError: If `value` is not a string.

    Example:
        >>> key = Secret("hunter2")
        >>> f"{key} {key!r}", key.reveal()
        ("*** Secret('***')", 'hunter2')
    """

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        if not isinstance(value, str):
            raise TypeError(f"value must be a string, got {type(value).__name__}")
        self.__value = value

    def reveal(self) -> str:
        """Return the value."""
        return self.__value

    def __repr__(self) -> str:
        return f"Secret({HIDDEN!r})"

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return format(HIDDEN, spec)

    def __bool__(self) -> bool:
        return bool(self.__value)

    def __eq__(self, other: object) -> bool:
        return self.__value == other.__value if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash((Secret, self.__value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret:
        return self

    def __getstate__(self) -> NoReturn:
        raise TypeError("a Secret has no state to store; pass the string that reveal() returns")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Secret cannot be pickled; pass the string that reveal() returns")


def reveal(value: _T | Secret) -> _T | str:
    """Return a value; of a `Secret`, its string."""
    return value.reveal() if isinstance(value, Secret) else value


def redact(text: str, values: Iterable[str | Secret] = ()) -> str:
    """Return `text` without the credentials of its URLs and without `values`.

    A plain string is a secret only from 8 characters on: a shorter one can be a flag such as ``true``. Of a value with
    a scheme, such as ``Bearer abc``, the part after it is hidden too.

    Example:
        >>> redact("no answer from http://ann:pw@host/mcp?key=1 with hunter22", ["Bearer hunter22"])
        'no answer from http://***@host/mcp?*** with ***'
    """
    hidden: set[str] = set()
    for value in values:
        plain = reveal(value).strip()
        smallest = 1 if isinstance(value, Secret) else _MIN_PLAIN_CHARACTERS
        parts = {plain, plain.partition(" ")[2].strip()} | {line.strip() for line in plain.splitlines()}
        hidden |= {part for part in parts if len(part) >= smallest}
    for part in sorted(hidden, key=len, reverse=True):
        text = text.replace(part, HIDDEN)
    return redact_urls(text)


def redact_urls(text: str) -> str:
    """Return `text` with user, password, query, fragment and token-like path segments of its URLs hidden.

    Example:
        >>> redact_urls("Redirect to 'https://u:p@example.org:8080/mcp?api_key=hunter2#top'")
        "Redirect to 'https://***@example.org:8080/mcp?***'"
    """
    if "://" not in text:
        return text
    if len(text) > _MAX_CHARACTERS:
        text = text[:_MAX_CHARACTERS].rpartition(" ")[0] + " …"  # never cut within a URL
    return _URL.sub(lambda found: _redact_url(found[0]), text)


def _redact_url(url: str) -> str:
    scheme, _, rest = url.partition("://")
    place = re.split(r"[?#]", rest, maxsplit=1)[0]
    authority, slash, path = place.partition("/")
    _, at, host = authority.rpartition("@")
    if not at and not _HOST.fullmatch(authority) and "@" in place:  # a password that contains a slash
        _, at, place = place.rpartition("@")
        host, slash, path = place.partition("/")
    segments = [HIDDEN if _TOKEN.fullmatch(segment) else segment for segment in path.split("/")]
    query = f"?{HIDDEN}" if "?" in rest else ""
    return f"{scheme}://{HIDDEN + '@' if at else ''}{host}{slash}{'/'.join(segments)}{query}"
