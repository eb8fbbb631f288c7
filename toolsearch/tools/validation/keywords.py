"""Keywords of JSON Schema: each is a function that returns the violations of a value.

The schemas were checked by `schema_shape` before, so the values of keywords have the right form. A keyword of an older
draft has the same name and another form, such as `items` with a list; both are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol

from .json_values import TYPES
from .steps import Steps

__all__ = ["KEYWORDS", "MAX_VIOLATIONS", "Checker", "Violation", "extra_names"]

MAX_VIOLATIONS = 20
"""The number of violations after which a value is not judged further."""


class Violation(NamedTuple):
    """A keyword that a value does not meet.

    Args:
        keyword: The keyword.
        expected: The value of the keyword in the schema.
        value: The value that was judged.
        schema: The schema that contains the keyword.
        path: The keys and positions that lead to the value.
        branches: The violations of each alternative of ``anyOf`` and ``oneOf``, or of a name for ``propertyNames``.
    """

    keyword: str
    expected: Any
    value: Any
    schema: Mapping[str, Any]
    path: tuple[str | int, ...] = ()
    branches: tuple[tuple[Violation, ...], ...] = ()


Violations = list[Violation]


class Checker(Protocol):
    """Services that a keyword needs to judge a value."""

    doubts: int
    """How often a value was accepted because it could not be judged."""

    @property
    def steps(self) -> Steps:
        """The budget of this validation."""
        ...

    def check(self, schema: Any, value: Any) -> Violations:
        """Return the violations of a value, at most `MAX_VIOLATIONS`."""
        ...

    def check_target(self, schema: Mapping[str, Any], keyword: str, value: Any) -> Violations:
        """Return the violations of the schema that a reference in `schema` leads to."""
        ...

    def check_member(self, schema: Any, value: Any, key: str | int) -> Violations:
        """Return the violations of a member of a list or object."""
        ...

    def matches(self, pattern: str, text: str) -> bool | None:
        """Return whether a pattern matches, or None if that cannot be told."""
        ...

    def key(self, value: Any) -> str:
        """Return a string that is equal for equal values."""
        ...

    def allowed_keys(self, schema: Mapping[str, Any], keyword: str) -> frozenset[str]:
        """Return the keys of the values that `const` or `enum` allows."""
        ...

    def evaluated(self, schema: Mapping[str, Any], value: Any) -> Callable[[str | int], bool]:
        """Return a function that tells whether other keywords judge a member of the value."""
        ...


Keyword = Callable[[Checker, Any, Any, Mapping[str, Any]], Violations]


def extra_names(schema: Mapping[str, Any], value: Mapping[str, Any], matches: Callable[[str, str], Any]) -> list[str]:
    """Return the keys of an object that match neither `properties` nor `patternProperties` of its schema."""
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    extras = [name for name in value if name not in known]
    return [name for name in extras if all(matches(pattern, name) is False for pattern in patterns)]


def _simple(keyword: str, kind: type | tuple[type, ...], holds: Callable[[Any, Any], bool]) -> Keyword:
    """Return a keyword that compares values of one kind and accepts all others."""

    def check(_checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is _NUMBER) or holds(expected, value):
            return []
        return [Violation(keyword, expected, value, schema)]

    return check


_NUMBER = (int, float)


def _is_multiple(divisor: float, value: float) -> bool:
    """Return whether a number is a multiple, by its decimal digits: 4.35 is a multiple of 0.01."""
    if isinstance(divisor, int) and isinstance(value, int):
        return value % divisor == 0
    return _fraction(value) % _fraction(divisor) == 0


def _fraction(number: float) -> Fraction:
    return Fraction(number if isinstance(number, int) else repr(number))


def _type(_checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    names = (expected,) if isinstance(expected, str) else expected
    return [] if any(TYPES[name](value) for name in names) else [Violation("type", expected, value, schema)]


def _allowed(keyword: str) -> Keyword:
    def check(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
        if checker.key(value) in checker.allowed_keys(schema, keyword):
            return []
        return [Violation(keyword, expected, value, schema)]

    return check


def _exclusive(keyword: str, holds: Callable[[Any, Any], bool]) -> Keyword:
    """Return a bound that is excluded. In draft 4 it is a switch beside the bound."""
    bound = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[keyword]
    compare = _simple(keyword, _NUMBER, holds)

    def check(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
        if expected is False:
            return []
        return compare(checker, schema[bound] if expected is True else expected, value, schema)

    return check


def _pattern(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    if isinstance(value, str) and checker.matches(expected, value) is False:
        return [Violation("pattern", expected, value, schema)]
    return []


def _unique_items(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    if not expected or not isinstance(value, list):
        return []
    if len(set(map(checker.key, value))) == len(value):
        return []
    return [Violation("uniqueItems", expected, value, schema)]


def _required(_checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    if not isinstance(value, dict) or not isinstance(expected, list | tuple):
        return []
    missing = list(islice((name for name in expected if name not in value), MAX_VIOLATIONS))
    return [Violation("required", missing, value, schema)] if missing else []


def _properties(checker: Checker, expected: Any, value: Any, _schema: Mapping[str, Any]) -> Violations:
    if not isinstance(value, dict):
        return []
    found: Violations = []
    for name, subschema in expected.items():
        if name in value:
            found += checker.check_member(subschema, value[name], name)
            if len(found) >= MAX_VIOLATIONS:
                break
    return found


def _pattern_properties(checker: Checker, expected: Any, value: Any, _schema: Mapping[str, Any]) -> Violations:
    if not isinstance(value, dict):
        return []
    return _first(
        checker.check_member(subschema, member, name)
        for pattern, subschema in expected.items()
        for name, member in value.items()
        if checker.matches(pattern, name)
    )


def _additional_properties(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    if not isinstance(value, dict) or expected is True:
        return []
    extras = extra_names(schema, value, checker.matches)
    if expected is False:
        return [Violation("additionalProperties", extras, value, schema)] if extras else []
    return _first(checker.check_member(expected, value[name], name) for name in extras)


def _property_names(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    if not isinstance(value, dict):
        return []
    judged = ((name, checker.check(expected, name)) for name in value)
    wrong = ((name, tuple(found)) for name, found in judged if found)
    return [
        Violation("propertyNames", expected, name, schema, branches=(found,))
        for name, found in islice(wrong, MAX_VIOLATIONS)
    ]


def _prefix_items(checker: Checker, expected: Any, value: Any, _schema: Mapping[str, Any]) -> Violations:
    if not isinstance(value, list):
        return []
    pairs = zip(expected, value, strict=False)
    return _first(checker.check_member(schema, member, at) for at, (schema, member) in enumerate(pairs))


def _items(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    if isinstance(expected, list | tuple):  # as in drafts before 2020-12
        return _prefix_items(checker, expected, value, schema)
    return _rest(checker, expected, value, len(schema.get("prefixItems", ())))


def _additional_items(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    before = schema.get("items")
    return _rest(checker, expected, value, len(before)) if isinstance(before, list | tuple) else []


def _rest(checker: Checker, expected: Any, value: Any, start: int) -> Violations:
    if not isinstance(value, list) or expected is True:
        return []
    return _first(checker.check_member(expected, value[at], at) for at in range(start, len(value)))


def _contains(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    if not isinstance(value, list):
        return []
    verdicts = [_judge(checker, expected, member) for member in value]
    fitting = sum(1 for found, is_sure in verdicts if is_sure and not found)
    possible = sum(1 for found, _ in verdicts if not found)
    if possible < schema.get("minContains", 1):
        return [Violation("contains", expected, value, schema)]
    if fitting > schema.get("maxContains", fitting):
        return [Violation("maxContains", expected, value, schema)]
    return []


def _all_of(checker: Checker, expected: Any, value: Any, _schema: Mapping[str, Any]) -> Violations:
    return _first(checker.check(subschema, value) for subschema in expected)


def _any_of(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    branches = []
    for subschema in expected:
        found, _ = _judge(checker, subschema, value)
        if not found:
            return []
        branches.append(tuple(found))
    return [Violation("anyOf", expected, value, schema, branches=tuple(branches[:MAX_VIOLATIONS]))]


def _one_of(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    verdicts = [_judge(checker, subschema, value) for subschema in expected]
    if sum(1 for found, is_sure in verdicts if is_sure and not found) > 1:
        return [Violation("oneOf", expected, value, schema)]
    if not all(found for found, _ in verdicts):
        return []
    branches = tuple(tuple(found) for found, _ in verdicts[:MAX_VIOLATIONS])
    return [Violation("oneOf", expected, value, schema, branches=branches)]


def _not(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    found, is_sure = _judge(checker, expected, value)
    return [] if found or not is_sure else [Violation("not", expected, value, schema)]


def _if(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    found, is_sure = _judge(checker, expected, value)
    return checker.check(schema.get("else" if found else "then", True), value) if is_sure else []


def _dependent_required(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    if not isinstance(value, dict):
        return []
    return _first(
        _required(checker, names, value, schema)
        for name, names in expected.items()
        if name in value and isinstance(names, list | tuple)
    )


def _dependent_schemas(checker: Checker, expected: Any, value: Any, _schema: Mapping[str, Any]) -> Violations:
    if not isinstance(value, dict):
        return []
    return _first(
        checker.check(subschema, value)
        for name, subschema in expected.items()
        if name in value and isinstance(subschema, Mapping | bool)
    )


def _dependencies(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    """Judge the keyword that drafts before 2019-09 have for the two above."""
    return _first(check(checker, expected, value, schema) for check in (_dependent_required, _dependent_schemas))


def _reference(keyword: str) -> Keyword:
    def check(checker: Checker, _expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
        return checker.check_target(schema, keyword, value)

    return check


def _unevaluated_properties(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    if not isinstance(value, dict) or expected is True:
        return []
    is_evaluated = checker.evaluated(schema, value)
    if expected is False:
        extras = [name for name in value if not is_evaluated(name)]
        return [Violation("unevaluatedProperties", extras, value, schema)] if extras else []
    return _first(checker.check_member(expected, value[name], name) for name in value if not is_evaluated(name))


def _unevaluated_items(checker: Checker, expected: Any, value: Any, schema: Mapping[str, Any]) -> Violations:
    if not isinstance(value, list) or expected is True:
        return []
    is_evaluated = checker.evaluated(schema, value)
    return _first(checker.check_member(expected, member, at) for at, member in enumerate(value) if not is_evaluated(at))


def _judge(checker: Checker, schema: Any, value: Any) -> tuple[Violations, bool]:
    """Return the violations of a value, and whether it is sure that these are all. One violation is always sure."""
    before = checker.doubts
    found = checker.check(schema, value)
    if found:
        checker.doubts = before
    return found, checker.doubts == before


def _first(parts: Iterator[Violations]) -> Violations:
    """Return the violations of all parts, and stop after `MAX_VIOLATIONS`."""
    found: Violations = []
    for part in parts:
        if part:
            found += part
            if len(found) >= MAX_VIOLATIONS:
                break
    return found


KEYWORDS: Final[Mapping[str, Keyword]] = {
    "$ref": _reference("$ref"),
    "$dynamicRef": _reference("$dynamicRef"),
    "$recursiveRef": _reference("$recursiveRef"),
    "type": _type,
    "enum": _allowed("enum"),
    "const": _allowed("const"),
    "minimum": _simple("minimum", _NUMBER, lambda least, value: value >= least),
    "maximum": _simple("maximum", _NUMBER, lambda most, value: value <= most),
    "exclusiveMinimum": _exclusive("exclusiveMinimum", lambda bound, value: value > bound),
    "exclusiveMaximum": _exclusive("exclusiveMaximum", lambda bound, value: value < bound),
    "multipleOf": _simple("multipleOf", _NUMBER, _is_multiple),
    "minLength": _simple("minLength", str, lambda least, value: len(value) >= least),
    "maxLength": _simple("maxLength", str, lambda most, value: len(value) <= most),
    "minItems": _simple("minItems", list, lambda least, value: len(value) >= least),
    "maxItems": _simple("maxItems", list, lambda most, value: len(value) <= most),
    "minProperties": _simple("minProperties", dict, lambda least, value: len(value) >= least),
    "maxProperties": _simple("maxProperties", dict, lambda most, value: len(value) <= most),
    "pattern": _pattern,
    "uniqueItems": _unique_items,
    "required": _required,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "prefixItems": _prefix_items,
    "items": _items,
    "additionalItems": _additional_items,
    "contains": _contains,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
    "dependencies": _dependencies,
    "unevaluatedProperties": _unevaluated_properties,
    "unevaluatedItems": _unevaluated_items,
}
"""The keywords that are judged, by name. All other keywords are annotations."""
