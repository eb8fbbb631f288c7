"""The plain form of messages, events and responses: lossless, versioned, tolerant, and precise about mistakes."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from datetime import date
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from toolsearch import (
    AssistantMessage,
    ChatChunk,
    ChatClient,
    ChatResponse,
    ConfigurationError,
    Media,
    Message,
    RoundStarted,
    SearchRecord,
    StreamEvent,
    SystemMessage,
    ToolCall,
    ToolFinished,
    ToolMessage,
    ToolSearchReport,
    ToolStarted,
    TurnFinished,
    Usage,
    UserMessage,
    event_from_dict,
    message_from_dict,
)
from toolsearch.serialization import FORMAT, Serializable, _fields_of
from toolsearch.testing import ScriptedChatModel

texts = st.text(max_size=8)
media = st.lists(st.builds(Media, texts, st.binary(max_size=5), st.none() | texts, st.none() | texts), max_size=2).map(
    tuple
)
calls = st.lists(st.builds(ToolCall, texts, texts, texts), max_size=2).map(tuple)
messages = st.one_of(
    st.builds(SystemMessage, texts),
    st.builds(UserMessage, texts, media),
    st.builds(AssistantMessage, texts, calls),
    st.builds(
        ToolMessage,
        texts,
        texts,
        texts,
        is_error=st.booleans(),
        media=media,
        revealed=st.none() | st.lists(texts, max_size=2).map(tuple),
    ),
)
usages = st.builds(Usage, st.integers(0), st.integers(0), st.none() | st.integers(0), st.none() | st.integers(0))
reports = st.builds(
    ToolSearchReport,
    searches=st.lists(st.builds(SearchRecord, texts, st.lists(texts).map(tuple), st.none() | texts)).map(tuple),
    revealed=st.lists(texts).map(tuple),
    tokens_avoided=st.integers(),
    tokens_spent=st.integers(),
    counter=texts,
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)
)
responses = st.builds(
    ChatResponse,
    messages=st.lists(messages, max_size=3),
    usage=usages,
    finish_reason=texts,
    candidates=st.lists(st.builds(AssistantMessage, texts, calls), max_size=2),
    tool_search=st.none() | reports,
    output=values,
)
call = st.builds(ToolCall, texts, texts, texts)
events = st.one_of(
    st.builds(ChatChunk, texts, calls),
    st.builds(RoundStarted, st.integers(1)),
    st.builds(ToolStarted, call),
    st.builds(ToolFinished, call, st.builds(ToolMessage, texts, texts, texts)),
    st.builds(TurnFinished, responses),
)


def through_json(value: Serializable) -> dict:
    return json.loads(json.dumps(value.to_dict()))


@given(messages)
def test_messages_survive_json(message: Message) -> None:
    assert message_from_dict(through_json(message)) == type(message).from_dict(through_json(message)) == message


@given(responses)
def test_responses_survive_json(response: ChatResponse) -> None:
    assert ChatResponse.from_dict(through_json(response)) == response


@given(events)
def test_events_survive_json(event: StreamEvent) -> None:
    assert event_from_dict(through_json(event)) == type(event).from_dict(through_json(event)) == event


@given(call, usages)
def test_parts_survive_json(made: ToolCall, usage: Usage) -> None:
    assert ToolCall.from_dict(through_json(made)) == made
    assert Usage.from_dict(through_json(usage)) == usage


@pytest.mark.parametrize("kind", [*get_args(Message), *get_args(StreamEvent), ChatResponse, Media, ToolCall, Usage])
def test_every_field_has_a_plain_form_or_is_left_out_on_purpose(kind: type) -> None:
    left_out = {"raw", "metadata", "request"}
    assert {field.name for field in fields(kind)} - {field.name for field in _fields_of(kind)} <= left_out


def test_every_event_names_its_type() -> None:
    types = [event.type for event in get_args(StreamEvent)]
    assert len(set(types)) == len(types)
    assert {"chat_chunk", "round_started", "tool_started", "tool_finished", "turn_finished"} <= set(types)


def test_events_of_a_real_turn_are_json() -> None:
    """The request of a round and the provider's own objects stay inside the process."""

    def add(a: int, b: int) -> int:
        return a + b

    client = ChatClient(ScriptedChatModel([[("add", {"a": 1, "b": 2})], "Three."]), tools=[add], system="secret")
    sent = [json.dumps(event.to_dict()) for event in client.stream("1 + 2?", context={"key": "secret"}).events()]
    assert "secret" not in "".join(sent)
    last = event_from_dict(json.loads(sent[-1]))
    assert isinstance(last, TurnFinished)
    assert last.response.text == "Three."


