"""Output converter for JSON: values of any type that pydantic supports, or that fit a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import OutputError
from ..text import short_repr
from .extraction import JsonCandidate, JsonSearch, without_outer_fence
from .json_values import JsonValues, MismatchError, SchemaValues, TypeValues
from .reasoning import remove_reasoning

__all__ = ["JsonOutputConverter"]

_KEY = "answer"
_DATA_KEYWORDS = ("enum", "const", "default", "examples")
_ROOT_KEYWORDS = ("$defs", "$schema", "$id")
_SCALARS = ("string", "integer", "number", "boolean", "null")
_SCALAR_DELIMITERS = " \t\r\n.`*\"'"
MAX_PROBLEMS = 8
MAX_EXCERPT_CHARACTERS = 200


class JsonOutputConverter:
    """A converter that asks for JSON and parses it as a type.

    The type can be a pydantic model, a dataclass, a `TypedDict`, ``list[...]``, ``dict``, `Literal`, a union, a plain
    type such as ``int``, or a pydantic `TypeAdapter`. The type itself decides what it tolerates, such as numbers as
    strings and unknown keys.

    The type can also be a JSON Schema, as a dict. The value is then the parsed JSON, which is valid against it.

    Code fences, reasoning in tags, and text before and after the JSON are ignored. The first JSON value that fits the
    type is the answer.

    Providers require a schema with an object at the root. Any other type is wrapped in an object with the key
    ``answer``, and unwrapped after parsing.

    Args:
        output: The type, or a JSON Schema.

    Raises:
        ConfigurationError: If JSON cannot express the type, or the schema is not valid.

    Example:
        >>> converter = JsonOutputConverter(list[int])
        >>> converter.parse("Sure! [1, 2] Anything else?"), converter.parse('{"answer": [3]}')
        ([1, 2], [3])
        >>> JsonOutputConverter({"type": "array", "items": {"type": "integer"}}).parse("[4]")
        [4]
        >>> converter.parse('["one"]')
        Traceback (most recent call last):
        toolsearch.errors.OutputError: The JSON does not fit what was asked for:
        - '[0]': Input should be a valid integer, unable to parse string as an integer, got "one"
    """

    def __init__(self, output: object) -> None:
        self._values: JsonValues = SchemaValues(output) if isinstance(output, Mapping) else TypeValues(output)
        plain = self._values.schema
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
        self._name = self._values.name or _KEY

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
        mismatches: list[tuple[int, MismatchError]] = []
        for found in search:
            try:
                return self._convert(found)
            except MismatchError as error:
                mismatches.append((len(found.text), error))
        if self._scalar:
            plain = without_outer_fence(remove_reasoning(text, data=True))
            for scalar in (plain, plain.strip(_SCALAR_DELIMITERS)):
                try:
                    return self._values.read_text(scalar)
                except MismatchError as error:
                    problem = error
            mismatches = mismatches or [(0, problem)]
        if mismatches:
            _, worst = max(mismatches, key=lambda mismatch: mismatch[0])
            lines = ["The JSON does not fit what was asked for:", *_list_problems(worst.problems)]
            raise OutputError("\n".join(lines)) from worst
        raise OutputError(_missing_json_text(text, search.problem))

    def _convert(self, found: JsonCandidate) -> Any:
        value, text = found.value, found.text
        if self._wrapped and isinstance(value, dict) and value.keys() == {_KEY}:
            value = value[_KEY]
            text = text[text.index(":") + 1 : text.rindex("}")]
        return self._values.read(value, text)


def _wrap_in_object(plain: Mapping[str, Any]) -> dict[str, Any]:
    inner = {key: _move_references(value) for key, value in plain.items() if key not in _ROOT_KEYWORDS}
    wrapped: dict[str, Any] = {
        "type": "object",
        "properties": {_KEY: inner},
        "required": [_KEY],
        "additionalProperties": False,
    }
    return {**wrapped, "$defs": _move_references(plain["$defs"])} if "$defs" in plain else wrapped


def _move_references(schema: Any) -> Any:
    """Return a copy in which references to places in the root lead into the wrapper; definitions stay at the root."""
    if isinstance(schema, list):
        return [_move_references(member) for member in schema]
    if not isinstance(schema, Mapping):
        return schema
    moved = {key: value if key in _DATA_KEYWORDS else _move_references(value) for key, value in schema.items()}
    reference = moved.get("$ref")
    if isinstance(reference, str) and reference.startswith("#") and not reference.startswith("#/$defs/"):
        moved["$ref"] = f"#/properties/{_KEY}{reference[1:]}"
    return moved


def _list_problems(problems: Sequence[str]) -> list[str]:
    lines = [f"- {problem}" for problem in problems]
    if len(lines) > MAX_PROBLEMS:
        lines[MAX_PROBLEMS:] = [f"- and {len(lines) - MAX_PROBLEMS} more"]
    return lines


def _missing_json_text(text: str, problem: str) -> str:
    if not text.strip():
        return "The answer is empty; JSON was asked for."
    excerpt = short_repr(text.strip(), MAX_EXCERPT_CHARACTERS)
    return f"The answer is not the JSON that was asked for ({problem or 'there is none in it'}): {excerpt}"
