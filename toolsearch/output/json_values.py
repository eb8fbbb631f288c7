"""Checks of JSON values: as a type that pydantic supports, or against a JSON Schema."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ConfigurationError
from ..text import short_repr

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

__all__ = ["JsonValues", "MismatchError", "SchemaValues", "TypeValues"]

_MAX_REFERENCES = 20


class MismatchError(ValueError):
    """A value that does not fit.

    Attributes:
        problems: What does not fit, in words for the model.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class JsonValues(Protocol):
    """Values of one type or one schema.

    Attributes:
        name: The name of the type or schema, or an empty string.
        schema: The JSON Schema of the values, without a reference at the root.
    """

    name: str
    schema: Mapping[str, Any]

    def read(self, value: Any, text: str) -> Any:
        """Return the value of a JSON text. `value` is the parsed text. Raise `MismatchError` if it does not fit."""
        ...

    def read_text(self, text: str) -> Any:
        """Return the value of an answer without JSON, such as a word. Raise `MismatchError` if it does not fit."""
        ...


class TypeValues:
    """Values of a type that pydantic supports.

    Raises:
        ConfigurationError: If JSON cannot express the type.
    """

    def __init__(self, output: object) -> None:
        self._adapter = _adapter(output)
        self.schema: Mapping[str, Any] = _schema(self._adapter, output)
        self.name = output.__name__ if isinstance(output, type) else ""

    def read(self, value: Any, text: str) -> Any:
        """Return the value as the type."""
        from pydantic import ValidationError

        from ..tools.definition.enum_members import validate_with_members

        try:
            # Parsed as JSON, because strict types accept a date as a string only from JSON.
            return self._adapter.validate_json(text)
        except ValidationError as first:
            try:
                return validate_with_members(self._adapter, value, first)
            except ValidationError as again:
                error = again
            if error.error_count() > 1:
                raise _mismatch(error) from error
            (only,) = error.errors(include_url=False)
            if only["loc"] or only["type"] not in ("json_invalid", "string_unicode"):
                raise _mismatch(error) from error
        return self.read_text(value)  # JSON that only Python's parser accepts

    def read_text(self, text: Any) -> Any:
        """Return the text as the type."""
        from pydantic import ValidationError

        from ..tools.definition.enum_members import validate_with_members

        try:
            return self._adapter.validate_python(text)
        except ValidationError as first:
            try:
                return validate_with_members(self._adapter, text, first)
            except ValidationError as error:
                raise _mismatch(error) from error


class SchemaValues:
    """JSON values that are valid against a JSON Schema.

    Raises:
        ConfigurationError: If the schema is not a valid JSON Schema.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._checked = _checked_schema(schema)
        self._digest = hashlib.blake2b(json.dumps(self._checked, sort_keys=True).encode(), digest_size=16).digest()
        self.schema = _without_root_reference(self._checked)
        title = schema.get("title")
        self.name = title if isinstance(title, str) else ""

    def read(self, value: Any, text: str) -> Any:
        """Return the parsed value."""
        from ..tools.validation.schema_validator import find_problems

        problems = find_problems(self._checked, self._digest, value)
        if problems:
            raise MismatchError([_about_answer(problem) for problem in problems])
        return value

    def read_text(self, text: str) -> Any:
        """Return the text, if the schema accepts a string."""
        return self.read(text, text)


def _about_answer(problem: str) -> str:
    whole = "the arguments: "
    return f"the answer: {problem.removeprefix(whole)}" if problem.startswith(whole) else problem


def _checked_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    from jsonschema import Draft202012Validator, FormatChecker, SchemaError, validators

    try:
        checked: dict[str, Any] = json.loads(json.dumps(schema))
        draft: Any = validators.validator_for(checked, default=Draft202012Validator)
        draft.check_schema(checked, format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        problem = f"{error.json_path.replace('$', 'the schema', 1)}: {error.message}"
    except (TypeError, ValueError, RecursionError) as error:
        problem = str(error)
    else:
        return checked
    raise ConfigurationError(
        f"output_type must be a type or a valid JSON Schema, got {short_repr(dict(schema))} ({problem}); "
        "write a schema that is plain JSON"
    )


def _without_root_reference(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    definitions = schema.get("$defs", {})
    for _ in range(_MAX_REFERENCES):
        reference = schema.get("$ref")
        name = reference.removeprefix("#/$defs/") if isinstance(reference, str) else None
        if name not in definitions or not isinstance(definitions[name], Mapping):
            break
        schema = {**definitions[name], "$defs": definitions}
    return schema


def _adapter(output: object) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    from ..tools.definition.annotations import adapt_annotation, find_unsupported_type

    if isinstance(output, TypeAdapter):
        return output
    reason = find_unsupported_type(output)
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


def _schema(adapter: TypeAdapter[Any], output: object) -> Mapping[str, Any]:
    """Return the schema with its definitions at the root, and without a reference at the root."""
    from pydantic.errors import PydanticInvalidForJsonSchema

    from ..tools.definition.json_schema import ToolJsonSchema, tidy

    try:
        schema: dict[str, Any] = tidy(adapter.json_schema(schema_generator=ToolJsonSchema), formats=True)
    except PydanticInvalidForJsonSchema as error:
        raise _unsupported_type(output, str(error).splitlines()[0]) from error
    return _without_root_reference(schema)  # a recursive type has one


def _unsupported_type(output: object, reason: str) -> ConfigurationError:
    shown = output.__name__ if isinstance(output, type) else repr(output)
    return ConfigurationError(
        f"the output type must be one that JSON can express, got {shown} ({reason}); use a pydantic model, "
        "a dataclass, a TypedDict, list[...], dict, another type that JSON can express, a JSON Schema as a dict, "
        "or an OutputConverter"
    )


def _mismatch(error: ValidationError) -> MismatchError:
    from ..tools.validation.feedback import conversion_problems

    problems = conversion_problems("", error)
    # A value without a place of its own is the whole answer.
    return MismatchError([f"the answer{text[2:]}" if text.startswith("''") else text for text in problems])
