"""Predicates of the application: validated when they are given, evaluated without waiting."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..errors import ConfigurationError
from ..text import short_repr
from .definition.signature import is_async

__all__ = ["evaluate_predicate", "validate_predicate"]


def evaluate_predicate(answer: object, name: str) -> bool:
    """Return the answer of a predicate as a bool.

    Args:
        answer: What the predicate returned.
        name: The name of the predicate, for the message.

    Raises:
        ConfigurationError: If the answer is awaitable. A coroutine would count as true, whatever its result.

    Example:
        >>> evaluate_predicate(1, "tool_filter")
        True
    """
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise ConfigurationError(
            f"{name} is async, but nothing can be awaited where it is called; return True or False"
        )
    return bool(answer)


def validate_predicate(predicate: Callable[..., Any], name: str, *parameters: str, returns: str = "bool") -> None:
    """Validate a predicate, or another short function: a callable that is not async and accepts the arguments.

    Args:
        predicate: The callable.
        name: The name of the predicate, for the message.
        parameters: The names of the positional arguments that it is called with.
        returns: The result, for the message.

    Raises:
        ConfigurationError: If it cannot be called so; the message contains the expected form.
    """
    form = f"{name} must be a callable ({', '.join(parameters)}) -> {returns}"
    if not callable(predicate):
        raise ConfigurationError(f"{form}, got {short_repr(predicate)}")
    if is_async(predicate) or inspect.isasyncgenfunction(predicate):
        raise ConfigurationError(f"{form}, and must not be async")
    try:
        inspect.signature(predicate).bind(*parameters)
    except TypeError as error:
        raise ConfigurationError(f"{form}: {error}") from error
    except ValueError:  # a builtin without a signature
        return
