"""Strings with lone surrogates replaced and long values cut.

The functions never raise, so error paths can use them on any value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

__all__ = ["clip", "one_line", "replace_surrogates", "replace_surrogates_in", "short_json", "short_repr"]

_ELLIPSIS = "…"


def replace_surrogates(text: str) -> str:
    r"""Return `text` in a form that UTF-8 can encode.

    The two halves of a surrogate pair become their character; a lone half becomes U+FFFD.

    Example:
        >>> replace_surrogates("caf\u00e9 \ud83d\ude80") == "caf\u00e9 \U0001f680"
        True
        >>> replace_surrogates("lone \ud800") == "lone \ufffd"
        True
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def replace_surrogates_in(value: Any) -> Any:
    r"""Return a JSON value with `replace_surrogates` applied to every string and key, in the same order.

    Example:
        >>> replace_surrogates_in({"a": ["\ud800", 1]}) == {"a": ["\ufffd", 1]}
        True
    """
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, Mapping):
        return {replace_surrogates_in(key): replace_surrogates_in(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_surrogates_in(item) for item in value]
    return value


def clip(text: str, max_length: int) -> str:
    """Return `text`, cut to `max_length` characters with an ellipsis at the end where it is longer.

    Example:
        >>> clip("abcdef", 4), clip("abcd", 4)
        ('abc…', 'abcd')
    """
    return text if len(text) <= max_length else text[: max_length - 1] + _ELLIPSIS


def one_line(text: str, max_length: int = 200) -> str:
    r"""Return `text` on one line of at most `max_length` characters: every run of white space becomes one space.

    Example:
        >>> one_line("two\n  lines")
        'two lines'
    """
    return clip(" ".join(text.split()), max_length)


def short_repr(value: object, max_length: int = 100) -> str:
    r"""Return the `repr` of any value in at most `max_length` characters; a string keeps its closing quote.

    Line breaks and control characters of a string are escaped, so the result cannot fill or forge a log.

    Example:
        >>> short_repr("get\nweather"), short_repr("x" * 1000, 8), short_repr([1, 2, 3], 5)
        ("'get\\nweather'", "'xxxxx…'", '[1, …')
    """
    if isinstance(value, str):
        text = repr(value[:max_length])
        fits = len(value) <= max_length and len(text) <= max_length
        return text if fits else text[: max_length - 2].rstrip(text[-1]) + _ELLIPSIS + text[-1]
    try:
        text = repr(_beginning(value, [max_length]))
    except Exception:  # nested too deeply, or a __repr__ that fails
        text = f"<{type(value).__name__}>"
    return clip(text, max_length)


def short_json(value: object, max_length: int = 80) -> str:
    """Return `value` as JSON in at most `max_length` characters, for a sentence that a model reads.

    Example:
        >>> short_json({"a": None}), short_json("x" * 1000, 8)
        ('{"a": null}', '"xxxxxx…')
    """
    try:
        text = json.dumps(_beginning(value, [max_length]), ensure_ascii=False, default=str)
    except Exception:  # nested too deeply, a circle, or a __str__ that fails
        text = f"a value of type {type(value).__name__}"
    return clip(text, max_length)


def _beginning(value: Any, left: list[int]) -> Any:
    """Return the beginning of a JSON value, so that a large one is not written in full to show a part of it.

    Args:
        value: Any value.
        left: The number of values and characters to keep, which this function decreases.
    """
    left[0] -= 1
    kind = type(value)
    if kind is str:
        left[0] -= len(value)
        return value[: max(0, left[0] + len(value)) + 3]
    if kind is list or kind is tuple:
        return kind(_beginning(member, left) for member in takewhile(lambda _: left[0] > 0, value))
    if kind is dict:
        items = takewhile(lambda _: left[0] > 0, value.items())
        return {_beginning(key, left): _beginning(member, left) for key, member in items}
    return value
