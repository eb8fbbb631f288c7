"""How values are written in environment variables: lists, mappings, numbers of calls and times."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

__all__ = ["Duration", "Limit", "Limits", "Names", "Positive"]

_SHORT = re.compile(r"\s*(\d+)\s*([smhd])\s*")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _listed(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return _from_json(value, "a list")
    return [part.strip() for part in value.split(",") if part.strip()]


def _mapped(value: object) -> object:
    return _from_json(value, 'a mapping, e.g. {"web": 50}') if isinstance(value, str) else value


def _from_json(text: str, what: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"write {what}, as JSON: {error}") from error


def _duration(value: object) -> object:
    if not isinstance(value, str):
        return value
    if short := _SHORT.fullmatch(value):
        return timedelta(**{_UNITS[short[2]]: int(short[1])})
    if not re.fullmatch(r"\s*P.*", value):
        raise ValueError("write a number and s, m, h or d, e.g. 30m, or a time of ISO 8601, e.g. PT30M")
    return value


def _limit(value: object) -> object:
    if isinstance(value, str) and value.strip().lstrip("+-").isdigit():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        raise ValueError("a limit is 0 or more; write none for no limit")
    return value


Names: TypeAlias = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]
"""Names with commas between, or a list as JSON."""

Duration: TypeAlias = Annotated[timedelta, BeforeValidator(_duration), Field(gt=timedelta(0))]
"""``30m``, ``8h``, or ISO 8601."""

Limit: TypeAlias = Annotated[int | None, BeforeValidator(_limit)]
"""A number of calls, or none."""

Limits: TypeAlias = Annotated[Mapping[str, Limit], NoDecode, BeforeValidator(_mapped)]
"""Numbers of calls by name, as JSON."""

Positive: TypeAlias = Annotated[int, Field(ge=1)]
"""A whole number of 1 or more."""
