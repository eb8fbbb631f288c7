"""Encoding of output schemas for ``response_format``, in strict mode if possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from ...chat.requests import OutputSchema
from ...text import replace_surrogates_in

__all__ = ["response_format", "strict_schema"]

Json: TypeAlias = dict[str, Any]

# Keywords of strict mode. Others only narrow these, and the answer is validated in any case.
_KEYWORDS = ("type", "description", "enum", "const")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems")
_FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
_LOOKAROUND = ("(?=", "(?!", "(?<")
# Keywords that do more than narrow, and that strict mode does not have.
_UNSUPPORTED = ("patternProperties", "prefixItems", "if", "not", "dependentSchemas", "dependentRequired")
_MAX_DEPTH = 50


class _NotStrictError(Exception):
    """A schema that cannot be made strict without changing its meaning."""


def response_format(schema: OutputSchema) -> Json:
    """Return the option ``response_format``: the schema in strict mode, or unchanged if that would alter it."""
    strict = strict_schema(schema.schema)
    sent = dict(schema.schema) if strict is None else strict
    form = {"name": schema.name, "schema": replace_surrogates_in(sent), "strict": strict is not None}
    return {"type": "json_schema", "json_schema": form}


def strict_schema(schema: Mapping[str, Any]) -> Json | None:
    """Convert a schema to strict mode: closed objects, all properties required, supported keywords only.

    Return None for a schema with free keys, with values of any type, or with optional properties that have no default,
    cannot be null and cannot be an empty list.

    Example:
        >>> strict_schema({"type": "object", "properties": {"a": {"type": "string", "default": "x", "maxLength": 3}}})
        {'type': 'object', 'properties': {'a': {'type': 'string'}}, 'required': ['a'], 'additionalProperties': False}
        >>> strict_schema({"type": "object", "additionalProperties": {"type": "string"}}) is None
        True
    """
    definitions = schema.get("$defs", {})
    try:
        strict = _strict(schema, definitions, 0)
        if definitions:
            strict["$defs"] = {name: _strict(member, definitions, 0) for name, member in definitions.items()}
    except _NotStrictError:
        return None
    return strict if strict.get("type") == "object" else None


def _strict(schema: Any, definitions: Mapping[str, Any], depth: int) -> Json:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH or any(keyword in schema for keyword in _UNSUPPORTED):
        raise _NotStrictError
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    members = schema.get("anyOf") or schema.get("oneOf")
    if members:
        described = {key: schema[key] for key in ("description",) if key in schema}
        return {"anyOf": [_strict(member, definitions, depth + 1) for member in members], **described}
    if len(whole := schema.get("allOf", ())) == 1:
        return _strict({**whole[0], **{k: v for k, v in schema.items() if k != "allOf"}}, definitions, depth + 1)
    if whole or not any(keyword in schema for keyword in ("type", "enum", "const")):
        raise _NotStrictError
    if isinstance(kinds := schema.get("type"), list) and ("object" in kinds or "array" in kinds):
        raise _NotStrictError
    strict = {key: schema[key] for key in (*_KEYWORDS, *_BOUNDS) if key in schema}
    if schema.get("format") in _FORMATS:
        strict["format"] = schema["format"]
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and not any(mark in pattern for mark in _LOOKAROUND):
        strict["pattern"] = pattern
    if schema.get("type") == "object":
        strict.update(_strict_object(schema, definitions, depth))
    if schema.get("type") == "array":
        strict["items"] = _strict(schema.get("items"), definitions, depth + 1)
    return strict


def _strict_object(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> Json:
    properties: Mapping[str, Any] = schema.get("properties", {})
    free = schema.get("additionalProperties", not properties) is not False
    required = schema.get("required", ())
    if free or not all(name in required or _can_be_empty(member, definitions) for name, member in properties.items()):
        raise _NotStrictError
    return {
        "properties": {name: _strict(member, definitions, depth + 1) for name, member in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def _can_be_empty(schema: Any, definitions: Mapping[str, Any]) -> bool:
    """Return whether a model can fill in a property without inventing a value."""
    from ...tools.definition.json_schema import takes_null

    empty_list = schema.get("type") == "array" and not schema.get("minItems")
    return empty_list or "default" in schema or takes_null(schema, definitions)
