"""Features that `tests/conformance/features.md` lists and no other test covers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from toolsearch import (
    AssistantMessage,
    ChatChunk,
    ChatClient,
    ChatRequest,
    ChatResponse,
    Message,
    Tool,
    ToolCall,
    ToolContext,
    ToolMessage,
    ToolSearchAdvisor,
    UserMessage,
    tool,
)
from toolsearch.observability.observer import Observed
from toolsearch.output import JsonOutputConverter
from toolsearch.testing import ScriptedChatModel

Ask = Callable[..., Any]


class Outer:
    """A class around a class."""

    class Station:
        """Methods of every kind."""

        @tool
        def measure(self, place: str) -> str:
            """Measure."""
            return f"12 in {place}"

        @tool
        def _calibrate(self) -> str:
            """Calibrate."""
            return "calibrated"

        @tool
        @staticmethod
        def units() -> list[str]:
            """Units."""
            return ["C", "F"]

        @tool
        @classmethod
        def kind(cls) -> str:
            """Kind."""
            return cls.__name__


def test_methods_of_any_kind_become_tools(ask: Ask) -> None:
    calls = [("measure", {"place": "Gouda"}), ("_calibrate", {}), ("units", {}), ("kind", {})]
    client = ChatClient(ScriptedChatModel([calls, "ok"]), tools=[Outer.Station()])
    assert contents(ask(client, "go").response) == ["12 in Gouda", "calibrated", '["C","F"]', "Station"]


def contents(response: ChatResponse) -> list[str]:
    return [message.text for message in response.messages if isinstance(message, ToolMessage)]


class Foreign:
    """A class of another library, without marks."""

    def wthr(self, place: str) -> str:
        return f"rain in {place}"


def test_methods_of_other_libraries_become_tools(ask: Ask) -> None:
    described = Tool.from_function(Foreign().wthr, name="get_weather", description="Weather in a place.", tags=["sky"])
    assert (described.name, described.description, described.tags) == ("get_weather", "Weather in a place.", ("sky",))
    client = ChatClient(ScriptedChatModel([[("get_weather", {"place": "Gouda"})], "ok"]), tools=[described])
    assert contents(ask(client, "go").response) == ["rain in Gouda"]


@dataclass
class Query:
    """One object for all arguments."""

    city: str
    unit: str = "C"


def test_functions_of_every_kind_become_tools(ask: Ask) -> None:
    """Functions without arguments or without a result, with one object as argument, or with the context."""
    seen: list[str] = []
    tools = [
        Tool("supply", "Supply.", fn=lambda: 5),
        Tool("consume", "Consume.", fn=lambda text: seen.append(text)),
        Tool.from_function(typed, name="ask", description="Ask."),
        whose,
    ]
    calls = [("supply", {}), ("consume", {"text": "x"}), ("ask", {"query": {"city": "Gouda"}}), ("whose", {"id": 1})]
    client = ChatClient(ScriptedChatModel([calls, "ok"]), tools=tools, context={"tenant": "acme"})
    assert contents(ask(client, "go").response) == ["5", "Done", "Gouda in C", "1 of acme"]
    assert seen == ["x"]


def typed(query: Query) -> str:
    return f"{query.city} in {query.unit}"


def whose(id: int, context: ToolContext) -> str:
    """Return the owner."""
    return f"{id} of {context['tenant']}"


def test_a_model_without_a_client_does_not_run_tools() -> None:
    ran: list[str] = []
    request = ChatRequest(messages=[UserMessage("go")], tools=[Tool("note", "Note.", fn=ran.append)])
    model = ScriptedChatModel([[("note", {"text": "x"})]] * 3)
    *_, streamed = model.stream(request)
    assert isinstance(streamed, ChatResponse)
    for response in (model.call(request), anyio.run(model.acall, request), streamed):
        assert [call.name for call in response.tool_calls] == ["note"]
    assert ran == []


def test_rounds_can_be_driven_with_a_model_alone() -> None:
    client = ChatClient(ScriptedChatModel([]), tools=[Tool("now", "Now.", fn=lambda: "noon")])
    for streaming in (False, True):
        model = ScriptedChatModel([[("now", {})], "It is noon."])
        messages: list[Message] = [UserMessage("What time is it?")]
        shown: list[str] = []
        while True:
            request = ChatRequest(messages=messages, tools=[Tool("now", "Now.")])
            *chunks, response = model.stream(request) if streaming else [model.call(request)]
            shown += [chunk.text for chunk in chunks if isinstance(chunk, ChatChunk)]
            assert isinstance(response, ChatResponse)
            messages.append(response.message)
            if not response.tool_calls:
                break
            batch = client.run_tools(messages=messages)
            assert not batch.return_direct
            messages += batch.messages
        assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]
        assert "".join(shown) == ("It is noon." if streaming else "")


def test_direct_results_keep_ids_and_names_of_their_calls(ask: Ask) -> None:
    tools = [
        Tool("a", "A.", fn=lambda: '{"a": 1}', return_direct=True),
        Tool("b", "B.", fn=lambda: '{"b":  2}', return_direct=True),
    ]
    client = ChatClient(ScriptedChatModel([[("a", {}), ("b", {})]]), tools=tools)
    response = ask(client, "go").response
    results = [message for message in response.messages if isinstance(message, ToolMessage)]
    assert [(message.tool_call_id, message.name) for message in results] == [("call_1", "a"), ("call_2", "b")]
    assert response.text == '{"a": 1}\n{"b":  2}'  # to the letter, no model came between


class Film(BaseModel):
    """Fields that are not in alphabetical order."""

    title: str
    actor: str
    year: int = 1990


def test_a_converter_works_without_a_client() -> None:
    """Its instructions go into the prompt, and `parse` reads the answer. The order of fields is kept."""
    converter = JsonOutputConverter(list[Film])
    assert list(JsonOutputConverter(Film).schema["properties"]) == ["title", "actor", "year"]
    prompt = UserMessage(f"Films of Tom Hanks. {converter.instructions}")
    answer = ScriptedChatModel(['Here:\n```json\n[{"title": "Big", "actor": "Tom Hanks"}]\n```']).call(
        ChatRequest(messages=[prompt])
    )
    assert converter.parse(answer.text) == [Film(title="Big", actor="Tom Hanks")]


@pytest.mark.parametrize("given", ["get_weather", ["get_weather"]])
def test_a_name_instead_of_a_tool_is_rejected(given: Any) -> None:
    """Tools are passed, not looked up in a container."""
    with pytest.raises(ValueError, match="pass the function itself, not its name"):
        ChatClient(ScriptedChatModel([]), tools=given)


@pytest.mark.parametrize("kept", [64, 48, 36])
def test_a_shortened_tool_name_is_recognized(ask: Ask, kept: int) -> None:
    """Models shorten long names, such as prefixed ones."""
    name = "mcp_customer_relations_" + "production_" * 2 + "list_open_tickets"
    tools = [Tool(name, "List.", fn=lambda: "none"), Tool("mcp_calendar_list_events", "List.", fn=lambda: "none")]
    client = ChatClient(ScriptedChatModel([[(name[: min(kept, len(name) - 1)], {})], "ok"]), tools=tools)
    (answer,) = contents(ask(client, "go").response)
    assert f"Did you mean {name!r}" in answer


def test_the_defaults_of_tool_search() -> None:
    advisor = ToolSearchAdvisor()
    assert advisor.describe() == {"advisor": "ToolSearchAdvisor", "index": "Bm25ToolIndex"}
    settings = advisor.disclosure.settings
    assert (advisor.order, settings.max_results, settings.keep_revealed) == (300, 5, True)
    assert (settings.reveal_all_below, settings.reveal_upfront, settings.run_unrevealed) == (None, 0, False)


def test_run_tools_is_observed() -> None:
    seen: list[tuple[str, object]] = []

    class Noted:
        def __init__(self, operation: Observed) -> None:
            self.operation = operation

        def current(self) -> AbstractContextManager[object]:
            return nullcontext()

        def end(self, result: Any, error: BaseException | None) -> None:
            seen.append((type(self.operation).__name__, getattr(result, "text", None)))

    class Notes:
        def begin(self, operation: Observed) -> Noted:
            return Noted(operation)

    client = ChatClient(ScriptedChatModel([]), tools=[Tool("now", "Now.", fn=lambda: "noon")], observer=Notes())
    client.run_tools(messages=[AssistantMessage("", (ToolCall("1", "now", "{}"),))])
    assert seen[0] == ("ObservedToolCall", "noon")
