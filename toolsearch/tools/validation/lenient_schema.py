"""The part of a JSON Schema that can be judged: what is not valid in it is left out, and the rest still holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from jsonschema import FormatChecker, ValidationError

__all__ = ["sound_schema"]

Path: TypeAlias = tuple[Any, ...]

_NO_FORMATS = FormatChecker(formats=())  # Python cannot compile every JavaScript pattern: none is asked to be valid
_HARMLESS = frozenset({"uniqueItems", "dependencies"})  # {"required": ["a", "a"]}, draft 4's bound without its number
_MOST_PASSES = 20

_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
_IN_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_ALONE = frozenset(
    {"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"}
    | {"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_REST_OF = {
    "properties": "additionalProperties",
    "patternProperties": "additionalProperties",
    "prefixItems": "items",
    "items": "additionalItems",
}
"""What would be held against all members once the keyword that names some of them is gone."""


def sound_schema(schema: dict[str, Any], draft: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a schema that its draft allows, and the places of what was left out of it.

    A schema with less in it takes more. Where that would make another part take less, as under ``not``, that part is
    left out too, and one of several (``oneOf``) becomes at least one of them. ``exclusiveMinimum: true`` beside a
    ``minimum``, as in draft 4 and OpenAPI 3.0, means there what it means in every draft.

    Args:
        schema: of lists and dicts, which are changed.
        draft: the jsonschema validator of its draft.

    Example:
        >>> from jsonschema import Draft202012Validator
        >>> sound_schema({"minimum": 0, "exclusiveMinimum": True, "multipleOf": "5"}, Draft202012Validator)
        ({'exclusiveMinimum': 0}, ('/multipleOf',))
    """
    judge = draft(draft.META_SCHEMA, format_checker=_NO_FORMATS)
    left_out: dict[Path, None] = {}
    weaker: list[dict[str, Any]] = []
    for _ in range(_MOST_PASSES):
        paths = {path for error in judge.iter_errors(schema) for path in _paths(error)}
        if not paths:
            break
        for path in sorted(paths, key=_written):  # meta-schemas are not walked in the same order every time
            _leave_out(schema, path, left_out, weaker)
    else:
        return {}, ("/",)
    if left_out:
        _weaken(schema, (), {id(node) for node in weaker}, left_out)
    return schema, tuple(sorted(map(_written, left_out)))


def _written(path: Path) -> str:
    return "/" + "/".join(map(str, path))


def _paths(error: ValidationError, above: Path = ()) -> Iterator[Path]:
    """Where a violation of the meta-schema is; of alternatives, where the one that got furthest stops."""
    path = (*above, *error.relative_path)
    if error.validator in _HARMLESS:
        return
    branches: dict[Any, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.relative_schema_path[0], []).append(inner)
    if any(all(inner.validator in _HARMLESS for inner in branch) for branch in branches.values()):
        return
    nearest = max(branches.values(), key=lambda branch: max(len(e.relative_path) for e in branch), default=[])
    if any(inner.relative_path for inner in nearest):
        for inner in nearest:
            yield from _paths(inner, path)
    else:
        yield path


def _leave_out(schema: dict[str, Any], path: Path, left_out: dict[Path, None], weaker: list[dict[str, Any]]) -> None:
    """Take out the innermost keyword on `path`, or put a schema of nothing in the place of what is no schema."""
    node, at = schema, 0
    while at < len(path):
        keyword, inner = path[at], path[at + 1 :]
        if keyword not in node:  # gone already, by another path
            return
        value = node[keyword]
        holds_many = keyword in (_BY_NAME if isinstance(value, dict) else _IN_LISTS if isinstance(value, list) else ())
        if holds_many and inner:
            member, at = value[inner[0]], at + 2
            if len(inner) == 1 or not isinstance(member, dict):
                value[inner[0]] = {}
                weaker.append(node)
                left_out[path[:at]] = None
                return
            node = member
        elif keyword in _ALONE and isinstance(value, dict) and inner:
            node, at = value, at + 1
        else:
            if not _as_in_draft_4(node, keyword):
                weaker.append(node)
                _drop(node, keyword, path[:at], left_out)
            return


def _as_in_draft_4(node: dict[str, Any], keyword: str) -> bool:
    """Give a boolean exclusiveMinimum or exclusiveMaximum its meaning; whether it has one."""
    value, bound = node[keyword], node.get(_BOUNDS.get(keyword, ""))
    if keyword not in _BOUNDS or not isinstance(value, bool):
        return False
    if not value:
        del node[keyword]
        return True
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        return False
    node[keyword] = node.pop(_BOUNDS[keyword])
    return True


def _drop(node: dict[str, Any], keyword: str, above: Path, left_out: dict[Path, None]) -> None:
    while keyword in node:
        del node[keyword]
        left_out[(*above, keyword)] = None
        keyword = _REST_OF.get(keyword, "")


def _weaken(node: dict[str, Any], above: Path, weaker: set[int], left_out: dict[Path, None]) -> bool:
    """Take out what takes less when a schema within it takes more; whether `node` takes more than it did, or may."""
    more = id(node) in weaker or any(name in node for name in _REFERENCES)
    for keyword in list(node):
        within = False
        for path, member in _members(node, keyword):
            within |= _weaken(member, (*above, *path), weaker, left_out)
        if keyword in _UNEVALUATED or (within and keyword in ("if", "not")):
            _drop(node, keyword, above, left_out)
        elif within and keyword == "contains":
            _drop(node, "maxContains", above, left_out)
        elif within and keyword == "oneOf":
            node["allOf"] = [*node.get("allOf", ()), {"anyOf": node.pop("oneOf")}]
        more |= within
    return more


def _members(node: dict[str, Any], keyword: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The schemas that a keyword of a schema holds."""
    value = node.get(keyword)  # gone, perhaps, with another one
    found: list[tuple[Path, Any]] = []
    if isinstance(value, dict) and keyword in _BY_NAME:
        found = [((keyword, name), member) for name, member in value.items()]
    elif isinstance(value, list) and keyword in _IN_LISTS:
        found = [((keyword, position), member) for position, member in enumerate(value)]
    elif keyword in _ALONE:
        found = [((keyword,), value)]
    return ((path, member) for path, member in found if isinstance(member, dict))
