"""Output converter for JSON and any type that pydantic supports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigurationError, OutputError
from ..text import short_repr
from .extraction import JsonCandidate, JsonSearch, remove_reasoning

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

__all__ = ["JsonOutputConverter"]

_KEY = "answer"
_SCALARS = ("string", "integer", "number", "boolean", "null")
_SCALAR_DELIMITERS = " \t\r\n.`*\"'"
MAX_PROBLEMS = 8
MAX_EXCERPT_CHARACTERS = 200


class JsonOutputConverter:
    """A converter that asks for JSON and parses it as a type.

    The type can be a pydantic model, a dataclass, a `TypedDict`, ``list[...]``, ``dict``, `Literal`, a union, a plain
    type such as ``int``, or a pydantic `TypeAdapter`. The type itself decides what it tolerates, such as numbers as
    strings and unknown keys.

    Code fences, reasoning in tags, and text before and after the JSON are ignored. The first JSON value that fits the
    type is the answer.

    Providers require a schema with an object at the root. Any other type is wrapped in an object with the key
    ``answer``, and unwrapped after parsing.

    Args:
        output: The type.

    Raises:
        ConfigurationError: If JSON cannot express the type.

    Example:
        >>> converter = JsonOutputConverter(list[int])
        >>> converter.parse("Sure! [1, 2] Anything else?"), converter.parse('{"answer": [3]}')
        ([1, 2], [3])
        >>> converter.parse('["one"]')
        Traceback (most recent call last):
        toolsearch.errors.OutputError: The JSON does not fit what was asked for:
        - '[0]': Input should be a valid integer, unable to parse string as an integer, got "one"
    """

    def __init__(self, output: object) -> None:
        self._adapter = _adapter(output)
        plain = _schema(self._adapter, output)
        self._wrapped = plain.get("type") != "object"
        self._scalar = "enum" in plain or "const" in plain or plain.get("type") in _SCALARS
        self._schema = _wrap_in_object(plain) if self._wrapped else plain
        # A bare list or scalar cannot be confused with the wrapper, so the instructions ask for it unwrapped.
        bare = not self._wrapped or self._scalar or plain.get("type") == "array"
        shown = json.dumps(plain if bare else self._schema, ensure_ascii=False, separators=(", ", ": "))
        self._instructions = (
            "Answer with JSON that is valid against this JSON Schema, and with nothing else: no explanation, "
            f"no code fence.\n{shown}"
        )
        self._name = output.__name__ if isinstance(output, type) else _KEY

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name})"

    @property
    def name(self) -> str:
        """The name of the type, or ``"answer"``."""
        return self._name

    @property
    def instructions(self) -> str:
        """Instructions for the model that contain the schema."""
        return self._instructions

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the type, wrapped in an object if the type is not an object."""
        return self._schema

    def parse(self, text: str) -> Any:
        """Return the first JSON value in `text` that fits the type, as that type.

        Raises:
            OutputError: If there is none. The message explains the problems of the longest JSON value.
        """
        search = JsonSearch(text)
        mismatches: list[tuple[int, ValidationError]] = []
        for found in search:
            try:
                return self._convert(found)
            except _validation_error() as error:
                mismatches.append((len(found.text), error))
        if self._scalar:
            try:
                return self._adapter.validate_python(remove_reasoning(text).strip(_SCALAR_DELIMITERS))
            except _validation_error() as error:
                mismatches = mismatches or [(0, error)]
        if mismatches:
            _, worst = max(mismatches, key=lambda mismatch: mismatch[0])
            raise OutputError(_mismatch_text(worst)) from worst
        raise OutputError(_missing_json_text(text, search.problem))

    def _convert(self, found: JsonCandidate) -> Any:
        value, text = found.value, found.text
        if self._wrapped and isinstance(value, dict) and value.keys() == {_KEY}:
            value = value[_KEY]
            text = text[text.index(":") + 1 : text.rindex("}")]
        try:
            # Parsed as JSON, because strict types accept a date as a string only from JSON.
            return self._adapter.validate_json(text)
        except _validation_error() as error:
            first = error.errors(include_url=False)[0]
            if first["loc"] or first["type"] not in ("json_invalid", "string_unicode"):
                raise
        return self._adapter.validate_python(value)  # JSON that only Python's parser accepts


def _validation_error() -> type[ValidationError]:
    from pydantic import ValidationError

    return ValidationError


def _adapter(output: object) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    from ..tools.definition.annotations import adapt_annotation, find_unsupported_type

    if isinstance(output, TypeAdapter):
        return output
    reason = "a mapping is not a type" if isinstance(output, Mapping) else find_unsupported_type(output)
    if reason is None:
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(adapt_annotation(output))
            if not adapter.pydantic_complete:
                adapter.rebuild()
        except (PydanticUserError, NameError, TypeError, RuntimeError, AttributeError) as error:
            reason = str(error).splitlines()[0]
        else:
            return adapter
    raise _unsupported_type(output, reason)


def _schema(adapter: TypeAdapter[Any], output: object) -> dict[str, Any]:
    """Return the schema with its definitions at the root, and without a reference at the root."""
    from pydantic.errors import PydanticInvalidForJsonSchema

    from ..tools.definition.json_schema import ToolJsonSchema, tidy

    try:
        schema: dict[str, Any] = tidy(adapter.json_schema(schema_generator=ToolJsonSchema), formats=True)
    except PydanticInvalidForJsonSchema as error:
        raise _unsupported_type(output, str(error).splitlines()[0]) from error
    definitions = schema.get("$defs", {})
    while isinstance(reference := schema.get("$ref"), str):  # a recursive type
        schema = {**definitions[reference.removeprefix("#/$defs/")], "$defs": definitions}
    return schema


def _unsupported_type(output: object, reason: str) -> ConfigurationError:
    shown = output.__name__ if isinstance(output, type) else repr(output)
    return ConfigurationError(
        f"the output type must be one that JSON can express, got {shown} ({reason}); use a pydantic model, "
        "a dataclass, a TypedDict, list[...], dict, another type that JSON can express, or an OutputConverter"
    )


def _wrap_in_object(plain: Mapping[str, Any]) -> dict[str, Any]:
    inner = {key: value for key, value in plain.items() if key != "$defs"}
    wrapped: dict[str, Any] = {
        "type": "object",
        "properties": {_KEY: inner},
        "required": [_KEY],
        "additionalProperties": False,
    }
    return {**wrapped, "$defs": plain["$defs"]} if "$defs" in plain else wrapped


def _mismatch_text(error: ValidationError) -> str:
    from ..tools.validation.feedback import conversion_problems

    return "\n".join(["The JSON does not fit what was asked for:", *_list_problems(conversion_problems("", error))])


def _list_problems(problems: Sequence[str]) -> list[str]:
    lines = [f"- {'the answer' + problem[2:] if problem.startswith(chr(39) * 2) else problem}" for problem in problems]
    if len(lines) > MAX_PROBLEMS:
        lines[MAX_PROBLEMS:] = [f"- and {len(lines) - MAX_PROBLEMS} more"]
    return lines


def _missing_json_text(text: str, problem: str) -> str:
    if not text.strip():
        return "The answer is empty; JSON was asked for."
    excerpt = short_repr(text.strip(), MAX_EXCERPT_CHARACTERS)
    return f"The answer is not the JSON that was asked for ({problem or 'there is none in it'}): {excerpt}"
