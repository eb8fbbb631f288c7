"""Validation of arguments: valid ones are unchanged, invalid ones explained to the model."""

import json
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.errors import ToolArgumentError
from toolsearch.loop.execution.arguments import parse_arguments
from toolsearch.tools.tool_type import Tool
from toolsearch.tools.validation.patterns import matches
from toolsearch.tools.validation.schema_validator import find_problems

WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
        "unit": {"enum": ["C", "F"]},
        "where": {
            "type": "object",
            "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
            "required": ["lat", "lon"],
            "additionalProperties": False,
        },
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    },
    "required": ["city"],
    "additionalProperties": False,
}


def weather() -> Tool:
    return Tool("weather", "Tell the weather.", WEATHER)


def of(properties: dict, **rest: object) -> Tool:
    return Tool("act", "Act.", {"type": "object", "properties": properties, **rest})


def problem(tool: Tool, arguments: object) -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    with pytest.raises(ToolArgumentError) as caught:
        parse_arguments(tool, text)
    return str(caught.value)


@pytest.mark.parametrize("text", ["", "  \n", "{}", "null", '"{}"'])
def test_empty_text_is_no_arguments(text):
    assert parse_arguments(of({}), text) == {}


def test_valid_arguments_are_unchanged():
    sent = {"city": "Zoë 🌦", "days": 3, "unit": "C", "where": {"lat": 1.5, "lon": 2}, "tags": ["a"]}
    assert parse_arguments(weather(), json.dumps(sent)) == sent
    assert parse_arguments(weather(), json.dumps(sent, ensure_ascii=False)) == sent


def test_an_object_encoded_twice_is_decoded_twice():
    assert parse_arguments(weather(), json.dumps(json.dumps({"city": "Gouda"}))) == {"city": "Gouda"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"city": "Gouda"', "cut off"),
        ('{"city": "Gou', "not valid JSON"),
        ("city=Gouda", "not valid JSON"),
        ('{"city": "a"}{"city": "b"}', "not valid JSON"),
        ('"Gouda"', 'one JSON object, got "Gouda"'),
        ('["Gouda"]', 'one JSON object, got ["Gouda"]'),
        ("7", "one JSON object, got 7"),
        ('{"days": NaN}', "NaN is not valid JSON"),
        ('{"days": -Infinity}', "-Infinity is not valid JSON"),
        ('{"days": 1e999}', "too large"),
        ('{"days": ' + "9" * 5000 + "}", "cannot be used"),
        ("[" * 200_000, "nested too deeply"),
        ('{"city":' * 100_000, "nested too deeply"),
        ('{"city": "' + "x" * 10_000_000 + '"}', "characters long"),
    ],
    ids=lambda value: value[:20],
)
def test_text_that_is_not_an_object_is_explained(text, said):
    answer = problem(weather(), text)
    assert said in answer
    assert "weather" in answer
    assert answer.endswith("Required: city. All arguments: city, days, unit, where, tags.")
    assert len(answer) < 500


def test_all_problems_are_named_with_expected_and_sent_values():
    answer = problem(weather(), {"days": "three", "unit": "K", "where": {"lat": "x"}, "tags": [1]})
    assert answer.splitlines() == [
        "Invalid arguments for weather:",
        "- 'where.lon': required, but missing",
        "- 'city': required, but missing",
        "- 'days': expected integer, got \"three\"",
        '- \'unit\': expected one of "C", "F", got "K"',
        "- 'where.lat': expected number, got \"x\"",
        "- and 1 more",
        "Required: city. All arguments: city, days, unit, where, tags.",
    ]


