"""`JsonOutputConverter`: answers in JSON, read as any type that pydantic knows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigurationError, OutputError
from ..text import short_repr
from .extraction import Found, JsonSearch, without_thoughts

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

__all__ = ["JsonOutputConverter"]

_KEY = "answer"
_SCALARS = ("string", "integer", "number", "boolean", "null")
_AROUND_WORDS = " \t\r\n.`*\"'"
_MOST_PROBLEMS = 8
_EXCERPT = 200


class JsonOutputConverter:
    """Asks for JSON and reads it as a type: a pydantic model, a dataclass, a `TypedDict`, ``list[...]``, ``dict``,
    `Literal`, unions, plain values, or a pydantic `TypeAdapter`.

    Code fences, a preface, text that follows and reasoning in tags are ignored; the first JSON value that fits is
    taken. What the type itself tolerates (numbers as text, unknown keys) is up to the type.

    A provider is sent a schema with an object at the root, so a type that is none is wrapped in one, under the key
    ``answer``, and unwrapped when it is read.

    Args:
        output: the type.

    Raises:
        ConfigurationError: for a type that JSON cannot express.

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
        self._schema = _in_object(plain) if self._wrapped else plain
        # A bare list or number cannot be mistaken for the wrapping object, so words need not ask for that.
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
        """The type's name."""
        return self._name

    @property
    def instructions(self) -> str:
        """The schema in words for the model."""
        return self._instructions

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the type, wrapped in an object where it is none."""
        return self._schema

    def parse(self, text: str) -> Any:
        """Return the first JSON value in `text` that fits the type, as that type.

        Raises:
            OutputError: if there is none; says what is wrong with the longest.
        """
        search = JsonSearch(text)
        misfits: list[tuple[int, ValidationError]] = []
        for found in search:
            try:
                return self._convert(found)
            except _validation_error() as error:
                misfits.append((len(found.text), error))
        if self._scalar:
            try:
                return self._adapter.validate_python(without_thoughts(text).strip(_AROUND_WORDS))
            except _validation_error() as error:
                misfits = misfits or [(0, error)]
        if misfits:
            _, worst = max(misfits, key=lambda misfit: misfit[0])
            raise OutputError(_misfit(worst)) from worst
        raise OutputError(_nothing(text, search.problem))

    def _convert(self, found: Found) -> Any:
        value, text = found.value, found.text
        if self._wrapped and isinstance(value, dict) and value.keys() == {_KEY}:
            value = value[_KEY]
            text = text[text.index(":") + 1 : text.rindex("}")]
        try:
            # As JSON: strict types take a date as text from there only.
            return self._adapter.validate_json(text)
        except _validation_error() as error:
            first = error.errors(include_url=False)[0]
            if first["loc"] or first["type"] not in ("json_invalid", "string_unicode"):
                raise
        return self._adapter.validate_python(value)  # what only Python's parser could read


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
    raise _refusal(output, reason)


def _schema(adapter: TypeAdapter[Any], output: object) -> dict[str, Any]:
    """The schema with its definitions, and what it refers to, at the root."""
    from pydantic.errors import PydanticInvalidForJsonSchema

    from ..tools.definition.json_schema import ToolJsonSchema, tidy

    try:
        schema: dict[str, Any] = tidy(adapter.json_schema(schema_generator=ToolJsonSchema), formats=True)
    except PydanticInvalidForJsonSchema as error:
        raise _refusal(output, str(error).splitlines()[0]) from error
    definitions = schema.get("$defs", {})
    while isinstance(reference := schema.get("$ref"), str):  # a type that refers to itself
        schema = {**definitions[reference.removeprefix("#/$defs/")], "$defs": definitions}
    return schema


def _refusal(output: object, reason: str) -> ConfigurationError:
    shown = output.__name__ if isinstance(output, type) else repr(output)
    return ConfigurationError(
        f"an answer cannot have the type {shown} ({reason}); use a pydantic model, a dataclass, a TypedDict, "
        "list[...], dict, another type that JSON can express, or an OutputConverter"
    )


def _in_object(plain: Mapping[str, Any]) -> dict[str, Any]:
    inner = {key: value for key, value in plain.items() if key != "$defs"}
    wrapped: dict[str, Any] = {
        "type": "object",
        "properties": {_KEY: inner},
        "required": [_KEY],
        "additionalProperties": False,
    }
    return {**wrapped, "$defs": plain["$defs"]} if "$defs" in plain else wrapped


def _misfit(error: ValidationError) -> str:
    from ..tools.validation.feedback import conversion_problems

    return "\n".join(["The JSON does not fit what was asked for:", *_listed(conversion_problems("", error))])


def _listed(problems: Sequence[str]) -> list[str]:
    lines = [f"- {'the answer' + problem[2:] if problem.startswith(chr(39) * 2) else problem}" for problem in problems]
    if len(lines) > _MOST_PROBLEMS:
        lines[_MOST_PROBLEMS:] = [f"- and {len(lines) - _MOST_PROBLEMS} more"]
    return lines


def _nothing(text: str, problem: str) -> str:
    if not text.strip():
        return "The answer is empty; JSON was asked for."
    excerpt = short_repr(text.strip(), _EXCERPT)
    return f"The answer is not the JSON that was asked for ({problem or 'there is none in it'}): {excerpt}"
