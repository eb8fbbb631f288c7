"""`ChatClient`: validation of arguments, and the request of a call."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ChatRequest,
    ConfigurationError,
    DuplicateToolError,
    SystemMessage,
    Tool,
    ToolCall,
    ToolMessage,
    UserMessage,
    tool,
)
from toolsearch.client.client import CallOptions
from toolsearch.loop import AdvisorFlow
from toolsearch.testing import ScriptedChatModel


def ping() -> str:
    """Answer."""
    return "pong"


def request_of(ask: Any, *args: Any, client_options: Any = None, **kwargs: Any) -> ChatRequest:
    """Return the request that the model receives for a call with these arguments."""
    model = ScriptedChatModel(["ok"])
    ask(ChatClient(model, **(client_options or {})), *args, **kwargs)
    return model.requests[0]


# --- messages --------------------------------------------------------------------------------------------------------


def test_a_prompt_is_a_user_message(ask_pair):
    assert request_of(ask_pair, "Hi").messages == (UserMessage("Hi"),)


def test_a_prompt_can_be_a_message(ask_pair):
    assert request_of(ask_pair, UserMessage("Hi")).messages == (UserMessage("Hi"),)


def test_a_prompt_follows_the_messages(ask_pair):
    history = [UserMessage("a"), AssistantMessage("b")]
    assert request_of(ask_pair, "c", messages=history).messages == (*history, UserMessage("c"))


def test_messages_can_be_any_iterable_without_a_prompt(ask_pair):
    history = [UserMessage("a"), AssistantMessage("", (ToolCall("1", "x"),)), ToolMessage("1", "x", "y")]
    assert request_of(ask_pair, messages=history).messages == tuple(history)
    assert request_of(ask_pair, messages=(message for message in history)).messages == tuple(history)


def test_an_empty_prompt_is_sent(ask_pair):
    assert request_of(ask_pair, "").messages == (UserMessage(""),)


def test_unicode_reaches_the_model_unchanged(ask):
    text = "Grüße 世界 \ud800 \x00 👩‍👩‍👧"
    assert request_of(ask, text).messages == (UserMessage(text),)


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        ((), {}, "nothing to send"),
        ((), {"messages": []}, "nothing to send"),
        ((7,), {}, "prompt must be a string or a UserMessage, got 7; write messages="),
        ((AssistantMessage("x"),), {}, "got AssistantMessage"),
        ((), {"messages": ["Hi"]}, r"messages\[0\] must be a SystemMessage, .* or dict, got 'Hi'"),
        ((), {"messages": "Hi"}, "messages must be a list of messages, got 'Hi'"),
        ((), {"messages": 5}, "messages must be a list of messages, got 5"),
        ((), {"messages": {"role": "user", "content": "Hi"}}, r"messages must be a list; write messages=\[dict"),
        (("Hi",), {"session_id": ""}, "session_id must be a non-empty string"),
        (("Hi",), {"session_id": "  "}, "session_id must be a non-empty string"),
        (("Hi",), {"session_id": 7}, "session_id must be a non-empty string, got 7"),
        (("Hi",), {"tenant_id": ""}, "tenant_id must be a non-empty string"),
        (("Hi",), {"context": 5}, r'context must be a mapping, got 5; write context=\{"user": "ann"\}'),
        (("Hi",), {"options": [1]}, r'options must be a mapping, got \[1\]; write options=\{"temperature": 0\}'),
        (("Hi",), {"tools": ["ping"]}, "pass the function itself"),
        (("Hi",), {"tools": object()}, "does not have tools"),
        (("Hi",), {"advisors": [object()]}, "advisors must define"),
    ],
)
def test_invalid_arguments_are_rejected_before_the_model_is_called(ask_pair, args, kwargs, says):
    model = ScriptedChatModel()
    with pytest.raises(ConfigurationError, match=says):
        ask_pair(ChatClient(model), *args, **kwargs)
    assert model.requests == []


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_streams_reject_invalid_arguments_before_they_are_read(way):
    with pytest.raises(ConfigurationError, match="nothing to send"):
        getattr(ChatClient(ScriptedChatModel()), way)()


def test_system_instructions_come_first(ask_pair):
    messages = request_of(ask_pair, "Hi", client_options={"system": "Be brief."}).messages
    assert messages == (SystemMessage("Be brief."), UserMessage("Hi"))


def test_a_system_message_overrides_the_clients_instructions(ask_pair):
    history = [SystemMessage("Be verbose.")]
    messages = request_of(ask_pair, "Hi", messages=history, client_options={"system": "Be brief."}).messages
    assert messages == (SystemMessage("Be verbose."), UserMessage("Hi"))


# --- the rest of a request -------------------------------------------------------------------------------------------


def test_options_session_tenant_and_context_are_in_the_request(ask_pair):
    request = request_of(
        ask_pair, "Hi", session_id="s", tenant_id="t", context={"a": 1}, options={"temperature": 0, "stop": ["x"]}
    )
    assert (request.session_id, request.tenant_id) == ("s", "t")
    assert dict(request.options) == {"temperature": 0, "stop": ["x"]}
    assert dict(request.context) == {"a": 1}


def test_session_and_tenant_are_none_by_default(ask_pair):
    request = request_of(ask_pair, "Hi")
    assert (request.session_id, request.tenant_id) == (None, None)


def test_context_of_a_call_overrides_the_clients(ask_pair):
    options = {"context": {"a": 1, "b": 1}}
    assert dict(request_of(ask_pair, "Hi", context={"b": 2, "c": 2}, client_options=options).context) == {
        "a": 1,
        "b": 2,
        "c": 2,
    }


def test_a_client_copies_its_arguments(ask_pair):
    context: dict[str, Any] = {"a": 1}
    tools: list[Any] = [ping]
    model = ScriptedChatModel(["ok"])
    client = ChatClient(model, tools=tools, context=context)
    context["a"] = 2
    tools.append(Tool("other"))
    ask_pair(client, "Hi")
    assert dict(model.requests[0].context) == {"a": 1}
    assert [tool.name for tool in model.requests[0].tools] == ["ping"]


def test_calls_do_not_affect_each_other(ask):
    class Note:
        order = 1

        def advise(self, request: ChatRequest) -> AdvisorFlow:
            return (yield request.replace(options={**request.options, "noted": True}))

    model = ScriptedChatModel(["ok", "ok"])
    client = ChatClient(model, context={"a": 1})
    ask(client, "Hi", context={"b": 1}, tools=[ping], advisors=[Note()], session_id="s", options={"temperature": 1})
    ask(client, "Hi")
    second = model.requests[1]
    assert (dict(second.context), second.tools, dict(second.options), second.session_id) == ({"a": 1}, (), {}, None)


# --- tools -----------------------------------------------------------------------------------------------------------


class Weather:
    @tool
    def today(self, city: str) -> str:
        """Weather of today."""
        return f"rain in {city}"

    @tool(name="tomorrow")
    def _tomorrow(self, city: str) -> str:
        """Weather of tomorrow."""
        return f"sun in {city}"


def test_tools_are_accepted_in_many_forms(ask_pair):
    definition = {"name": "defined", "description": "By hand.", "input_schema": {"type": "object"}}
    tools = [ping, [Tool("made"), [Weather()]], (definition, lambda: "x")]
    names = [tool.name for tool in request_of(ask_pair, "Hi", client_options={"tools": tools}).tools]
    assert names == ["ping", "made", "today", "tomorrow", "defined"]


def test_a_single_tool_needs_no_list(ask_pair):
    assert [tool.name for tool in request_of(ask_pair, "Hi", client_options={"tools": ping}).tools] == ["ping"]
    assert [tool.name for tool in request_of(ask_pair, "Hi", tools=Weather()).tools] == ["today", "tomorrow"]


def test_tools_are_the_same_objects_in_every_call(ask_pair):
    model = ScriptedChatModel(["ok", "ok", "ok"])
    client = ChatClient(model, tools=[ping, Tool("with.dots")])
    for _ in range(3):
        ask_pair(client, "Hi")
    assert all(request.tools == model.requests[0].tools for request in model.requests)  # tools compare by identity


def test_a_provider_lists_its_tools_in_every_call(ask_pair):
    class Provider:
        asked = 0

        def tools(self) -> list[Tool]:
            self.asked += 1
            return [Tool(f"tool_{self.asked}")]

    model = ScriptedChatModel(["ok", "ok"])
    client = ChatClient(model, tools=[Provider(), ping])
    ask_pair(client, "Hi")
    ask_pair(client, "Hi")
    assert [[tool.name for tool in request.tools] for request in model.requests] == [
        ["tool_1", "ping"],
        ["tool_2", "ping"],
    ]


def test_an_error_of_a_provider_reaches_the_caller(ask):
    class Broken:
        def tools(self) -> list[Tool]:
            raise ConnectionError("no server")

    with pytest.raises(ConnectionError, match="no server"):
        ask(ChatClient(ScriptedChatModel(["ok"]), tools=[Broken()]), "Hi")


def test_two_tools_with_one_name_are_rejected(ask_pair):
    one, two = Tool("search", source="github"), Tool("search", source="jira")
    with pytest.raises(DuplicateToolError, match=r"'search': source 'github', and source 'jira'"):
        ChatClient(ScriptedChatModel(), tools=[one, two])
    with pytest.raises(DuplicateToolError, match=r"'github', and source 'jira'"):
        ask_pair(ChatClient(ScriptedChatModel(), tools=[one]), "Hi", tools=[two])


def test_the_name_of_the_search_tool_is_reserved():
    with pytest.raises(DuplicateToolError, match="'tool_search' is reserved"):
        ChatClient(ScriptedChatModel(), tools=[Tool("tool_search")])


# --- methods ---------------------------------------------------------------------------------------------------------


def test_the_four_ways_have_one_signature():
    signatures = [inspect.signature(getattr(ChatClient, way)) for way in ("call", "acall", "stream", "astream")]
    assert len({tuple(signature.parameters.items()) for signature in signatures}) == 1
    assert list(signatures[0].parameters) == ["self", "prompt", "arguments"]


def test_every_argument_of_a_call_is_documented():
    documented = re.findall(r"^ {8}(\w+): ", CallOptions.__doc__ or "", re.M)
    assert documented == list(CallOptions.__annotations__)


def test_acall_is_awaitable_and_astream_is_not():
    client = ChatClient(ScriptedChatModel(["x"]))
    coroutine = client.acall("Hi")
    assert inspect.iscoroutine(coroutine)
    coroutine.close()
    assert not inspect.isawaitable(client.astream("Hi"))


def test_a_single_message_must_be_in_a_list() -> None:
    with pytest.raises(ConfigurationError, match=r"messages=\[UserMessage"):
        ChatClient(ScriptedChatModel(["ok"])).call(messages=UserMessage("hi"))  # type: ignore[arg-type]


def test_advisors_hand_values_to_the_application(ask):
    """Advisors inside and outside the loop add to `metadata`."""

    class Priced:
        def __init__(self, order: int, name: str) -> None:
            self.order, self.name = order, name

        def advise(self, request: ChatRequest) -> AdvisorFlow:
            response = yield request
            return response.replace(metadata={**response.metadata, self.name: self.order})

    client = ChatClient(ScriptedChatModel(["Hi."]), advisors=[Priced(100, "outer"), Priced(400, "inner")])
    assert ask(client, "Hello").response.metadata == {"inner": 400, "outer": 100}
