"""From a function's type hints to a JSON Schema, and from a model's arguments to the values it asks for."""

from __future__ import annotations

import collections.abc
import inspect
import json
import types
import typing
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import PydanticUndefined, core_schema

from .arguments import ArgumentError
from .context import ToolContext
from .docstrings import parse_docstring
from .errors import ConfigurationError
from .problems import conversion_problems, invalid_arguments, unknown_argument
from .signature import Parameter, docstring, origin, parameters_of
from .typed_dicts import adapted_typed_dict

__all__ = ["FunctionDescription", "describe_function"]

_ABSENT = inspect.Parameter.empty
_INDESCRIBABLE = (
    collections.abc.Callable,
    collections.abc.Generator,
    collections.abc.AsyncGenerator,
    collections.abc.Iterator,
    collections.abc.AsyncIterator,
    collections.abc.AsyncIterable,
    collections.abc.Awaitable,
    collections.abc.Coroutine,
    type,
)
_READ_AS_LIST = (collections.abc.Iterable, collections.abc.Collection)
_KEYED_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
_DATA = frozenset({"default", "enum", "const", "examples", "required", "discriminator"})


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument that a model gives, and how its value becomes what the function asks for."""

    name: str
    wire_name: str
    description: str | None
    annotation: Any
    adapter: TypeAdapter[Any]
    default: Any
    positional: bool

    def convert(self, value: Any) -> Any:
        """Turn JSON into the annotated type; also takes values that already have it.

        Raises:
            ValidationError: when it does not fit.
        """
        try:
            return self.adapter.validate_python(value)
        except ValidationError:
            # strict models take a date as text from JSON only
            try:
                text = json.dumps(value, allow_nan=False)
            except (TypeError, ValueError, RecursionError):
                text = ""
            if not text:
                raise
            return self.adapter.validate_json(text)


@dataclass(frozen=True, slots=True)
class FunctionDescription:
    """What a function's signature and docstring say.

    Args:
        description: the docstring without its part on parameters.
        parameters: the JSON Schema of the arguments.
        arguments: in the function's order those that a model gives, and the parameters that take the context.
    """

    description: str
    parameters: dict[str, Any]
    arguments: tuple[Argument | Parameter, ...]

    def bind(self, args: Mapping[str, Any], ctx: ToolContext) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional and keyword arguments of the call.

        Raises:
            ArgumentError: naming every argument that is missing, unknown or of the wrong type.
        """
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        known = [a.wire_name for a in self.arguments if isinstance(a, Argument)]
        problems = [unknown_argument(name, known) for name in args if name not in known]
        for argument in self.arguments:
            if isinstance(argument, Parameter):
                value: Any = ctx
            elif argument.wire_name in args:
                try:
                    value = argument.convert(args[argument.wire_name])
                except ValidationError as error:
                    problems.extend(conversion_problems(argument.wire_name, error))
                    continue
            elif argument.wire_name in self.parameters.get("required", ()):
                problems.append(f"{argument.wire_name!r}: required, but missing")
                continue
            elif argument.default is _ABSENT:
                value = None  # nullable, and left out
            elif argument.positional:
                value = argument.default
            else:
                continue  # the function's own default
            if argument.positional:
                positional.append(value)
            else:
                keywords[argument.name] = value
        if problems:
            raise ArgumentError(invalid_arguments(ctx.tool_name, problems, self.parameters))
        return positional, keywords


_DESCRIBED: weakref.WeakKeyDictionary[Callable[..., Any], FunctionDescription] = weakref.WeakKeyDictionary()


def describe_function(fn: Callable[..., Any]) -> FunctionDescription:
    """Describe what a model has to send to have `fn` called.

    The description of a plain function is kept as long as the function lives.

    Raises:
        ConfigurationError: for ``*args`` and ``**kwargs``, and for parameters of a type that JSON cannot express.
    """
    if not inspect.isfunction(fn):
        return _describe(fn)
    described = _DESCRIBED.get(fn)
    if described is None:
        described = _DESCRIBED[fn] = _describe(fn)
    return described