def test_unknown_arguments_are_named_with_a_suggestion():
    answer = problem(weather(), {"City": "Gouda", "city": "Gouda", "where": {"lat": 1, "lon": 2, "lng": 2}, "zzz": 1})
    assert "'City': unknown argument; did you mean 'city'?" in answer
    assert "'where.lng': unknown argument; did you mean 'where.lon'?" in answer
    assert "'zzz': unknown argument\n" in answer


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"type": "boolean"}, 1, "'x': expected true or false, got 1"),
        ({"type": ["string", "null"]}, 1, "'x': expected string or null, got 1"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "a", "'x': expected integer or null, got \"a\""),
        ({"minimum": 3}, 1, "'x': expected at least 3, got 1"),
        ({"exclusiveMaximum": 3}, 3, "'x': expected less than 3, got 3"),
        ({"multipleOf": 5}, 3, "'x': expected a multiple of 5, got 3"),
        ({"maxLength": 2}, "abc", "'x': expected at most 2 characters, got \"abc\""),
        ({"minItems": 1}, [], "'x': expected at least 1 items, got []"),
        ({"const": "a"}, "b", '\'x\': expected "a", got "b"'),
        ({"pattern": "^a+$"}, "b", '\'x\': expected text that matches the pattern "^a+$", got "b"'),
        ({"not": {}}, "b", "'x': "),
        (False, "b", "'x': this value is not allowed, got"),
        ({"type": "array", "items": {"type": "integer"}}, [1, "b"], "'x[1]': expected integer, got \"b\""),
        (
            {"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]},
            {},
            "'x.a': required, but missing",
        ),
        (
            {"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}}}, {"type": "null"}]},
            {"k": "b"},
            '\'x.k\': expected "a", got "b"',
        ),
        ({"oneOf": [{"type": "integer"}, {"minimum": 1}]}, 5, "'x': "),
    ],
    ids=str,
)
def test_every_kind_of_problem_names_the_expected_value(schema, value, said):
    assert said in problem(of({"x": schema}), {"x": value})


def test_long_values_and_many_problems_are_cut():
    many = {f"field_{i}": {"type": "integer"} for i in range(100)}
    answer = problem(of(many), dict.fromkeys(many, "x" * 10_000))
    assert answer.count("\n- ") == 6
    assert "and 15 more" in answer  # it stops to count at 20
    assert "and 70 more" in answer  # names
    assert len(answer) < 1500


def test_a_schema_is_read_as_its_draft():
    draft4 = of(
        {"x": {"type": "integer", "minimum": 3, "exclusiveMinimum": True}},
        **{"$schema": "http://json-schema.org/draft-04/schema#"},
    )
    assert "'x'" in problem(draft4, {"x": 3})
    assert parse_arguments(draft4, '{"x": 4}') == {"x": 4}


def test_a_schema_without_draft_is_read_as_2020_12():
    pair = of({"x": {"type": "array", "prefixItems": [{"type": "integer"}], "items": False}})
    assert parse_arguments(pair, '{"x": [1]}') == {"x": [1]}
    assert "'x" in problem(pair, {"x": [1, 2]})


def test_local_references_are_resolved():
    for key in ("$defs", "definitions"):
        tool = of({"x": {"$ref": f"#/{key}/T"}}, **{key: {"T": {"type": "integer"}}})
        assert "'x': expected integer" in problem(tool, {"x": "a"})


@pytest.mark.parametrize("reference", ["https://example.com/schema.json", "#/$defs/Gone", "other.json#/T", "urn:x:y"])
def test_external_references_are_not_resolved(reference, monkeypatch):
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    tool = of({"x": {"$ref": reference}, "y": {"type": "integer"}})
    assert parse_arguments(tool, '{"x": 1, "y": 2}') == {"x": 1, "y": 2}
    answer = problem(tool, {"x": 1, "y": "a"})
    assert "'y': expected integer" in answer
    assert "'x'" not in answer


def test_a_recursive_schema_is_validated():
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/T"}}, "additionalProperties": False}
    tool = of({"root": {"$ref": "#/$defs/T"}}, **{"$defs": {"T": tree}})
    assert parse_arguments(tool, '{"root": {"left": {"left": {}}}}')
    assert "'root.left.right': unknown argument" in problem(tool, {"root": {"left": {"right": {}}}})


