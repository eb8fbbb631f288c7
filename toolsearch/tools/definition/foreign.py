"""Reading tool definitions in the forms that providers and MCP use."""

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
    """What a foreign definition says of a tool.

    Args:
        name: its name.
        description: its description; may be empty.
        parameters: the JSON Schema of its arguments, that of no arguments where it has none.
        options: what else it says that a `Tool` has a field for.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    options: ToolOptions = field(default_factory=ToolOptions)


def is_definition(value: object) -> bool:
    """Whether `value` looks like a tool definition: a mapping, or an object with a name and an input schema."""
    if isinstance(value, Mapping):
        return True
    return isinstance(getattr(value, "name", None), str) and any(hasattr(value, key) for key in _SCHEMA_KEYS[1:])


def read_definition(definition: object) -> Definition:
    """Read a definition of any known form.

    Raises:
        ConfigurationError: when it has no name, no schema that is a mapping, or is a tool that the provider runs.
    """
    inner = _get(definition, "function")
    if isinstance(inner, Mapping) or _get(inner, "name") is not None:
        definition = inner
    name = _get(definition, "name")
    if not isinstance(name, str):
        raise ConfigurationError(f"a tool definition without a name: {short_repr(definition)}; known forms: {_FORMS}")
    schemas = [schema for key in _SCHEMA_KEYS if (schema := _get(definition, key)) is not None]
    kind = _get(definition, "type")
    if not schemas and kind not in (None, "function", "custom"):
        raise ConfigurationError(
            f"{name!r} is a tool of type {kind!r}, which the provider runs itself; pass it as an option"
        )
    parameters = schemas[0] if schemas else {}
    if not isinstance(parameters, Mapping):
        raise ConfigurationError(f"the schema of the tool {name!r} is a JSON Schema, not {short_repr(parameters)}")
    return Definition(name, _get(definition, "description") or "", parameters, _options(definition))


def _options(definition: object) -> ToolOptions:
    """The title as search text, and for MCP whether it may run beside others: only when it says it just reads."""
    options = ToolOptions()
    annotations = _get(definition, "annotations")
    title = _get(definition, "title") or _get(annotations, "title")
    if isinstance(title, str) and title:
        options["search_text"] = title
    if _get(definition, "inputSchema") is not None or not isinstance(definition, Mapping):
        options["concurrent"] = True in (_get(annotations, "readOnlyHint"), _get(annotations, "read_only_hint"))
    return options


def _get(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
