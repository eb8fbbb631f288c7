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
from ...tools.validation.coercion import without_fence
from ...tools.validation.steps import OutOfStepsError, Steps

__all__ = ["parse_arguments"]

MAX_CHARACTERS = 10_000_000
MAX_VALUES = 50_000
MAX_QUICK_CHARACTERS = 20_000
MAX_QUICK_STEPS = 1_000
MAX_COERCION_STEPS = 200_000
MAX_REPETITIONS = 20

# A string, or the characters before the next one.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[^"]++', re.DOTALL)

# Brackets and special tokens that servers leave behind the object.
_REST = re.compile(r"(?:[\s}\]`]|<[^<>\s]{1,60}>){1,40}")
_BLANK = re.compile(r"\s*")

_WRAPPERS = ("arguments", "parameters", "kwargs", "args", "input")

# An unfinished literal, number or escape.
_CUT_TOKEN = re.compile(r"t|tr|tru|f|fa|fal|fals|n|nu|nul|-|[.]|[eE][+-]?|u[0-9a-fA-F]{0,4}")


def parse_arguments(tool: Tool, text: str, *, quick: bool = False) -> dict[str, Any]:
    """Parse the arguments that a model wrote and validate them against the schema of the tool.

    An empty string, ``null`` and an empty list mean no arguments. An object that is encoded twice is decoded twice.
    What some servers leave around the object is dropped: a code fence, a special token, a bracket too many, the same
    object again, and an object with the member ``arguments``. Arguments that do not fit the schema, but whose meaning
    is clear, are coerced: JSON text for a list, an object or a number, and ``null`` for an optional argument. The
    library's own tools ignore optional arguments that they cannot use.

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
    text = without_fence(text)
    if not text:
        return {}
    value = _load(tool, text)
    while isinstance(value, str) and value.lstrip()[:1] in ("{", '"'):  # each decoding makes it shorter
        value = _load(tool, value)
    if isinstance(value, str) and value.strip() in ("", "null"):
        return {}
    if value is None or value == []:  # languages without empty objects send a list
        return {}
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
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
        value, end = _DECODER.raw_decode(text, len(text) - len(text.lstrip()))
        rest = text[end:].lstrip()
        if not rest or (isinstance(value, dict) and (_REST.fullmatch(rest) or _repeats(rest, value))):
            return value
        raise json.JSONDecodeError("Extra data", text, len(text) - len(rest))
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" starting at").removesuffix(" at")
        where = f"line {error.lineno} column {error.colno}"
        if _is_cut_off(text.rstrip(), error):
            where = "the end; the text seems to be cut off"
        raise _parse_error(tool, f"are not valid JSON ({what} at {where}); send one JSON object") from None
    except ValueError as error:  # NaN, infinite numbers
        raise _parse_error(tool, f"hold a number that cannot be used ({error})") from None


def _repeats(text: str, value: Any) -> bool:
    """Return whether a text is the JSON of `value`, once or several times."""
    at = 0
    for _ in range(MAX_REPETITIONS):
        try:
            again, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return False
        if again != value:
            return False
        blank = _BLANK.match(text, end)
        at = end if blank is None else blank.end()
        if at == len(text):
            return True
    return False


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


# Not strict: JSON forbids line breaks inside strings, but models write them.
_DECODER = json.JSONDecoder(parse_constant=_reject_constant, parse_float=_parse_finite_float, strict=False)


def _validated(tool: Tool, arguments: dict[str, Any], quick_steps: int) -> dict[str, Any]:
    """Return arguments that fit the schema: as they are, or else coerced."""
    from ...tools.validation.feedback import invalid_arguments
    from ...tools.validation.schema_validator import find_problems

    def problems_of(values: dict[str, Any]) -> list[str]:
        return find_problems(tool.parameters, tool.schema_digest, values, tool.name, quick_steps=quick_steps)

    problems = problems_of(arguments)
    if problems and (inner := _unwrap(tool, arguments)) is not None:
        arguments, problems = inner, problems_of(inner)
    if problems:
        arguments = _coerce(tool, arguments, quick_steps)
        problems = problems_of(arguments)
    if problems:
        raise ToolArgumentError(invalid_arguments(tool.name, problems, tool.parameters))
    return arguments


def _unwrap(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments within a whole call, which some models write in place of them; None if it is not one."""
    wrapper = next((name for name in _WRAPPERS if name in arguments), None)
    if wrapper is None or wrapper in (tool.parameters.get("properties") or ()):
        return None
    if arguments.keys() - {wrapper} and not (arguments.keys() == {"name", wrapper} and arguments["name"] == tool.name):
        return None
    inner = arguments[wrapper]
    if isinstance(inner, str):
        try:
            inner = _DECODER.decode(inner)
        except (ValueError, RecursionError):
            return None
    return inner if isinstance(inner, dict) else None


def _coerce(tool: Tool, arguments: dict[str, Any], quick_steps: int) -> dict[str, Any]:
    from ...tools.validation.coercion import adapt_arguments, coerce_arguments

    try:
        coerced = coerce_arguments(tool.parameters, arguments, Steps(quick_steps or MAX_COERCION_STEPS))
    except OutOfStepsError:
        if quick_steps:
            raise
        coerced = arguments
    except RecursionError:
        coerced = arguments
    return adapt_arguments(tool.parameters, coerced) if tool.name in RESERVED_NAMES else coerced


def _parse_error(tool: Tool, what: str) -> ToolArgumentError:
    from ...tools.validation.feedback import signature_of

    return ToolArgumentError(f"The arguments of {tool.name} {what}. {signature_of(tool.parameters)}")
