"""Augmented tools: added fields reach the consumer and are removed before the tool runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel, Field

from toolsearch import AugmentedTools, ChatClient, ConfigurationError, Tool, ToolContext, ToolMessage, ToolSearchAdvisor
from toolsearch.testing import ScriptedChatModel
from toolsearch.tools.augment import AugmentedCall

Ask = Callable[..., Any]


class Thought(BaseModel):
    """Requested from the model with every call."""

    reason: str = Field(description="Why you call the tool.")
    sure: int = 5


def weather(city: str, context: ToolContext, days: int = 1) -> str:
    """Weather in a city."""
    return f"{context['unit']} for {days} in {city}"


def forecast(city: str) -> str:
    """Weather in a city."""
    return f"rain in {city}"


async def remote(text: str) -> str:
    """Ask a remote service."""
    return text.upper()


def test_added_fields_reach_the_consumer_and_not_the_tool(ask: Ask) -> None:
    calls: list[AugmentedCall[Thought]] = []
    steps = [[("weather", {"city": "Gouda", "reason": "They asked.", "days": 2})], "Rain."]
    model = ScriptedChatModel(steps)
    client = ChatClient(model, tools=AugmentedTools([weather], Thought, calls.append), context={"unit": "C"})
    response = ask(client, "Weather?").response
    assert response.messages[1] == ToolMessage("call_1", "weather", "C for 2 in Gouda")
    (call,) = calls
    assert (call.tool.name, call.fields) == ("weather", Thought(reason="They asked."))
    assert call.arguments == {"city": "Gouda", "reason": "They asked.", "days": 2}
    assert call.context["unit"] == "C"
    parameters = model.requests[0].tools[0].parameters
    assert list(parameters["properties"]) == ["city", "days", "reason", "sure"]
    assert parameters["required"] == ["city", "reason"]
    assert parameters["properties"]["reason"]["description"] == "Why you call the tool."


def test_a_missing_field_is_an_error_for_the_model(ask: Ask) -> None:
    client = ChatClient(
        ScriptedChatModel([[("weather", {"city": "Gouda"})], "ok"]),
        tools=AugmentedTools([weather], Thought, lambda _call: None),
    )
    result = ask(client, "Weather?").response.messages[1]
    assert result.is_error
    assert "'reason': required" in result.text


def test_a_consumer_can_reject_a_call(ask: Ask) -> None:
    def refuse(call: AugmentedCall[Thought]) -> None:
        if call.fields.sure < 3:
            raise PermissionError("be surer")

    steps = [[("weather", {"city": "Gouda", "reason": "?", "sure": 1})], "ok"]
    client = ChatClient(ScriptedChatModel(steps), tools=AugmentedTools([weather], Thought, refuse))
    assert ask(client, "Weather?").response.messages[1].text == "PermissionError: be surer"


def test_attributes_of_a_tool_are_kept_with_tool_search(ask: Ask) -> None:
    made = Tool(
        "report", "Make a report.", {}, lambda: "done", source="office", tags=("x",), return_direct=True, timeout=9
    )
    augmented = AugmentedTools([made], Thought, lambda _call: None)
    (tool,) = augmented.tools()
    for name in ("description", "source", "tags", "return_direct", "timeout", "concurrent", "search_text"):
        assert getattr(tool, name) == getattr(made, name)
    steps = [[("tool_search", {"query": "report"})], [("report", {"reason": "because"})]]
    client = ChatClient(ScriptedChatModel(steps), tools=augmented, advisors=[ToolSearchAdvisor("bm25")])
    response = ask(client, "Report!", session_id="ann").response
    assert (response.text, response.finish_reason) == ("done", "return_direct")


def test_async_tools_are_augmented() -> None:
    said: list[str] = []
    tools = AugmentedTools([remote], Thought, lambda call: said.append(call.fields.reason))
    client = ChatClient(ScriptedChatModel([[("remote", {"text": "hi", "reason": "r"})], "ok"]), tools=tools)
    response = anyio.run(client.acall, "go")
    assert response.messages[1] == ToolMessage("call_1", "remote", "HI")
    assert said == ["r"]


def test_augmented_tools_are_cached() -> None:
    augmented = AugmentedTools([weather], Thought, lambda _call: None)
    assert augmented.tools()[0] is augmented.tools()[0]


def test_without_removal_the_tool_gets_all_arguments() -> None:
    got: list[dict[str, Any]] = []
    raw = Tool("raw", "Raw.", {"type": "object", "properties": {}}, lambda **arguments: got.append(arguments))
    (tool,) = AugmentedTools([raw], Thought, lambda _call: None, remove=False).tools()
    tool.call({"reason": "r"})
    assert got == [{"reason": "r"}]


class Empty(BaseModel):
    """Nothing to add."""


@pytest.mark.parametrize(
    ("fields", "consumer", "says"),
    [
        (Empty, print, "at least one field"),
        (dict, print, "pydantic model"),
        (Thought, 5, "callable"),
        (Thought, anyio.sleep, "not async"),
    ],
)
def test_wrong_fields_and_consumers_are_rejected(fields: Any, consumer: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        AugmentedTools([weather], fields, consumer)


def test_a_field_with_the_name_of_a_parameter_is_rejected() -> None:
    def explain(reason: str) -> str:
        """Explain."""
        return reason

    with pytest.raises(ConfigurationError, match="'reason'"):
        AugmentedTools([explain], Thought, lambda _call: None).tools()


def test_a_consumer_that_returns_an_awaitable_rejects_the_call(ask: Ask) -> None:
    client = ChatClient(
        ScriptedChatModel([[("weather", {"city": "Gouda", "reason": "r"})], "ok"]),
        tools=AugmentedTools([weather], Thought, lambda _call: anyio.lowlevel.checkpoint()),
        context={"unit": "C"},
    )
    result = ask(client, "Weather?").response.messages[1]
    assert result.is_error
    assert result.text == "It failed because of the configuration of this service."


def test_a_schema_with_closed_branches_is_rejected() -> None:
    branch = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    tool = Tool("either", "Either.", {"type": "object", "oneOf": [branch]}, lambda **_: "ok")
    with pytest.raises(ConfigurationError, match="oneOf forbids additional properties"):
        AugmentedTools([tool], Thought, lambda _call: None).tools()


@dataclass
class Note:
    """A dataclass instead of a pydantic model."""

    reason: str
    sure: int = 5


def test_fields_can_be_a_dataclass(ask: Ask) -> None:
    notes: list[Note] = []
    tools = AugmentedTools([remote], Note, lambda call: notes.append(call.fields))
    model = ScriptedChatModel([[("remote", {"text": "hi", "reason": "so"})], [("remote", {"text": "hi"})], "ok"])
    messages = ask(ChatClient(model, tools=tools), "Hi").response.messages
    assert messages[1].text == "HI"
    assert "'reason': required" in messages[3].text
    assert notes == [Note("so", 5)]
    assert tools.tools()[0].parameters["required"] == ["text", "reason"]


def test_a_consumer_is_optional() -> None:
    (augmented,) = AugmentedTools([forecast], Note).tools()
    assert augmented.parameters["required"] == ["city", "reason"]
    assert augmented.call({"city": "Gouda", "reason": "so"}) == "rain in Gouda"


@pytest.mark.parametrize("fields", [dict, object, Thought(reason="x"), None, type("Empty", (BaseModel,), {})])
def test_fields_must_be_a_class_with_fields(fields: Any) -> None:
    with pytest.raises(ConfigurationError, match="a pydantic model or a dataclass with at least one field"):
        AugmentedTools([forecast], fields)
