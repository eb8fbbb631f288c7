"""Messages of a call as dicts: the form of `to_dict` and the form of OpenAI's chat completions, mixed with objects."""

from __future__ import annotations

import pytest

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ConfigurationError,
    Media,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolsearch.models.openai.wire import wire_messages
from toolsearch.testing import ScriptedChatModel

CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
ASSISTANT = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def received(*messages: object) -> tuple[Message, ...]:
    """Return the messages that the model receives."""
    model = ScriptedChatModel(["ok"])
    ChatClient(model).call(messages=messages)  # type: ignore[arg-type]
    return tuple(model.requests[0].messages)


CONVERSATION = (
    SystemMessage("Be brief."),
    UserMessage("Look", (Media("image/png", b"x"), Media("application/pdf", b"y", name="a.pdf"))),
    AssistantMessage("I add.", (ToolCall("c1", "add", '{"a": 1}'), ToolCall("c2", "add"))),
    ToolMessage("c1", "add", "1"),
    ToolMessage("c2", "add", "failed"),
    AssistantMessage("1"),
    UserMessage("Listen", (Media("audio/mpeg", b"z"),)),
)


def test_what_is_sent_to_openai_is_accepted_again() -> None:
    assert received(*wire_messages(CONVERSATION)) == CONVERSATION


def test_the_plain_form_is_accepted_again() -> None:
    result = ToolMessage("c2", "add", "failed", is_error=True, revealed=("a",))
    conversation = (*CONVERSATION[:4], result, *CONVERSATION[5:])
    assert received(*(message.to_dict() for message in conversation)) == conversation


def test_forms_can_be_mixed() -> None:
    assert received(
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "text": "1 + 2?"},
        AssistantMessage("", (ToolCall("c1", "add"),)),
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "3"}]},
    ) == (
        SystemMessage("Be brief."),
        UserMessage("1 + 2?"),
        AssistantMessage("", (ToolCall("c1", "add"),)),
        ToolMessage("c1", "add", "3"),
    )


@pytest.mark.parametrize(
    ("part", "media"),
    [
        (
            {"type": "image_url", "image_url": {"url": "https://a.org/b.jpg?c"}},
            Media("image/jpeg", url="https://a.org/b.jpg?c"),
        ),
        ({"type": "image_url", "image_url": "https://a.org/b"}, Media("image/*", url="https://a.org/b")),
        ({"type": "input_audio", "input_audio": {"data": "eA==", "format": "wav"}}, Media("audio/wav", b"x")),
    ],
)
def test_parts_become_media(part: dict, media: Media) -> None:
    assert received({"role": "user", "content": [{"type": "text", "text": "Hi"}, part]}) == (
        UserMessage("Hi", (media,)),
    )


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("Hi", r"messages\[1\] must be a SystemMessage, UserMessage, AssistantMessage, ToolMessage or dict, got 'Hi'"),
        (None, r"messages\[1\] must be a SystemMessage"),
        ({}, r"messages\[1\]\.role must be 'system', 'developer', 'user', 'assistant' or 'tool', got None"),
        ({"role": "function", "content": ""}, r"messages\[1\]\.role must be .* got 'function'"),
        ({"role": "user"}, r"messages\[1\]\.content must be a string or a list of parts, got None"),
        ({"role": "user", "text": 5}, r"messages\[1\]\.text must be a string, got 5"),
        (
            {"role": "system", "content": [{"type": "image_url", "image_url": "https://a.org/b"}]},
            "only users send media",
        ),
        (
            {"role": "user", "content": [{"type": "tool_use"}]},
            r"messages\[1\]\.content\[0\] must be a part of the type",
        ),
        ({"role": "user", "content": [{"type": ["text"]}]}, r"messages\[1\]\.content\[0\] must be a part of the type"),
        ({"role": "user", "content": [{"type": "text", "text": 5}]}, r"content\[0\]\.text must be a string, got 5"),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,!"}}]},
            r"messages\[1\]\.content\[0\]\.image_url\.url must be base64 text",
        ),
        (
            {"role": "user", "content": [{"type": "file", "file": {"file_id": "f1"}}]},
            r"content\[0\]\.file must be a dict",
        ),
        ({**ASSISTANT, "tool_calls": {}, "content": 5}, r"messages\[1\]\.content must be a string or a list"),
        ({**ASSISTANT, "tool_calls": [{"id": "c1"}]}, r"messages\[1\]\.tool_calls\[0\] must be a dict"),
        (
            {**ASSISTANT, "tool_calls": [{**CALL, "function": {"name": "add", "arguments": {"a": 1}}}]},
            r"messages\[1\]\.tool_calls\[0\]\.function\.arguments must be a string",
        ),
        ({"role": "assistant", "function_call": {}}, r"messages\[1\]\.function_call is not supported"),
        ({"role": "tool", "content": "3"}, r"messages\[1\]\.tool_call_id must be a string, got None"),
        ({"role": "tool", "content": "3", "tool_call_id": "c9"}, "must be the id of an earlier tool call, got 'c9'"),
    ],
)
def test_a_wrong_message_is_named_by_its_number(message: object, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        received({"role": "user", "content": "Hi"}, message)
