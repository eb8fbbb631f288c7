"""Long results in the loop: the tool that reads them, its place in the tool list, and whose results it reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ChatMemory,
    ChatRequest,
    InMemoryRepository,
    MemoryAdvisor,
    Message,
    SystemMessage,
    Tool,
    ToolCall,
    ToolCallingAdvisor,
    ToolMessage,
    ToolSearchAdvisor,
    UserMessage,
)
from toolsearch.errors import DuplicateToolError
from toolsearch.loop import StaticToolResolver
from toolsearch.testing import ScriptedChatModel
from toolsearch.tools.results.store import ResultStore

NOTE = re.compile(r'read_tool_result\(handle="([^"]+)", offset=(\d+)\)\.\]\Z')
TEXT = "".join(f"line {number}\n" for number in range(500))


def look(text: str = TEXT) -> str:
    """Look at a long text."""
    return text


def note_in(messages: Any) -> dict[str, Any]:
    """Return the arguments of the read tool in the latest note of a conversation."""
    texts = [message.text for message in messages if isinstance(message, ToolMessage)]
    found = [match for text in texts if (match := NOTE.search(text))]
    return {"handle": found[-1][1], "offset": int(found[-1][2])}


def read_on(request: ChatRequest) -> Any:
    """Stand in for a model that calls `look` and reads its result to the end."""
    results = [message for message in request.messages if isinstance(message, ToolMessage)]
    if not results:
        return [("look", {})]
    if NOTE.search(results[-1].text):
        return [("read_tool_result", note_in(results))]
    return "read"


def names(model: ScriptedChatModel) -> list[list[str]]:
    return [[tool.name for tool in request.tools] for request in model.requests]


def limited(**options: Any) -> ToolCallingAdvisor:
    return ToolCallingAdvisor(max_result_tokens=300, **options)


@pytest.mark.parametrize("session", [None, "ann"])
def test_the_model_reads_a_long_result_to_its_end(session: str | None, ask: Callable[..., Any]) -> None:
    model = ScriptedChatModel(read_on)
    store = ResultStore()
    client = ChatClient(model, tools=[look], advisors=[limited(result_store=store)])
    reply = ask(client, "Go", session_id=session, tenant_id="acme").response
    parts = [message.text.rpartition("\n\n[")[0] for message in reply.messages if isinstance(message, ToolMessage)]
    assert "".join(parts) == TEXT
    assert len(parts) > 3
    assert names(model) == [["look"], *[["look", "read_tool_result"]] * len(parts)]
    assert (store.size == 0) is (session is None)


def test_the_read_tool_stays_in_the_session(ask_pair: Callable[..., Any]) -> None:
    model = ScriptedChatModel([[("look", {})], "ok", "ok", "ok"])
    client = ChatClient(model, tools=[look], advisors=[limited()])
    for session in ("ann", "ann", "bob"):
        ask_pair(client, "Go", session_id=session)
    assert names(model) == [["look"], *[["look", "read_tool_result"]] * 2, ["look"]]


def test_the_read_tool_is_restored_from_the_conversation() -> None:
    model = ScriptedChatModel([[("look", {})], "ok", "ok"])
    memory = MemoryAdvisor(ChatMemory(InMemoryRepository()))
    client = ChatClient(model, tools=[look], advisors=[limited(), memory])
    first = client.call("Go", session_id="ann")
    client = ChatClient(model, tools=[look], advisors=[limited(), memory])  # as in another process
    client.call("Again", session_id="ann")
    assert names(model)[1:] == [["look", "read_tool_result"]] * 2

    arguments = note_in(first.messages)
    model = ScriptedChatModel([[("read_tool_result", arguments)], "ok"])
    client = ChatClient(model, tools=[look], advisors=[limited(), memory])
    result = client.call("Read on", session_id="ann").messages[1]
    assert isinstance(result, ToolMessage)
    assert result.is_error
    assert "another worker holds it" in result.text
    assert "run look again with narrower arguments" in result.text


def test_a_result_belongs_to_its_tenant_and_session() -> None:
    model = ScriptedChatModel([[("look", {})], "ok"])
    store = ResultStore()
    client = ChatClient(model, tools=[look], advisors=[limited(result_store=store)])
    reply = client.call("Go", session_id="ann", tenant_id="acme")
    for session, tenant in (("ann", None), ("ann", "other"), ("bob", "acme"), (None, "acme")):
        model = ScriptedChatModel([[("read_tool_result", note_in(reply.messages))], "ok"])
        client = ChatClient(model, tools=[look], advisors=[limited(result_store=store)])
        conversation = [UserMessage("Go"), *reply.messages]
        later = client.call("Read on", messages=conversation, session_id=session, tenant_id=tenant)
        assert isinstance(later.messages[1], ToolMessage)
        assert "is not here" in later.messages[1].text


def test_a_result_of_a_tool_that_is_rejected_now_cannot_be_read() -> None:
    rights = ["look"]
    advisor = limited(tool_filter=lambda tool, context: tool.name in rights)
    model = ScriptedChatModel([[("look", {})], "ok"])
    reply = ChatClient(model, tools=[look], advisors=[advisor]).call("Go", session_id="ann")
    assert names(model)[-1] == ["look", "read_tool_result"]
    rights.clear()
    model = ScriptedChatModel([[("read_tool_result", note_in(reply.messages))], "ok"])
    later = ChatClient(model, tools=[look], advisors=[advisor]).call("Read", session_id="ann")
    assert isinstance(later.messages[1], ToolMessage)
    assert "is not here" in later.messages[1].text


def find(*names: str) -> list[tuple[str, dict[str, Any]]]:
    return [("tool_search", {"query": f"^({'|'.join(names)})$"})]


def tool(name: str) -> Tool:
    return Tool(name, f"About {name}.", fn=lambda: TEXT)


TOOLS = [tool("alpha"), tool("beta"), tool("gamma")]
STEPS = [find("alpha"), [("alpha", {})], find("beta"), "ok", find("gamma"), "ok"]


@pytest.mark.parametrize("run_unrevealed", [False, True])
@pytest.mark.parametrize("restart", [False, True])
def test_the_tools_of_a_round_begin_with_those_of_the_round_before(restart: bool, run_unrevealed: bool) -> None:
    """With tool search, tools that are revealed later follow after the read tool, in every process."""
    model = ScriptedChatModel(list(STEPS))
    memory = MemoryAdvisor(ChatMemory(InMemoryRepository()))

    def client() -> ChatClient:
        search = ToolSearchAdvisor("regex", max_result_tokens=300, run_unrevealed=run_unrevealed)
        return ChatClient(model, tools=TOOLS, advisors=[search, memory])

    one = client()
    one.call("Go", session_id="ann")
    if restart:
        one = client()
    one.call("Again", session_id="ann")
    assert names(model) == [
        ["tool_search"],
        ["tool_search", "alpha"],
        ["tool_search", "alpha", "read_tool_result"],
        ["tool_search", "alpha", "read_tool_result", "beta"],
        ["tool_search", "alpha", "read_tool_result", "beta"],
        ["tool_search", "alpha", "read_tool_result", "beta", "gamma"],
    ]
    assert [tool.fingerprint for tool in model.requests[2].tools] == [
        tool.fingerprint for tool in model.requests[-1].tools[:3]
    ]


@pytest.mark.parametrize("run_unrevealed", [False, True])
def test_a_long_result_is_read_with_tool_search(run_unrevealed: bool, ask: Callable[..., Any]) -> None:
    def step(request: ChatRequest) -> Any:
        results = [message for message in request.messages if isinstance(message, ToolMessage)]
        return [find("alpha"), [("alpha", {})]][len(results)] if len(results) < 2 else read_on(request)

    search = ToolSearchAdvisor("regex", max_result_tokens=300, run_unrevealed=run_unrevealed)
    client = ChatClient(ScriptedChatModel(step), tools=TOOLS, advisors=[search])
    reply = ask(client, "Go", session_id="ann").response
    results = [message.text for message in reply.messages if isinstance(message, ToolMessage)]
    assert "".join(text.rpartition("\n\n[")[0] for text in results[1:]) == TEXT


def test_an_application_that_drives_the_rounds_reads_long_results() -> None:
    model = ScriptedChatModel(read_on)
    client = ChatClient(model, tools=[look], advisors=[limited()], tool_calling=False)
    messages: list[Message] = [SystemMessage("Be brief."), UserMessage("Go")]
    response = client.call(messages=messages, session_id="ann")
    while response.tool_calls:
        messages += response.messages
        messages += client.run_tools(messages=messages, session_id="ann").messages
        response = client.call(messages=messages, session_id="ann")
    parts = [message.text.rpartition("\n\n[")[0] for message in messages if isinstance(message, ToolMessage)]
    assert "".join(parts) == TEXT
    assert names(model) == [["look"], *[["look", "read_tool_result"]] * len(parts)]


def test_run_tools_without_a_session_keeps_nothing() -> None:
    store = ResultStore()
    client = ChatClient(ScriptedChatModel([]), tools=[look], advisors=[limited(result_store=store)])
    call = AssistantMessage(tool_calls=(ToolCall("1", "look"),))
    (message,) = client.run_tools(messages=[UserMessage("Go"), call]).messages
    assert "The rest is not kept." in message.text
    assert store.size == 0


@pytest.mark.parametrize("shared", [True, False])
def test_advisors_share_rests_only_in_a_given_store(shared: bool) -> None:
    options = {"result_store": ResultStore()} if shared else {}
    model = ScriptedChatModel([[("look", {})], "ok"])
    reply = ChatClient(model, tools=[look], advisors=[limited(**options)]).call("Go", session_id="ann")
    model = ScriptedChatModel([[("read_tool_result", note_in(reply.messages))], "ok"])
    other = ChatClient(model, tools=[look], advisors=[limited(**options)])
    later = other.call("Read on", messages=[UserMessage("Go"), *reply.messages], session_id="ann")
    assert isinstance(later.messages[1], ToolMessage)
    assert later.messages[1].is_error is not shared


def test_the_default_loop_of_a_client_keeps_rests_between_calls() -> None:
    model = ScriptedChatModel([[("look", {"text": "word " * 100_000})], "ok"])
    client = ChatClient(model, tools=[look])
    reply = client.call("Go", session_id="ann")
    client.model = ScriptedChatModel([[("read_tool_result", note_in(reply.messages))], "ok"])
    later = client.call("Read on", session_id="ann")
    assert isinstance(later.messages[1], ToolMessage)
    assert not later.messages[1].is_error


def test_the_name_of_the_read_tool_is_reserved() -> None:
    with pytest.raises(DuplicateToolError, match="'read_tool_result' is reserved"):
        ChatClient(ScriptedChatModel([]), tools=[Tool("read_tool_result")])


def test_a_resolver_cannot_take_the_name_of_the_read_tool() -> None:
    class Resolver:
        def resolve(self, name: str) -> Tool:
            return Tool(name, fn=lambda **_: "stolen")

    model = ScriptedChatModel([[("read_tool_result", {"handle": "x", "offset": 0})], "ok"])
    advisor = limited(resolver=Resolver(), resolve_fallback=True)
    reply = ChatClient(model, tools=[look], advisors=[advisor]).call("Go", session_id="ann")
    assert reply.messages[1].text.startswith("There is no tool 'read_tool_result'.")


def test_equal_long_results_are_equal_for_the_repeat_guard() -> None:
    model = ScriptedChatModel([*[[("look", {})]] * 3, "ok"])
    reply = ChatClient(model, tools=[look], advisors=[limited()]).call("Go", session_id="ann")
    results = [message.text for message in reply.messages if isinstance(message, ToolMessage)]
    assert results[0] == results[1]
    assert results[2].startswith("Not run: look was called with the same arguments")


def test_a_resolved_tool_has_the_limits_of_the_loop() -> None:
    model = ScriptedChatModel([[("look", {})], "ok"])
    advisor = limited(resolver=StaticToolResolver([look]), resolve_fallback=True)
    reply = ChatClient(model, advisors=[advisor]).call("Go", session_id="ann")
    assert NOTE.search(reply.messages[1].text)


def test_without_a_limit_nothing_is_cut() -> None:
    model = ScriptedChatModel([[("look", {})], "ok"])
    advisor = ToolCallingAdvisor(max_result_tokens=None)
    reply = ChatClient(model, tools=[look], advisors=[advisor]).call("Go", session_id="ann")
    assert reply.messages[1].text == TEXT


def test_an_evicted_session_begins_without_the_read_tool() -> None:
    model = ScriptedChatModel([[("look", {})], "ok", "ok"])
    advisor = ToolSearchAdvisor("regex", pinned=["look"], max_result_tokens=300)
    client = ChatClient(model, tools=[look, *TOOLS], advisors=[advisor])
    client.call("Go", session_id="ann")
    advisor.evict("ann")
    client.call("Again", session_id="ann")
    assert names(model) == [
        ["tool_search", "look"],
        ["tool_search", "look", "read_tool_result"],
        ["tool_search", "look"],
    ]
