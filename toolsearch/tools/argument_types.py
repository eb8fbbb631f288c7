"""Types of arguments: validated where a value of another type would be ignored, or would fail much later."""

from __future__ import annotations

from typing import Any

from ..errors import ConfigurationError
from ..text import short_repr

__all__ = ["validate_type"]


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