def test_an_endless_reference_rejects_nothing():
    tool = of({"x": {"$ref": "#/$defs/A"}}, **{"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}})
    assert parse_arguments(tool, '{"x": 1}') == {"x": 1}


def test_a_deeply_nested_value_is_rejected():
    nested: object = 1
    for _ in range(300):
        nested = {"left": nested}
    tool = of({"root": {"$ref": "#/$defs/T"}}, **{"$defs": {"T": {"properties": {"left": {"$ref": "#/$defs/T"}}}}})
    assert "nested too deeply" in problem(tool, {"root": nested})


DRAFTS = {
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "7": "http://json-schema.org/draft-07/schema#",
    "4": "http://json-schema.org/draft-04/schema#",
}


@pytest.mark.parametrize("draft", [None, *DRAFTS])
@pytest.mark.parametrize(
    "broken",
    [
        {"type": "whatever"},
        {"minimum": "three"},
        {"required": True},
        {"enum": 3},
        {"pattern": 3},
        {"not": {"minLength": "3"}},
        {"allOf": [{"properties": 3}]},
        {"exclusiveMinimum": True},
        "string",
    ],
    ids=str,
)
def test_an_invalid_schema_is_not_validated(draft, broken):
    named = {} if draft is None else {"$schema": DRAFTS[draft]}
    tool = of({"x": broken, "y": {"type": "integer"}}, required=["y"], **named)
    before = json.dumps(tool.parameters)
    assert parse_arguments(tool, '{"x": 1, "y": "a"}') == {"x": 1, "y": "a"}
    assert json.dumps(tool.parameters) == before


def test_an_invalid_schema_is_logged_once_without_values(caplog):
    schema = {"properties": {"n": {"type": "strin"}, "m": {"items": {"required": True}}, "logged": {}}}
    for name in ("first", "again"):
        for _ in range(2):
            parse_arguments(Tool(name, "Act.", schema), '{"n": "secret"}')
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("toolsearch.tools.validation.schema_validator", "WARNING")
    assert record.getMessage() == (
        "toolsearch.invalid_tool_schema tool=first problem='invalid /properties/m/items/required'; "
        "its arguments are not validated"
    )
    assert (record.tool, record.problem) == ("first", "invalid /properties/m/items/required")


def test_a_valid_schema_is_not_logged(caplog):
    parse_arguments(weather(), '{"city": "Gouda"}')
    draft4_style = {"n": {"minimum": 0, "exclusiveMinimum": True, "maximum": 5, "exclusiveMaximum": False}}
    parse_arguments(of({**draft4_style, "unlogged": {}}), '{"n": 1}')
    assert caplog.records == []


def test_a_repeated_name_does_not_make_a_schema_invalid():
    tool = of({"b": {"type": "integer"}}, required=["b", "b"])
    assert "'b': expected integer" in problem(tool, {"b": "a"})


@pytest.mark.parametrize("draft", [None, *DRAFTS])
def test_boolean_exclusive_bounds_are_applied(draft):
    named = {} if draft is None else {"$schema": DRAFTS[draft]}
    tool = of({"n": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 9}}, **named)
    assert parse_arguments(tool, '{"n": 0.5}') == {"n": 0.5}
    assert "'n': expected more than 0, got 0" in problem(tool, {"n": 0})
    assert "'n': expected at most 9, got 10" in problem(tool, {"n": 10})
    tool = of({"n": {"maximum": 9, "exclusiveMaximum": True, "minimum": 0, "exclusiveMinimum": False}}, **named)
    assert "'n': expected less than 9, got 9" in problem(tool, {"n": 9})
    assert parse_arguments(tool, '{"n": 0}') == {"n": 0}


@pytest.mark.parametrize("named", [5, ["a"], {}, "http://[", "https://example.com/mine"], ids=str)
def test_an_unknown_dialect_is_read_as_2020_12(named):
    assert "'x': expected integer" in problem(of({"x": {"type": "integer"}}, **{"$schema": named}), {"x": "a"})


def test_a_broken_reference_does_not_stop_validation():
    tool = of({"w": {"$ref": "#/components/T"}, "x": {"$ref": "#/required"}, "y": {"type": "integer"}}, required=["y"])
    tool = Tool("act", "Act.", {**tool.parameters, "components": {"T": {"minLength": "3"}}})
    assert "'y': expected integer" in problem(tool, {"w": "a", "x": 1, "y": "a"})


def test_formats_are_not_asserted():
    assert parse_arguments(of({"x": {"type": "string", "format": "email"}}), '{"x": "nobody"}') == {"x": "nobody"}


EVIL = "^(a+)+$"
VICTIM = "a" * 5000 + "!"


@pytest.mark.parametrize(
    "draft", ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
)
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x": {"pattern": EVIL}}},
        {"patternProperties": {EVIL: {"type": "integer"}}},
        {"patternProperties": {EVIL: {}}, "additionalProperties": False},
        {"patternProperties": {EVIL: {}}, "unevaluatedProperties": False},
        {"propertyNames": {"pattern": EVIL}},
        {"properties": {"x": {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": EVIL}}},
        {"properties": {"y": {"$ref": "#"}, "x": {"pattern": EVIL}}},
    ],
    ids=str,
)
def test_patterns_are_matched_in_linear_time(schema, draft):
    # With a backtracking engine each of these would not end.
    tool = Tool("act", "Act.", {"$schema": draft, "type": "object", **schema})
    for arguments in ({"x": VICTIM}, {VICTIM: 1}, {"y": {"x": VICTIM}}, {"y": {VICTIM: 1}}):
        try:
            assert parse_arguments(tool, json.dumps(arguments)) == arguments
        except ToolArgumentError as error:
            assert "Invalid arguments" in str(error)  # noqa: PT017


def test_unsupported_patterns_count_as_met():
    assert matches("^(?=a)b", "c") is None
    tool = of(
        {"x": {"pattern": "^(?!a)"}}, patternProperties={"^(?=z)": {"type": "integer"}}, additionalProperties=False
    )
    assert parse_arguments(tool, '{"x": "a", "q": "r"}') == {"x": "a", "q": "r"}


KINDS = [
    {"properties": {"op": {"const": "and"}, "parts": {"type": "array"}}, "required": ["op", "parts"]},
    {"properties": {"op": {"const": "eq"}, "field": {"type": "string"}}, "required": ["op", "field"]},
]


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"anyOf": KINDS}, {"op": "eq", "fild": 1}, "'x.field': required, but missing"),
        ({"oneOf": KINDS}, {"op": "and"}, "'x.parts': required, but missing"),
        ({"oneOf": [{"type": "string"}, *KINDS]}, {"op": "eq", "field": 1}, "'x.field': expected string, got 1"),
        ({"anyOf": [{"type": "integer"}, {"const": "auto"}]}, "aut", '\'x\': expected integer or "auto", got "aut"'),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, "c", '\'x\': expected "a" or "b", got "c"'),
        ({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}, 1, "'x': expected \"a\" or null, got 1"),
        ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, 0, "'x': expected at least 1, got 0"),
        (
            {"propertyNames": {"pattern": "^[a-z]+$"}},
            {"A1": 1},
            'the name "A1" in \'x\': expected text that matches the pattern "^[a-z]+$", got "A1"',
        ),
    ],
    ids=str,
)
def test_the_alternative_that_fits_best_is_explained(schema, value, said):
    assert f"- {said}\n" in problem(of({"x": schema}), {"x": value})


