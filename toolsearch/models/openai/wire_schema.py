"""Conversion of tool schemas to what a provider accepts. Arguments are still validated against the original."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from ..profiles import ProviderProfile
from .valid_schema import valid_schema

__all__ = ["wire_schema"]

Json: TypeAlias = dict[str, Any]

_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = frozenset(
    {"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems"}
    | {"unevaluatedProperties"}
)
_PLAIN = frozenset(
    {"type", "enum", "const", "required", "title", "description", "default", "examples", "format", "pattern"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"}
    | {"minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties"}
    | {"$ref", "$schema", "$id", "$comment", "dependentRequired", "deprecated", "readOnly", "writeOnly"}
    | {"contentEncoding", "contentMediaType", "nullable"}
)
_KNOWN = _PLAIN.union(_NAMED, _LISTS, _SINGLE)
_UNIONS = ("anyOf", "oneOf", "allOf")
_TOP_LEVEL = (*_UNIONS, "enum", "not", "const", "if", "then", "else", "$ref")
_LOOKS = re.compile(r"\(\?[=!<]")
_MAX_NODES = 5_000
_MAX_PATTERN = 1_000
_MAX_HINT = 400


def wire_schema(parameters: Mapping[str, Any], profile: ProviderProfile) -> tuple[Json, list[str]]:
    """Return the schema to send for `parameters`, and sentences about what it no longer says.

    The result is an object with properties and without alternatives at the top. Keywords that are unknown, or that the
    profile refuses, are left out, and so are references that lead nowhere. It is no deeper and no longer than the
    profile allows: details are left out, the innermost first.

    Raises:
        ValueError: If the schema cannot be made short enough.

    Example:
        >>> from toolsearch.models.profiles import PROFILES
        >>> one_of = {"anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]}
        >>> wire_schema(one_of, PROFILES["openai"])
        ({'type': 'object', 'properties': {'a': {}, 'b': {}}}, ['Give one of: a; b.'])
    """
    root = valid_schema(_without_odd_numbers(parameters, 0))
    flat, hints = _flatten(root, root)
    for depth in (profile.max_schema_depth, 8, 4, 2, 1):
        schema = _Encoding(profile, root, depth).encode_root(flat)
        if len(json.dumps(schema, ensure_ascii=False, allow_nan=False)) <= profile.max_schema_characters:
            return schema, hints
    raise ValueError("the schema is too long")


def _without_odd_numbers(value: Any, depth: int) -> Any:
    """Return a copy without NaN and infinite numbers, which are not JSON."""
    if depth > 200:
        return {}
    if isinstance(value, Mapping):
        return {
            str(key): _without_odd_numbers(item, depth + 1) for key, item in value.items() if not _is_odd_number(item)
        }
    if isinstance(value, list | tuple):
        return [_without_odd_numbers(item, depth + 1) for item in value if not _is_odd_number(item)]
    return value


def _is_odd_number(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _flatten(schema: Json, root: Json) -> tuple[Json, list[str]]:
    """Return an object schema without alternatives at the top, and what it no longer says."""
    properties: Json = {}
    required: list[str] = []
    hints: list[str] = []
    _merge(schema, root, properties, required, hints, 0)
    kept = {keyword: value for keyword, value in schema.items() if keyword not in _TOP_LEVEL}
    known = [name for name in dict.fromkeys(required) if name in properties]
    flat = {"type": "object", **kept, "properties": properties, "required": known}
    flat["type"] = "object"
    if not known:
        del flat["required"]
    return flat, hints


def _merge(part: Json, root: Json, properties: Json, required: list[str], hints: list[str], depth: int) -> None:
    """Add the properties of a schema and of its alternatives."""
    if depth > 8:
        return
    target = _resolve(part.get("$ref"), root)
    if target is not None:
        _merge(target, root, properties, required, hints, depth + 1)
    for name, schema in _mapping(part.get("properties")).items():
        if name not in properties:
            properties[name] = schema
        elif properties[name] != schema:
            properties[name] = {"anyOf": [*_alternatives(properties[name]), schema][:10]}
    required += part.get("required") or []
    for branch in part.get("allOf") or ():
        if isinstance(branch, Mapping):
            _merge(dict(branch), root, properties, required, hints, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        branches = [dict(branch) for branch in part.get(keyword) or () if isinstance(branch, Mapping)]
        needs: list[list[str]] = []
        for branch in branches:
            needed: list[str] = []
            before = set(properties)
            _merge(branch, root, properties, needed, hints, depth + 1)
            needs.append(list(dict.fromkeys(needed)) or [name for name in properties if name not in before])
        if branches:
            every = [name for name in needs[0] if all(name in other for other in needs)]
            required += [name for name in every if all(name in (branch.get("required") or ()) for branch in branches)]
            shown = list(dict.fromkeys(" and ".join(names) for names in needs if names))
            if len(shown) > 1:
                hints.append(f"Give one of: {'; '.join(shown)}."[:_MAX_HINT])


def _alternatives(schema: Any) -> list[Any]:
    return list(schema["anyOf"]) if isinstance(schema, Mapping) and set(schema) == {"anyOf"} else [schema]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _resolve(reference: Any, root: Json) -> Json | None:
    """Return what a reference within the schema leads to, or None."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            return None
    return dict(found) if isinstance(found, Mapping) else None


class _Encoding:
    """The encoding of one schema: a copy without what the profile refuses."""

    def __init__(self, profile: ProviderProfile, root: Json, max_depth: int) -> None:
        self._profile = profile
        self._root = root
        self._max_depth = max_depth
        self._nodes = 0
        self._brief = max_depth <= 8 < profile.max_schema_depth  # the schema was too long before

    def encode_root(self, schema: Json) -> Json:
        """Encode the whole schema."""
        encoded = self._encode(schema, 0, ())
        return encoded if "properties" in encoded else {**encoded, "properties": {}}

    def _member(self, schema: Any, depth: int, path: tuple[str, ...]) -> Any:
        return self._encode(schema, depth, path) if isinstance(schema, Mapping) else {}

    def _encode(self, schema: Mapping[str, Any], depth: int, path: tuple[str, ...]) -> Json:
        self._nodes += 1
        if depth >= self._max_depth or self._nodes > _MAX_NODES:
            return _outline(schema, may_nest=depth < self._profile.max_schema_depth)
        if "$ref" in schema:
            target = _resolve(schema["$ref"], self._root)
            if not self._keeps_reference(schema["$ref"], target):
                others = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
                if target is None or schema["$ref"] in path:
                    return self._encode({**_outline(target or {}), **others}, depth, path)
                return self._encode({**target, **others}, depth, (*path, schema["$ref"]))
        encoded: Json = {}
        for keyword, value in schema.items():
            if keyword in _KNOWN and keyword not in self._profile.refused_keywords and keyword != "nullable":
                self._keyword(encoded, keyword, value, schema, depth, path)
        self._complete(encoded, schema)
        return encoded

    def _keeps_reference(self, reference: Any, target: Json | None) -> bool:
        if target is None or not self._profile.references:
            return False
        # A flattened schema has no other parts that a reference could lead to.
        return str(reference).startswith(("#/$defs/", "#/definitions/"))

    def _keyword(
        self, encoded: Json, keyword: str, value: Any, schema: Mapping[str, Any], depth: int, path: tuple[str, ...]
    ) -> None:
        if keyword in _NAMED:
            if keyword in ("$defs", "definitions") and (depth > 0 or not self._profile.references):
                return
            names = _mapping(value)
            if keyword == "properties":
                names = {name: one for name, one in names.items() if self._accepts(name) and one is not False}
            elif keyword == "patternProperties":
                names = {name: one for name, one in names.items() if self._accepts_pattern(name)}
            encoded[keyword] = {name: self._member(one, depth + 1, path) for name, one in names.items()}
        elif keyword in _LISTS:
            encoded[keyword] = [self._member(one, depth + 1, path) for one in value]
        elif keyword in _SINGLE:
            if isinstance(value, list):  # `items` of older drafts
                encoded[keyword] = self._member(value[0], depth + 1, path)
            elif isinstance(value, bool):
                if keyword.startswith(("additional", "unevaluated")):
                    encoded[keyword] = value
                elif value:
                    encoded[keyword] = {}
            else:
                encoded[keyword] = self._member(value, depth + 1, path)
        elif keyword == "required":
            properties = [name for name, one in _mapping(schema.get("properties")).items() if one is not False]
            known = [name for name in dict.fromkeys(value) if name in properties and self._accepts(name)]
            if known:
                encoded[keyword] = known
        elif keyword == "pattern":
            if self._accepts_pattern(value):
                encoded[keyword] = value
        elif keyword == "enum" and self._profile.text_enums_only and not all(isinstance(one, str) for one in value):
            shown = json.dumps(value, ensure_ascii=False, default=str)
            encoded["description"] = f"{schema.get('description', '')} One of {shown}."[:_MAX_HINT].strip()
        elif keyword == "description" and keyword in encoded:
            return
        elif keyword in ("title", "default", "examples", "$comment", "$schema", "$id") and (self._brief or depth == 0):
            if keyword == "title" and not self._brief:
                encoded[keyword] = value
        else:
            encoded[keyword] = value[:100] if self._brief and isinstance(value, str) else value

    def _accepts(self, name: str) -> bool:
        return re.fullmatch(self._profile.property_names, name, re.DOTALL) is not None

    def _accepts_pattern(self, pattern: str) -> bool:
        if self._profile.patterns == "none" or len(pattern) > _MAX_PATTERN or _LOOKS.search(pattern):
            return False
        if self._profile.patterns == "anchored" and not (pattern.startswith("^") and pattern.endswith("$")):
            return False
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError):
            return False
        return True

    def _complete(self, encoded: Json, schema: Mapping[str, Any]) -> None:
        """Add what follows from the other keywords, and what replaces a keyword that the profile refuses."""
        refused = self._profile.refused_keywords
        if "const" in refused and "const" in schema and isinstance(schema["const"], str) and "enum" not in encoded:
            encoded["enum"] = [schema["const"]]
        if "allOf" in refused and "allOf" in schema:
            for branch in schema["allOf"]:
                if isinstance(branch, Mapping):
                    for keyword, value in self._encode(branch, self._max_depth - 1, ()).items():
                        encoded.setdefault(keyword, value)
        if "type" not in encoded and not encoded.keys() & {"anyOf", "oneOf", "allOf", "$ref"}:
            kinds = [one for keyword, one in _IMPLIED.items() if keyword in encoded]
            if "enum" in encoded and all(isinstance(one, str) for one in encoded["enum"]):
                kinds.append("string")
            if kinds:
                encoded["type"] = kinds[0]
        types = encoded.get("type")
        if schema.get("nullable") is True and isinstance(types, str) and types != "null":
            types = encoded["type"] = [types, "null"]
        if isinstance(types, list | tuple):
            encoded["type"] = list(dict.fromkeys(types))
            if not self._profile.type_lists:
                _replace_type_list(encoded)
        if encoded.get("type") == "array" and not encoded.keys() & {"items", "prefixItems"}:
            encoded["items"] = {}
        if isinstance(encoded.get("type"), list) and "array" in encoded["type"] and "items" not in encoded:
            encoded["items"] = {}
        if encoded.get("type") != "object" and "required" in encoded and "properties" not in encoded:
            del encoded["required"]


_IMPLIED = {"properties": "object", "items": "array"}


def _outline(schema: Mapping[str, Any], *, may_nest: bool = True) -> Json:
    """Return a schema without its parts."""
    outline = {keyword: schema[keyword] for keyword in ("type", "description") if keyword in schema}
    if isinstance(outline.get("type"), list | tuple):
        del outline["type"]
    if outline.get("type") == "array":
        if may_nest:
            outline["items"] = {}
        else:
            del outline["type"]  # an array needs items, which would be too deep
    return outline


def _replace_type_list(encoded: Json) -> None:
    """Write a list of types as `nullable`, or as alternatives."""
    types = encoded.pop("type")
    others = [one for one in types if one != "null"]
    if len(others) == 1:
        encoded["type"] = others[0]
    elif others and "anyOf" not in encoded:
        encoded["anyOf"] = [{"type": one, **({"items": {}} if one == "array" else {})} for one in others]
    if others and "null" in types:
        encoded["nullable"] = True
