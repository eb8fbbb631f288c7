"""The fields of a `Tool`, checked: each function returns the value to keep or says what is wrong with it."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...errors import ConfigurationError
from ...indexes.canonical_json import canonical_json
from ..names import words_of
from .signature import is_async

__all__ = [
    "checked_function",
    "checked_name",
    "checked_parameters",
    "checked_tags",
    "checked_text",
    "checked_timeout",
    "checked_twin",
    "in_words",
]


def checked_name(name: object) -> str:
    """A name is a text that is not empty."""
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(f"a tool's name is a text that is not empty, not {name!r}")
    return name


def checked_function(name: str, fn: Any) -> Callable[..., Any] | None:
    """A function is anything that can be called, but a class or an async generator."""
    if fn is None or (callable(fn) and not isinstance(fn, type) and not inspect.isasyncgenfunction(fn)):
        return fn  # checked to be callable
    if inspect.isasyncgenfunction(fn):
        raise ConfigurationError(f"the tool {name!r} has an async generator for a function; return a list instead")
    raise ConfigurationError(f"the tool {name!r} needs a function, not {fn!r}")


def checked_twin(name: str, fn: Any, afn: Any) -> Callable[..., Any] | None:
    """An async twin stands beside a sync function."""
    if afn is not None and (fn is None or is_async(fn) or not is_async(afn)):
        raise ConfigurationError(f"afn of the tool {name!r} is an async function beside a sync fn")
    return afn  # type: ignore[no-any-return]  # checked to be callable


def checked_tags(name: str, tags: Iterable[str]) -> tuple[str, ...]:
    """Tags are several texts."""
    if isinstance(tags, str):
        raise ConfigurationError(f"the tags of the tool {name!r} are a list of texts; write tags=[{tags!r}]")
    listed = tuple(tags)
    if not all(isinstance(tag, str) for tag in listed):
        raise ConfigurationError(f"the tags of the tool {name!r} are a list of texts, not {listed!r}")
    return listed


def checked_text(name: str, field: str, text: Any) -> str:
    """A text, where None is an empty one."""
    if text is not None and not isinstance(text, str):
        raise ConfigurationError(f"the {field} of the tool {name!r} is a text, not {text!r}")
    return text or ""


def checked_timeout(name: str, timeout: object) -> float | None:
    """A timeout is a number of seconds above 0, or None."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
        raise ConfigurationError(f"the timeout of the tool {name!r} is a number of seconds above 0, not {timeout!r}")
    return timeout


def checked_parameters(name: str, parameters: object) -> tuple[Mapping[str, Any], bytes]:
    """An object schema, with `type` and `properties` where they were left out, and its digest."""
    what = f"the parameters of the tool {name!r} must be a JSON Schema of an object"
    if not isinstance(parameters, Mapping):
        raise ConfigurationError(f"{what}, not {parameters!r}")
    kind = parameters.get("type", "object")
    if kind != "object":
        raise ConfigurationError(f"{what}; its type is {kind!r}: wrap it as a property of one")
    if not isinstance(parameters.get("properties", {}), Mapping):
        raise ConfigurationError(f"{what}; its properties are {parameters['properties']!r}")
    schema = parameters if isinstance(parameters, dict) else dict(parameters)
    if "type" not in schema:  # MCP servers leave them out, providers want them
        schema = {"type": "object", **schema}
    if "properties" not in schema:
        schema = {**schema, "properties": {}}
    try:
        text = canonical_json(schema)
    except ValueError as error:
        raise ConfigurationError(f"{what} that can be written as JSON: {error}") from error
    return schema, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def in_words(name: str) -> str:
    """A name as words, for a tool without a description."""
    return " ".join(words_of(name)).capitalize() or name
