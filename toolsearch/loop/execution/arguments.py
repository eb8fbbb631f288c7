"""From the text a model wrote to arguments that fit the tool's schema, or to a text that says what to change."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NoReturn

from ...text import replace_surrogates_in, short_json

if TYPE_CHECKING:
    from ...tools.tool import Tool

from ...errors import ToolArgumentError

__all__ = ["parse_arguments"]

_LONGEST = 10_000_000


def parse_arguments(tool: Tool, text: str) -> dict[str, Any]:
    """Return the arguments that a model wrote for `tool`, checked against its schema.

    Empty text and ``null`` are no arguments; an object that was encoded twice is decoded twice.

    Raises:
        ToolArgumentError: for text that is not a JSON object, or an object that does not fit the schema.

    Example:
        >>> from toolsearch.tools.tool import Tool
        >>> parse_arguments(Tool("weather", fn=lambda city: "rain"), '{"city": "Gouda"}')
        {'city': 'Gouda'}
    """
    try:
        arguments = _decode(tool, text)
    except RecursionError:
        raise _unreadable(tool, "are nested too deeply; send a flatter object") from None
    _check(tool, arguments)
    return arguments


def _decode(tool: Tool, text: str) -> dict[str, Any]:
    if len(text) > _LONGEST:
        raise _unreadable(tool, f"are {len(text):,} characters long; send fewer than {_LONGEST:,}")
    if not text.strip():
        return {}
    value = _load(tool, text)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _load(tool, value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _unreadable(tool, f"must be one JSON object, not {short_json(value)}")
    # A half of a surrogate pair, written as an escape, would break whatever the tool does with the text.
    return replace_surrogates_in(value) if "\\ud" in text.lower() or not text.isascii() else value


def _load(tool: Tool, text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_number, parse_float=_finite)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        if error.pos >= len(text.rstrip()):
            where = "the end: the text seems to be cut off"
        raise _unreadable(tool, f"are not valid JSON ({error.msg} at {where}); send one JSON object") from None
    except ValueError as error:  # NaN, numbers without end
        raise _unreadable(tool, f"hold a number that cannot be used ({error})") from None


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is too large")
    return number


def _check(tool: Tool, arguments: dict[str, Any]) -> None:
    from ...tools.validation.feedback import invalid_arguments
    from ...tools.validation.schema_validator import find_problems

    problems = find_problems(tool.parameters, tool.schema_digest, arguments, tool.name)
    if problems:
        raise ToolArgumentError(invalid_arguments(tool.name, problems, tool.parameters))


def _unreadable(tool: Tool, what: str) -> ToolArgumentError:
    from ...tools.validation.feedback import signature_of

    return ToolArgumentError(f"The arguments of {tool.name} {what}. {signature_of(tool.parameters)}")
