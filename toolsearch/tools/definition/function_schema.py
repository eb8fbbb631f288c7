"""JSON Schemas of functions, from their type hints and docstrings."""

from __future__ import annotations

import copy
import inspect
import weakref
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from ...errors import ConfigurationError
from .annotations import adapt_annotation, find_unsupported_type
from .arguments import EMPTY, Argument, FunctionDescription, default_of_field
from .docstrings import parse_docstring
from .json_schema import ToolJsonSchema, default_of, takes_null, tidy
from .signature import Parameter, docstring, local_names, origin, parameters_of
from .wrappers import read_signature

__all__ = ["describe_function"]


_cache: weakref.WeakKeyDictionary[Callable[..., Any], FunctionDescription] = weakref.WeakKeyDictionary()


def describe_function(fn: Callable[..., Any]) -> FunctionDescription:
    """Describe a function for a model. The description of a plain function is cached as long as the function exists.

    Raises:
        ConfigurationError: If there is a parameter ``*args``, ``**kwargs`` without an annotation, or one of a type that
            JSON cannot express.
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
    others: Argument | None = None
    for parameter in parameters:
        if parameter.variadic and _takes_others(fn, parameter):
            others = _argument(fn, parameter, None)
            continue
        if parameter.variadic:
            stars = "**" if parameter.kind is inspect.Parameter.VAR_KEYWORD else "*"
            raise ConfigurationError(
                f"{origin(fn)} takes {stars}{parameter.name}, which a schema cannot describe; name the parameters, "
                "annotate **others with a type to accept further arguments, "
                "or pass a schema with Tool(name, description, parameters, fn)"
            )
        shown = not (parameter.injected or parameter.private)
        arguments.append(_argument(fn, parameter, documented.get(parameter.name)) if shown else parameter)
    try:
        schema = _object_schema(arguments)
    except PydanticInvalidForJsonSchema:
        raise _first_error(fn, parameters, arguments) from None
    if others is not None:
        added = tidy(others.adapter.json_schema(schema_generator=ToolJsonSchema))
        shared = added.pop("$defs", {})
        schema["additionalProperties"] = added or True
        if shared:
            schema["$defs"] = {**shared, **schema.get("$defs", {})}
    return FunctionDescription(description, schema, tuple(arguments), others)


def _takes_others(fn: Callable[..., Any], parameter: Parameter) -> bool:
    """Return whether a parameter is ``**others`` with an annotation; without one, it is often a forgotten wrapper."""
    given = read_signature(fn).parameters[parameter.name].annotation
    return parameter.kind is inspect.Parameter.VAR_KEYWORD and given is not inspect.Parameter.empty


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
        annotation, default = Annotated[annotation, default], EMPTY
    metadata = getattr(annotation, "__metadata__", ())
    description, alias = documented, parameter.name
    for extra in metadata:
        if isinstance(extra, str):
            description = extra
        elif isinstance(extra, FieldInfo):
            alias = extra.alias or alias
            description = None if extra.description else description
            if default is EMPTY and default_of_field(extra) is not EMPTY:
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
            default = default_of_field(field) if field is not None else default
            return Argument(parameter.name, alias, description, adapter, default, field, parameter.positional)
    raise _unsupported(fn, parameter, reason)


def _unsupported(fn: Callable[..., Any], parameter: Parameter, reason: str) -> ConfigurationError:
    annotation = parameter.annotation
    shown = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return ConfigurationError(
        f"parameter {parameter.name!r} of {origin(fn)} has the type {shown}, which JSON cannot express ({reason}); "
        "use another type, or pass the value in a ToolContext parameter or a functools.partial"
    )


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
        if argument.default is EMPTY and not nullable:
            required.append(argument.wire_name)
        elif argument.default is not EMPTY and (argument.default is not None or nullable):
            schema.update(default_of(argument.adapter, argument.default))
        properties[argument.wire_name] = schema
    result: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        result["required"] = required
    result["additionalProperties"] = False
    if definitions:
        result["$defs"] = definitions
    return result