def _describe(fn: Callable[..., Any]) -> FunctionDescription:
    description, documented = parse_docstring(docstring(fn))
    arguments: list[Argument | Parameter] = []
    for parameter in parameters_of(fn):
        if parameter.variadic:
            raise ConfigurationError(
                f"{origin(fn)} takes *{parameter.name}: a model cannot be told what to send; name the parameters, "
                "or give a schema with Tool(name, description, parameters, fn)"
            )
        arguments.append(parameter if parameter.injected else _argument(fn, parameter, documented.get(parameter.name)))
    return FunctionDescription(description, _object_schema(fn, arguments), tuple(arguments))


def _argument(fn: Callable[..., Any], parameter: Parameter, documented: str | None) -> Argument:
    annotation, default, alias = parameter.annotation, parameter.default, None
    if isinstance(default, FieldInfo):  # city: str = Field(description=...)
        annotation, default = Annotated[annotation, default], _field_default(default)
    description = documented
    for extra in getattr(annotation, "__metadata__", ()):
        if isinstance(extra, str):
            description = extra
        elif isinstance(extra, FieldInfo):
            alias = extra.alias or alias
            description = None if extra.description else description
            default = _field_default(extra) if default is _ABSENT else default
    reason = _indescribable(annotation)
    if reason is None:
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(_adapted(annotation))
        except (PydanticUserError, NameError, TypeError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
        else:
            return Argument(
                parameter.name,
                alias or parameter.name,
                description,
                annotation,
                adapter,
                default,
                parameter.positional,
            )
    raise _refusal(fn, parameter.name, annotation, reason)


def _refusal(fn: Callable[..., Any], name: str, annotation: Any, reason: str) -> ConfigurationError:
    shown = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return ConfigurationError(
        f"parameter {name!r} of {origin(fn)} has the type {shown}, which a model cannot be told of ({reason}); use a "
        "type that JSON can express, or take the value from a ToolContext parameter or a functools.partial"
    )


def _field_default(field: FieldInfo) -> Any:
    if field.default_factory is not None:
        return field.get_default(call_default_factory=True, validated_data={})
    return _ABSENT if field.default in (PydanticUndefined, ...) else field.default


def _indescribable(annotation: Any) -> str | None:
    """Why a type cannot be put to a model, where that is plain to see from the annotation."""
    if get_origin(annotation) in (Literal, None) and annotation not in _INDESCRIBABLE:
        return None
    if (get_origin(annotation) or annotation) in _INDESCRIBABLE:
        return "callables, generators, awaitables and classes are not data"
    members = get_args(annotation)[:1] if get_origin(annotation) is Annotated else get_args(annotation)
    return next((reason for member in members if (reason := _indescribable(member))), None)


def _adapted(annotation: Any) -> Any:
    """Replace, at any depth of generics, what pydantic reads otherwise than a tool needs.

    An iterable becomes a list, since pydantic would hand over a generator that fails while the tool runs; a
    `typing.TypedDict` becomes one of typing_extensions where this Python's own lacks what pydantic needs.
    """
    kind = get_origin(annotation)
    if kind is Annotated:
        return Annotated[_adapted(annotation.__origin__), *annotation.__metadata__]
    if kind is Literal or (kind is None and not typing.is_typeddict(annotation)):
        return list if annotation in _READ_AS_LIST else annotation
    if kind is None:
        return adapted_typed_dict(annotation)
    members = get_args(annotation)
    adapted = tuple(_adapted(member) for member in members)
    if kind in (Union, types.UnionType):
        return Union[adapted]  # noqa: UP007
    if kind in _READ_AS_LIST:
        return list[adapted]  # type: ignore[valid-type]
    return annotation if adapted == members else kind[adapted]


def _object_schema(fn: Callable[..., Any], arguments: list[Argument | Parameter]) -> dict[str, Any]:
    """Put the arguments' schemas together: one object, its definitions at the root."""
    given = [argument for argument in arguments if isinstance(argument, Argument)]
    inputs: list[tuple[str, Literal["validation"], TypeAdapter[Any]]] = [
        (argument.wire_name, "validation", argument.adapter) for argument in given
    ]
    try:
        schemas, shared = TypeAdapter.json_schemas(inputs, schema_generator=_ToolJsonSchema)
    except PydanticInvalidForJsonSchema as error:
        raise _first_refusal(fn, given, error) from error
    definitions = {name: tidy(schema) for name, schema in shared.get("$defs", {}).items()}
    properties: dict[str, Any] = {}
    required = []
    for argument in given:
        schema = tidy(schemas[argument.wire_name, "validation"])
        schema.pop("default", None)  # of Annotated[..., Field(default=...)]; ours decides
        if argument.description:
            schema["description"] = argument.description
        nullable = _takes_null(schema, definitions)
        if argument.default is _ABSENT and not nullable:
            required.append(argument.wire_name)
        elif argument.default is not _ABSENT and (argument.default is not None or nullable):
            schema.update(_json_default(argument))
        properties[argument.wire_name] = schema
    result: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        result["required"] = required
    result["additionalProperties"] = False
    if definitions:
        result["$defs"] = definitions
    return result


def _first_refusal(fn: Callable[..., Any], given: list[Argument], error: Exception) -> ConfigurationError:
    """Find which argument it was: the error of all of them together does not say."""
    for argument in given:
        try:
            argument.adapter.json_schema(schema_generator=_ToolJsonSchema)
        except PydanticInvalidForJsonSchema as reason:
            return _refusal(fn, argument.name, argument.annotation, str(reason).splitlines()[0])
    return ConfigurationError(f"the parameters of {origin(fn)} cannot be described: {error}")


def _takes_null(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int = 0) -> bool:
    """Whether null is one of the values that a schema names; an unrestricted schema names none."""
    if depth > 20:
        return False
    if reference := schema.get("$ref"):
        target = definitions.get(reference.removeprefix("#/$defs/"), {})
        return _takes_null(target, definitions, depth + 1)
    if schema.get("type") == "null" or (None in schema.get("enum", ())) or schema.get("const", ...) is None:
        return True
    members = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    return any(_takes_null(member, definitions, depth + 1) for member in members)


def _json_default(argument: Argument) -> dict[str, Any]:
    """The default as the schema states it, where it is JSON."""
    try:
        value = argument.adapter.dump_python(argument.default, mode="json", warnings=False, by_alias=True)
        json.dumps(value, allow_nan=False)
    except Exception:  # a default may be any object, and so may be what its serialiser raises
        return {}
    return {"default": value}


class _ToolJsonSchema(GenerateJsonSchema):
    """Pydantic's generator, refusing what pydantic would leave out or describe as something else."""

    def generator_schema(self, schema: core_schema.GeneratorSchema) -> JsonSchemaValue:
        return self.handle_invalid_for_json_schema(schema, "a generator is not data")

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        return self.handle_invalid_for_json_schema(schema, "a class is not data")

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Refuse a union with a member that cannot be described; leave out defaults that are not JSON."""
        if kind == "skipped-choice":
            raise PydanticInvalidForJsonSchema(detail)


def tidy(schema: Any) -> Any:
    """Return a copy without titles and formats, and with objects of known properties closed to others.

    Example:
        >>> tidy({"title": "A", "type": "string", "format": "date"})
        {'type': 'string'}
    """
    if isinstance(schema, list):
        return [tidy(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    tidied = {
        key: {name: tidy(member) for name, member in value.items()}
        if key in _KEYED_BY_NAME
        else value
        if key in _DATA
        else tidy(value)
        for key, value in schema.items()
        if key not in ("title", "format")
    }
    if tidied.get("type") == "object" and "additionalProperties" not in tidied:
        tidied.setdefault("properties", {})
        tidied["additionalProperties"] = False
    return tidied
