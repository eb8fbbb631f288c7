"""Parsing of tool definitions in the forms of OpenAI, Anthropic and MCP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import ConfigurationError
from ...text import short_repr
from .decorator import ToolOptions

__all__ = ["Definition", "is_definition", "read_definition"]

_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
_FORMS = (
    'OpenAI {"type": "function", "function": {...}}, Anthropic {"name", "input_schema"}, MCP {"name", "inputSchema"} '
    'or {"name", "description", "parameters"}'
)


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool definition of another library.

    Args:
        name: The tool's name.
        description: The description; may be empty.
        parameters: The JSON Schema of the arguments; empty if the tool takes none.
        options: Further arguments for `Tool`.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    options: ToolOptions = field(default_factory=ToolOptions)


def is_definition(value: object) -> bool:
    """Return whether `value` looks like a tool definition: a mapping, or an object with a name and an input schema."""
    if isinstance(value, Mapping):
        return True
    return isinstance(getattr(value, "name", None), str) and any(hasattr(value, key) for key in _SCHEMA_KEYS[1:])


def read_definition(definition: object) -> Definition:
    """Parse a definition of any known form.

    Raises:
        ConfigurationError: If there is no name, if the schema is not a mapping, or if the provider runs the tool.
    """
    inner = _get(definition, "function")
    if isinstance(inner, Mapping) or _get(inner, "name") is not None:
        definition = inner
    name = _get(definition, "name")
    if not isinstance(name, str):
        raise ConfigurationError(f"a tool definition must have a name, got {short_repr(definition)}; forms: {_FORMS}")
    schemas = [schema for key in _SCHEMA_KEYS if (schema := _get(definition, key)) is not None]
    kind = _get(definition, "type")
    if not schemas and kind not in (None, "function", "custom"):
        raise ConfigurationError(
            f"tool {name!r}: the provider itself runs tools of type {kind!r}; pass it as an option of the model"
        )
    parameters = schemas[0] if schemas else {}
    if not isinstance(parameters, Mapping):
        raise ConfigurationError(f"tool {name!r}: the schema must be a JSON Schema, got {short_repr(parameters)}")
    return Definition(name, _get(definition, "description") or "", parameters, _options(definition))


def _options(definition: object) -> ToolOptions:
    """Return the title as search text. A tool of MCP is concurrent only if it is declared as read-only."""
    options = ToolOptions()
    annotations = _get(definition, "annotations")
    title = _get(definition, "title") or _get(annotations, "title")
    if isinstance(title, str) and title:
        options["search_text"] = title
    if _get(definition, "inputSchema") is not None or not isinstance(definition, Mapping):
        options["concurrent"] = True in (_get(annotations, "readOnlyHint"), _get(annotations, "read_only_hint"))
    if kind := _plain(annotations):
        options["annotations"] = kind
    output_schema = _get(definition, "outputSchema") or _get(definition, "output_schema")
    if isinstance(output_schema, Mapping):
        options["output_schema"] = output_schema
    return options


def _plain(annotations: Any) -> Mapping[str, Any] | None:
    """Return the annotations of a tool as a mapping; the SDK of MCP has an object for them."""
    if hasattr(annotations, "model_dump"):
        return dict(annotations.model_dump(by_alias=True, exclude_none=True))
    return annotations if isinstance(annotations, Mapping) else None


def _get(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
