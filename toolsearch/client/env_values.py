"""Parsers for values in environment variables: lists, mappings, limits and durations.

Values that are not strings are returned unchanged, for arguments that override variables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import timedelta

__all__ = ["parse_duration", "parse_limit", "parse_limits", "parse_list", "tidy_value"]

_SHORT_DURATION = re.compile(r"\s*(\d+)\s*([smhd])\s*")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def tidy_value(value: object) -> object:
    """Return a value without white space and quotes around it. ``none`` and ``null``, in any case, are None.

    Example:
        >>> tidy_value(' "3"\\r'), tidy_value("None")
        ('3', None)
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return None if text.casefold() in ("none", "null") else text


def parse_list(value: object) -> object:
    """Parse a list that is separated by commas or written as JSON."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return _parse_json(value, "a list")
    return [part.strip() for part in value.split(",") if part.strip()]


def parse_limits(value: object) -> object:
    """Parse a JSON object of limits by name."""
    if isinstance(value, str):
        value = _parse_json(value, 'a mapping, e.g. {"web": 50}')
    return {name: parse_limit(limit) for name, limit in value.items()} if isinstance(value, Mapping) else value


def _parse_json(text: str, what: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"write {what}, as JSON: {error}") from error


def parse_duration(value: object) -> object:
    """Parse a short duration such as ``30m``; durations in ISO 8601 are left to pydantic."""
    if not isinstance(value, str):
        return value
    if short := _SHORT_DURATION.fullmatch(value):
        return timedelta(**{_UNITS[short[2]]: int(short[1])})
    if not re.fullmatch(r"\s*P.*", value):
        raise ValueError("write a number and s, m, h or d, e.g. 30m, or an ISO 8601 duration, e.g. PT30M")
    return value


def parse_limit(value: object) -> object:
    """Parse a number of calls, 0 or more. None means no limit."""
    if isinstance(value, str) and value.strip().lstrip("+-").isdigit():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        raise ValueError("a limit must be 0 or more; write none for no limit")
    return value
