"""No definition and no history makes a request that the checker of a profile rejects."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearch import ChatClient, ConfigurationError, Tool
from toolsearch.messages import AssistantMessage, Media, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from toolsearch.models import PROFILES, OpenAIChatModel, ProviderProfile
from toolsearch.models.history import acceptable_history
from toolsearch.models.openai.wire import wire_messages, wire_tools
from toolsearch.testing import OpenAIWireServer
from toolsearch.testing.wire_checks import rejections

CATALOGS = Path(__file__).resolve().parents[3] / "shared" / "data" / "mcp_servers"
PROFILE = st.sampled_from(sorted(PROFILES)).map(PROFILES.__getitem__)

# What a catalog of real servers holds in the way of odd schemas. Used where the catalogs are absent.
SAMPLES: list[dict[str, Any]] = [
    {"type": "object", "properties": {"pages": {"type": "array", "description": "Slugs."}}, "required": ["pages"]},
    {"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "null"}}}]},
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/node"}, "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        "additionalProperties": False,
    },
    {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b", None], "default": "a", "x-order": 1},
            "when": {"type": ["string", "null"], "format": "date", "pattern": r"^\d{4}"},
            "filters": {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1},
        },
    },
]


@cache
def schemas() -> list[dict[str, Any]]:
    """Return the schemas of the real servers, or the samples."""
    return [definition["inputSchema"] for _, definition in definitions()] or SAMPLES


@cache
def definitions() -> list[tuple[str, dict[str, Any]]]:
    """Return the tools of the real servers, each with its server's name."""
    files = sorted(CATALOGS.glob("*.json"))
    return [(file.stem, tool) for file in files for tool in json.loads(file.read_text("utf-8"))["tools"]]


def problems(tool: Tool, profile: ProviderProfile) -> list[str]:
    tools = wire_tools([tool], profile)
    return rejections({"tools": tools}, profile) if tools else []


def test_no_real_definition_is_rejected_or_left_out() -> None:
    if not definitions():
        pytest.skip("the catalogs of real servers are not on this machine")
    step = 1 if settings().max_examples > 100 else 4  # all of them in `make soak`
    for server, definition in definitions()[::step]:
        name = f"{server}_{definition['name']}"[:64]
        tool = Tool(name, definition.get("description") or "", definition["inputSchema"])
        for profile in PROFILES.values():
            tools = wire_tools([tool], profile)
            assert len(tools) == 1, (name, profile.name)
            assert rejections({"tools": tools}, profile) == [], (name, profile.name)


KEYWORDS = [
    *("type", "properties", "items", "required", "enum", "anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "const"),
    *("default", "pattern", "description", "format", "additionalProperties", "patternProperties", "nullable"),
    *("minimum", "exclusiveMinimum", "maxLength", "prefixItems", "if", "then", "else", "title", "x-a", "$schema"),
    *("propertyNames", "uniqueItems", "dependentRequired"),
]
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(),
    st.sampled_from(("string", "array", "object", "null", "#", "#/$defs/a", "#/properties/a", "https://a.example/b")),
    st.sampled_from(("^a$", "([", "(?<=a)b", r"(?P<a>b)", r"\Aa\Z", r"\p{L}", "a{1,100000}", "x" * 300)),
    st.text(max_size=3),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from((*KEYWORDS, "a", "b", "ö", "a b", "")), inner, max_size=4),
    ),
    max_leaves=12,
)
DESCRIPTIONS = st.sampled_from(("", "Short.", "A long one. " * 300, "x" * 3_000, "é\ud83d" * 600))


