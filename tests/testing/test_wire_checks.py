"""The checker of requests rejects what providers reject, and nothing else."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import replace
from typing import Any

import pytest

from toolsearch.models import PROFILES, ProviderProfile
from toolsearch.testing import OpenAIWireServer
from toolsearch.testing.wire_checks import rejections

OPENAI = PROFILES["openai"]
USER = {"role": "user", "content": "Hi"}
SVG = {"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,MQ=="}}


def call(call_id: str = "c1", name: str = "ping", arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asked(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [*(calls or [call()])], **fields}


def result(call_id: str = "c1", content: Any = "pong") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def body_of(schema: Any, **fields: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {"name": "ping", "parameters": schema, **fields}}]}


def prop(schema: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, **fields}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


SCHEMAS: list[tuple[str, Any, str]] = [
    ("openai", prop({"type": "array"}), "#/properties/a: an array without items"),
    ("openai", prop({"type": ["array", "null"]}), "an array without items"),
    ("openai", {"type": "object"}, "without properties"),
    ("openai", {}, "not of the type object"),
    ("openai", {"type": ["object"], "properties": {}}, "not of the type object"),
    ("openai", prop({}, anyOf=[{}]), "anyOf at the top"),
    ("openai", prop({}, **{"not": {}}), "not at the top"),
    ("openai", prop({}, required=None), "not a JSON Schema"),
    ("openai", prop({}, required=["a", "a"]), "not a JSON Schema"),
    ("openai", prop({}, required=["b"]), "'b' is required but not a property"),
    ("openai", prop({"type": "text"}), "not a JSON Schema"),
    ("openai", prop({"type": None}), "not a JSON Schema"),
    ("openai", prop({"minLength": -1}), "not a JSON Schema"),
    ("openai", prop({"enum": []}), "an empty enum"),
    ("openai", prop({"default": float("nan")}), "not JSON"),
    ("openai", prop({"maximum": float("inf")}), "not JSON"),
    ("openai", prop({"description": "\ud83d"}), "not JSON"),
    ("openai", prop(True), "a boolean instead of a schema"),
    ("openai", prop({"x-order": 1}), "the keyword 'x-order'"),
    ("openai", prop({"nullable": True}), "the keyword 'nullable'"),
    ("openai", prop({"$ref": "#/$defs/b"}), "leads nowhere"),
    ("openai", prop({"$ref": "https://example.com"}), "leads nowhere"),
    ("openai", prop({"$ref": "#/$defs/b"}, **{"$defs": {"b": {"$ref": "#/$defs/b"}}}), "only leads to itself"),
    ("openai", prop({"pattern": "(["}), "not a JSON Schema"),
    ("openai", prop({"pattern": "(?=a)"}), "is invalid"),
    ("openai", prop({"pattern": r"(?P<a>.)"}), "is not ECMAScript"),
    ("openai", prop({"patternProperties": {"(?!a)": {}}}), "is invalid"),
    ("openai", prop({"description": "a" * 100_000}), "characters long"),
    ("openai", prop(nested(32)), "deeper than 32"),
    ("gemini", prop({"$ref": "#/$defs/b"}), "a $ref"),
    ("gemini", prop({"type": ["string", "null"]}), "a list of types"),
    ("gemini", prop({"enum": [1]}), "an enum of other values than texts"),
    ("gemini", prop({"const": 1}), "the keyword 'const'"),
    ("gemini", prop({}, additionalProperties=False), "the keyword 'additionalProperties'"),
    ("gemini", prop({"pattern": "^a$"}), "is not accepted"),
    ("llama.cpp", prop({"pattern": "a"}), "is not anchored"),
    ("anthropic", {"type": "object", "properties": {"a b": {}}}, "the property 'a b'"),
]


@pytest.mark.parametrize(("profile", "schema", "problem"), SCHEMAS)
def test_bad_schemas_are_rejected(profile: str, schema: Any, problem: str) -> None:
    assert problem in "\n".join(rejections(body_of(schema), PROFILES[profile]))


FINE: list[tuple[str, Any]] = [
    ("openai", {"type": "object", "properties": {}}),
    ("openai", prop({"type": ["array", "null"], "items": {}}, required=["a"], additionalProperties=False)),
    ("openai", prop({"$ref": "#/$defs/b"}, **{"$defs": {"b": prop({"$ref": "#/$defs/b"})}})),
    ("openai", prop({"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "null"}]})),
    ("openai", prop(nested(31))),
    ("gemini", prop({"type": "string", "nullable": True, "enum": ["a"]})),
    ("llama.cpp", prop({"pattern": "^a$"})),
]


@pytest.mark.parametrize(("profile", "schema"), FINE)
def test_good_schemas_are_accepted(profile: str, schema: Any) -> None:
    assert rejections(body_of(schema), PROFILES[profile]) == []


MESSAGES: list[tuple[str, list[dict[str, Any]], str]] = [
    ("openai", [USER, result()], "messages[1]: a result without its call"),
    ("openai", [USER, asked(), result(), result()], "messages[3]: a result without its call"),
    ("openai", [USER, asked()], "the calls ['c1'] have no results"),
    ("openai", [USER, asked(call("c1"), call("c2")), result("c1"), USER], "the calls ['c2'] before it have no results"),
    ("openai", [USER, asked(), USER, result()], "a result without its call"),
    ("openai", [USER, asked(call("c1"), call("c1")), result(), result()], "the id 'c1' of an earlier call"),
    ("openai", [USER, asked(call("a" * 41)), result("a" * 41)], "the id"),
    ("openai", [USER, asked(call("")), result("")], "the id ''"),
    ("mistral", [USER, asked(), result()], "the id 'c1'"),
    ("openai", [USER, asked(call(name="a.b")), result()], "the name 'a.b'"),
    ("openai", [USER, asked(call(arguments='{"a": NaN}')), result()], "arguments that are not a JSON object"),
    ("openai", [USER, asked(call(arguments='{"a": 1e999}')), result()], "arguments that are not a JSON object"),
    ("openai", [USER, asked(call(arguments="[]")), result()], "arguments that are not a JSON object"),
    ("openai", [USER, asked(call(arguments="")), result()], "arguments that are not a JSON object"),
    ("openai", [USER, asked(content=""), result()], "empty content as text"),
    ("deepseek", [USER, asked(), result()], "empty content as null"),
    ("default", [USER, asked(), result()], "empty content as null"),
    ("default", [USER, asked(content=""), result()], "empty content as text"),
    ("openai", [USER, asked(), result(content=" ")], "no content"),
    ("openai", [{"role": "user", "content": ""}], "no content"),
    ("openai", [USER, {"role": "assistant", "content": None}], "no content"),
    ("openai", [{"role": "user", "content": []}], "an empty list of parts"),
    ("openai", [{"role": "user", "content": [{"type": "text", "text": " "}]}], "a part with an empty text"),
    ("openai", [{"role": "user", "content": [SVG]}], "an image of the type 'image/svg+xml'"),
    ("openai", [USER, asked(), result(content=[SVG])], "a part of the type 'image_url' in a tool message"),
    ("default", [USER, {"role": "system", "content": "a"}], "a system message that is not the first message"),
    ("default", [{"role": "system", "content": "a"}] * 2, "a system message that is not the first message"),
    ("mistral", [USER, USER], "two user messages in a row"),
    ("mistral", [{"role": "assistant", "content": "a"}, USER], "a conversation that begins with an answer"),
    ("vllm", [USER, asked(content=""), result(), USER], "a user message after a result"),
    ("openai", [{"role": "function", "content": "a"}], "the role 'function'"),
    ("openai", [{"content": "a"}], "not a request for chat completions"),
]


@pytest.mark.parametrize(("profile", "messages", "problem"), MESSAGES)
def test_bad_messages_are_rejected(profile: str, messages: list[dict[str, Any]], problem: str) -> None:
    assert problem in "\n".join(rejections({"messages": messages}, PROFILES[profile]))


OPTIONS: list[tuple[Any, str]] = [
    ({"tool_choice": "auto"}, "tool_choice: without tools"),
    ({"parallel_tool_calls": False}, "parallel_tool_calls: without tools"),
    ({"tools": []}, "tools: empty"),
    ({**body_of(prop({})), "tool_choice": "ping"}, "tool_choice: 'ping'"),
    ({**body_of(prop({})), "tool_choice": {"type": "function", "function": {"name": "pay"}}}, "'pay' is not one of"),
    (body_of(prop({}), name="a b"), "the name 'a b'"),
    (body_of(prop({}), description="a" * 1025), "a description of 1025 characters"),
    ({"tools": body_of(prop({}))["tools"] * 2}, "a name of two tools"),
]


@pytest.mark.parametrize(("body", "problem"), OPTIONS)
def test_bad_tools_and_options_are_rejected(body: Any, problem: str) -> None:
    assert problem in "\n".join(rejections(body, OPENAI))


def test_a_call_cannot_be_forced_where_the_profile_says_so() -> None:
    body = {**body_of(prop({})), "tool_choice": "required"}
    assert rejections(body, OPENAI) == []
    assert rejections(body, replace(OPENAI, forced_tool_choice=False)) == ["tool_choice: a call cannot be forced"]


def post(server: OpenAIWireServer, body: Any) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(server.base_url + "/chat/completions", json.dumps(body).encode()) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_a_server_with_a_profile_rejects_without_taking_a_step() -> None:
    with OpenAIWireServer(["Hello!"], profile=OPENAI) as server:
        status, reply = post(server, {"messages": [USER, result()]})
        assert (status, reply["error"]["message"]) == (400, "messages[1]: a result without its call")
        status, reply = post(server, {"messages": [USER]})
        assert (status, reply["choices"][0]["message"]["content"]) == (200, "Hello!")
        assert len(server.requests) == 2


def test_a_server_without_a_profile_accepts_every_request() -> None:
    profile: ProviderProfile | None = None
    with OpenAIWireServer(["Hello!"], profile=profile) as server:
        assert post(server, {"messages": [result()]})[0] == 200
