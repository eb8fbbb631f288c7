"""JSON Schema as tools need it, from pydantic's: no titles, no formats, closed objects, nothing that is not data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import core_schema

__all__ = ["ToolJsonSchema", "default_of", "takes_null", "tidy"]

_KEYED_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
_DATA = frozenset({"default", "enum", "const", "examples", "required", "discriminator"})
_DEEPEST_ALIAS = 20


class ToolJsonSchema(GenerateJsonSchema):
    """Pydantic's generator, refusing what pydantic would leave out or describe as something else."""

    def generator_schema(self, schema: core_schema.GeneratorSchema) -> JsonSchemaValue:
        """Refuse a generator; pydantic would call it an array."""
        return self.handle_invalid_for_json_schema(schema, "a generator is not data")

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        """Refuse a class; pydantic would call it anything."""
        return self.handle_invalid_for_json_schema(schema, "a class is not data")

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Refuse a union with a member that cannot be described; leave out defaults that are not JSON."""
        if kind == "skipped-choice":
            raise PydanticInvalidForJsonSchema(detail)


def tidy(schema: Any, *, formats: bool = False) -> Any:
    """Return a copy without titles and formats, and with objects of known properties closed to others.

    Args:
        schema: a JSON Schema, or a part of one.
        formats: keep formats, where they are to tell the model what to write.

    Example:
        >>> tidy({"title": "A", "type": "string", "format": "date"})
        {'type': 'string'}
    """
    if isinstance(schema, list):
        return [tidy(member, formats=formats) for member in schema]
    if not isinstance(schema, dict):
        return schema
    dropped = ("title",) if formats else ("title", "format")
    tidied = {key: _tidy_value(key, value, formats) for key, value in schema.items() if key not in dropped}
    if tidied.get("type") == "object" and "additionalProperties" not in tidied:
        tidied.setdefault("properties", {})
        tidied["additionalProperties"] = False
    return tidied


def _tidy_value(key: str, value: Any, formats: bool) -> Any:
    if key in _KEYED_BY_NAME:  # a property may be called "title"
        return {name: tidy(member, formats=formats) for name, member in value.items()}
    return value if key in _DATA else tidy(value, formats=formats)


def takes_null(schema: Mapping[str, Any], definitions: Mapping[str, Any], _depth: int = 0) -> bool:
    """Return whether null is one of the values that a schema names; an unrestricted schema names none.

    Example:
        >>> takes_null({"anyOf": [{"type": "string"}, {"type": "null"}]}, {}), takes_null({}, {})
        (True, False)
    """
    if _depth > _DEEPEST_ALIAS:
        return False
    if reference := schema.get("$ref"):
        target = definitions.get(reference.removeprefix("#/$defs/"), {})
        return takes_null(target, definitions, _depth + 1)
    if schema.get("type") == "null" or None in schema.get("enum", ()) or schema.get("const", ...) is None:
        return True
    members = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    return any(takes_null(member, definitions, _depth + 1) for member in members)


def default_of(adapter: TypeAdapter[Any], default: Any) -> dict[str, Any]:
    """Return ``{"default": ...}``, or nothing where the default is not JSON."""
    try:
        value = adapter.dump_python(default, mode="json", warnings=False, by_alias=True)
        json.dumps(value, allow_nan=False)
    except Exception:  # a default may be any object, and so may be what its serialiser raises
        return {}
    return {"default": value}
