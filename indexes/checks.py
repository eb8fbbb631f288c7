"""The arguments of indexes and searches, checked where they are given: an error names one and says what it must be."""

from __future__ import annotations

import operator

from ..errors import ConfigurationError
from ..text import short_repr

__all__ = ["checked_between", "checked_search"]


def checked_search(query: object, max_results: object, category: object) -> tuple[str, int, str | None]:
    """Return the arguments of a search if each is of its kind.

    Raises:
        ConfigurationError: one is not.

    Example:
        >>> checked_search("weather", "3", None)
        Traceback (most recent call last):
        ...
        toolsearch.errors.ConfigurationError: max_results is a whole number, not '3'
    """
    if not isinstance(query, str):
        raise ConfigurationError(f"a query is a text, not {short_repr(query)}")
    if not isinstance(category, str | None):
        raise ConfigurationError(f"category is a source or a tag, or None for all tools; not {short_repr(category)}")
    if not isinstance(max_results, bool):
        try:
            return query, operator.index(max_results), category  # type: ignore[arg-type]  # that is what it tells
        except TypeError:
            pass
    raise ConfigurationError(f"max_results is a whole number, not {short_repr(max_results)}")


def checked_between(name: str, value: object, lowest: float, highest: float, what: str) -> float | None:
    """Return a number from `lowest` to `highest`, or None.

    Raises:
        ConfigurationError: it is neither.

    Example:
        >>> checked_between("min_score", 2, 0, 1, "a share between 0 and 1")
        Traceback (most recent call last):
        ...
        toolsearch.errors.ConfigurationError: min_score is a share between 0 and 1, or None; not 2
    """
    if value is None:
        return None
    try:
        number = float("nan" if isinstance(value, bool | str | bytes | bytearray) else value)  # type: ignore[arg-type]  # the same
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not lowest <= number <= highest:  # NaN is not either
        raise ConfigurationError(f"{name} is {what}, or None; not {short_repr(value)}")
    return number
