"""Schemas on the wire are valid JSON Schema, and keep everything that is valid."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolsearch.models.openai.valid_schema import valid_schema

scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False), st.text(max_size=3))
SCHEMAS = ["items", "not", "additionalProperties", "propertyNames", "if", "then", "anyOf", "oneOf", "allOf"]
OTHERS = ["type", "properties", "$defs", "prefixItems", "required", "enum", "const", "default", "minimum", "maximum"]
LIMITS = ["exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxItems", "uniqueItems", "pattern"]
keywords = st.sampled_from([*SCHEMAS, *OTHERS, *LIMITS])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords | st.text(max_size=2), inner, max_size=4),
    max_leaves=20,
)
validator = Draft202012Validator(Draft202012Validator.META_SCHEMA)


@given(st.dictionaries(keywords, values, max_size=6))
def test_any_schema_becomes_valid_and_the_original_is_unchanged(schema: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)
    repaired = valid_schema(schema)
    for error in validator.iter_errors(repaired):
        # Repeated names in "type" and "required", and a list of "items" as in draft 7, are kept.
        repeated = [inner for inner in (error, *(error.context or ())) if inner.validator == "uniqueItems"]
        assert repeated or error.absolute_path[-1] == "items", repaired
    assert valid_schema(repaired) == repaired
    assert schema == before


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"b": {"type": ["string", "null"]}, "a": {"enum": [1, None]}}},
        {"$defs": {"x": {"const": None}}, "properties": {"a": {"$ref": "#/$defs/x"}}, "additionalProperties": False},
        {"properties": {"a": {"default": {"minimum": "x"}, "examples": [{"type": 3}], "x-own": None}}},
        {"properties": {"required": {"type": "array", "items": [{"type": "string"}, True]}}},
    ],
)
def test_a_valid_schema_is_unchanged(schema: dict[str, Any]) -> None:
    repaired = valid_schema(schema)
    assert repaired == schema
    assert list(repaired) == list(schema)


@pytest.mark.parametrize(
    ("schema", "repaired"),
    [
        ({"minimum": 0, "exclusiveMinimum": True}, {"exclusiveMinimum": 0}),
        ({"maximum": 9, "exclusiveMaximum": False}, {"maximum": 9}),
        ({"exclusiveMaximum": True}, {}),
        ({"required": None, "type": "object"}, {"type": "object"}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "any", "description": None}, {}),
        ({"properties": {"a": None}}, {"properties": {"a": {}}}),
        ({"anyOf": [], "enum": []}, {}),
    ],
)
def test_invalid_keywords_are_left_out(schema: dict[str, Any], repaired: dict[str, Any]) -> None:
    assert valid_schema(schema) == repaired
