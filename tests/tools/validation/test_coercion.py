"""Arguments whose meaning is clear reach the tool in the form of its schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolsearch.errors import ToolArgumentError
from toolsearch.loop.execution.arguments import parse_arguments
from toolsearch.messages import ToolCall
from toolsearch.tools.tool_type import Tool
from toolsearch.tools.validation.coercion import coerce_arguments
from toolsearch.tools.validation.steps import OutOfStepsError, Steps

SEAT = {"type": "object", "properties": {"row": {"type": "integer"}, "side": {"type": "string"}}, "required": ["row"]}
TOOL = Tool(
    "book",
    parameters={
        "type": "object",
        "$defs": {"Seat": SEAT},
        "properties": {
            "seat": {"$ref": "#/$defs/Seat"},
            "spare": {"anyOf": [{"$ref": "#/$defs/Seat"}, {"type": "null"}]},
            "seats": {"type": "array", "items": {"$ref": "#/$defs/Seat"}},
            "tags": {"type": "array", "items": {"type": "string"}},
            "prices": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "number"}}},
            "note": {"type": ["string", "null"]},
            "kind": {"enum": ["a", "b"]},
            "count": {"type": "integer"},
            "quiet": {"type": "boolean"},
            "text": {"type": "string"},
            "any": {},
        },
        "required": ["text"],
        "additionalProperties": False,
    },
    fn=lambda **given: given,
)


@pytest.mark.parametrize(
    ("given_", "received"),
    [
        ({"seat": '{"row": 1}'}, {"seat": {"row": 1}}),
        ({"seat": ' {"row": "1"}\n'}, {"seat": {"row": 1}}),
        ({"seat": json.dumps(json.dumps({"row": 1}))}, {"seat": {"row": 1}}),
        ({"seat": {"row": 1, "side": None}}, {"seat": {"row": 1}}),
        ({"spare": '{"row": 2}'}, {"spare": {"row": 2}}),
        ({"spare": "null"}, {"spare": None}),
        ({"spare": None, "count": None}, {"spare": None}),
        ({"seats": '[{"row": 1}, {"row": 2, "side": null}]'}, {"seats": [{"row": 1}, {"row": 2}]}),
        ({"seats": ['{"row": 1}', {"row": 2}]}, {"seats": [{"row": 1}, {"row": 2}]}),
        ({"tags": '["x", "1"]'}, {"tags": ["x", "1"]}),
        ({"tags": ["{}"], "count": None}, {"tags": ["{}"]}),
        ({"prices": {"x": "[1, 2.5]"}}, {"prices": {"x": [1, 2.5]}}),
        ({"note": None, "kind": None, "quiet": None}, {"note": None}),
        ({"note": "{}", "any": "[1]", "count": "3"}, {"note": "{}", "any": "[1]", "count": 3}),
        ({"quiet": "true", "count": "-1"}, {"quiet": True, "count": -1}),
        ({"seat": '{"row": 1, "side": "\\ud800"}'}, {"seat": {"row": 1, "side": "\ufffd"}}),
        ({"text": '{"a": 1}', "count": None}, {"text": '{"a": 1}'}),
    ],
    ids=str,
)
def test_arguments_are_coerced_where_the_schema_decides(given_: dict[str, Any], received: dict[str, Any]) -> None:
    arguments = {"text": "x", **given_}
    for quick in (True, False):
        assert parse_arguments(TOOL, json.dumps(arguments), quick=quick) == {"text": "x", **received}


@pytest.mark.parametrize(
    "given_",
    [
        {"seat": '{"row": 1'},
        {"seat": '{"row": NaN}'},
        {"seat": "[1]"},
        {"seat": {"row": None}},
        {"tags": "x, y"},
        {"tags": [None]},
        {"count": "3.5"},
        {"count": "three"},
        {"count": "0x3"},
        {"quiet": "yes"},
        {"kind": "c"},
        {"text": None},
        {"other": None},
    ],
    ids=str,
)
def test_unclear_arguments_are_rejected(given_: dict[str, Any]) -> None:
    with pytest.raises(ToolArgumentError, match="Invalid arguments"):
        parse_arguments(TOOL, json.dumps({"text": "x", **given_}))


@pytest.mark.parametrize("text", ['"{\\"text\\": \\"x\\"}"', json.dumps(json.dumps('{"text": "x"}'))])
def test_arguments_encoded_several_times_are_decoded(text: str) -> None:
    assert parse_arguments(TOOL, text) == {"text": "x"}


def test_every_beginning_of_arguments_is_reported_as_cut_off() -> None:
    whole = '{"text": "a\\u00e9", "quiet": false, "tags": [null, -1.5e+3]}'
    for end in range(1, len(whole)):
        with pytest.raises(ToolArgumentError, match="cut off"):
            parse_arguments(TOOL, whole[:end])


def test_a_reference_to_itself_and_a_wide_value_stay_within_the_budget() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"$ref": "#/properties/a"}, "b": {"allOf": [{"$ref": "#"}] * 40}}}
    assert coerce_arguments(schema, {"a": "1", "b": {"a": None}}, Steps(5_000)) == {"a": "1", "b": {"a": None}}
    with pytest.raises(OutOfStepsError):
        coerce_arguments(schema, {"b": [{}] * 10_000}, Steps(5_000))


@pytest.mark.parametrize("name", ["book\n", " book", "book ", "\tbook\r\n", "\u00a0book"])
def test_white_space_around_a_name_is_dropped(name: str) -> None:
    call = ToolCall("1", name)
    assert call.name == "book"
    assert ToolCall.from_dict(call.to_dict()) == call
