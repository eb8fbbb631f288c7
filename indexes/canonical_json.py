"""Canonical JSON: one string for equal values, and errors that name the value that is not JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from ..text import short_repr

__all__ = ["MAX_JSON_DEPTH", "canonical_json"]

MAX_JSON_DEPTH = 500
"""Maximum levels of nested lists and objects. Deeper values overflow the stack in some JSON libraries."""

_MAX_SHOWN_CHARACTERS = 60
_TOO_DEEP = f"it is nested more than {MAX_JSON_DEPTH} levels deep"
_CIRCULAR = "it contains itself"


def canonical_json(value: object) -> str:
    """Return a value as compact JSON with sorted keys.

    Args:
        value: A JSON value: dicts, lists, tuples, strings, finite numbers, booleans and None.

    Raises:
        ValueError: If the value is not JSON; the message says what is wrong and where.

    Example:
        >>> canonical_json({"b": 1, "a": None})
        '{"a":null,"b":1}'
        >>> canonical_json({"properties": {"data": {"default": b"x"}}})
        Traceback (most recent call last):
        ...
        ValueError: /properties/data/default is b'x', which is not a JSON value
    """
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    except (TypeError, ValueError) as error:
        circular = "circular" in str(error).lower()
        raise ValueError(_describe_invalid_value(value) or (_CIRCULAR if circular else str(error))) from error
    if text.count("{") + text.count("[") > MAX_JSON_DEPTH and _is_too_deep(value):
        raise ValueError(_TOO_DEEP)
    return text


def _children(value: object) -> Iterable[tuple[object, object]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, (list, tuple)) else ()


def _is_too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [child for node in level for _, child in _children(node)]
        if not level:
            return False
    return any(isinstance(node, (dict, list, tuple)) for node in level)


def _describe_invalid_value(value: object) -> str:
    """Describe the first part of `value` that is not JSON, with its path, or return ""."""
    seen: set[int] = set()
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, (dict, list, tuple)):
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, dict) and (invalid := [key for key in node if not isinstance(key, str)]):
                return (
                    f"{path or '/'} has the key {short_repr(invalid[0], _MAX_SHOWN_CHARACTERS)}, which is not a string"
                )
            waiting += reversed([(f"{path}/{key}", child) for key, child in _children(node)])
        elif not (node is None or isinstance(node, (str, int)) or (isinstance(node, float) and math.isfinite(node))):
            return f"{path or '/'} is {short_repr(node, _MAX_SHOWN_CHARACTERS)}, which is not a JSON value"
    return ""
