"""Types of arguments: validated where a value of another type would be ignored, or would fail much later."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, TypeVar

from ..errors import ConfigurationError
from ..text import short_repr

__all__ = ["collect_finite", "validate_type"]

T = TypeVar("T")

MAX_ITEMS = 100_000


def validate_type(value: object, types: Any, param: str, expected: str, example: str) -> None:
    """Validate that an argument is an instance of a type, and not a class.

    Args:
        value: The argument.
        types: The type, a runtime-checkable protocol, or a tuple of these.
        param: The name of the argument, for the message.
        expected: What the argument must be, e.g. ``"a string"``.
        example: What to write instead.

    Raises:
        ConfigurationError: If it is not; the message contains the example.

    Example:
        >>> validate_type(5, str, "system", "a string", 'system="..."')
        Traceback (most recent call last):
        ...
        toolsearch.errors.ConfigurationError: system must be a string, got 5; write system="..."
    """
    if isinstance(value, type):  # a class has the methods that a protocol asks for
        raise ConfigurationError(f"{param} must be an instance, got the class {value.__name__}; write {example}")
    if not isinstance(value, types):
        raise ConfigurationError(f"{param} must be {expected}, got {short_repr(value)}; write {example}")


def collect_finite(values: Iterable[T], param: str) -> tuple[T, ...]:
    """Return the values of an argument that must end. An endless one would fill the memory.

    Raises:
        ConfigurationError: If there are more than 100,000 values.

    Example:
        >>> from itertools import repeat
        >>> collect_finite(repeat("a"), "tags")
        Traceback (most recent call last):
        ...
        toolsearch.errors.ConfigurationError: tags must have at most 100000 items, got more; pass a list
    """
    collected = tuple(islice(values, MAX_ITEMS + 1))
    if len(collected) > MAX_ITEMS:
        raise ConfigurationError(f"{param} must have at most {MAX_ITEMS} items, got more; pass a list")
    return collected
