"""JSON Schemas of pydantic types, adapted to tools: no titles and formats, closed objects, data only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import core_schema

__all__ = ["ToolJsonSchema", "default_of", "takes_null", "tidy"]

_NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
_DATA_KEYWORDS = frozenset({"default", "enum", "const", "examples", "required", "discriminator"})
_MAX_REFERENCES = 20
# A format is not sent, because some models fail at it. A model cannot guess how a duration is written.
_HINTS = {
    "date": "ISO 8601 date, e.g. 2027-01-05",
    "time": "ISO 8601 time, e.g. 14:30:00",
    "date-time": "ISO 8601 date and time, e.g. 2027-01-05T14:30:00",
    "duration": "ISO 8601 duration, e.g. PT1H30M",
    "uuid": "UUID, e.g. 123e4567-e89b-12d3-a456-426614174000",
}


class ToolJsonSchema(GenerateJsonSchema):
    """Pydantic's generator, but with errors for types that pydantic would omit or misdescribe."""

    def generator_schema(self, schema: core_schema.GeneratorSchema) -> JsonSchemaValue:
        """Reject a generator, which pydantic describes as an array."""
        return self.handle_invalid_for_json_schema(schema, "a generator is not data")

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        """Reject a class, which pydantic describes as any value."""
        return self.handle_invalid_for_json_schema(schema, "a class is not data")

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Reject a union with a member that cannot be described; omit defaults that are not JSON."""
        if kind == "skipped-choice":
            raise PydanticInvalidForJsonSchema(detail)


def tidy(schema: Any, *, formats: bool = False) -> Any:
    """Return a copy without titles and formats, in which objects forbid additional properties.

    A date, time, duration or UUID without a description gets one that says how to write it.

    Args:
        schema: A JSON Schema, or a part of one.
        formats: Whether to keep formats, as a hint for the model.

    Example:
        >>> tidy({"title": "A", "type": "string", "format": "date"})
        {'type': 'string', 'description': 'ISO 8601 date, e.g. 2027-01-05'}
    """
    if isinstance(schema, list):
        return [tidy(member, formats=formats) for member in schema]
    if not isinstance(schema, dict):
        return schema
    dropped = ("title",) if formats else ("title", "format")
    tidied = {key: _tidy_value(key, value, formats) for key, value in schema.items() if key not in dropped}
    hint = None if formats or "description" in schema else _HINTS.get(_format_of(schema))
    if hint is not None:
        tidied["description"] = hint
    if tidied.get("type") == "object" and "additionalProperties" not in tidied:
        tidied.setdefault("properties", {})
        tidied["additionalProperties"] = False
    return tidied


def _format_of(schema: Mapping[str, Any]) -> str:
    form = schema.get("format")
    return form if isinstance(form, str) and schema.get("type") == "string" else ""


def _tidy_value(key: str, value: Any, formats: bool) -> Any:
    if key in _NAMED_SCHEMAS:  # a property may be called "title"
        return {name: tidy(member, formats=formats) for name, member in value.items()}
    return value if key in _DATA_KEYWORDS else tidy(value, formats=formats)


def takes_null(schema: Mapping[str, Any], definitions: Mapping[str, Any], _depth: int = 0) -> bool:
    """Return whether a schema names null as a value; an unrestricted schema does not.

    Example:
        >>> takes_null({"anyOf": [{"type": "string"}, {"type": "null"}]}, {}), takes_null({}, {})
        (True, False)
    """
    if _depth > _MAX_REFERENCES:
        return False
    if reference := schema.get("$ref"):
        target = definitions.get(reference.removeprefix("#/$defs/"), {})
        return takes_null(target, definitions, _depth + 1)
    if schema.get("type") == "null" or None in schema.get("enum", ()) or schema.get("const", ...) is None:
        return True
    members = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    return any(takes_null(member, definitions, _depth + 1) for member in members)


def default_of(adapter: TypeAdapter[Any], default: Any) -> dict[str, Any]:
    """Return ``{"default": ...}``, or an empty dict if the default is not JSON."""
    try:
        value = adapter.dump_python(default, mode="json", warnings=False, by_alias=True)
        json.dumps(value, allow_nan=False)
    except Exception:  # a default can be any object, and its serializer can raise anything
        return {}
    return {"default": value}
