"""JSON values: their types, and keys that are equal for equal values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from .steps import Steps

__all__ = ["TYPES", "json_key"]

TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}
"""The types of JSON Schema by name."""


def json_key(value: Any, steps: Steps) -> str:
    """Return a string that is equal for equal JSON values: 1 equals 1.0, but not true.

    A string, because chosen numbers can all have the same hash, and then a set of them takes quadratic time.

    Example:
        >>> json_key([1.0, {"b": 1, "a": True}], Steps(100)) == json_key([1, {"a": True, "b": 1.0}], Steps(100))
        True
        >>> json_key(True, Steps(1)) == json_key(1, Steps(1))
        False
    """
    if isinstance(value, str):
        steps.spend(1 + len(value) // 1000)
        return f'"{value}'
    return json.dumps(_with_equal_numbers(value, steps), sort_keys=True)


def _with_equal_numbers(value: Any, steps: Steps) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list | tuple):
        steps.spend(1 + len(value))
        return [_with_equal_numbers(member, steps) for member in value]
    if isinstance(value, dict):
        steps.spend(1 + len(value))
        return {str(key): _with_equal_numbers(member, steps) for key, member in value.items()}
    if isinstance(value, str):
        steps.spend(len(value) // 1000)
    return value
