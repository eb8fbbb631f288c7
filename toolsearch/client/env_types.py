"""Types of settings that are written in environment variables: lists, mappings, limits and durations."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

__all__ = ["Duration", "Limit", "Limits", "Names", "PositiveInt"]

_SHORT_DURATION = re.compile(r"\s*(\d+)\s*([smhd])\s*")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _parse_list(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return _parse_json(value, "a list")
    return [part.strip() for part in value.split(",") if part.strip()]


def _parse_mapping(value: object) -> object:
    return _parse_json(value, 'a mapping, e.g. {"web": 50}') if isinstance(value, str) else value


def _parse_json(text: str, what: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"write {what}, as JSON: {error}") from error


def _parse_duration(value: object) -> object:
    if not isinstance(value, str):
        return value
    if short := _SHORT_DURATION.fullmatch(value):
        return timedelta(**{_UNITS[short[2]]: int(short[1])})
    if not re.fullmatch(r"\s*P.*", value):
        raise ValueError("write a number and s, m, h or d, e.g. 30m, or an ISO 8601 duration, e.g. PT30M")
    return value


def _parse_limit(value: object) -> object:
    if isinstance(value, str) and value.strip().lstrip("+-").isdigit():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        raise ValueError("a limit must be 0 or more; write none for no limit")
    return value


Names: TypeAlias = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_parse_list)]
"""Names separated by commas, or a JSON list."""

Duration: TypeAlias = Annotated[timedelta, BeforeValidator(_parse_duration), Field(gt=timedelta(0))]
"""A positive duration: ``30m``, ``8h``, or ISO 8601."""

Limit: TypeAlias = Annotated[int | None, BeforeValidator(_parse_limit)]
"""A number of calls, or None for no limit."""

Limits: TypeAlias = Annotated[Mapping[str, Limit], NoDecode, BeforeValidator(_parse_mapping)]
"""Limits by tool name, written as a JSON object."""

PositiveInt: TypeAlias = Annotated[int, Field(ge=1)]
"""An integer of at least 1."""
