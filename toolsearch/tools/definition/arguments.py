"""Arguments of a function as a tool: conversion of a model's values and binding to parameters."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from ...errors import ToolArgumentError
from ..context import ToolContext
from ..validation.feedback import MissingArgument, conversion_problems, invalid_arguments, unknown_argument
from ..validation.keywords import MAX_VIOLATIONS
from .enum_members import validate_with_members
from .signature import Parameter

__all__ = ["EMPTY", "Argument", "FunctionDescription", "default_of_field"]

EMPTY = inspect.Parameter.empty


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
        try:
            return self.adapter.validate_json(text)
        except ValidationError as error:
            return validate_with_members(self.adapter, value, error)


@dataclass(frozen=True, slots=True)
class FunctionDescription:
    """A function as a tool: description, schema and parameters.

    Args:
        description: The docstring without its section on parameters.
        parameters: The JSON Schema of the arguments.
        arguments: The arguments of the model and, as they are, the parameters for the context and private ones, in the
            function's order.
        others: The annotated parameter ``**others``, which takes any further arguments; None if there is none.
    """

    description: str
    parameters: dict[str, Any]
    arguments: tuple[Argument | Parameter, ...]
    others: Argument | None = None

    def bind(self, args: Mapping[str, Any], ctx: ToolContext) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional and keyword arguments of the call.

        Raises:
            ToolArgumentError: If arguments are missing, unknown or of the wrong type; the message names all of them.
        """
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        known = dict.fromkeys(a.wire_name for a in self.arguments if isinstance(a, Argument))
        # A further argument must not take the place of a parameter, such as the one for the context.
        own = dict.fromkeys(argument.name for argument in self.arguments)
        further = [name for name in args if name not in known]
        unknown = islice((name for name in further if self.others is None or name in own), MAX_VIOLATIONS)
        problems = [unknown_argument(name, known) for name in unknown]
        if self.others is not None:
            for name in further:
                try:
                    keywords[name] = self.others.convert(args[name])
                except ValidationError as error:
                    problems.extend(conversion_problems(name, error))
        for argument in self.arguments:
            if isinstance(argument, Parameter):
                value: Any = ctx if argument.injected else argument.default
            elif argument.wire_name in args:
                try:
                    value = argument.convert(args[argument.wire_name])
                except ValidationError as error:
                    problems.extend(conversion_problems(argument.wire_name, error))
                    continue
            elif argument.wire_name in self.parameters.get("required", ()):
                problems.append(MissingArgument(argument.wire_name))
                continue
            elif argument.default is EMPTY:
                value = None  # nullable and omitted
            elif argument.field is not None:
                value = default_of_field(argument.field)  # evaluated for each call, as it may come from a factory
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


def default_of_field(field: FieldInfo) -> Any:
    """Return the default of a `Field`, from its factory if it has one, or `EMPTY`."""
    if field.default_factory is not None:
        return field.get_default(call_default_factory=True, validated_data={})
    return EMPTY if field.default in (PydanticUndefined, ...) else field.default
