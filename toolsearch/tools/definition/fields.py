"""Validation of the arguments of `Tool`, for mistakes that would otherwise stay unnoticed or show up late."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from ...errors import ConfigurationError, ToolArgumentError
from ...indexes.canonical_json import canonical_json
from ...messages import json_object
from ...text import short_repr
from ..argument_types import collect_finite
from ..names import words_of
from .signature import is_async

__all__ = [
    "coerce_arguments",
    "coerce_json_object",
    "coerce_parameters",
    "coerce_tags",
    "coerce_timeout",
    "name_in_words",
    "validate_async_twin",
    "validate_function",
    "validate_result_options",
    "validate_text",
]

MIN_RESULT_TOKENS = 100
"""The smallest limit on a result: the sentence that says how to get the rest needs this many tokens."""

MAX_TIMEOUT_SECONDS = 1_000_000_000
"""About 30 years. Some functions that wait raise an error for more."""


def validate_text(name: object, field: str, text: object, *, empty: bool = True) -> None:
    """Validate a string that is sent to the model: a schema or another object in its place would be sent as it is."""
    if not isinstance(text, str) or not (empty or text.strip()):
        kind = "a string" if empty else "a non-empty string"
        hint = f"; write Tool.from_function({getattr(text, '__name__', 'fn')})" if inspect.isroutine(text) else ""
        raise ConfigurationError(f"tool {short_repr(name)}: {field} must be {kind}, got {short_repr(text)}{hint}")


def validate_function(name: str, fn: Any) -> None:
    """Validate the function of a tool: a callable that is not a class and not an async generator."""
    if inspect.isasyncgenfunction(fn):
        raise ConfigurationError(f"tool {name!r}: fn must not be an async generator; return a list instead")
    if fn is not None and (not callable(fn) or isinstance(fn, type)):
        raise ConfigurationError(f"tool {name!r}: fn must be a function, got {short_repr(fn)}")


def validate_async_twin(name: str, fn: Any, afn: Any) -> None:
    """Validate `afn`: an async function beside a sync `fn`."""
    if afn is not None and (fn is None or is_async(fn) or not is_async(afn)):
        raise ConfigurationError(f"tool {name!r}: afn must be an async function beside a sync fn")


def coerce_timeout(name: str, timeout: float | None) -> float | None:
    """Return a timeout: None, or a positive number of seconds that every way to wait accepts."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise ConfigurationError(f"tool {name!r}: timeout must be a positive number of seconds, got {timeout!r}")
    return min(timeout, MAX_TIMEOUT_SECONDS)


def validate_result_options(name: str, returns_value: object, max_result_tokens: object) -> None:
    """Validate the options of a result: a bool or None, and a number of tokens or None."""
    if not isinstance(returns_value, bool | None):
        raise ConfigurationError(f"tool {name!r}: returns_value must be True, False or None, got {returns_value!r}")
    if max_result_tokens is None:
        return
    is_number = isinstance(max_result_tokens, int | float) and not isinstance(max_result_tokens, bool)
    if not is_number or not max_result_tokens >= MIN_RESULT_TOKENS:  # type: ignore[operator]
        raise ConfigurationError(
            f"tool {name!r}: max_result_tokens must be at least {MIN_RESULT_TOKENS}, got {max_result_tokens!r}; "
            "math.inf means no limit, None the limit of the loop"
        )


def coerce_tags(name: str, tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags as a tuple. A string is rejected, because its characters would become tags."""
    if isinstance(tags, str):
        raise ConfigurationError(f"tool {name!r}: tags must be a list of strings; write tags=[{tags!r}]")
    return collect_finite(tags, f"tool {name!r}: tags")


def coerce_arguments(name: str, args: object) -> Mapping[str, Any]:
    """Return the arguments of a direct call as a mapping. They may be JSON text, as a model writes it."""
    value = json_object(args) if isinstance(args, str) else {} if args is None else args
    if isinstance(value, Mapping):
        return value
    raise ToolArgumentError(
        f"tool {name!r}: args must be a mapping or the JSON text of an object, got {short_repr(args)}; "
        'write {"name": value}'
    )


def coerce_parameters(name: str, parameters: object) -> tuple[Mapping[str, Any], bytes]:
    """Return an object schema and its digest. Missing `type` and `properties` are added."""
    expected = f"tool {name!r}: parameters must be a JSON Schema of an object"
    if not isinstance(parameters, Mapping):
        raise ConfigurationError(f"{expected}, got {short_repr(parameters)}")
    kind = parameters.get("type", "object")
    if kind != "object":
        raise ConfigurationError(f"{expected}, got one of type {kind!r}; make it a property of an object")
    if not isinstance(parameters.get("properties", {}), Mapping):
        raise ConfigurationError(f"{expected}, got properties {short_repr(parameters['properties'])}")
    schema = parameters if isinstance(parameters, dict) else dict(parameters)
    if "type" not in schema:  # MCP servers omit it, providers require it
        schema = {"type": "object", **schema}
    if "properties" not in schema:
        schema = {**schema, "properties": {}}
    try:
        text = canonical_json(schema)
    except ValueError as error:
        raise ConfigurationError(f"{expected} that can be written as JSON: {error}") from error
    return schema, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def coerce_json_object(name: str, field: str, value: object) -> Mapping[str, Any] | None:
    """Return a read-only copy of a JSON object, or None for None."""
    if value is None:
        return None
    expected = f"tool {name!r}: {field} must be a JSON object"
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{expected}, got {short_repr(value)}")
    try:
        canonical_json(dict(value))
    except ValueError as error:
        raise ConfigurationError(f"{expected} that can be written as JSON: {error}") from error
    return MappingProxyType(dict(value))


def name_in_words(name: str) -> str:
    """Return a name as a phrase, the description of a tool that has none."""
    return " ".join(words_of(name)).capitalize() or name
