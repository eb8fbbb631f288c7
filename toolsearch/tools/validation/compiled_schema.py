"""Schemas prepared for validation: their form is checked and their references are resolved, once for each schema."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeAlias
from urllib.parse import unquote, urljoin

from ...text import clip
from .json_values import json_key
from .schema_shape import invalid_keywords, subschemas
from .steps import OutOfStepsError, Steps

__all__ = ["CompiledSchema"]

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_OLD_DRAFT = re.compile(r"draft-0[3-7]")
_DRAFT_4 = re.compile(r"draft-0[34]")
_BYTES_PER_STEP = 90
MAX_NAMES = 30
MAX_NAME_CHARACTERS = 200

_Place: TypeAlias = "tuple[_Place, str] | None"


class CompiledSchema:
    """A JSON Schema that can be used to validate.

    Args:
        schema: The schema. It must not be changed afterwards.
        max_steps: The budget of the preparation.

    Attributes:
        schema: The schema; an empty one if it is invalid or too large.
        problem: The place of a keyword of the wrong form, such as ``/properties/n/minimum``; an empty string if the
            schema is valid.
        reference_alone: Whether the keywords beside a ``$ref`` are ignored, as in drafts before 2019-09.
        is_too_large: Whether the budget does not suffice. Then the schema is not prepared.
        size: A rough number of bytes that the schema takes.
        is_logged: Whether it was logged that arguments are too much work to be validated.

    Example:
        >>> CompiledSchema({"properties": {"n": {"minimum": "three"}}}).problem
        '/properties/n/minimum'
    """

    def __init__(self, schema: Mapping[str, Any], max_steps: int = 40_000) -> None:
        steps = Steps(max_steps)
        self.schema = schema
        draft = schema.get("$schema")
        draft = draft[:200] if isinstance(draft, str) else ""
        self.reference_alone = bool(_OLD_DRAFT.search(draft))
        self.is_logged = False
        self._id_keyword = "id" if _DRAFT_4.search(draft) else "$id"
        self._targets: dict[tuple[int, str], Any] = {}
        self._allowed: dict[tuple[int, str], frozenset[str]] = {}
        self._resources: dict[str, Any] = {"": schema}
        self._anchors: dict[tuple[str, str], Any] = {}
        self._dynamic_names: Counter[str] = Counter()
        self._seen: set[int] = set()
        self._waiting: list[tuple[Mapping[str, Any], str]] = []
        self.problem = ""
        self.is_too_large = False
        held = 0
        try:
            self.problem = self._read(schema, "", steps)
            if not self.problem:
                self._resolve_references(steps)
            held = _held_bytes(schema, steps)
        except OutOfStepsError:
            self.is_too_large = True
        if self.problem or self.is_too_large:  # not used to validate, so not kept alive
            self.schema = {}
            self._targets.clear()
        for helper in (self._resources, self._anchors, self._dynamic_names, self._seen, self._waiting):
            helper.clear()
        self.size = 1_000 + (0 if self.is_too_large else held + _BYTES_PER_STEP * (max_steps - steps.left))

    def target(self, schema: Mapping[str, Any], keyword: str) -> Any:
        """Return the schema that a reference in `schema` leads to, or None if that cannot be told."""
        return self._targets.get((id(schema), keyword))

    def allowed_keys(self, schema: Mapping[str, Any], keyword: str, steps: Steps) -> frozenset[str]:
        """Return the keys of the values that `const` or `enum` allows; see `json_key`."""
        place = id(schema), keyword
        if place not in self._allowed:
            values = schema[keyword] if keyword == "enum" else [schema[keyword]]
            self._allowed[place] = frozenset(json_key(value, steps) for value in values)
        return self._allowed[place]

    def _read(self, start: Any, base: str, steps: Steps) -> str:
        """Check the form of a schema and its parts, and note what references can lead to. Return a problem.

        The place of a part is a pair of the outer place and a string: whole places would take quadratic memory.
        """
        parts: list[tuple[Any, _Place, str]] = [(start, None, base)]
        while parts:
            schema, path, base = parts.pop()
            if isinstance(schema, bool):
                continue
            if not isinstance(schema, Mapping):
                return _written(path) or "/"
            if id(schema) in self._seen:
                continue
            self._seen.add(id(schema))
            steps.spend(1 + len(schema))
            for keyword in invalid_keywords(schema, steps):
                return _written((path, keyword))
            base = self._note(schema, base)
            parts += [(part, (path, place), base) for place, part in subschemas(schema, steps)]
        return ""

    def _note(self, schema: Mapping[str, Any], base: str) -> str:
        """Note the names of a schema and its references. Return the base of its references."""
        name = schema.get(self._id_keyword)
        if isinstance(name, str):
            if name.startswith("#"):
                self._anchors[base, name[1:]] = schema
            else:
                base = _joined(base, name).partition("#")[0]
                self._resources.setdefault(base, schema)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                self._anchors[base, schema[keyword]] = schema
        if isinstance(schema.get("$dynamicAnchor"), str):
            self._dynamic_names[f"#{schema['$dynamicAnchor']}"] += 1
        if schema.get("$recursiveAnchor") is True:
            self._dynamic_names["#"] += 1
        if any(keyword in schema for keyword in _REFERENCES):
            self._waiting.append((schema, base))
        return base

    def _resolve_references(self, steps: Steps) -> None:
        """Find the targets of all references, also of those in targets that are not a part of the schema itself."""
        broken: set[int] = set()
        while self._waiting:
            schema, base = self._waiting.pop()
            for keyword in _REFERENCES:
                reference = schema.get(keyword)
                if not isinstance(reference, str):
                    continue
                steps.spend(1 + len(reference) // 10)
                if keyword != "$ref" and self._dynamic_names[f"#{reference.partition('#')[2]}"] > 1:
                    continue  # the target depends on how the validation came here
                target = self._find(reference, base)
                if isinstance(target, Mapping) and id(target) not in self._seen and self._read(target, base, steps):
                    broken.add(id(target))
                if isinstance(target, Mapping | bool) and id(target) not in broken:
                    self._targets[id(schema), keyword] = target

    def _find(self, reference: str, base: str) -> Any:
        """Return what a reference leads to inside the schema, or None."""
        address, _, fragment = (reference if reference.startswith("#") else _joined(base, reference)).partition("#")
        address = base if reference.startswith("#") else address
        found = self._resources.get(address)
        if not fragment or found is None:
            return found
        if not fragment.startswith("/"):
            return self._anchors.get((address, unquote(fragment)))
        for token in unquote(fragment)[1:].split("/"):
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping):
                found = found.get(key)
            elif isinstance(found, list | tuple):
                found = found[int(key)] if key.isdecimal() and int(key[:9]) < len(found) else None
            else:
                return None
        return found


def _held_bytes(schema: Any, steps: Steps) -> int:
    """Return roughly how many bytes the strings and members of a schema take, also of its annotations."""
    total = 0
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            total += len(value)
            continue
        if isinstance(value, Mapping):
            total += sum(map(len, map(str, value)))
            value = value.values()
        elif not isinstance(value, list | tuple):
            continue
        steps.spend(len(value) // 8)
        total += 50 * len(value)
        pending += value
    return total


def _written(place: _Place) -> str:
    """Return a place such as ``/properties/n``."""
    keys: list[str] = []
    while place is not None:
        place, key = place
        keys.append(clip(key, MAX_NAME_CHARACTERS))
    start = "..." if len(keys) > MAX_NAMES else ""
    return start + "".join(f"/{key}" for key in reversed(keys[:MAX_NAMES]))


def _joined(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference)
    except ValueError:  # not an address
        return reference
