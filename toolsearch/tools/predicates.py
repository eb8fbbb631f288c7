"""Predicates of the application: their answers, and whether they can be asked at all."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..errors import ConfigurationError

__all__ = ["checked_predicate", "decided"]


def decided(answer: object, what: str) -> bool:
    """Return a predicate's answer as a bool.

    Raises:
        ConfigurationError: if it is something to await, which would count as true whatever it came to.

    Example:
        >>> decided(1, "tool_filter")
        True
    """
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise ConfigurationError(f"{what} is async; it is asked where nothing can be awaited: return True or False")
    return bool(answer)


def checked_predicate(predicate: Callable[..., Any], what: str, *parameters: str) -> None:
    """Refuse what cannot be asked: what is not callable, is async, or does not take these arguments.

    Raises:
        ConfigurationError: saying how it should look.
    """
    form = f"{what} must be a callable ({', '.join(parameters)}) -> bool"
    if not callable(predicate):
        raise ConfigurationError(f"{form}, not {predicate!r}")
    if inspect.iscoroutinefunction(predicate):
        raise ConfigurationError(f"{form}, and must not be async")
    try:
        inspect.signature(predicate).bind(*parameters)
    except TypeError as error:
        raise ConfigurationError(f"{form}: {error}") from error
    except ValueError:  # a builtin without a signature
        return
