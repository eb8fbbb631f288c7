"""Feedback for the model: problems of arguments, and what to send instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from ...text import clip, short_json
from ..names import closest_names
from .keywords import MAX_VIOLATIONS, Violation
from .steps import Steps

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = [
    "conversion_problems",
    "invalid_arguments",
    "signature_of",
    "unknown_argument",
    "violation_problems",
]

MAX_PROBLEMS = 5
MAX_NAMES = 30
MAX_VALUES = 20
MAX_NAME_CHARACTERS = 200
MAX_CONVERSION_ERRORS = 1_000
MAX_CONVERSION_PROBLEMS = 100
_STEPS_PER_NAME = 3


class MissingArgument(str):
    """Problem of a required argument that is missing. The type, not the wording, puts it first in the list."""

    def __new__(cls, path: str) -> Self:
        """Word the problem of the argument at `path`."""
        return super().__new__(cls, f"{path!r}: required, but missing")


_EXPECTED = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} entries",
    "maxProperties": "at most {} entries",
    "pattern": "text that matches the pattern {}",
    "const": "{}",
    "uniqueItems": "items that differ",
}
_WHOLE = ("type", "const", "enum")
_OTHER = {
    "not": "this value is not allowed",
    "contains": "too few items of the kind that must be there",
    "maxContains": "too many items of one kind",
    "oneOf": "it fits more than one of the alternatives",
}


def invalid_arguments(name: str, problems: Sequence[str], parameters: Mapping[str, Any]) -> str:
    """Return the tool result for invalid arguments: the problems, and the arguments that the tool takes."""
    what = f"Invalid arguments for {name}:" if name else "Invalid arguments:"
    listed = sorted(dict.fromkeys(problems), key=lambda problem: not isinstance(problem, MissingArgument))
    lines = [f"- {problem}" for problem in listed]
    if len(lines) > MAX_PROBLEMS:
        lines[MAX_PROBLEMS:] = [f"- and {len(lines) - MAX_PROBLEMS} more"]
    return "\n".join([what, *lines, signature_of(parameters)])


def signature_of(parameters: Mapping[str, Any]) -> str:
    """Return a sentence with the required arguments and all arguments of a tool.

    Example:
        >>> signature_of({"properties": {"city": {}, "days": {}}, "required": ["city"]})
        'Required: city. All arguments: city, days.'
    """
    known = [str(name) for name in parameters.get("properties", ())]
    if not known:
        return "It takes no arguments." if parameters.get("additionalProperties") is False else ""
    required = parameters.get("required")
    needed = [str(name) for name in required] if isinstance(required, list) else []
    return f"Required: {_listed(needed, MAX_NAMES) or 'none'}. All arguments: {_listed(known, MAX_NAMES)}."


def unknown_argument(name: str, known: Iterable[str], path: Sequence[Any] = ()) -> str:
    """Describe an unknown argument, or an unknown key of the object at `path`, with a suggestion."""
    close = closest_names(name, known, 1)
    suggestion = f"; did you mean {_path([*path, close[0]])!r}?" if close else ""
    return f"{_path([*path, name])!r}: unknown argument{suggestion}"


def conversion_problems(argument: str, error: ValidationError) -> list[str]:
    """Convert pydantic's errors about one argument to problems."""
    if error.error_count() > MAX_CONVERSION_ERRORS:  # pydantic would describe all of them
        return [f"{_path([argument])!r}: {error.error_count():,} values do not fit {error.title}"]
    problems = []
    for detail in error.errors(include_url=False, include_context=False)[:MAX_CONVERSION_PROBLEMS]:
        path = _path([argument, *detail["loc"]])
        sent = "" if detail["type"] == "missing" else f", got {short_json(detail['input'])}"
        problems.append(f"{path!r}: {detail['msg']}{sent}")
    return problems


