"""Coercion of arguments whose meaning is clear, although their form does not fit the schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...text import replace_surrogates_in
from .json_values import TYPES
from .steps import Steps

__all__ = ["adapt_arguments", "coerce_arguments", "without_fence"]

MAX_ALTERNATIVES = 32
MAX_REFERENCES = 8

_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_EMPTY = ("", "null", "None")
_SEPARATORS = frozenset(",;\n[{")
_FENCE = re.compile(r"```\w*\s(?P<inside>[^`]*)```")


def coerce_arguments(schema: Mapping[str, Any], arguments: dict[str, Any], steps: Steps) -> dict[str, Any]:
    """Return arguments in the form that the schema wants, where models often write another one.

    - A string that holds JSON of a type that the schema wants is decoded, if the schema does not accept strings.
    - ``null`` for a property that is optional and does not accept null is left out. So is an empty string.
    - One item becomes a list of it, if the schema wants a list.
    - A string that differs from one listed value only by case or white space becomes this value.

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


def adapt_arguments(schema: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of one of the library's own tools, as far as it can use them.

    Unknown arguments, and optional ones of a wrong type, are left out. A required string can be a list of strings, or
    the only text, under another name.

    Example:
        >>> schema = {"properties": {"query": {"type": "string"}, "n": {"type": "integer"}}, "required": ["query"]}
        >>> adapt_arguments(schema, {"query": "a", "n": "many", "why": "b"})
        {'query': 'a'}
        >>> adapt_arguments(schema, {"keywords": ["a", "b"], "n": 2})
        {'n': 2, 'query': 'a b'}
    """
    properties, required = schema["properties"], schema["required"]
    kept = {
        name: value
        for name, value in arguments.items()
        if name in properties and (name in required or TYPES[properties[name]["type"]](value))
    }
    missing = [name for name in required if not isinstance(kept.get(name), str)]
    if len(missing) == 1 and properties[missing[0]]["type"] == "string":
        given = [kept[missing[0]]] if missing[0] in kept else [v for n, v in arguments.items() if n not in properties]
        texts = [text for value in given if (text := _joined(value))]
        if len(texts) == 1:
            kept[missing[0]] = texts[0]
    return kept


def _joined(value: Any) -> str:
    """Return a string, a number or a list of them as one string; an empty string for other values."""
    parts = value if isinstance(value, list) else [value]
    is_text = all(isinstance(part, str | int | float) and not isinstance(part, bool) for part in parts)
    return " ".join(map(str, parts)).strip() if is_text else ""


def without_fence(text: str) -> str:
    """Return a string without white space, and a code fence, around it.

    Example:
        >>> without_fence("```json\\n[1]\\n```")
        '[1]'
    """
    stripped = text.strip().strip("\ufeff").strip()
    found = _FENCE.fullmatch(stripped) if stripped.startswith("```") else None
    return stripped if found is None else found["inside"].strip()


class _Coercion:
    def __init__(self, root: Mapping[str, Any], steps: Steps) -> None:
        self._root = root
        self._steps = steps

    def coerce(self, schema: Any, value: Any) -> Any:
        self._steps.spend()
        if isinstance(value, str):
            value = self._decoded(schema, value)
        if isinstance(value, str | int | float | dict) and not self._accepts(schema, value):
            return self._converted(schema, value)
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
            stands_for_none = coerced is None or (isinstance(coerced, str) and coerced.strip() in _EMPTY)
            is_left_out = stands_for_none and schema is not None and not self._accepts(schema, coerced)
            if is_left_out and self._is_optional(alternatives, name):
                continue
            kept[name] = member if is_left_out else coerced
        return kept

    def _converted(self, schema: Any, value: Any) -> Any:
        """Return a value in the only form of it that the schema accepts, or the value itself."""
        if isinstance(value, str):
            same = [known for known in self._listed(schema) if known.strip().casefold() == value.strip().casefold()]
            if len(same) == 1 and self._accepts(schema, same[0]):
                return same[0]
        is_one_item = not isinstance(value, str) or not (set(value) & _SEPARATORS or value.strip() in _EMPTY)
        if is_one_item and self._accepts(schema, []):
            item = self._item(list(self._alternatives(schema)), 0)
            coerced = self.coerce(item, value)
            if isinstance(item, Mapping) and self._accepts(item, coerced):
                return [coerced]
        return self._members(list(self._alternatives(schema)), value) if isinstance(value, dict) else value

    def _listed(self, schema: Any) -> list[str]:
        """Return the strings that a schema lists as its values."""
        lists = [one["enum"] for one in self._alternatives(schema) if isinstance(one.get("enum"), list | tuple)]
        self._steps.spend(sum(map(len, lists)))
        return list({known: None for values in lists for known in values if isinstance(known, str)})

    def _decoded(self, schema: Any, text: str) -> Any:
        """Return the value that a string holds as JSON, if the schema wants a value of its type and not a string."""
        stripped = _PYTHON_WORDS.get(stripped := without_fence(text), stripped)
        if not stripped or (stripped[0] not in '{["-0123456789' and stripped not in ("true", "false", "null")):
            return text
        if self._accepts(schema, text):
            return text
        self._steps.spend(text.count(",") + len(text) // 1000)
        try:
            value = json.loads(stripped, parse_constant=_reject, parse_float=_finite, strict=False)
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