UNKNOWN = {"pattern": "^(?!x)"}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"not": UNKNOWN}, "a"),
        ({"not": {"$ref": "https://example.org/other"}}, "a"),
        ({"oneOf": [UNKNOWN, {"pattern": "^(?=y)"}]}, "a"),
        ({"oneOf": [UNKNOWN, {"type": "string"}]}, "a"),
        ({"if": UNKNOWN, "then": {"minLength": 3}}, "a"),
        ({"if": UNKNOWN, "else": {"minLength": 3}}, "a"),
        ({"contains": UNKNOWN, "maxContains": 1}, ["a", "b"]),
        ({"contains": UNKNOWN, "minContains": 2}, ["a", "b"]),
        ({"$ref": "https://example.org/other", "unevaluatedProperties": False}, {"a": 1}),
        ({"if": {"properties": {"a": UNKNOWN}}, "else": {"properties": {"a": {}}}, "unevaluatedProperties": False}, {}),
        ({"not": {"anyOf": [UNKNOWN, {"type": "integer"}]}}, "a"),
        ({"$defs": {"U": UNKNOWN}, "allOf": [{"$ref": "#/properties/x/$defs/U"}]}, "a"),
    ],
    ids=str,
)
def test_what_cannot_be_judged_rejects_nothing(schema, value):
    assert parse_arguments(of({"x": schema}), json.dumps({"x": value})) == {"x": value}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"not": {"anyOf": [UNKNOWN, {}], "type": "string", "not": {"type": "integer"}}}, 5),
        ({"oneOf": [{**UNKNOWN, "type": "integer"}, {"type": "null"}]}, True),
        ({"oneOf": [UNKNOWN, {"type": "string"}, {"minLength": 1}]}, "a"),
        ({"contains": UNKNOWN, "minContains": 3}, ["a", "b"]),
        ({"if": {**UNKNOWN, "type": "integer"}, "then": {}, "else": {"minLength": 3}}, "a"),
    ],
    ids=str,
)
def test_what_is_sure_rejects_beside_what_cannot_be_judged(schema, value):
    if value == 5:
        assert parse_arguments(of({"x": schema}), '{"x": 5}') == {"x": 5}
    else:
        assert "Invalid arguments" in problem(of({"x": schema}), {"x": value})


