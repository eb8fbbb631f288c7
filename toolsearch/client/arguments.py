"""Validation of the arguments of the chat client, with advice on what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from ..chat.model import ChatModel
from ..errors import ConfigurationError
from ..text import short_repr
from ..tools.argument_types import validate_type

__all__ = [
    "validate_flag",
    "validate_given",
    "validate_identifier",
    "validate_mapping",
    "validate_model",
    "validate_names",
]

# Names of arguments in other libraries, which are too different from the ones here to be found as typing errors.
_HINTS = {
    "stream": "call client.stream(...) or client.astream(...)",
    **dict.fromkeys(("response_type", "response_model", "response_format", "output_schema"), "write output_type=..."),
    "memory": "write advisors=[MemoryAdvisor(ChatMemory(...))]",
    "tenant": "write tenant_id=...",
}


def validate_names(arguments: Iterable[str], known: Iterable[str]) -> None:
    """Reject unknown arguments: a typo, or an option of the model outside `options`."""
    for name in sorted({*arguments} - {*known}):
        hint = _HINTS.get(name)
        if hint is None:
            close = get_close_matches(name, list(known), 1)
            option = f"if it is an option of the model, write options={{{name!r}: ...}}"
            hint = f"did you mean {close[0]!r}?" if close else option
        raise TypeError(f"unexpected keyword argument {name!r}; {hint}")


def validate_model(model: object) -> None:
    """Validate an adapter for a provider. The name of a model is a frequent mistake."""
    if isinstance(model, type):
        raise ConfigurationError(
            f"model must be an instance, got the class {model.__name__}; write {model.__name__}(...)"
        )
    if not isinstance(model, ChatModel):
        advice = (
            f"write OpenAIChatModel({short_repr(model)})"
            if isinstance(model, str)
            else "it must define call, acall, stream and astream"
        )
        raise ConfigurationError(f"model must be a chat model, got {short_repr(model)}; {advice}")


def validate_given(value: object, types: Any, param: str, expected: str, example: str) -> None:
    """Validate the type of an argument that can be None; see `validate_type`."""
    if value is not None:
        validate_type(value, types, param, expected, example)


def validate_mapping(value: object, param: str, example: str) -> None:
    """Validate a mapping that can be None."""
    validate_given(value, Mapping, param, "a mapping", f"{param}={example}")


def validate_flag(tool_calling: bool) -> None:
    """Validate `tool_calling`: True or False."""
    if not isinstance(tool_calling, bool):  # the string "false" would count as true
        raise ConfigurationError(f"tool_calling must be True or False, got {tool_calling!r}")


def validate_identifier(value: str | None, name: str) -> None:
    """Validate a session id or tenant id: None, or a string that is not blank."""
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise ConfigurationError(f"{name} must be a non-empty string, got {value!r}; leave it out for a single turn")
