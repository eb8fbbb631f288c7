"""Repair of tool schemas for the wire: a provider rejects a request for one invalid schema in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

__all__ = ["valid_schema"]

_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_MAX_DEPTH = 200

Check: TypeAlias = Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_schema(value: Any) -> bool:
    return isinstance(value, Mapping | bool)


def _is_type(value: Any) -> bool:
    if isinstance(value, str):
        return value in _TYPES
    return _is_list(value) and _is_names(value) and _TYPES.issuperset(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0


def _is_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


_CHECKS: dict[str, Check] = {
    "type": _is_type,
    "enum": _is_list,
    "required": _is_names,
    "uniqueItems": _is_bool,
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    **dict.fromkeys(("minContains", "maxContains"), _is_count),
    **dict.fromkeys(("$ref", "$schema", "$id", "$comment", "description", "title", "format", "pattern"), _is_text),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), _is_text),
    "examples": lambda value: isinstance(value, list | tuple),
    "dependentRequired": lambda value: isinstance(value, Mapping) and all(map(_is_names, value.values())),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly"), _is_bool),
}
_NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_SCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SCHEMAS = frozenset(
    {"additionalProperties", "contains", "else", "if", "not", "propertyNames", "then"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)


def valid_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a JSON Schema without the keywords whose value the specification does not allow.

    A keyword that is left out only makes the schema less precise for the model; arguments are still validated against
    the original. A boolean ``exclusiveMinimum`` beside ``minimum``, as in draft 4 and OpenAPI 3.0, becomes a number.
    An array without ``items`` gets ``items: {}``, which some providers require. The key order is kept.

    Example:
        >>> valid_schema({"type": "object", "properties": {"n": {"minimum": 0, "exclusiveMinimum": True}}})
        {'type': 'object', 'properties': {'n': {'exclusiveMinimum': 0}}}
        >>> valid_schema({"type": "array", "required": None})
        {'type': 'array', 'items': {}}
    """
    return _repair(schema, 0)


def _repair(schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        return {}
    repaired: dict[str, Any] = {}
    for keyword, value in schema.items():
        if _is_bool(value) and keyword in _BOUNDS:
            if value and _is_number(bound := schema.get(_BOUNDS[keyword])):
                repaired[keyword] = bound
        elif keyword in _BOUNDS.values() and schema.get(_exclusive(keyword)) is True:
            continue  # it became the exclusive bound
        elif keyword in _NAMED_SCHEMAS:
            if isinstance(value, Mapping):
                repaired[keyword] = {name: _member(member, depth) for name, member in value.items()}
        elif keyword in _SCHEMA_LISTS or (keyword == "items" and isinstance(value, list | tuple)):
            if _is_list(value):
                repaired[keyword] = [_member(member, depth) for member in value]
        elif keyword in _SCHEMAS or keyword == "items":
            if _is_schema(value):
                repaired[keyword] = _member(value, depth)
        elif (check := _CHECKS.get(keyword)) is None or check(value):
            repaired[keyword] = value
    if repaired.get("type") == "array" and not repaired.keys() & {"items", "prefixItems"}:
        repaired["items"] = {}
    return repaired


def _member(schema: Any, depth: int) -> Any:
    if isinstance(schema, Mapping):
        return _repair(schema, depth + 1)
    return schema if isinstance(schema, bool) else {}


def _exclusive(bound: str) -> str:
    return f"exclusive{bound.capitalize()}"
