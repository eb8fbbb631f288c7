"""Validation agrees with the reference implementation wherever it judges."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator, Draft7Validator, Draft202012Validator

from toolsearch.tools.validation.schema_validator import find_problems

NAMES = st.sampled_from(["a", "b", "ab"])
SCALARS = st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from([0.5, 1.0, 2.0, "", "a", "ab", "abc"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
COUNTS = st.integers(0, 2)
TYPES = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
REFERENCES = st.sampled_from(["#", "#/$defs/A", "#/$defs/B", "#named", "#/$defs/A/not", "https://example.org/b"])


def subschemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, min_size=1, max_size=2)
    maps = st.dictionaries(NAMES, inner, max_size=2)
    names = st.lists(NAMES, max_size=2, unique=True)
    keywords = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "minimum": COUNTS,
        "exclusiveMaximum": COUNTS,
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "maxLength": COUNTS,
        "minItems": COUNTS,
        "maxProperties": COUNTS,
        "pattern": st.sampled_from(["^a", "b$"]),
        "uniqueItems": st.booleans(),
        "required": names,
        "dependentRequired": st.dictionaries(NAMES, names, max_size=2),
        "properties": maps,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "prefixItems": lists,
        "items": inner,
        "contains": inner,
        "minContains": COUNTS,
        "maxContains": COUNTS,
        "allOf": lists,
        "anyOf": lists,
        "oneOf": lists,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "dependentSchemas": maps,
        "unevaluatedProperties": inner,
        "unevaluatedItems": inner,
        "$ref": REFERENCES,
    }
    return st.lists(st.sampled_from(sorted(keywords)), max_size=4, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({keyword: keywords[keyword] for keyword in chosen})
    )


SCHEMAS = st.recursive(st.booleans() | TYPES.map(lambda name: {"type": name}), subschemas, max_leaves=8)
DEFINITIONS = st.fixed_dictionaries({"A": SCHEMAS, "B": SCHEMAS})


def disagreement(schema: dict[str, Any], value: dict[str, Any], reference: Any) -> bool:
    try:
        expected = reference(schema).is_valid(value)
    except Exception:  # a reference that leads nowhere or back to itself, which is not judged here
        return False
    return expected != (find_problems(schema, repr(schema).encode(), value) == [])


@settings(max_examples=60, deadline=None)
@given(SCHEMAS, DEFINITIONS, st.dictionaries(NAMES, VALUES, max_size=3))
def test_values_are_judged_as_by_the_reference(schema, definitions, value):
    named = {"$anchor": "named", "not": {"type": "null"}}
    root = {
        **(schema if isinstance(schema, dict) else {"allOf": [schema]}),
        "$defs": {**definitions, "N": named, "I": {"$id": "https://example.org/b", "maxProperties": 1}},
    }
    assert not disagreement(root, value, Draft202012Validator)


@pytest.mark.parametrize(
    ("schema", "reference"),
    [
        ({"properties": {"a": {"items": [{"type": "integer"}], "additionalItems": False}}}, Draft7Validator),
        ({"properties": {"a": {"items": [{"type": "integer"}], "additionalItems": {"type": "null"}}}}, Draft7Validator),
        ({"dependencies": {"a": ["b"], "b": {"maxProperties": 2}}}, Draft7Validator),
        ({"properties": {"a": {"$ref": "#/definitions/A", "type": "null"}}, "definitions": {"A": {}}}, Draft7Validator),
        ({"properties": {"b": {"minimum": 1, "exclusiveMinimum": True}}}, Draft4Validator),
    ],
    ids=str,
)
def test_older_drafts_are_judged_as_by_the_reference(schema, reference):
    schema = {"$schema": reference.META_SCHEMA["$schema" if "$schema" in reference.META_SCHEMA else "id"], **schema}
    for a in (None, 1, [], [1], ["x"], [1, None], [1, 2]):
        for b in (0, 1, 2, "x"):
            for value in ({"a": a}, {"b": b}, {"a": a, "b": b}, {"a": a, "b": b, "c": 1}):
                assert not disagreement(schema, value, reference), value
