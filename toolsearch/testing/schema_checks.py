"""Checks of tool schemas: what a provider rejects, by its profile."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from ..models.profiles import ProviderProfile

__all__ = ["schema_rejections"]

_SCHEMAS_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMAS_IN_ORDER = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONE_SCHEMA = ("items", "not", "contains", "propertyNames", "if", "then", "else")
_ONE_SCHEMA_OR_BOOLEAN = ("additionalProperties", "unevaluatedItems", "unevaluatedProperties")
_VALUES = frozenset(
    {"type", "enum", "const", "required", "title", "description", "default", "examples", "format", "pattern"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"}
    | {"minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties"}
    | {"$ref", "$schema", "$id", "$comment", "dependentRequired", "deprecated", "readOnly", "writeOnly"}
    | {"contentEncoding", "contentMediaType"}
)
_KEYWORDS = {*_SCHEMAS_BY_NAME, *_SCHEMAS_IN_ORDER, *_ONE_SCHEMA, *_ONE_SCHEMA_OR_BOOLEAN, *_VALUES}
_NOT_AT_THE_TOP = {"anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref", "if", "then", "else"}
# Valid for Python or re2, unknown to JavaScript.
_NOT_ECMA = re.compile(r"\(\?P|\(\?#|\(\?[aiLmsux-]|\\[AZzQ]|\[\[:")


def schema_rejections(schema: Any, profile: ProviderProfile) -> Iterator[str]:
    """Yield what a provider with this profile rejects in the parameters of a tool.

    Example:
        >>> from toolsearch.models.profiles import PROFILES
        >>> tags = {"type": "object", "properties": {"tags": {"type": "array"}}}
        >>> list(schema_rejections(tags, PROFILES["openai"]))
        ['#/properties/tags: an array without items']
    """
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        yield "#: not of the type object"
        return
    try:
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, TypeError, RecursionError) as error:
        yield f"#: not JSON: {error}"
        return
    if len(text) > profile.max_schema_characters:
        yield f"#: {len(text)} characters long"
    if not isinstance(schema.get("properties"), Mapping):
        yield "#: without properties"
    if found := sorted(schema.keys() & _NOT_AT_THE_TOP):
        yield f"#: {', '.join(found)} at the top"
    if invalid := _invalid(text):
        yield f"#: {invalid}"
        return  # the walk relies on the types of the keywords
    yield from _walk(schema, schema, profile, "#", 0)


@lru_cache(maxsize=64)  # the same definitions are sent in each request
def _invalid(text: str) -> str:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(json.loads(text))
    except SchemaError as error:
        return f"not a JSON Schema: {error.message[:200]}"
    return ""


def _walk(schema: Any, root: Mapping[str, Any], profile: ProviderProfile, place: str, depth: int) -> Iterator[str]:
    if isinstance(schema, bool):
        yield f"{place}: a boolean instead of a schema"
        return
    if depth > profile.max_schema_depth:
        yield f"{place}: deeper than {profile.max_schema_depth}"
        return
    for problem in _problems(schema, root, profile):
        yield f"{place}: {problem}"
    for name, member in _members(schema):
        yield from _walk(member, root, profile, f"{place}/{name}", depth + 1)


def _members(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for keyword, value in schema.items():
        if keyword in _SCHEMAS_BY_NAME:
            yield from ((f"{keyword}/{name}", member) for name, member in value.items())
        elif keyword in _SCHEMAS_IN_ORDER:
            yield from ((f"{keyword}/{index}", member) for index, member in enumerate(value))
        elif keyword in _ONE_SCHEMA or (keyword in _ONE_SCHEMA_OR_BOOLEAN and not isinstance(value, bool)):
            yield keyword, value


def _problems(schema: Mapping[str, Any], root: Mapping[str, Any], profile: ProviderProfile) -> Iterator[str]:
    known = _KEYWORDS if profile.type_lists else _KEYWORDS | {"nullable"}
    for keyword in schema:
        if keyword in profile.refused_keywords or keyword not in known:
            yield f"the keyword {keyword!r}"
    types = schema.get("type", [])
    if isinstance(types, list) and "type" in schema and not profile.type_lists:
        yield "a list of types"
    is_array = "array" in ([types] if isinstance(types, str) else types)
    if is_array and not schema.keys() & {"items", "prefixItems"}:
        yield "an array without items"
    values = schema.get("enum", [])
    if "enum" in schema and not values:
        yield "an empty enum"
    if profile.text_enums_only and not all(isinstance(value, str) for value in values):
        yield "an enum of other values than texts"
    properties = schema.get("properties", {})
    for name in properties:
        if not re.fullmatch(profile.property_names, name, re.DOTALL):
            yield f"the property {name!r}"
    for name in schema.get("required", []):
        if name not in properties:
            yield f"{name!r} is required but not a property"
    if "$ref" in schema and (problem := _reference_problem(schema["$ref"], root, profile)):
        yield problem
    patterns = [schema["pattern"]] if "pattern" in schema else []
    for pattern in (*patterns, *schema.get("patternProperties", {})):
        if problem := _pattern_problem(pattern, profile):
            yield f"the pattern {pattern!r} {problem}"


def _reference_problem(reference: str, root: Mapping[str, Any], profile: ProviderProfile) -> str:
    if not profile.references:
        return "a $ref"
    passed: set[str] = set()
    while True:
        if reference in passed:
            return f"the $ref {reference!r} only leads to itself"
        passed.add(reference)
        target = _target(reference, root)
        if target is None:
            return f"the $ref {reference!r} leads nowhere"
        if "$ref" not in target:
            return ""
        reference = target["$ref"]


def _target(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if reference != "#" and not reference.startswith("#/"):
        return None
    found: Any = root
    for step in reference.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(key)] if isinstance(found, list) else found[key]
        except (KeyError, ValueError, IndexError, TypeError):
            return None
    return found if isinstance(found, Mapping) else None


def _pattern_problem(pattern: str, profile: ProviderProfile) -> str:
    """Return what is wrong with a pattern, as servers of several languages read it."""
    import re2

    if profile.patterns == "none":
        return "is not accepted"
    if profile.patterns == "anchored" and not (pattern.startswith("^") and pattern.endswith("$")):
        return "is not anchored"
    options = re2.Options()
    options.log_errors = False
    try:
        re.compile(pattern)
        re2.compile(re.sub(r"\\u([0-9a-fA-F]{4})", r"\\x{\1}", pattern), options)
    except (re.error, re2.error, RecursionError, OverflowError) as error:
        return f"is invalid: {error}"
    return "is not ECMAScript" if _NOT_ECMA.search(pattern) else ""
