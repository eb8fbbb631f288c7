"""Parsing and validation of the arguments of a tool call."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, NoReturn

from ...text import replace_surrogates_in, short_json

if TYPE_CHECKING:
    from ...tools.tool_type import Tool

from ...errors import ToolArgumentError
from ...tools.names import RESERVED_NAMES
from ...tools.validation.steps import OutOfStepsError, Steps

__all__ = ["parse_arguments"]

MAX_CHARACTERS = 10_000_000
MAX_VALUES = 50_000
MAX_QUICK_CHARACTERS = 20_000
MAX_QUICK_STEPS = 1_000
MAX_COERCION_STEPS = 200_000

# A string, or the characters before the next one.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[^"]++', re.DOTALL)

# An unfinished literal, number or escape.
_CUT_TOKEN = re.compile(r"t|tr|tru|f|fa|fal|fals|n|nu|nul|-|[.]|[eE][+-]?|u[0-9a-fA-F]{0,4}")


def parse_arguments(tool: Tool, text: str, *, quick: bool = False) -> dict[str, Any]:
    """Parse the arguments that a model wrote and validate them against the schema of the tool.

    An empty string and ``null`` mean no arguments. An object that is encoded twice is decoded twice. Arguments that do
    not fit the schema, but whose meaning is clear, are coerced: JSON text for a list, an object or a number, and
    ``null`` for an optional argument. The library's own tools ignore optional arguments that they cannot use.

    Args:
        tool: The tool that the model called.
        text: The arguments as JSON.
        quick: Whether to give up when it takes more than a few milliseconds.

    Raises:
        OutOfStepsError: If `quick` is set and there is too much to parse and validate.
        ToolArgumentError: If `text` is not a JSON object or does not fit the schema. The message tells the model what
            to change.

    Example:
        >>> from toolsearch.tools.tool_type import Tool
        >>> parse_arguments(Tool("weather", fn=lambda city: "rain"), '{"city": "Gouda"}')
        {'city': 'Gouda'}
    """
    if quick and len(text) > MAX_QUICK_CHARACTERS:
        raise OutOfStepsError
    try:
        arguments = _decode(tool, text)
    except RecursionError:
        raise _parse_error(tool, "are nested too deeply; send a flatter object") from None
    return _validated(tool, arguments, MAX_QUICK_STEPS if quick else 0)


def _decode(tool: Tool, text: str) -> dict[str, Any]:
    if len(text) > MAX_CHARACTERS:
        raise _parse_error(tool, f"are {len(text):,} characters long; send fewer than {MAX_CHARACTERS:,}")
    if not text.strip():
        return {}
    value = _load(tool, text)
    while isinstance(value, str) and value.lstrip()[:1] in ("{", '"'):  # each decoding makes it shorter
        value = _load(tool, value)
    if isinstance(value, str) and value.strip() in ("", "null"):
        return {}
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _parse_error(tool, f"must be one JSON object, got {short_json(value)}")
    # A lone surrogate, written as an escape, could break the tool.
    return replace_surrogates_in(value) if "\\ud" in text.lower() or not text.isascii() else value


def _has_too_many_values(text: str) -> bool:
    """Return whether a JSON text has so many values that parsing it, which cannot be interrupted, takes long."""
    most = MAX_VALUES
    if text.count(",") <= most:
        return False
    for token in _TOKEN.finditer(text):
        if text[token.start()] != '"':
            most -= token[0].count(",")
            if most < 0:
                return True
    return False


def _load(tool: Tool, text: str) -> Any:
    if len(text) > MAX_VALUES and _has_too_many_values(text):
        raise _parse_error(tool, f"have more than {MAX_VALUES:,} values; send fewer")
    try:
        return json.loads(text, parse_constant=_reject_constant, parse_float=_parse_finite_float)
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" starting at").removesuffix(" at")
        where = f"line {error.lineno} column {error.colno}"
        if _is_cut_off(text.rstrip(), error):
            where = "the end; the text seems to be cut off"
        raise _parse_error(tool, f"are not valid JSON ({what} at {where}); send one JSON object") from None
    except ValueError as error:  # NaN, infinite numbers
        raise _parse_error(tool, f"hold a number that cannot be used ({error})") from None


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Return whether a text is the beginning of a JSON text, by the first error in it."""
    if error.pos >= len(text) or error.msg.startswith("Unterminated string"):
        return True
    # The decoder reports the beginning of an unfinished literal, number or escape.
    return _CUT_TOKEN.fullmatch(text, error.pos) is not None


def _reject_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not valid JSON")


def _parse_finite_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is too large")
    return number


def _validated(tool: Tool, arguments: dict[str, Any], quick_steps: int) -> dict[str, Any]:
    """Return arguments that fit the schema: as they are, or else coerced."""
    from ...tools.validation.feedback import invalid_arguments
    from ...tools.validation.schema_validator import find_problems

    def problems_of(values: dict[str, Any]) -> list[str]:
        return find_problems(tool.parameters, tool.schema_digest, values, tool.name, quick_steps=quick_steps)

    problems = problems_of(arguments)
    if problems and (coerced := _coerce(tool, arguments, quick_steps)) != arguments:
        arguments, problems = coerced, problems_of(coerced)
    if problems:
        raise ToolArgumentError(invalid_arguments(tool.name, problems, tool.parameters))
    return arguments


def _coerce(tool: Tool, arguments: dict[str, Any], quick_steps: int) -> dict[str, Any]:
    from ...tools.validation.coercion import coerce_arguments, drop_unfit

    try:
        coerced = coerce_arguments(tool.parameters, arguments, Steps(quick_steps or MAX_COERCION_STEPS))
    except OutOfStepsError:
        if quick_steps:
            raise
        coerced = arguments
    except RecursionError:
        coerced = arguments
    return drop_unfit(tool.parameters, coerced) if tool.name in RESERVED_NAMES else coerced


def _parse_error(tool: Tool, what: str) -> ToolArgumentError:
    from ...tools.validation.feedback import signature_of

    return ToolArgumentError(f"The arguments of {tool.name} {what}. {signature_of(tool.parameters)}")
