"""The members of a value that other keywords judge, for `unevaluatedProperties` and `unevaluatedItems`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .keywords import Checker

__all__ = ["EvaluatedMembers"]


class EvaluatedMembers:
    """The members of one value that the keywords beside `unevaluated...` judge.

    Args:
        checker: Judges the value against parts of the schema.
        target: Returns the schema that a reference leads to, or None if that cannot be told.
        value: The list or object.
    """

    def __init__(self, checker: Checker, target: Callable[[Mapping[str, Any], str], Any], value: Any) -> None:
        self._checker = checker
        self._target = target
        self._value = value
        self._keys: set[str | int] = set()
        self._all = False
        self._seen: set[int] = set()

    def __contains__(self, key: str | int) -> bool:
        """Return whether a member is judged."""
        return self._all or key in self._keys

    def add(self, schema: Any, *, nested: bool = False) -> None:
        """Add the members that `schema` judges, with the schemas that apply to the same value."""
        if not isinstance(schema, Mapping) or id(schema) in self._seen or self._all:
            return
        self._seen.add(id(schema))
        self._checker.steps.spend(1 + len(schema))
        if isinstance(self._value, dict):
            self._add_properties(schema, nested)
        else:
            self._add_items(schema, nested)
        for part in self._applied(schema):
            self.add(part, nested=True)

    def _applied(self, schema: Mapping[str, Any]) -> list[Any]:
        """Return the schemas inside `schema` that apply to the value and accept it."""
        check, value = self._checker.check, self._value
        found = list(schema.get("allOf", ()))
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in schema:
                target = self._target(schema, keyword)
                self._all |= target is None
                found.append(target)
        for keyword in ("anyOf", "oneOf"):
            found += [part for part in schema.get(keyword, ()) if not check(part, value)]
        if "if" in schema:
            before = self._checker.doubts
            fits = not check(schema["if"], value)
            found += [schema["if"], schema.get("then")] if fits else []
            if not fits or self._checker.doubts != before:
                found.append(schema.get("else"))
        if isinstance(value, dict):
            dependent = schema.get("dependentSchemas", {})
            found += [part for name, part in dependent.items() if name in value]
        return found

    def _add_properties(self, schema: Mapping[str, Any], nested: bool) -> None:
        known = schema.get("properties", {})
        patterns = schema.get("patternProperties", {})
        self._checker.steps.spend(len(self._value) // 8)
        self._keys.update(name for name in self._value if name in known)
        for pattern in patterns:
            # A pattern that cannot be judged counts as met.
            self._keys.update(name for name in self._value if self._checker.matches(pattern, name) is not False)
        self._all |= "additionalProperties" in schema or (nested and "unevaluatedProperties" in schema)

    def _add_items(self, schema: Mapping[str, Any], nested: bool) -> None:
        items = schema.get("items")
        prefix = items if isinstance(items, list | tuple) else schema.get("prefixItems", ())
        self._keys.update(range(min(len(prefix), len(self._value))))
        self._all |= ("items" in schema and prefix is not items) or (nested and "unevaluatedItems" in schema)
        self._all |= prefix is items and "additionalItems" in schema
        if "contains" in schema and not self._all:
            contained = schema["contains"]
            fitting = (at for at, member in enumerate(self._value) if not self._checker.check(contained, member))
            self._keys.update(fitting)
