"""A JSON Schema as output type: the answer is the parsed JSON, valid against the schema."""

from __future__ import annotations

from typing import Any

import pytest

from toolsearch import ChatClient, ConfigurationError, StructuredOutputAdvisor, StructuredOutputError
from toolsearch.models.openai.strict_schema import response_format
from toolsearch.output import converter_for
from toolsearch.testing import ScriptedChatModel

CITY: dict[str, Any] = {
    "title": "City",
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer", "minimum": 0}},
    "required": ["name", "people"],
}
TREE: dict[str, Any] = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}}
    },
}
NESTED = {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#"}]}}


@pytest.mark.parametrize(
    ("schema", "answer", "output"),
    [
        (CITY, 'Sure: ```json\n{"name": "Gouda", "people": 1, "a": 2}\n```', {"name": "Gouda", "people": 1, "a": 2}),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, '{"answer": [1, 2]}', [1, 2]),
        ({"enum": ["red", "blue"]}, "red.", "red"),
        ({"type": "string"}, "plain text", "plain text"),
        ({"type": "number"}, "12.5", 12.5),
        (TREE, '{"next": {"next": null}}', {"next": {"next": None}}),
        (NESTED, "[1, [2, [3]]]", [1, [2, [3]]]),
        ({}, '{"a": null}', {"a": None}),
    ],
)
def test_output_is_the_parsed_json(schema: dict[str, Any], answer: str, output: object) -> None:
    client = ChatClient(ScriptedChatModel([answer]))
    assert client.call("Hi", output_type=schema).output == output


def test_an_answer_that_does_not_fit_is_sent_back() -> None:
    model = ScriptedChatModel(['{"name": "Gouda", "people": -1}', '{"name": "Gouda", "people": 1}'])
    assert ChatClient(model).call("Hi", output_type=CITY).output == {"name": "Gouda", "people": 1}
    assert "'people': expected at least 0, got -1" in model.requests[1].messages[-1].text


def test_a_problem_of_the_whole_answer_is_named() -> None:
    advisor = StructuredOutputAdvisor({"type": "array"}, retries=0)
    with pytest.raises(StructuredOutputError, match=r"the answer: expected array, got \{"):
        ChatClient(ScriptedChatModel(['{"a": 1}']), advisors=[advisor]).call("Hi")


def test_the_provider_receives_the_schema() -> None:
    model = ScriptedChatModel(['{"name": "Gouda", "people": 1}'], supports_output_schema=True)
    ChatClient(model).call("Hi", output_type=CITY)
    sent = model.requests[0].output_schema
    assert sent is not None
    assert (sent.name, sent.schema) == ("City", CITY)
    assert response_format(sent)["json_schema"]["strict"]


def test_a_schema_without_an_object_at_the_root_is_wrapped() -> None:
    schema = converter_for(NESTED).schema
    assert schema is not None
    assert schema["properties"]["answer"]["items"]["anyOf"][1] == {"$ref": "#/properties/answer"}


def test_an_object_without_properties_stays_open() -> None:
    """Strict mode would allow only the empty object."""
    model = ScriptedChatModel(['{"any": 1}'], supports_output_schema=True)
    assert ChatClient(model).call("Hi", output_type={"type": "object"}).output == {"any": 1}
    sent = model.requests[0].output_schema
    assert sent is not None
    assert not response_format(sent)["json_schema"]["strict"]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "objekt"}, r"the schema\.type: 'objekt' is not valid"),
        ({"properties": {"a": {"type": 5}}}, r"the schema\.properties\.a\.type"),
        ({"enum": {1, 2}}, "not JSON serializable"),
        ({"type": object}, "not JSON serializable"),
    ],
)
def test_an_invalid_schema_is_refused_before_anything_is_sent(schema: dict[str, Any], problem: str) -> None:
    model = ScriptedChatModel(["{}"])
    with pytest.raises(ConfigurationError, match=problem):
        ChatClient(model).call("Hi", output_type=schema)
    assert model.requests == []


@pytest.mark.parametrize(
    ("output_type", "answer", "output"),
    [
        (int, "```json\n3\n```", 3),
        (bool, "```\ntrue\n```", True),
        ({"type": "integer"}, "````json\n\n3\n````", 3),
        ({"type": "string"}, '```json\n"a"\n```', "a"),
        ({"type": "string"}, "```json\n3\n```", "3"),
        ({"type": ["string", "null"]}, "```json\nnull\n```", None),
        ({"enum": ["a", "b"]}, '```json\n"a"\n```', "a"),
        ({"enum": ["a", "b"]}, "**a**.", "a"),
        ({"type": "string"}, "It rains.", "It rains."),
        ({"type": "string"}, "Write `a` or *b*.", "Write `a` or *b*."),
        ({"type": "string"}, "```py\nx = 1\n```\nor\n```py\ny = 1\n```", "```py\nx = 1\n```\nor\n```py\ny = 1\n```"),
    ],
)
def test_scalars_are_read_from_fences_and_texts_stay_whole(output_type: Any, answer: str, output: object) -> None:
    client = ChatClient(ScriptedChatModel([answer]))
    assert client.call("?", output_type=output_type).output == output
