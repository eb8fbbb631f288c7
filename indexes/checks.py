"""Argument validation for indexes and searches."""

from __future__ import annotations

import operator

from ..errors import ConfigurationError
from ..text import short_repr

__all__ = ["coerce_number_between", "coerce_search_arguments"]


def coerce_search_arguments(query: object, max_results: object, category: object) -> tuple[str, int, str | None]:
    """Return the arguments of a search with their types checked.

    Args:
        query: A string.
        max_results: An integer, or an object that converts to one exactly, such as a numpy integer.
        category: A string or None.

    Raises:
        ConfigurationError: If an argument has the wrong type.

    Example:
        >>> coerce_search_arguments("weather", "3", None)
        Traceback (most recent call last):
        ...
        toolsearch.errors.ConfigurationError: max_results must be an integer, got '3'
    """
    if not isinstance(query, str):
        raise ConfigurationError(f"query must be a string, got {short_repr(query)}")
    if not isinstance(category, str | None):
        raise ConfigurationError(f"category must be a source or tag, or None for all tools, got {short_repr(category)}")
    if not isinstance(max_results, bool):
        try:
            return query, operator.index(max_results), category  # type: ignore[arg-type]  # raises for other types
        except TypeError:
            pass
    raise ConfigurationError(f"max_results must be an integer, got {short_repr(max_results)}")


def coerce_number_between(name: str, value: object, lowest: float, highest: float, description: str) -> float | None:
    """Return a number in a range as a float, or None unchanged.

    Args:
        name: The name of the parameter, for the error message.
        value: The value that the caller passed.
        lowest: The smallest valid number.
        highest: The largest valid number.
        description: A description of the valid numbers, for the error message.

    Raises:
        ConfigurationError: If the value is neither None nor a number in the range.

    Example:
        >>> coerce_number_between("min_score", 2, 0, 1, "a number between 0 and 1")
        Traceback (most recent call last):
        ...
        toolsearch.errors.ConfigurationError: min_score must be a number between 0 and 1, or None, got 2
    """
    if value is None:
        return None
    try:
        number = float("nan" if isinstance(value, bool | str | bytes | bytearray) else value)  # type: ignore[arg-type]  # raises for other types
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not lowest <= number <= highest:  # also true for NaN
        raise ConfigurationError(f"{name} must be {description}, or None, got {short_repr(value)}")
    return number