def test_a_dynamic_reference_is_judged_if_it_has_one_target():
    node = {"$dynamicAnchor": "node", "properties": {"n": {"type": "integer"}, "child": {"$dynamicRef": "#node"}}}
    assert "child.n" in problem(Tool("act", "Act.", {"type": "object", **node}), {"child": {"n": "a"}})
    other = {"$id": "other", "$dynamicAnchor": "node", "properties": {"n": {}}}
    tool = Tool("act", "Act.", {"type": "object", **node, "$defs": {"o": other}})
    assert parse_arguments(tool, '{"child": {"n": ""}}') == {"child": {"n": ""}}


@pytest.mark.parametrize(("value", "valid"), [(4.35, True), (1.1, True), (0.07, True), (4.355, False), (3, True)])
def test_multiples_are_judged_by_decimal_digits(value, valid):
    tool = of({"price": {"multipleOf": 0.01}})
    if valid:
        assert parse_arguments(tool, json.dumps({"price": value})) == {"price": value}
    else:
        assert "a multiple of 0.01" in problem(tool, {"price": value})


@pytest.mark.parametrize(
    "schema", [{"type": "string"}, {"type": "string", "enum": ["a"]}, {"allOf": [{"type": "string"}]}], ids=str
)
def test_nullable_of_openapi_allows_null(schema):
    assert parse_arguments(of({"x": {**schema, "nullable": True}}), '{"x": null}') == {"x": None}
    assert "expected" in problem(of({"x": {**schema, "nullable": False}}, required=["x"]), {"x": None})


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
@pytest.mark.parametrize("keyword", ["minLength", "maxItems", "multipleOf", "minimum", "minContains"])
def test_a_schema_with_a_number_that_is_not_finite_does_not_break_a_tool(keyword, number):
    assert find_problems({"properties": {"x": {keyword: number}}}, f"{keyword} {number}".encode(), {"x": "a"}) == []


def test_ids_of_draft_4_are_read():
    draft = "http://json-schema.org/draft-04/schema#"
    definitions = {"T": {"id": "other.json", "type": "integer"}}
    tool = of({"x": {"$ref": "other.json"}}, definitions=definitions, id="https://example.org/r", **{"$schema": draft})
    assert "'x': expected integer" in problem(tool, {"x": "a"})


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$", "a\n", False),  # as in JavaScript, unlike Python
        (r"^\u00e9+$", "éé", True),
        (r"^\\u00e9$", "\\u00e9", True),
        (r"\p{Lu}", "é", False),
        (r"\p{Lu}", "É", True),
        (r"^\d+$", "٣", False),
        (r"^a\/b$", "a/b", True),
        ("b", "abc", True),
    ],
)
def test_patterns_have_the_meaning_of_javascript(pattern, text, found):
    assert matches(pattern, text) is found


def test_lone_surrogates_are_replaced_and_pairs_joined():
    tool = of({})
    assert parse_arguments(tool, '{"a": "x\\ud83dy", "\\udc00": ["\\ud83d\\ude00"]}') == {
        "a": "x\ufffdy",
        "\ufffd": ["😀"],
    }
    assert parse_arguments(tool, '{"a": "\ud83d"}') == {"a": "\ufffd"}


def test_a_tool_without_arguments_rejects_all():
    assert problem(Tool("ping"), {"x": 1}).endswith("It takes no arguments.")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=10,
    )
)
def test_any_json_is_accepted_or_rejected(value):
    inner = value[0] if isinstance(value, list) and len(value) == 1 else value
    for tool in (weather(), of({})):
        try:
            assert parse_arguments(tool, json.dumps(value)) == (inner if isinstance(inner, dict) else {})
        except ToolArgumentError as error:
            assert len(str(error)) < 2000  # noqa: PT017


@given(st.text(max_size=40))
def test_any_text_is_accepted_or_rejected(text):
    try:
        assert isinstance(parse_arguments(weather(), text), dict)
    except ToolArgumentError as error:
        assert "weather" in str(error)  # noqa: PT017


@pytest.mark.parametrize("draft", ["http://json-schema.org/draft-04/schema#", "nonsense", 5, None, ["x"], {"a": 1}])
def test_any_value_of_the_keyword_schema_lets_arguments_be_validated(draft):
    tool = Tool("act", parameters={"$schema": draft, "$id": "http://x/y", "properties": {"n": {"type": "integer"}}})
    assert parse_arguments(tool, '{"n": 1}') == {"n": 1}
    with pytest.raises(ToolArgumentError, match="expected integer"):
        parse_arguments(tool, '{"n": "x"}')