def violation_problems(violation: Violation, path: tuple[Any, ...] = (), steps: Steps | None = None) -> list[str]:
    """Convert a violation of a JSON Schema to problems, at most `MAX_VIOLATIONS`.

    Args:
        violation: The violation.
        path: The keys and positions that lead to the value that its path begins at.
        steps: The budget for suggestions.
    """
    path = (*path, *violation.path)
    keyword, expected, value = violation.keyword, violation.expected, violation.value
    where = repr(_path(path)) if path else "the arguments"
    if keyword == "required":
        return [MissingArgument(_path([*path, name])) for name in expected[:MAX_VIOLATIONS]]
    if keyword in ("additionalProperties", "unevaluatedProperties"):
        return _unknown(expected[:MAX_VIOLATIONS], list(violation.schema.get("properties", ())), path, steps)
    if keyword == "propertyNames":
        about = f"the name {short_json(value)} in {where}"
        named = (problem for part in violation.branches[0] for problem in violation_problems(part, steps=steps))
        return [about + problem.removeprefix("the arguments") for problem in islice(named, MAX_VIOLATIONS)]
    if violation.branches:
        return _choice(violation, path, where, steps)
    if keyword == "type":
        kinds = [expected] if isinstance(expected, str) else expected
        return [f"{where}: expected {' or '.join(_kind(kind) for kind in kinds[:MAX_VALUES])}, got {short_json(value)}"]
    if keyword == "enum":
        return [f"{where}: expected one of {_listed(expected, MAX_VALUES, short_json)}, got {short_json(value)}"]
    if keyword in _EXPECTED:
        bound = violation.schema.get(keyword.removeprefix("exclusive").lower()) if expected is True else expected
        return [f"{where}: expected {_EXPECTED[keyword].format(short_json(bound))}, got {short_json(value)}"]
    return [f"{where}: {_OTHER.get(keyword, 'it does not fit')}, got {short_json(value)}"]


def _unknown(names: Sequence[str], known: Sequence[str], path: Sequence[Any], steps: Steps | None) -> list[str]:
    """Describe unknown names, with suggestions for those that are shown."""
    if steps is not None:
        steps.spend(_STEPS_PER_NAME * min(len(names), MAX_PROBLEMS) * len(known))
    elif len(known) > MAX_NAMES:
        known = ()
    return [unknown_argument(name, known if at < MAX_PROBLEMS else (), path) for at, name in enumerate(names)]


def _choice(violation: Violation, path: tuple[Any, ...], where: str, steps: Steps | None) -> list[str]:
    """Return the expected types and values, or the problems of the alternative that fits best."""
    branches = violation.branches
    if all(part.keyword in _WHOLE and not part.path for branch in branches for part in branch):
        words = list(dict.fromkeys(word for branch in branches for word in _expected_words(branch)))
        shown = _listed(words, MAX_VALUES) if len(words) > MAX_VALUES else " or ".join(words)
        return [f"{where}: expected {shown}, got {short_json(violation.value)}"]
    best = min(branches, key=_misfit)
    problems: list[str] = []
    for part in [part for part in best if part.keyword != "type" or part.path] or best:
        problems += violation_problems(part, path, steps)
        if len(problems) >= MAX_VIOLATIONS:
            break
    return problems[:MAX_VIOLATIONS]


def _misfit(branch: Sequence[Violation]) -> tuple[bool, int, int]:
    """Return how far an alternative is from a value: by type, then by fixed members such as a kind, then by number."""
    wrong_type = any(part.keyword == "type" and not part.path for part in branch)
    fixed = sum(1 for part in branch if part.keyword in ("const", "enum") and len(part.path) == 1)
    return wrong_type, fixed, len(branch)


def _expected_words(branch: Sequence[Violation]) -> list[str]:
    """Return the values that an alternative allows, or else its types."""
    values = [value for part in branch if part.keyword == "enum" for value in part.expected[: MAX_VALUES + 1]]
    values += [part.expected for part in branch if part.keyword == "const"]
    if values:
        return [clip(short_json(value), MAX_NAME_CHARACTERS) for value in values]
    kinds = (part.expected for part in branch)
    return [_kind(name) for one in kinds for name in ([one] if isinstance(one, str) else one)]


def _kind(name: object) -> str:
    return "true or false" if name == "boolean" else str(name)


def _path(parts: Iterable[Any]) -> str:
    """Return a path such as ``filters[0].name``."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
        if len(text) > MAX_NAME_CHARACTERS:
            break
    return clip(text, MAX_NAME_CHARACTERS)


def _listed(values: Sequence[Any], most: int, word: Callable[[Any], str] = str) -> str:
    listed = ", ".join(clip(word(value), MAX_NAME_CHARACTERS) for value in values[:most])
    return listed + (f" and {len(values) - most} more" if len(values) > most else "")
