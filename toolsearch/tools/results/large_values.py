"""Large values: how to tell them, and JSON written in pieces, so that they do not hold up an event loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

__all__ = ["is_small", "write_json"]

MAX_SMALL_VALUES = 1_000
_CHARACTERS_PER_VALUE = 50
_CHUNK = 500
_SCALARS = (int, float, bool, type(None))


def is_small(value: Any, most: int = MAX_SMALL_VALUES) -> bool:
    """Return whether a value is plain data, and so little that its conversion takes less than a millisecond or so.

    Args:
        value: Any value. An object of another class counts as large, because its size is not known.
        most: The number of values above which it is large. 50 characters count as one value.

    Example:
        >>> is_small({"rows": [1, 2]}), is_small([0] * 2_000), is_small("x" * 100_000), is_small(object())
        (True, False, False, False)
    """
    left = most - 1
    waiting = [value]
    while waiting:
        member = waiting.pop()
        kind = type(member)
        if kind is str or kind is bytes:
            left -= len(member) // _CHARACTERS_PER_VALUE
        elif kind is list or kind is tuple or kind is dict:
            left -= len(member)
            if left >= 0:
                waiting += member
                waiting += member.values() if kind is dict else ()
        elif kind not in _SCALARS:
            return False
        if left < 0:
            return False
    return True


def write_json(value: Any, encode: Callable[[Any], str]) -> str:
    """Return a value as JSON. Lists and dicts that are large are encoded in pieces.

    One call of an encoder that is written in C or Rust cannot be interrupted, so other threads, such as that of an
    event loop, would wait for all of it.

    Args:
        value: The value.
        encode: Encodes a value as compact JSON.

    Example:
        >>> from pydantic_core import to_json
        >>> rows = {"rows": [{"n": n} for n in range(5_000)], "more": False}
        >>> write_json(rows, lambda part: to_json(part).decode()) == to_json(rows).decode()
        True
    """
    return "".join(_pieces(value, encode))


def _pieces(value: Any, encode: Callable[[Any], str]) -> Iterator[str]:
    kind = type(value)
    if kind not in (list, tuple, dict) or is_small(value):
        yield encode(value)
        return
    members = iter(value.items() if kind is dict else value)
    separator = ""
    yield "{" if kind is dict else "["
    while chunk := list(islice(members, _CHUNK)):
        part: Any = dict(chunk) if kind is dict else chunk
        yield separator
        yield from [encode(part)[1:-1]] if is_small(part, 10 * MAX_SMALL_VALUES) else _members(part, encode)
        separator = ","
    yield "}" if kind is dict else "]"


def _members(part: Any, encode: Callable[[Any], str]) -> Iterator[str]:
    separator = ""
    for member in part.items() if isinstance(part, dict) else part:
        yield separator
        if isinstance(part, dict):
            key, member = member
            yield encode({key: None})[1:-5]  # without {, null and }
        yield from _pieces(member, encode)
        separator = ","