def places(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every object within a schema."""
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from places(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from places(value)


@st.composite
def mutations(draw: st.DrawFn) -> dict[str, Any]:
    """Change a schema in one to three places."""
    schema: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(schemas())))
    for _ in range(draw(st.integers(1, 3))):
        objects = list(places(schema))
        place = objects[draw(st.integers(0, len(objects) - 1))]
        keyword = draw(st.sampled_from(sorted({*KEYWORDS, *map(str, place)})))
        match draw(st.sampled_from(("drop", "replace", "null", "wrap", "nest"))):
            case "drop":
                place.pop(keyword, None)
            case "replace":
                place[keyword] = draw(VALUES)
            case "null":
                place[keyword] = None
            case "wrap":
                schema = {draw(st.sampled_from(("anyOf", "oneOf", "allOf"))): [schema, draw(VALUES)]}
            case "nest":
                inner = copy.deepcopy(place)
                for _ in range(draw(st.sampled_from((5, 31, 32, 33, 60)))):
                    inner = draw(st.sampled_from(({"items": inner}, {"properties": {"a": inner}}, {"anyOf": [inner]})))
                place["properties"] = {"deep": inner}
    return schema


@given(mutations(), DESCRIPTIONS, PROFILE)
def test_no_mutation_of_a_definition_is_rejected(
    schema: dict[str, Any], description: str, profile: ProviderProfile
) -> None:
    try:
        tool = Tool("mutated", description, schema)
    except ConfigurationError:  # nothing of such a definition reaches a request
        return
    assert problems(tool, profile) == []


IDS = st.sampled_from(("c1", "c2", "toolu_vrtx_" + "9f" * 30, "call|fc_1", "", "é", "a" * 9, "\ud83d"))
NAMES = st.sampled_from(("ping", "a.b", "multi_tool_use.parallel", "", "x" * 80))
MEDIA = st.builds(
    Media,
    st.sampled_from(
        [
            "image/png",
            "image/svg+xml",
            "image/heic",
            "image/jpg",
            "image/tiff",
            "application/pdf",
            "audio/wav",
            "audio/ogg",
            "video/mp4",
        ]
    ),
    st.sampled_from((b"1", b"")),
)
ARGUMENTS = st.sampled_from(
    ("{}", "", "[1]", '{"a": NaN}', '{"a": 1e999}', '{"a"', '{"a": 1}', '"{}"', '{"a": "\ud83d"}', "[" * 5_000)
)
CALL = st.builds(ToolCall, IDS, NAMES, ARGUMENTS)
TEXT = st.sampled_from(("", " ", "text", "\ud83d"))
MEDIAS = st.lists(MEDIA, max_size=2).map(tuple)
MESSAGE: st.SearchStrategy[Message] = st.one_of(
    st.builds(SystemMessage, TEXT),
    st.builds(UserMessage, TEXT, MEDIAS),
    st.builds(AssistantMessage, TEXT, st.lists(CALL, max_size=3).map(tuple)),
    st.builds(ToolMessage, IDS, NAMES, TEXT, media=MEDIAS),
)


@given(st.lists(MESSAGE, max_size=8), PROFILE)
def test_no_history_is_rejected(messages: list[Message], profile: ProviderProfile) -> None:
    messages = [*messages, UserMessage("Go on.")]
    wire = wire_messages(acceptable_history(messages, profile), profile)
    assert rejections({"messages": wire}, profile) == []


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_a_server_accepts_all_rounds_of_an_odd_conversation(profile: ProviderProfile) -> None:
    """The SDK sends them: a forced call, odd tools, and a history with halves of pairs."""
    tools = [Tool(f"t{index}", "Words. " * 300, schema, lambda **_: "") for index, schema in enumerate(SAMPLES)]
    history: list[Message] = [
        SystemMessage("Be brief."),
        AssistantMessage("", (ToolCall("call|" + "9f" * 30, "a.b", '{"a": NaN}'), ToolCall("", "ping", ""))),
        ToolMessage("", "ping", "", media=(Media("image/heic", b"1"), Media("image/png", b"1"))),
        UserMessage("", (Media("image/svg+xml", b"1"),)),
        AssistantMessage(""),
        UserMessage("Go on."),
        SystemMessage("Be polite."),
        ToolMessage("c9", "ping", "orphan"),
    ]
    script = [[("t3", {})], [("t0", {"pages": []}), ("unknown", {})], "Done."]
    with OpenAIWireServer(script, profile=profile) as server:
        model = OpenAIChatModel("m", base_url=server.base_url, api_key="k", profile=profile, tool_choice="required")
        with model:
            reply = ChatClient(model, tools=tools).call(messages=[*history, UserMessage("Now")])
    assert reply.text == "Done."
    assert [request.json["tool_choice"] for request in server.requests[1:]] == ["auto", "auto"]


def test_a_tool_is_encoded_once_for_a_profile() -> None:
    tool = Tool("get_weather", "Weather.", {"properties": {"city": {"type": ["string", "null"]}}})
    first = wire_tools([tool], PROFILES["openai"])[0]
    assert wire_tools([tool], PROFILES["openai"])[0] is first
    assert wire_tools([tool], PROFILES["gemini"])[0] != first
    assert wire_tools([tool], PROFILES["openai"])[0] == first
