"""JSON in one form for equal content, or what keeps a value from being JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from ..text import short_repr

__all__ = ["DEEPEST", "canonical_json"]

DEEPEST = 500
"""Levels of lists and objects; deeper ones overflow the stack of one library or another."""

_SHOWN = 60


def canonical_json(value: object) -> str:
    """Return `value` as JSON, keys in order.

    Raises:
        ValueError: it is no JSON; the message says what is wrong and where.

    Example:
        >>> canonical_json({"b": 1, "a": None})
        '{"a":null,"b":1}'
        >>> canonical_json({"properties": {"data": {"default": b"x"}}})
        Traceback (most recent call last):
        ...
        ValueError: /properties/data/default is b'x', which JSON does not have
    """
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    except (TypeError, ValueError) as error:
        raise ValueError(_what_is_odd(value) or (_CIRCULAR if "ircular" in str(error) else str(error))) from error
    if text.count("{") + text.count("[") > DEEPEST and _is_too_deep(value):
        raise ValueError(_TOO_DEEP)
    return text


_TOO_DEEP = f"it is nested more than {DEEPEST} levels deep"
_CIRCULAR = "it holds itself"


def _children(value: object) -> Iterable[tuple[object, object]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, (list, tuple)) else ()


def _is_too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(DEEPEST):
        level = [child for node in level for _, child in _children(node)]
        if not level:
            return False
    return any(isinstance(node, (dict, list, tuple)) for node in level)


def _what_is_odd(value: object) -> str:
    """Return the first thing in `value` that JSON does not have, and where it is; "" if there is none."""
    seen: set[int] = set()
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, (dict, list, tuple)):
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, dict) and (odd := [key for key in node if not isinstance(key, str)]):
                return f"{path or '/'} has the key {short_repr(odd[0], _SHOWN)}, which is no text"
            waiting += reversed([(f"{path}/{key}", child) for key, child in _children(node)])
        elif not (node is None or isinstance(node, (str, int)) or (isinstance(node, float) and math.isfinite(node))):
            return f"{path or '/'} is {short_repr(node, _SHOWN)}, which JSON does not have"
    return ""
