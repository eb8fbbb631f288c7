"""Feedback for the model: problems of arguments, and what to send instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from ...text import short_json
from ..names import closest_names
from .patterns import matches

if TYPE_CHECKING:
    from jsonschema import ValidationError as SchemaError
    from pydantic import ValidationError

__all__ = [
    "conversion_problems",
    "extra_names",
    "invalid_arguments",
    "schema_problems",
    "signature_of",
    "unknown_argument",
]

MAX_PROBLEMS = 5
MAX_NAMES = 30
MAX_VALUES = 20
MAX_MESSAGE_CHARACTERS = 240


class MissingArgument(str):
    """Problem of a required argument that is missing. The type, not the wording, puts it first in the list."""

    def __new__(cls, path: str) -> Self:
        """Word the problem of the argument at `path`."""
        return super().__new__(cls, f"{path!r}: required, but missing")


_EXPECTED = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} entries",
    "maxProperties": "at most {} entries",
    "pattern": "text that matches the pattern {}",
    "const": "{}",
}
_EXCLUSIVE = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}


def invalid_arguments(name: str, problems: Sequence[str], parameters: Mapping[str, Any]) -> str:
    """Return the tool result for invalid arguments: the problems, and the arguments that the tool takes."""
    what = f"Invalid arguments for {name}:" if name else "Invalid arguments:"
    listed = sorted(dict.fromkeys(problems), key=lambda problem: not isinstance(problem, MissingArgument))
    lines = [f"- {problem}" for problem in listed]
    if len(lines) > MAX_PROBLEMS:
        lines[MAX_PROBLEMS:] = [f"- and {len(lines) - MAX_PROBLEMS} more"]
    return "\n".join([what, *lines, signature_of(parameters)])


def signature_of(parameters: Mapping[str, Any]) -> str:
    """Return a sentence with the required arguments and all arguments of a tool.

    Example:
        >>> signature_of({"properties": {"city": {}, "days": {}}, "required": ["city"]})
        'Required: city. All arguments: city, days.'
    """
    known = [str(name) for name in parameters.get("properties", ())]
    if not known:
        return "It takes no arguments." if parameters.get("additionalProperties") is False else ""
    required = parameters.get("required")
    needed = [str(name) for name in required] if isinstance(required, list) else []
    return f"Required: {_listed(needed, MAX_NAMES) or 'none'}. All arguments: {_listed(known, MAX_NAMES)}."


def extra_names(schema: Mapping[str, Any], instance: Mapping[str, Any]) -> list[str]:
    """Return the keys of an object that match neither `properties` nor `patternProperties` of its schema."""
    patterns = schema.get("patternProperties", {})
    extras = [name for name in instance if name not in schema.get("properties", {})]
    return [name for name in extras if all(matches(pattern, name) is False for pattern in patterns)]


def unknown_argument(name: str, known: Iterable[str], path: Sequence[Any] = ()) -> str:
    """Describe an unknown argument, or an unknown key of the object at `path`, with a suggestion."""
    close = closest_names(name, known, 1)
    suggestion = f"; did you mean {_path([*path, close[0]])!r}?" if close else ""
    return f"{_path([*path, name])!r}: unknown argument{suggestion}"


def conversion_problems(argument: str, error: ValidationError) -> list[str]:
    """Convert pydantic's errors about one argument to problems."""
    problems = []
    for detail in error.errors(include_url=False, include_context=False):
        path = _path([argument, *detail["loc"]])
        sent = "" if detail["type"] == "missing" else f", got {short_json(detail['input'])}"
        problems.append(f"{path!r}: {detail['msg']}{sent}")
    return problems


def schema_problems(error: SchemaError, path: Sequence[Any] = ()) -> list[str]:
    """Convert one error of a JSON Schema validator to problems."""
    path = [*path, *error.relative_path]
    keyword = str(error.validator)
    value: Any = error.validator_value
    instance: Any = error.instance
    where = repr(_path(path)) if path else "the arguments"
    if keyword in _EXCLUSIVE and isinstance(error.schema, Mapping) and error.schema.get(_EXCLUSIVE[keyword]) is True:
        keyword = _EXCLUSIVE[keyword]  # as in draft 4
    if keyword == "required" and isinstance(value, list):
        return [MissingArgument(_path([*path, name])) for name in value if name not in instance]
    if keyword == "additionalProperties" and value is False:
        schema: Any = error.schema
        known = list(schema.get("properties", ()))
        return [unknown_argument(name, known, path) for name in extra_names(schema, instance)]
    if keyword in ("anyOf", "oneOf") and error.context:
        return _choice(error, path, where)
    if keyword == "type":
        kinds = value if isinstance(value, list) else [value]
        return [f"{where}: expected {' or '.join(_kind(kind) for kind in kinds)}, got {short_json(instance)}"]
    if keyword == "enum" and isinstance(value, list):
        return [f"{where}: expected one of {_listed(map(short_json, value), MAX_VALUES)}, got {short_json(instance)}"]
    if keyword in _EXPECTED:
        return [f"{where}: expected {_EXPECTED[keyword].format(short_json(value))}, got {short_json(instance)}"]
    message = error.message if len(error.message) <= MAX_MESSAGE_CHARACTERS else f"it does not fit {keyword!r}"
    return [f"{where}: {message}"]


def _choice(error: SchemaError, path: list[Any], where: str) -> list[str]:
    """Return the expected types if no alternative has the right type, else the problems of the first that has."""
    branches = list(error.context or ())
    if all(branch.validator == "type" and not branch.relative_path for branch in branches):
        kinds: dict[str, None] = {}
        for branch in branches:
            value = branch.validator_value
            kinds.update(dict.fromkeys(_kind(kind) for kind in (value if isinstance(value, list) else [value])))
        return [f"{where}: expected {' or '.join(kinds)}, got {short_json(error.instance)}"]
    fitting = [branch for branch in branches if branch.validator != "type" or branch.relative_path]
    chosen = fitting[0].relative_schema_path[0]
    nearest = [branch for branch in fitting if branch.relative_schema_path[0] == chosen]
    return [problem for branch in nearest for problem in schema_problems(branch, path)]


def _kind(name: object) -> str:
    return "true or false" if name == "boolean" else str(name)


def _path(parts: Iterable[Any]) -> str:
    """Return a path such as ``filters[0].name``."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _listed(names: Iterable[str], most: int) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")
