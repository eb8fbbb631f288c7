"""A stored message that providers reject does not fail the later requests of its session."""

from __future__ import annotations

import pytest

from toolsearch.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from toolsearch.models import PROFILES
from toolsearch.models.history import acceptable_history
from toolsearch.models.openai.wire import wire_messages


@pytest.mark.parametrize("arguments", ["", " ", '{"a": 1', "[1]", '"text"', "null", "{}}", "[" * 100_000])
def test_arguments_that_are_not_an_object_are_sent_as_an_empty_one(arguments: str) -> None:
    (sent,) = wire_messages([AssistantMessage("", tool_calls=[ToolCall("c1", "weather", arguments)])])
    assert sent["tool_calls"][0]["function"]["arguments"] == "{}"


def test_arguments_that_are_an_object_keep_their_text() -> None:
    (sent,) = wire_messages([AssistantMessage("", tool_calls=[ToolCall("c1", "weather", '{ "a":1 }')])])
    assert sent["tool_calls"][0]["function"]["arguments"] == '{ "a":1 }'


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_result_is_sent_as_a_note(text: str) -> None:
    (sent,) = wire_messages([ToolMessage(tool_call_id="c1", name="weather", text=text)])
    assert sent["content"] == "(empty result)"


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_answer_is_left_out(text: str) -> None:
    sent = wire_messages([UserMessage("a"), AssistantMessage(text), UserMessage("b")])
    assert [message["content"] for message in sent] == ["a", "b"]


def test_user_messages_stay_apart_for_a_server_that_takes_them() -> None:
    history = acceptable_history([UserMessage("a"), AssistantMessage(""), UserMessage("b")], PROFILES["default"])
    assert [message.text for message in history] == ["a", "b"]
    joined = acceptable_history([UserMessage("a"), AssistantMessage(""), UserMessage("b")], PROFILES["mistral"])
    assert [part["content"] for part in wire_messages(joined, PROFILES["mistral"])] in (
        ["a\n\nb"],
        [[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]],
    )
