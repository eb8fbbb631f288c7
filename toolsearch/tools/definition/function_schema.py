"""Functions as tools: type hints to JSON Schema, and a model's arguments to annotated values."""

from __future__ import annotations

import copy
import inspect
import json
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from ...errors import ConfigurationError, ToolArgumentError
from ..context import ToolContext
from ..validation.feedback import conversion_problems, invalid_arguments, unknown_argument
from .annotations import adapt_annotation, find_unsupported_type
from .docstrings import parse_docstring
from .json_schema import ToolJsonSchema, default_of, takes_null, tidy
from .signature import Parameter, docstring, local_names, origin, parameters_of

__all__ = ["FunctionDescription", "describe_function"]

_EMPTY = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter that the model fills in.

    Args:
        name: The parameter's name.
        wire_name: The name that the model uses: the alias if there is one.
        description: The text of the docstring or annotation; None if a pydantic `Field` has a description.
        adapter: Pydantic's adapter for the annotation.
        default: The value if the argument is omitted; `inspect.Parameter.empty` if there is none.
        field: The `Field` that the default comes from; None if it comes from the function.
        positional: Whether it can only be passed by position.
    """

    name: str
    wire_name: str
    description: str | None
    adapter: TypeAdapter[Any]
    default: Any
    field: FieldInfo | None
    positional: bool

    def convert(self, value: Any) -> Any:
        """Convert a JSON value to the annotated type. A value that already has the type is accepted, too.

        Raises:
            ValidationError: If the value does not fit.
        """
        try:
            return self.adapter.validate_python(value)
        except ValidationError:
            # a strict model accepts a date as a string only in JSON
            try:
                text = json.dumps(value, allow_nan=False)
            except (TypeError, ValueError, RecursionError):
                text = ""
            if not text:
                raise
            return self.adapter.validate_json(text)


@dataclass(frozen=True, slots=True)
class FunctionDescription:
    """A function as a tool: description, schema and parameters.

    Args:
        description: The docstring without its section on parameters.
        parameters: The JSON Schema of the arguments.
        arguments: The arguments of the model and the parameters for the context, in the function's order.
    """

    description: str
    parameters: dict[str, Any]
    arguments: tuple[Argument | Parameter, ...]

    def bind(self, args: Mapping[str, Any], ctx: ToolContext) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional and keyword arguments of the call.

        Raises:
            ToolArgumentError: If arguments are missing, unknown or of the wrong type; the message names all of them.
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
            elif argument.default is _EMPTY:
                value = None  # nullable and omitted
            elif argument.field is not None:
                value = _default_in(argument.field)  # evaluated for each call, as it may come from a factory
            elif argument.positional:
                value = argument.default
            else:
                continue  # the function's own default
            if argument.positional:
                positional.append(value)
            else:
                keywords[argument.name] = value
        if problems:
            raise ToolArgumentError(invalid_arguments(ctx.tool_name, problems, self.parameters))
        return positional, keywords


_cache: weakref.WeakKeyDictionary[Callable[..., Any], FunctionDescription] = weakref.WeakKeyDictionary()


def describe_function(fn: Callable[..., Any]) -> FunctionDescription:
    """Describe a function for a model. The description of a plain function is cached as long as the function exists.

    Raises:
        ConfigurationError: If there is a parameter ``*args`` or ``**kwargs``, or one of a type that JSON cannot
            express.
    """
    if not inspect.isfunction(fn):
        return _describe(fn)
    described = _cache.get(fn)
    if described is None:
        described = _cache[fn] = _describe(fn)
    return described


def _describe(fn: Callable[..., Any]) -> FunctionDescription:
    description, documented = parse_docstring(docstring(fn))
    arguments: list[Argument | Parameter] = []
    parameters = parameters_of(fn)
    if parameters and parameters[0].name in ("self", "cls") and _is_unbound(fn):
        raise ConfigurationError(f"{origin(fn)} is a method of a class; pass an instance, or instance.method")
    for parameter in parameters:
        if parameter.variadic:
            raise ConfigurationError(
                f"{origin(fn)} takes *{parameter.name}, which a schema cannot describe; name the parameters, "
                "or pass a schema with Tool(name, description, parameters, fn)"
            )
        arguments.append(parameter if parameter.injected else _argument(fn, parameter, documented.get(parameter.name)))
    try:
        schema = _object_schema(arguments)
    except PydanticInvalidForJsonSchema:
        raise _first_error(fn, parameters, arguments) from None
    return FunctionDescription(description, schema, tuple(arguments))


def _is_unbound(fn: Callable[..., Any]) -> bool:
    """Return whether a plain function was defined in a class."""
    *_, holder, _ = ("", *fn.__qualname__.split(".")) if inspect.isfunction(fn) else ("", "")
    return holder not in ("", "<locals>")


def _first_error(
    fn: Callable[..., Any], parameters: Iterable[Parameter], arguments: Iterable[Argument | Parameter]
) -> ConfigurationError:
    """Return the error of the first argument that cannot be described; the error of all together does not name it."""
    for parameter, argument in zip(parameters, arguments, strict=True):
        try:
            if isinstance(argument, Argument):
                argument.adapter.json_schema(schema_generator=ToolJsonSchema)
        except PydanticInvalidForJsonSchema as error:
            return _unsupported(fn, parameter, str(error).splitlines()[0])
    return ConfigurationError(f"the parameters of {origin(fn)} cannot be described in one schema")


def _argument(fn: Callable[..., Any], parameter: Parameter, documented: str | None) -> Argument:
    annotation, default, field = parameter.annotation, parameter.default, None
    if isinstance(default, FieldInfo):  # city: str = Field(description=...)
        annotation, default = Annotated[annotation, default], _EMPTY
    metadata = getattr(annotation, "__metadata__", ())
    description, alias = documented, parameter.name
    for extra in metadata:
        if isinstance(extra, str):
            description = extra
        elif isinstance(extra, FieldInfo):
            alias = extra.alias or alias
            description = None if extra.description else description
            if default is _EMPTY and _default_in(extra) is not _EMPTY:
                field = extra
    if metadata:
        annotation = Annotated[annotation.__origin__, *map(_without_alias, metadata)]
    reason = find_unsupported_type(annotation)
    if reason is None:
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(adapt_annotation(annotation))
            if not adapter.pydantic_complete:  # it refers to a local class
                adapter.rebuild(_types_namespace=local_names(fn))
        except (PydanticUserError, NameError, TypeError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
        else:
            default = _default_in(field) if field is not None else default
            return Argument(parameter.name, alias, description, adapter, default, field, parameter.positional)
    raise _unsupported(fn, parameter, reason)


def _unsupported(fn: Callable[..., Any], parameter: Parameter, reason: str) -> ConfigurationError:
    annotation = parameter.annotation
    shown = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return ConfigurationError(
        f"parameter {parameter.name!r} of {origin(fn)} has the type {shown}, which JSON cannot express ({reason}); "
        "use another type, or pass the value in a ToolContext parameter or a functools.partial"
    )


def _default_in(field: FieldInfo) -> Any:
    if field.default_factory is not None:
        return field.get_default(call_default_factory=True, validated_data={})
    return _EMPTY if field.default in (PydanticUndefined, ...) else field.default


def _without_alias(extra: Any) -> Any:
    """Return a `Field` without its alias and default, which pydantic warns about outside a model."""
    if not isinstance(extra, FieldInfo):
        return extra
    bare = copy.copy(extra)
    bare.alias = bare.validation_alias = bare.serialization_alias = None
    bare.default, bare.default_factory = PydanticUndefined, None
    return bare


def _object_schema(arguments: list[Argument | Parameter]) -> dict[str, Any]:
    """Combine the arguments' schemas to one object schema, with definitions at the root."""
    given = [argument for argument in arguments if isinstance(argument, Argument)]
    inputs: list[tuple[str, Literal["validation"], TypeAdapter[Any]]] = [
        (argument.wire_name, "validation", argument.adapter) for argument in given
    ]
    schemas, shared = TypeAdapter.json_schemas(inputs, schema_generator=ToolJsonSchema)
    definitions = {name: tidy(schema) for name, schema in shared.get("$defs", {}).items()}
    properties: dict[str, Any] = {}
    required = []
    for argument in given:
        schema = tidy(schemas[argument.wire_name, "validation"])
        if argument.description:
            schema["description"] = argument.description
        nullable = takes_null(schema, definitions)
        if argument.default is _EMPTY and not nullable:
            required.append(argument.wire_name)
        elif argument.default is not _EMPTY and (argument.default is not None or nullable):
            schema.update(default_of(argument.adapter, argument.default))
        properties[argument.wire_name] = schema
    result: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        result["required"] = required
    result["additionalProperties"] = False
    if definitions:
        result["$defs"] = definitions
    return result