def test_form_says_its_version_once() -> None:
    text = json.dumps(TurnFinished(ChatResponse(messages=[UserMessage("Hi")])).to_dict())
    assert text.count("format") == 1
    assert json.loads(text)["format"] == FORMAT


def test_unknown_keys_and_nulls_are_ignored() -> None:
    value = {"role": "user", "text": "Hi", "media": None, "mood": {"new": 1}}
    assert message_from_dict(value) == UserMessage("Hi")


class City(BaseModel):
    name: str
    founded: date


@dataclass
class Point:
    x: float


@pytest.mark.parametrize(
    ("output", "plain"),
    [
        (City(name="Gouda", founded=date(1272, 7, 19)), {"name": "Gouda", "founded": "1272-07-19"}),
        ([Point(1.5)], [{"x": 1.5}]),
        ({1: (b"x", float("nan"))}, {"1": ["eA==", "NaN"]}),
        ({3}, [3]),
    ],
)
def test_output_becomes_a_json_value(output: object, plain: object) -> None:
    form = through_json(ChatResponse(output=output))
    assert form["output"] == plain
    assert ChatResponse.from_dict(form).output == plain


def test_output_that_json_cannot_express_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"ChatResponse\.output must be .*object"):
        ChatResponse(output=object()).to_dict()
    circle: list = []
    circle.append(circle)
    with pytest.raises(ConfigurationError, match="must not contain itself"):
        ChatResponse(output=circle).to_dict()


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "message must be a mapping, got None"),
        ("Hi", "message must be a mapping, got 'Hi'"),
        ({}, r"message\.role must be one of 'system', 'user', 'assistant', 'tool', got None"),
        ({"role": ["user"]}, r"message\.role must be one of"),
        ({"role": "user"}, "message must have the key 'text'"),
        ({"role": "user", "text": 5}, r"message\.text must be a string, got 5"),
        ({"role": "user", "text": "", "media": {}}, r"message\.media must be a list"),
        (
            {"role": "user", "text": "", "media": [{"mime_type": "a", "data": "!"}]},
            r"message\.media\[0\]\.data must be base64",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "1", "name": "a", "arguments": {}}]},
            r"message\.tool_calls\[0\]\.arguments must be a string",
        ),
        ({"role": "tool", "tool_call_id": "1", "name": "a", "text": "", "is_error": 1}, r"\.is_error must be true or"),
        ({"role": "user", "text": "Hi", "format": FORMAT + 1}, "newer version"),
        ({"role": "user", "text": "Hi", "format": "3"}, "must have a format"),
    ],
)
def test_wrong_forms_name_the_place(value: object, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        message_from_dict(value)  # type: ignore[arg-type]


def test_a_class_refuses_the_form_of_another() -> None:
    with pytest.raises(ConfigurationError, match=r"UserMessage\.role must be 'user', got 'system'"):
        UserMessage.from_dict(SystemMessage("Hi").to_dict())
    with pytest.raises(ConfigurationError, match=r"ChatResponse\.messages\[1\]\.role"):
        ChatResponse.from_dict({"messages": [{"role": "user", "text": ""}, {"role": "x"}]})
    with pytest.raises(ConfigurationError, match=r"event\.response\.usage\.input_tokens must be an integer, got True"):
        event_from_dict({"type": "turn_finished", "response": {"usage": {"input_tokens": True}}})


@pytest.mark.parametrize(
    "form",
    [TurnFinished(ChatResponse.from_text("Hi.")), ToolStarted(ToolCall("1", "add", "{}")), UserMessage("Hi.")],
    ids=lambda form: type(form).__name__,
)
def test_the_form_of_another_class_is_not_read_as_an_empty_response(form: Any) -> None:
    with pytest.raises(ConfigurationError, match="read messages with message_from_dict"):
        ChatResponse.from_dict(form.to_dict())
