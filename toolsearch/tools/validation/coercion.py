"""Coercion of arguments whose meaning is clear, although their form does not fit the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...text import replace_surrogates_in
from .json_values import TYPES
from .steps import Steps

__all__ = ["coerce_arguments", "drop_unfit"]

MAX_ALTERNATIVES = 32
MAX_REFERENCES = 8


def coerce_arguments(schema: Mapping[str, Any], arguments: dict[str, Any], steps: Steps) -> dict[str, Any]:
    """Return arguments in the form that the schema wants, where models often write another one.

    - A string that holds JSON of a type that the schema wants is decoded, if the schema does not accept strings.
    - ``null`` for a property that is optional and does not accept null is left out.

    Everything else stays as it is. `arguments` itself is not changed.

    Args:
        schema: The JSON Schema of the tool. It can be invalid.
        arguments: The arguments that the model sent.
        steps: The budget.

    Raises:
        OutOfStepsError: If the budget is used up.

    Example:
        >>> properties = {"tags": {"type": "array"}, "page": {"type": "integer"}}
        >>> coerce_arguments({"properties": properties}, {"tags": '["a"]', "page": None}, Steps(1000))
        {'tags': ['a']}
    """
    coerced = _Coercion(schema, steps).coerce(schema, arguments)
    return coerced if isinstance(coerced, dict) else arguments


def drop_unfit(schema: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments without unknown ones, and without optional ones of a wrong type.

    Example:
        >>> schema = {"properties": {"query": {"type": "string"}, "n": {"type": "integer"}}, "required": ["query"]}
        >>> drop_unfit(schema, {"query": "a", "n": "many", "why": "b"})
        {'query': 'a'}
    """
    properties, required = schema["properties"], schema["required"]
    return {
        name: value
        for name, value in arguments.items()
        if name in properties and (name in required or TYPES[properties[name]["type"]](value))
    }


class _Coercion:
    def __init__(self, root: Mapping[str, Any], steps: Steps) -> None:
        self._root = root
        self._steps = steps

    def coerce(self, schema: Any, value: Any) -> Any:
        self._steps.spend()
        if isinstance(value, str):
            return self._decoded(schema, value)
        if isinstance(value, dict):
            return self._members(list(self._alternatives(schema)), value)
        if isinstance(value, list):
            alternatives = list(self._alternatives(schema))
            return [self.coerce(self._item(alternatives, at), member) for at, member in enumerate(value)]
        return value

    def _members(self, alternatives: list[Mapping[str, Any]], value: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name, member in value.items():
            schema = self._property(alternatives, name)
            coerced = self.coerce(schema, member)
            is_left_out = coerced is None and schema is not None and not self._accepts(schema, None)
            if is_left_out and self._is_optional(alternatives, name):
                continue
            kept[name] = member if is_left_out else coerced
        return kept

    def _decoded(self, schema: Any, text: str) -> Any:
        """Return the value that a string holds as JSON, if the schema wants a value of its type and not a string."""
        stripped = text.strip()
        if not stripped or (stripped[0] not in '{["-0123456789' and stripped not in ("true", "false", "null")):
            return text
        if self._accepts(schema, text):
            return text
        self._steps.spend(text.count(",") + len(text) // 1000)
        try:
            value = json.loads(stripped, parse_constant=_reject, parse_float=_finite)
        except (ValueError, RecursionError):
            return text
        if isinstance(value, str):
            return text if value == text else self._decoded(schema, value)
        if value is not None and not self._accepts(schema, value):
            return text
        return self.coerce(schema, replace_surrogates_in(value))

    def _alternatives(self, schema: Any) -> Iterator[Mapping[str, Any]]:
        """Yield a schema and the schemas that its references and combinations lead to."""
        pending, seen = [schema], 0
        while pending and seen < MAX_ALTERNATIVES:
            current, seen = pending.pop(0), seen + 1
            self._steps.spend()
            if not isinstance(current, Mapping):
                continue
            yield current
            if isinstance(reference := current.get("$ref"), str):
                pending.append(self._target(reference))
            for keyword in ("anyOf", "oneOf", "allOf"):
                pending.extend(self._branches(current, keyword))

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#"):
            return None
        target: Any = self._root
        for part in reference[1:].split("/")[1 : MAX_REFERENCES + 1]:
            key = part.replace("~1", "/").replace("~0", "~")
            target = target.get(key) if isinstance(target, Mapping) else None
        return target

    def _accepts(self, schema: Any, value: Any) -> bool:
        """Return whether a schema accepts the type of a value, and the value itself if it lists its values."""
        return self._accepts_within(schema, value, MAX_REFERENCES)

    def _accepts_within(self, schema: Any, value: Any, depth: int) -> bool:
        self._steps.spend()
        if not isinstance(schema, Mapping) or depth <= 0:
            return schema is not False
        kinds = schema.get("type")
        names = [kinds] if isinstance(kinds, str) else kinds
        if isinstance(names, list | tuple) and names:
            tests = [TYPES.get(kind) for kind in names if isinstance(kind, str)]
            if not any(test is None or test(value) for test in tests):
                return False
        if isinstance(values := schema.get("enum"), list | tuple) and not isinstance(value, dict | list):
            self._steps.spend(len(values))
            if not any(known == value and isinstance(known, bool) == isinstance(value, bool) for known in values):
                return False
        if "const" in schema and not isinstance(value, dict | list) and schema["const"] != value:
            return False
        reference = schema.get("$ref")
        required = [self._target(reference)] if isinstance(reference, str) else []
        required += self._branches(schema, "allOf")
        choices = [branches for keyword in ("anyOf", "oneOf") if (branches := self._branches(schema, keyword))]
        return all(self._accepts_within(branch, value, depth - 1) for branch in required) and all(
            any(self._accepts_within(branch, value, depth - 1) for branch in branches) for branches in choices
        )

    @staticmethod
    def _branches(schema: Mapping[str, Any], keyword: str) -> list[Any]:
        branches = schema.get(keyword)
        return list(branches[:MAX_ALTERNATIVES]) if isinstance(branches, list | tuple) else []

    @staticmethod
    def _property(alternatives: list[Mapping[str, Any]], name: str) -> Any:
        """Return the schema of a property: the first that an alternative has; None if there is none."""
        for keyword in ("properties", "additionalProperties"):
            for schema in alternatives:
                found = schema.get(keyword)
                if keyword == "properties":
                    found = found.get(name) if isinstance(found, Mapping) else None
                if isinstance(found, Mapping):
                    return found
        return None

    @staticmethod
    def _is_optional(alternatives: list[Mapping[str, Any]], name: str) -> bool:
        required = (schema.get("required") for schema in alternatives)
        return not any(isinstance(names, list | tuple) and name in names for names in required)

    @staticmethod
    def _item(alternatives: list[Mapping[str, Any]], at: int) -> Any:
        for schema in alternatives:
            first = schema.get("prefixItems")
            if isinstance(first, list | tuple) and at < len(first):
                return first[at]
            if isinstance(schema.get("items"), Mapping):
                return schema["items"]
        return None


def _reject(text: str) -> Any:
    raise ValueError(f"{text} is not valid JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:20]} is too large")
    return number
