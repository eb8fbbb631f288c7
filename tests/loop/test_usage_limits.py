"""Budgets of tokens and cost of turns and sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ChatMemory,
    ChatRequest,
    ChatResponse,
    ConfigurationError,
    InMemoryRepository,
    MemoryAdvisor,
    Message,
    ProviderError,
    ToolCall,
    ToolCallingAdvisor,
    ToolMessage,
    ToolSearchAdvisor,
    Usage,
    UserMessage,
)
from toolsearch.chat import ReachedLimit, StructuredOutputError, TokenPrice, UsageLimits
from toolsearch.chat import usage_limits as module
from toolsearch.testing import ScriptedChatModel

ROUND = Usage(90, 10)


def look(place: int = 0) -> str:
    """Look at a place."""
    return f"place {place}"


def searching(usage: Usage = ROUND) -> ScriptedChatModel:
    """Return a model that calls a tool in every round."""

    def step(request: ChatRequest) -> ChatResponse:
        call = ToolCall.from_dict(f"c{len(request.messages)}", "look", {"place": len(request.messages)})
        return ChatResponse(messages=[AssistantMessage("", (call,))], usage=usage, finish_reason="tool_calls")

    return ScriptedChatModel(step)


def answering(usage: Usage = ROUND) -> ScriptedChatModel:
    return ScriptedChatModel(lambda request: ChatResponse.from_text("ok", usage=usage))


def limited(**limits: Any) -> ToolCallingAdvisor:
    return ToolCallingAdvisor(usage_limits=UsageLimits(**limits))


PRICE = TokenPrice(input=1_000.0, output=10_000.0)  # 0.19 for a round of 90 and 10 tokens


@pytest.mark.parametrize(
    ("limits", "kind", "number"),
    [
        ({"turn_tokens": 250}, "turn_tokens", 250),
        ({"turn_cost": 0.5, "price": PRICE}, "turn_cost", 0.5),
        ({"session_tokens": 250}, "session_tokens", 250),
        ({"session_cost": 0.5, "price": PRICE}, "session_cost", 0.5),
    ],
)
def test_a_turn_ends_before_the_round_above_its_budget(
    ask: Callable[..., Any], limits: dict[str, Any], kind: Any, number: float
) -> None:
    model = searching()
    reply = ask(ChatClient(model, tools=[look], advisors=[limited(**limits)]), "Go", session_id="ann").response
    assert len(model.requests) == 3
    assert (reply.finish_reason, reply.limit) == ("usage_limit", ReachedLimit(kind, number))
    assert [type(message) for message in reply.messages] == [AssistantMessage, ToolMessage] * 3 + [AssistantMessage]
    assert reply.usage.total == 300


@pytest.mark.parametrize("advisor", [ToolCallingAdvisor, ToolSearchAdvisor])
def test_a_session_budget_holds_for_the_next_turn(advisor: type[ToolCallingAdvisor], ask: Callable[..., Any]) -> None:
    model = answering()
    limits = UsageLimits(session_tokens=200)
    client = ChatClient(model, tools=[look], advisors=[advisor(usage_limits=limits)])
    replies = [ask(client, "Hi", session_id="ann", tenant_id="acme").response for _ in range(3)]
    assert [reply.finish_reason for reply in replies] == ["stop", "stop", "usage_limit"]
    assert len(model.requests) == 2
    assert limits.session_usage("ann", tenant_id="acme").total == 200
    assert ask(client, "Hi", session_id="ann", tenant_id="other").response.finish_reason == "stop"
    assert ask(client, "Hi", session_id="bob", tenant_id="acme").response.finish_reason == "stop"
    assert ask(client, "Hi").response.finish_reason == "stop"


def test_one_object_is_one_budget_for_advisors_of_calls() -> None:
    limits = UsageLimits(session_tokens=100)
    client = ChatClient(answering())
    reasons = [
        client.call("Hi", session_id="ann", advisors=[ToolCallingAdvisor(usage_limits=limits)]).finish_reason
        for _ in range(2)
    ]
    assert reasons == ["stop", "usage_limit"]


def test_rejected_answers_count(ask_pair: Callable[..., Any]) -> None:
    limits = UsageLimits(session_tokens=1_000)
    client = ChatClient(answering(), advisors=[ToolCallingAdvisor(usage_limits=limits)])
    with pytest.raises(StructuredOutputError):
        ask_pair(client, "Hi", session_id="ann", output_type=list[int])
    assert limits.session_usage("ann").total == 400


def test_rounds_before_a_failure_count(ask_pair: Callable[..., Any]) -> None:
    model = searching()
    step = model.requests

    class Failing:
        order = 400

        def advise(self, request: ChatRequest) -> Any:
            if len(step) == 2:
                raise ProviderError("down")
            return (yield request)

    limits = UsageLimits(session_tokens=1_000)
    client = ChatClient(model, tools=[look], advisors=[ToolCallingAdvisor(usage_limits=limits), Failing()])
    with pytest.raises(ProviderError):
        ask_pair(client, "Hi", session_id="ann")
    assert limits.session_usage("ann").total == 200


def test_a_turn_that_an_advisor_repeats_counts_once(ask_pair: Callable[..., Any]) -> None:
    class Twice:
        order = 100

        def advise(self, request: ChatRequest) -> Any:
            yield request
            return (yield request)

    limits = UsageLimits(session_tokens=1_000, turn_tokens=150)
    client = ChatClient(answering(), advisors=[Twice(), ToolCallingAdvisor(usage_limits=limits)])
    assert ask_pair(client, "Hi", session_id="ann").response.finish_reason == "stop"
    assert limits.session_usage("ann").total == 200


def test_usage_is_estimated_if_the_provider_reports_none(ask_pair: Callable[..., Any]) -> None:
    model = searching(Usage())
    client = ChatClient(model, tools=[look], advisors=[limited(turn_tokens=3_000)])
    reply = ask_pair(client, "word " * 1_000).response
    assert reply.finish_reason == "usage_limit"
    assert len(model.requests) == 3
    assert reply.usage == Usage()


def test_a_session_budget_holds_for_rounds_that_the_application_drives() -> None:
    model = searching()
    limits = UsageLimits(session_tokens=250)
    advisor = ToolCallingAdvisor(usage_limits=limits)
    client = ChatClient(model, tools=[look], advisors=[advisor], tool_calling=False)
    messages: list[Message] = [UserMessage("Go")]
    response = client.call(messages=messages, session_id="ann")
    while response.tool_calls:
        messages += response.messages
        messages += client.run_tools(messages=messages, session_id="ann").messages
        response = client.call(messages=messages, session_id="ann")
    assert (response.finish_reason, response.limit) == ("usage_limit", ReachedLimit("session_tokens", 250))
    assert len(model.requests) == 3


@pytest.mark.parametrize("order", [200, 400])
def test_memory_stores_a_turn_that_a_budget_ended(order: int, ask_pair: Callable[..., Any]) -> None:
    repository = InMemoryRepository()
    memory = MemoryAdvisor(ChatMemory(repository), order=order)
    client = ChatClient(searching(), tools=[look], advisors=[memory, limited(turn_tokens=150)])
    ask_pair(client, "Go", session_id="ann")
    client = ChatClient(model := answering(), tools=[look], advisors=[memory])
    ask_pair(client, "Again", session_id="ann")
    kinds = [type(message) for message in model.requests[0].messages]
    assert kinds[0] is UserMessage
    assert kinds[-2:] == [AssistantMessage, UserMessage]
    if order == 400:
        assert kinds[1:-2] == [AssistantMessage, ToolMessage] * 2


def test_sessions_are_forgotten_by_the_tenant_with_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SESSIONS", 10)
    limits = UsageLimits(session_tokens=1_000)
    client = ChatClient(answering(), advisors=[ToolCallingAdvisor(usage_limits=limits)])
    client.call("Hi", session_id="ann", tenant_id="small")
    for number in range(50):
        client.call("Hi", session_id=str(number), tenant_id="flood")
    assert limits.session_usage("ann", tenant_id="small").total == 100
    assert limits.session_usage("0", tenant_id="flood").total == 0
    assert limits.session_usage("49", tenant_id="flood").total == 100


def test_cached_tokens_have_their_own_price() -> None:
    usage = Usage(1_000, 100, cache_read_tokens=600, cache_write_tokens=200)
    assert TokenPrice(input=10, output=100)(usage) == pytest.approx(0.02)
    assert TokenPrice(input=10, output=100, cache_read=1, cache_write=20)(usage) == pytest.approx(0.0166)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"turn_tokens": 0}, "turn_tokens must be a positive number"),
        ({"session_tokens": True}, "session_tokens must be a positive number"),
        ({"session_tokens": "9"}, "session_tokens must be a positive number"),
        ({"turn_cost": 1.0}, "turn_cost needs a price"),
        ({"turn_cost": 1.0, "price": 5}, "price must be a function"),
    ],
)
def test_limits_that_cannot_work_are_rejected(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        UsageLimits(**options)


def test_the_limit_of_a_response_survives_json() -> None:
    reply = ChatResponse.from_text("x", limit=ReachedLimit("session_cost", 1.5))
    assert ChatResponse.from_dict(reply.to_dict()).limit == reply.limit
    assert str(reply.limit) == "the budget of the session is used up"
