"""`run_tools`: rounds driven by the application, approvals, and resolvers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import pytest

from toolsearch import (
    AssistantMessage,
    AsyncCallableError,
    ChatClient,
    ChatRequest,
    ConfigurationError,
    Message,
    Tool,
    ToolCall,
    ToolCallingAdvisor,
    ToolCallLimits,
    ToolMessage,
    ToolSearchAdvisor,
    UserMessage,
)
from toolsearch.loop import ChainedToolResolver, LoopState, Perform, StaticToolResolver
from toolsearch.testing import ScriptedChatModel

Ask = Callable[..., Any]


def pay(amount: int) -> str:
    """Pay an amount."""
    PAID.append(amount)
    return f"paid {amount}"


PAID: list[int] = []


def look() -> str:
    """Look at the balance."""
    return "100"


def test_an_application_can_drive_rounds_and_decline_calls(ask: Ask) -> None:
    PAID.clear()
    steps = [[("look", {})], [("pay", {"amount": 500}), ("pay", {"amount": 5})], "Paid five."]
    client = ChatClient(ScriptedChatModel(steps), tools=[pay, look], tool_calling=False)
    messages: list[Message] = [UserMessage("Pay.")]
    while (response := ask(client, messages=messages).response).tool_calls:
        messages.append(response.message)
        for call in response.tool_calls:
            if "500" in call.arguments:
                messages.append(ToolMessage(call.id, call.name, "The user declined.", is_error=True))
        messages += client.run_tools(messages=messages).messages
    assert response.text == "Paid five."
    assert PAID == [5]
    assert [m.text for m in messages if isinstance(m, ToolMessage)] == ["100", "The user declined.", "paid 5"]


def test_only_calls_without_a_result_are_run() -> None:
    """Calls are matched with results by id and name. Without open calls nothing runs."""
    asked = AssistantMessage("", (ToolCall("1", "pay", '{"amount": 1}'), ToolCall("2", "pay", '{"amount": 2}')))
    client = ChatClient(ScriptedChatModel([]), tools=[pay])
    messages: list[Message] = [UserMessage("Pay."), asked, ToolMessage("1", "pay", "declined")]
    PAID.clear()
    assert client.run_tools(messages=messages).messages == (ToolMessage("2", "pay", "paid 2"),)
    messages.append(ToolMessage("2", "pay", "declined"))
    assert client.run_tools(messages=messages).messages == ()
    assert PAID == [2]


def test_a_batch_with_a_declined_call_is_not_returned_directly() -> None:
    report = Tool("report", "Report.", {}, lambda: "done", return_direct=True)
    client = ChatClient(ScriptedChatModel([]), tools=[report])
    asked = AssistantMessage("", (ToolCall("1", "report", "{}"), ToolCall("2", "report", "{}")))
    assert client.run_tools(messages=[asked]).return_direct
    assert not client.run_tools(messages=[asked, ToolMessage("1", "report", "declined")]).return_direct


def test_arun_tools_works_like_run_tools() -> None:
    async def remote(text: str) -> str:
        """Ask."""
        return text.upper()

    async def main() -> Any:
        client = ChatClient(ScriptedChatModel([[("remote", {"text": "hi"})]]), tools=[remote], tool_calling=False)
        response = await client.acall("go")
        return await client.arun_tools(messages=[UserMessage("go"), response.message])

    batch = anyio.run(main)
    assert batch.messages == (ToolMessage("call_1", "remote", "HI"),)


def test_should_continue_can_leave_all_but_searches_to_the_application(ask: Ask) -> None:
    """The loop runs searches; other calls are returned to the application."""

    def only_searches(response: Any) -> bool:
        return bool(response.tool_calls) and all(call.name == "tool_search" for call in response.tool_calls)

    steps = [[("tool_search", {"query": "pay"})], [("pay", {"amount": 5})], "Done."]
    advisor = ToolSearchAdvisor("regex", should_continue=only_searches)
    client = ChatClient(ScriptedChatModel(steps), tools=[pay, look], advisors=[advisor])
    messages: list[Message] = [UserMessage("Pay five.")]
    response = ask(client, messages=messages, session_id="ann").response
    assert [call.name for call in response.tool_calls] == ["pay"]
    messages += response.messages
    messages += client.run_tools(messages=messages, session_id="ann").messages
    assert messages[-1] == ToolMessage("call_2", "pay", "paid 5")
    assert ask(client, messages=messages, session_id="ann").response.text == "Done."


def test_limits_and_the_filter_apply_in_run_tools() -> None:
    calls: list[Any] = [("look", {}), ("pay", {"amount": 1}), ("pay", {"amount": 2})]
    advisor = ToolSearchAdvisor(
        "regex",
        tool_filter=lambda tool, context: tool.name != "look" or context.get("admin", False),
        limits=ToolCallLimits(per_tool=1, on_limit="answer"),
    )
    client = ChatClient(ScriptedChatModel([calls]), tools=[pay, look], advisors=[advisor], tool_calling=False)
    response = client.call("go")
    messages = [UserMessage("go"), response.message]
    contents = [message.text for message in client.run_tools(messages=messages).messages]
    assert contents[0].startswith("There is no tool 'look'")
    assert contents[1] == "paid 1"
    assert contents[2].startswith("Not run: the limit of 1 calls")
    assert client.run_tools(messages=messages, context={"admin": True}).messages[0].text == "100"


def test_run_tools_needs_tool_calls() -> None:
    client = ChatClient(ScriptedChatModel([]), tools=[look])
    with pytest.raises(ConfigurationError, match="messages must end with an assistant message that has tool calls"):
        client.run_tools("hello")


RESOLVER = StaticToolResolver([Tool("hidden", "Hidden.", {}, lambda: "found")])


@pytest.mark.parametrize("advisor", [ToolCallingAdvisor, ToolSearchAdvisor])
def test_a_resolver_is_used_only_with_resolve_fallback(ask: Ask, advisor: type) -> None:
    for options, expected in [({}, "There is no tool"), ({"resolver": RESOLVER}, "There is no tool")]:
        model = ScriptedChatModel([[("hidden", {})], "ok"])
        client = ChatClient(model, tools=[look], advisors=[advisor(**options)])
        assert ask(client, "go").response.messages[1].text.startswith(expected)
    model = ScriptedChatModel([[("hidden", {}), ("nowhere", {})], "ok"])
    client = ChatClient(model, tools=[look], advisors=[advisor(resolver=RESOLVER, resolve_fallback=True)])
    messages = ask(client, "go").response.messages
    assert messages[1].text == "found"
    assert messages[2].text.startswith("There is no tool 'nowhere'")


@pytest.mark.parametrize("advisor", [ToolCallingAdvisor, ToolSearchAdvisor])
def test_before_tool_receives_calls_of_resolved_tools(ask: Ask, advisor: type) -> None:
    class Gate(advisor):  # type: ignore[misc]  # wrong on purpose
        def before_call(self, state: LoopState, request: ChatRequest) -> ChatRequest:
            inner = state.intercept

            def intercept(call: ToolCall) -> ToolMessage | None:
                answer = inner(call) if inner is not None else None
                return answer or ToolMessage(call.id, call.name, f"asked for {sorted(state.resolved)}")

            state.intercept = intercept
            sent: ChatRequest = super().before_call(state, request)
            return sent

    client = ChatClient(
        ScriptedChatModel([[("hidden", {})], "ok"]),
        tools=[look],
        advisors=[Gate(resolver=RESOLVER, resolve_fallback=True)],
    )
    assert ask(client, "go").response.messages[1].text == "asked for ['hidden']"


def test_tools_of_the_request_override_resolved_tools(ask: Ask) -> None:
    other = StaticToolResolver([Tool("look", "Another.", {}, lambda: "from the resolver")])
    model = ScriptedChatModel([[("look", {})], "ok"])
    options: dict[str, Any] = {"resolver": other, "resolve_fallback": True}
    client = ChatClient(model, tools=[look], advisors=[ToolCallingAdvisor(**options)])
    assert ask(client, "go").response.messages[1].text == "100"
    guarded = ToolSearchAdvisor("regex", tool_filter=lambda tool, _: tool.name != "look", **options)
    client = ChatClient(ScriptedChatModel([[("look", {})], "ok"]), tools=[pay], advisors=[guarded])
    assert ask(client, "go").response.messages[1].text.startswith("There is no tool 'look'")


def test_chained_resolvers_ask_in_order() -> None:
    chain = ChainedToolResolver(StaticToolResolver([look]), RESOLVER)
    assert [getattr(chain.resolve(name), "name", None) for name in ("look", "hidden", "x")] == ["look", "hidden", None]
    with pytest.raises(ConfigurationError, match="resolver"):
        ChainedToolResolver(StaticToolResolver)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ConfigurationError, match="resolver"):
        ToolCallingAdvisor(resolve_fallback=True)


class Approving(ToolCallingAdvisor):
    """Declines the calls that its coroutine declines."""

    def before_tool(self, state: Any, request: Any, call: Any) -> Any:
        return None if (yield Perform(partial(self.ask, call))) else "declined"

    def ask(self, call: Any) -> bool:
        return "500" not in call.arguments


class AsyncApproving(Approving):
    async def ask(self, call: Any) -> bool:  # type: ignore[override]  # async is what is tested
        return "500" not in call.arguments


def test_before_tool_applies_in_run_tools(ask: Ask) -> None:
    calls: list[Any] = [("pay", {"amount": 500}), ("pay", {"amount": 5})]
    client = ChatClient(ScriptedChatModel([calls, "ok", calls]), tools=[pay], advisors=[Approving()])
    assert [m.text for m in ask(client, "go").response.messages[1:3]] == ["declined", "paid 5"]
    response = ask(client, "go", tool_calling=False).response
    batch = client.run_tools(messages=[UserMessage("go"), response.message])
    assert [m.text for m in batch.messages] == ["declined", "paid 5"]


def test_before_tool_awaits_async_functions(ask: Ask) -> None:
    calls: list[Any] = [("pay", {"amount": 500}), ("pay", {"amount": 5})]
    client = ChatClient(ScriptedChatModel([calls, "ok"]), tools=[pay], advisors=[AsyncApproving()])
    if ask.is_async:  # type: ignore[attr-defined]  # a fixture's own attribute
        assert [m.text for m in ask(client, "go").response.messages[1:3]] == ["declined", "paid 5"]
    else:
        with pytest.raises(AsyncCallableError):
            ask(client, "go")


def test_before_tool_must_return_a_string_or_none() -> None:
    class Wrong(ToolCallingAdvisor):
        def before_tool(self, state: Any, request: Any, call: Any) -> Any:
            return False

    client = ChatClient(ScriptedChatModel([[("look", {})]]), tools=[look], advisors=[Wrong()])
    with pytest.raises(ConfigurationError, match="before_tool must return a str or NoneType"):
        client.call("go")


def test_repeated_calls_in_the_history_count(ask: Ask) -> None:
    client = ChatClient(ScriptedChatModel(lambda _: [("look", {})]), tools=[look], tool_calling=False)
    messages: list[Message] = [UserMessage("go")]
    for _ in range(5):
        messages.append(ask(client, messages=messages).response.message)
        messages += client.run_tools(messages=messages).messages
    contents = [m.text for m in messages if isinstance(m, ToolMessage)]
    assert contents[:2] == ["100", "100"]
    assert all(content.startswith("Not run: look was called") for content in contents[2:])
    looping = ChatClient(ScriptedChatModel([[("look", {})], "ok"]), tools=[look])
    last = ask(looping, messages=messages[:5]).response.messages[1]
    assert last.text.startswith("Not run: look was called with the same arguments in 2 rounds")


@pytest.mark.parametrize("resolver", [lambda name: None, StaticToolResolver], ids=["function", "class"])
def test_resolvers_are_validated(resolver: Any) -> None:
    with pytest.raises(ConfigurationError, match="resolver must"):
        ToolCallingAdvisor(resolver=resolver, resolve_fallback=True)


def test_a_static_resolver_asks_its_providers_when_a_name_is_looked_up() -> None:
    """Making a resolver must not start servers; what a provider lists later is found."""
    listed: list[Tool] = []
    asked: list[int] = []

    class Provider:
        def tools(self) -> list[Tool]:
            asked.append(1)
            return listed

    resolver = StaticToolResolver([look, Provider()])
    assert asked == []
    assert resolver.resolve("ping") is None
    listed.append(Tool("ping"))
    assert resolver.resolve("ping") is listed[0]
    with pytest.raises(ConfigurationError):
        StaticToolResolver([look, look])


def test_run_tools_runs_searches(ask: Ask) -> None:
    """The next request sends what a search finds. A tool that the filter rejects is not found."""
    steps = [[("tool_search", {"query": "pay an amount"}), ("look", {})], "Done."]
    model = ScriptedChatModel(steps)
    advisor = ToolSearchAdvisor(
        "bm25", should_continue=lambda response: False, tool_filter=lambda tool, context: tool.name != "pay_back"
    )
    pay_back = Tool("pay_back", "Pay back an amount.")
    client = ChatClient(model, tools=[pay, pay_back, look], advisors=[advisor])
    messages: list[Message] = [UserMessage("Pay.")]
    messages += ask(client, messages=messages, session_id="s").response.messages
    results = client.run_tools(messages=messages, session_id="s").messages
    messages += results
    assert [(message.is_error, message.text.count("- pay:")) for message in results] == [(False, 1), (False, 0)]
    assert "pay_back" not in results[0].text
    ask(client, messages=messages, session_id="s")
    assert [tool.name for tool in model.requests[-1].tools][:2] == ["tool_search", "pay"]


@pytest.mark.parametrize("advisor", [ToolCallingAdvisor(), ToolSearchAdvisor("regex", reveal_all_below=10_000)])
def test_a_search_where_all_tools_are_sent_is_answered(ask: Ask, advisor: ToolCallingAdvisor) -> None:
    """Models repeat searches that they see in a conversation, although the tool is not sent anymore."""
    step = [("tool_search", {"query": "look"})]
    client = ChatClient(ScriptedChatModel([step, "Done."]), tools=[look], advisors=[advisor])
    question = UserMessage("Look.")
    looped = ask(client, messages=[question]).response.messages
    by_hand = client.run_tools(messages=[question, looped[0]]).messages
    answer = "There is no tool 'tool_search': all tools are in your tool list already. Call them directly."
    assert [looped[1].text, by_hand[0].text] == [answer, answer]


def test_a_batch_with_a_search_runs_tools_of_all_kinds() -> None:
    resolver = StaticToolResolver([Tool("ping", fn=lambda: "pong")])
    advisor = ToolSearchAdvisor("regex", resolver=resolver, resolve_fallback=True)
    client = ChatClient(ScriptedChatModel([]), tools=[look], advisors=[advisor])
    calls = [
        ToolCall("1", "tool_search", '{"query": "look"}'),
        ToolCall("2", "ping", "{}"),
        ToolCall("3", "look", "{}"),
    ]
    batch = client.run_tools(messages=[UserMessage("Go."), AssistantMessage("", tuple(calls))], session_id="s")
    assert [message.text for message in batch.messages[1:]] == ["pong", "100"]
