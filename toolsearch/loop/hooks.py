"""Hooks of the tool-calling loop: plain methods, or generators that yield effects."""

from __future__ import annotations

from collections.abc import Generator
from inspect import iscoroutine, isgenerator
from typing import Any, TypeAlias, TypeVar, cast

from ..errors import ConfigurationError
from .effects import Effect

__all__ = ["Hook", "run_hook"]

T = TypeVar("T")
Hook: TypeAlias = T | Generator[Effect, Any, T]
"""Return type of a hook: the value itself, or a generator that yields effects and returns the value."""


def run_hook(value: Any, kind: type[T] | tuple[type[T], ...], name: str) -> Generator[Effect, Any, T]:
    """Yield the effects of a hook and return its value.

    Args:
        value: What the hook returned.
        kind: The type, or types, that the value must have.
        name: The name of the hook, for error messages.

    Raises:
        ConfigurationError: If the hook is async, or if its value has another type, such as None after a forgotten
            ``return``.
    """
    result = (yield from cast("Generator[Effect, Any, Any]", value)) if isgenerator(value) else value
    if iscoroutine(result):
        result.close()
        raise ConfigurationError(f"the hook {name} must not be async; yield Perform(async_function) from it instead")
    if not isinstance(result, kind):
        kinds = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        hint = " (None runs the call, a string answers it)" if name == "before_tool" else ""
        raise ConfigurationError(f"the hook {name} must return a {kinds}, got {type(result).__name__}{hint}")
    return result
