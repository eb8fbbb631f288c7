"""The form that the keywords of a JSON Schema must have, and the schemas inside a schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from .json_values import TYPES
from .steps import Steps

__all__ = ["invalid_keywords", "subschemas"]

Test = Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return TYPES["number"](value) and (isinstance(value, int) or math.isfinite(value))


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _are_strings(value: Any) -> bool:
    return _is_list(value) and all(map(_is_string, value))


def _is_type(value: Any) -> bool:
    names = [value] if isinstance(value, str) else value
    return _are_strings(names) and len(names) > 0 and all(name in TYPES for name in names)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


_SCHEMAS: Final = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_MAPS: Final = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
_VALUES: Final[Mapping[str, Test]] = {
    **dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef", "pattern"), _is_string),
    **dict.fromkeys(("minimum", "maximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    **dict.fromkeys(("minContains", "maxContains"), _is_count),
    **dict.fromkeys(_LISTS, lambda value: _is_list(value) and len(value) > 0),
    **dict.fromkeys((*_MAPS, "dependentRequired", "dependencies"), _is_mapping),
    "enum": _is_list,
    "exclusiveMaximum": lambda value: _is_number(value) or isinstance(value, bool),
    "exclusiveMinimum": lambda value: _is_number(value) or isinstance(value, bool),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    "prefixItems": _is_list,
    "required": _are_strings,
    "type": _is_type,
    "uniqueItems": lambda value: isinstance(value, bool),
}


def invalid_keywords(schema: Mapping[str, Any], steps: Steps) -> Iterator[str]:
    """Yield the keywords of a schema that do not have the right form, in any draft since 4. Parts are not checked.

    Example:
        >>> list(invalid_keywords({"type": "strin", "minimum": 1}, Steps(100)))
        ['type']
    """
    for keyword, value in schema.items():
        test = _VALUES.get(keyword)
        if test is None:
            continue
        if isinstance(value, list | tuple):
            steps.spend(len(value) // 8)
        if not test(value):
            yield keyword
        elif value is True and keyword in ("exclusiveMinimum", "exclusiveMaximum"):
            bound = keyword.removeprefix("exclusive").lower()
            if not _is_number(schema.get(bound)):
                yield keyword
        elif keyword == "dependentRequired" and isinstance(value, Mapping):
            steps.spend(len(value))
            yield from (f"{keyword}/{name}" for name, names in value.items() if not _are_strings(names))


def subschemas(schema: Mapping[str, Any], steps: Steps) -> Iterator[tuple[str, Any]]:
    """Yield the schemas inside a schema, with their places.

    Example:
        >>> list(subschemas({"properties": {"a": {}}, "not": True}, Steps(100)))
        [('properties/a', {}), ('not', True)]
    """
    for keyword, value in schema.items():
        if keyword in _SCHEMAS or (keyword == "items" and not _is_list(value)):
            yield keyword, value
        elif (keyword in _LISTS or keyword in ("items", "prefixItems")) and _is_list(value):
            steps.spend(len(value))
            yield from ((f"{keyword}/{at}", member) for at, member in enumerate(value))
        elif keyword in _MAPS and _is_mapping(value):
            steps.spend(len(value))
            yield from ((f"{keyword}/{name}", member) for name, member in value.items())
        elif keyword == "dependencies" and _is_mapping(value):
            yield from ((f"{keyword}/{name}", member) for name, member in value.items() if not _is_list(member))
