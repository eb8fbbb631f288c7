"""Reading of fields of a provider's answer, whose types are not validated by the SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ProviderProtocolError
from ...text import replace_surrogates, short_repr

__all__ = [
    "get_arguments",
    "get_calls",
    "get_count",
    "get_field",
    "get_function",
    "get_index",
    "get_list",
    "get_object",
    "get_text",
    "wrong_type",
]


def get_field(owner: Any, name: str) -> Any:
    """Return a field of an object of the SDK or of a mapping; None if there is none."""
    return owner.get(name) if isinstance(owner, Mapping) else getattr(owner, name, None)


def get_object(owner: Any, name: str) -> Any:
    """Return a field that must be an object, or None."""
    value = get_field(owner, name)
    if isinstance(value, str | bytes | int | float | list | tuple):
        raise wrong_type(name, "an object", value)
    return value


def get_list(owner: Any, name: str) -> list[Any]:
    """Return a field that must be a list of objects, without its nulls; an empty list if there is none."""
    value = get_field(owner, name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise wrong_type(name, "a list", value)
    for item in value:
        if isinstance(item, str | bytes | int | float | list | tuple):
            raise wrong_type(name, "a list of objects", value)
    return [item for item in value if item is not None]


def get_calls(message: Any) -> list[Any]:
    """Return the tool calls of a message, or the pieces of them in a streamed one.

    Some servers send a single call without a list. Old ones, and gateways to them, send a `function_call`.
    """
    calls = get_field(message, "tool_calls")
    if isinstance(calls, str | bytes | int | float) or calls is None or isinstance(calls, list):
        found = get_list(message, "tool_calls")
        old = None if found else get_object(message, "function_call")
        return found if old is None else [{"function": old}]
    return [calls]


def get_function(call: Any) -> Any:
    """Return the function of a tool call. Some servers put its name and arguments into the call itself."""
    function = get_object(call, "function")
    return call if function is None and isinstance(get_field(call, "name"), str) else function


def get_arguments(function: Any) -> Any:
    """Return the arguments of a function that a model called, as the server sends them."""
    arguments = get_field(function, "arguments")
    return get_field(function, "parameters") if arguments is None else arguments


def get_text(owner: Any, name: str, *, or_number: bool = False) -> str:
    """Return a field that must be a string; an empty string if there is none."""
    value = get_field(owner, name)
    if isinstance(value, str):
        return replace_surrogates(value)
    if value is None:
        return ""
    if or_number and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise wrong_type(name, "a string", value)


def get_index(owner: Any) -> int | None:
    """Return the index of a choice or of a tool call, or None."""
    value = get_field(owner, "index")
    if value is None or value == "":
        return None
    number = _whole_number(value)
    if number is None:
        raise wrong_type("index", "a whole number", value)
    return number


def get_count(owner: Any, *names: str) -> int | None:
    """Return the first field with a count, or None. Some servers report -1 for an unknown count."""
    for name in names:
        value = get_field(owner, name)
        if value is None:
            continue
        number = _whole_number(value)
        if number is None:
            raise wrong_type(name, "a whole number", value)
        if number >= 0:
            return number
    return None


def wrong_type(name: str, what: str, value: object) -> ProviderProtocolError:
    """Return the error about a field of a wrong type. The same request would get the same form again."""
    return ProviderProtocolError(f"the provider's answer is malformed: {name} must be {what}, got {short_repr(value)}")


def _whole_number(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and len(value) <= 18 and value.isascii() and value.removeprefix("-").isdigit():
        return int(value)
    return None
