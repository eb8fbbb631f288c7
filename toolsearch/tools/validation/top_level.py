"""The checks of arguments that always hold, also where a whole validation is too much work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from .feedback import violation_problems
from .json_values import TYPES
from .keywords import MAX_VIOLATIONS, Violation

__all__ = ["top_level_problems"]

Judge = Callable[[Any, Any, str], list[str]]


def top_level_problems(schema: Mapping[str, Any], arguments: Any, judge: Judge | None = None) -> list[str]:
    """Return the problems of the names and types of the arguments, without looking inside them.

    Args:
        schema: The JSON Schema of the tool. It can be invalid.
        arguments: The arguments that the model sent. Another value than an object does not have problems.
        judge: Returns the problems of an argument that is not a list or object.

    Example:
        >>> schema = {"properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
        >>> top_level_problems(schema, {"n": "a", "m": 1})
        ["'m': unknown argument", '\\'n\\': expected integer, got "a"']
    """
    if not isinstance(arguments, dict):
        return []
    found: list[Violation] = []
    properties = schema.get("properties")
    known: Mapping[str, Any] = properties if isinstance(properties, Mapping) else {}
    required = schema.get("required")
    if isinstance(required, list | tuple):
        missing = [name for name in islice(required, len(arguments) + MAX_VIOLATIONS) if name not in arguments]
        found += [Violation("required", missing, arguments, schema)] if missing else []
    if schema.get("additionalProperties") is False and not schema.get("patternProperties"):
        extras = [name for name in arguments if name not in known]
        found += [Violation("additionalProperties", extras, arguments, {"properties": known})] if extras else []
    problems = [problem for violation in found for problem in violation_problems(violation)]
    for name, value in arguments.items():
        if len(problems) >= MAX_VIOLATIONS:
            break
        subschema = known.get(name)
        if isinstance(value, dict | list) or judge is None:
            problems += _type_problems(subschema, value, name)
        elif subschema is not None:
            problems += judge(subschema, value, name)
    return problems[:MAX_VIOLATIONS]


def _type_problems(schema: Any, value: Any, name: str) -> list[str]:
    expected = schema.get("type") if isinstance(schema, Mapping) else None
    names = [expected] if isinstance(expected, str) else expected
    if not isinstance(names, list | tuple) or not names:
        return []
    tests = [TYPES.get(kind) if isinstance(kind, str) else None for kind in names]
    if any(test is None or test(value) for test in tests) or (value is None and schema.get("nullable") is True):
        return []
    return violation_problems(Violation("type", expected, value, schema, (name,)))
