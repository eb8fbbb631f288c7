"""Tool-calling loop: rounds, hooks, usage, limits, requests and responses."""

from __future__ import annotations

import json
from collections.abc import Generator
from functools import partial
from typing import Any

import pytest

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ChatRequest,
    ChatResponse,
    ConfigurationError,
    ProviderError,
    SystemMessage,
    Tool,
    ToolCall,
    ToolCallingAdvisor,
    ToolCallLimits,
    ToolContext,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolsearch.chat import ReachedLimit
from toolsearch.loop import LoopState, Perform, RunTools, Sleep, ToolBatchResult
from toolsearch.testing import FakeClock, ScriptedChatModel, ScriptedStream


class Adder:
    """A tool that records its arguments."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def __call__(self, a: int, b: int) -> int:
        """Add two numbers."""
        self.asked.append((a, b))
        return a + b


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def ping() -> str:
    """Answer."""
    return "pong"


def fail() -> None:
    """Fail."""
    raise LookupError("no such thing")


def said(text: str = "", *calls: tuple[str, str, dict[str, Any]]) -> AssistantMessage:
    return AssistantMessage(text, tuple(ToolCall.from_dict(*call) for call in calls))


def client_of(script: Any, *tools: Any, advisor: ToolCallingAdvisor | None = None, **options: Any) -> ChatClient:
    """Return a client with a scripted model."""
    model = script if isinstance(script, ScriptedChatModel) else ScriptedChatModel(script)
    return ChatClient(model, tools=tools, advisors=[advisor] if advisor else (), **options)


def limited(**limits: Any) -> ToolCallingAdvisor:
    return ToolCallingAdvisor(limits=ToolCallLimits(**limits))


def tool_results(response: ChatResponse) -> list[str]:
    return [message.text for message in response.messages if isinstance(message, ToolMessage)]


def sent(client: ChatClient) -> list[ChatRequest]:
    assert isinstance(client.model, ScriptedChatModel)
    return client.model.requests


# --- rounds ----------------------------------------------------------------------------------------------------------


def test_the_model_is_called_once_without_tool_calls(ask):
    client = client_of(["Hello."], add)
    outcome = ask(client, "Hi")
    assert outcome.text_shown == outcome.response.text == "Hello."
    assert outcome.response.messages == (AssistantMessage("Hello."),)
    assert len(sent(client)) == 1


def test_results_are_sent_back_until_the_model_answers(ask):
    client = client_of([[("add", {"a": 1, "b": 2})], [("add", {"a": 3, "b": 4})], "It is 7."], add)
    outcome = ask(client, "1 + 2 + 4?")
    first, second = said("", ("call_1", "add", {"a": 1, "b": 2})), said("", ("call_2", "add", {"a": 3, "b": 4}))
    three, seven = ToolMessage("call_1", "add", "3"), ToolMessage("call_2", "add", "7")
    question = UserMessage("1 + 2 + 4?")
    assert [request.messages for request in sent(client)] == [
        (question,),
        (question, first, three),
        (question, first, three, second, seven),
    ]
    assert outcome.response.messages == (first, three, second, seven, AssistantMessage("It is 7."))
    assert outcome.response.finish_reason == "stop"
    assert outcome.text_shown == "It is 7."


def test_every_round_sends_the_same_tools_in_the_same_order(ask):
    client = client_of([[("ping", {})], [("ping", {}), ("add", {"a": 1, "b": 1})], "done"], ping, add, fail)
    ask(client, "Hi")
    assert [[tool.name for tool in request.tools] for request in sent(client)] == [["ping", "add", "fail"]] * 3


def test_results_of_a_round_are_in_call_order(ask):
    calls = said("", ("z", "add", {"a": 1, "b": 1}), ("a", "ping", {}), ("m", "add", {"a": 2, "b": 2}))
    response = ask(client_of([calls, "done"], add, ping), "Hi").response
    results = [message for message in response.messages if isinstance(message, ToolMessage)]
    assert [(message.tool_call_id, message.text) for message in results] == [("z", "2"), ("a", "pong"), ("m", "4")]


def test_a_conversation_of_many_turns_needs_no_memory(ask):
    script: list[Any] = []
    for n in range(5):
        script += [[("add", {"a": n, "b": 1})], f"Answer {n}."]
    client = client_of(script, add)
    conversation: list[Any] = []
    for n in range(5):
        response = ask(client, f"Question {n}", messages=conversation).response
        conversation += [UserMessage(f"Question {n}"), *response.messages]
    assert len(conversation) == 5 * 4
    assert sent(client)[-1].messages == tuple(conversation[:-1])
    calls = [
        call.id for message in conversation if isinstance(message, AssistantMessage) for call in message.tool_calls
    ]
    assert calls == [message.tool_call_id for message in conversation if isinstance(message, ToolMessage)]


def test_text_beside_tool_calls_is_kept_in_the_history(ask):
    client = client_of([said("Let me see.", ("1", "ping", {})), "Pong."], ping)
    outcome = ask(client, "Hi")
    assert sent(client)[1].messages[1].text == "Let me see."
    assert outcome.response.text == "Pong."
    assert outcome.text_shown == ("Let me see.Pong." if ask.streams else "Pong.")


def test_arguments_are_sent_back_unchanged(ask_pair):
    written = '{ "b":2,\n"a" : 1}'
    client = client_of([ToolCall("1", "add", written), "3"], add)
    ask_pair(client, "Hi")
    assert sent(client)[1].messages[1].tool_calls[0].arguments == written


def test_the_system_message_stays_first_in_every_round(ask_pair):
    client = client_of([[("ping", {})], "done"], ping, system="Be brief.")
    ask_pair(client, "Hi")
    assert [request.messages[0] for request in sent(client)] == [SystemMessage("Be brief.")] * 2


def test_a_call_of_an_unknown_tool_is_answered(ask):
    response = ask(client_of([[("pong", {})], [("zzz", {})], "Sorry."], ping), "Hi").response
    assert tool_results(response) == [
        "There is no tool 'pong'. Did you mean 'ping'?",
        "There is no tool 'zzz'. Available: ping.",
    ]
    assert response.text == "Sorry."


def test_an_error_of_a_tool_is_answered(ask):
    response = ask(client_of([[("fail", {}), ("ping", {})], "Sorry."], fail, ping), "Hi").response
    assert tool_results(response) == ["LookupError: no such thing", "pong"]
    assert response.text == "Sorry."


@pytest.mark.parametrize("raise_on_error", [True, LookupError, (KeyError, LookupError)])
def test_raise_on_error_raises_the_error_of_a_tool(ask, raise_on_error):
    client = client_of([[("fail", {})]], fail, advisor=ToolCallingAdvisor(raise_on_error=raise_on_error))
    with pytest.raises(LookupError, match="no such thing"):
        ask(client, "Hi")


def test_raise_on_error_answers_errors_of_other_types(ask_pair):
    client = client_of([[("fail", {})], "Sorry."], fail, advisor=ToolCallingAdvisor(raise_on_error=(KeyError, OSError)))
    assert tool_results(ask_pair(client, "Hi").response) == ["LookupError: no such thing"]


def test_on_error_returns_the_answer_to_an_error(ask_pair):
    advisor = ToolCallingAdvisor(on_error=lambda call, error: f"{call.name}: try again later")
    client = client_of([[("fail", {})], "Sorry."], fail, advisor=advisor)
    assert tool_results(ask_pair(client, "Hi").response) == ["fail: try again later"]


def test_should_continue_must_be_a_predicate():
    with pytest.raises(ConfigurationError, match="should_continue"):
        ToolCallingAdvisor(should_continue=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(("value", "content"), [(None, "Done"), ("", ""), ([], "[]"), (0, "0"), (False, "false")])
def test_empty_results_are_results(ask, value, content):
    client = client_of([[("give", {})], "done"], Tool("give", fn=lambda: value))
    assert tool_results(ask(client, "Hi").response) == [content]


@pytest.mark.parametrize("error", [ProviderError("down"), ScriptedStream("half", error=ProviderError("down"), after=1)])
def test_a_model_error_in_a_later_round_holds_the_turn_so_far(ask, error):
    with pytest.raises(ProviderError, match="down") as raised:
        ask(client_of([[("ping", {})], error], ping), "Hi")
    response = raised.value.response
    assert [message.role for message in response.messages] == ["assistant", "tool"]
    assert response.finish_reason == "error"


# --- names, tools, context, options ----------------------------------------------------------------------------------


def test_tools_have_names_that_providers_accept(ask_pair):
    tool = Tool("weather.get now!", fn=lambda: "rain")
    client = client_of(lambda request: _call_the_first(request), tool)
    response = ask_pair(client, "Hi").response
    (name,) = {tool.name for request in sent(client) for tool in request.tools}
    assert name != tool.name
    assert name.startswith("weather_get_now_")
    assert [m.name for m in response.messages if isinstance(m, ToolMessage)] == [name]
    assert tool_results(response) == ["rain"]


def _call_the_first(request: ChatRequest) -> Any:
    return "done" if isinstance(request.messages[-1], ToolMessage) else [(request.tools[0].name, {})]


def test_tools_of_a_call_apply_to_that_call(ask_pair):
    client = client_of([[("extra", {})], "done", "nothing more"], ping)
    response = ask_pair(client, "Hi", tools=[Tool("extra", fn=lambda: "extra result")]).response
    assert tool_results(response) == ["extra result"]
    ask_pair(client, "Hi again")
    assert [[tool.name for tool in request.tools] for request in sent(client)] == [
        ["ping", "extra"],
        ["ping", "extra"],
        ["ping"],
    ]


def test_context_reaches_tools_and_not_the_model(ask_pair):
    seen: list[dict[str, Any]] = []

    def look(ctx: ToolContext) -> str:
        """Look around."""
        seen.append(dict(ctx))
        return "seen"

    client = client_of([[("look", {})], "done"], look, context={"user": "ann", "locale": "nl"})
    ask_pair(client, "Hi", context={"locale": "fr", "token": "S3CRET"})
    assert seen == [{"user": "ann", "locale": "fr", "token": "S3CRET"}]
    payload = json.dumps(
        [
            [repr(request.messages), [tool.parameters for tool in request.tools], dict(request.options)]
            for request in sent(client)
        ]
    )
    assert "S3CRET" not in payload
    assert "ctx" not in payload


def test_session_and_tenant_ids_reach_tools(ask_pair):
    seen: list[Any] = []

    def look(ctx: ToolContext) -> None:
        """Look around."""
        seen.append((ctx.session_id, ctx.tenant_id))

    ask_pair(client_of([[("look", {})], "done"], look), "Hi", session_id="s1", tenant_id="t1")
    assert seen == [("s1", "t1")]


def test_options_reach_the_model_in_every_round(ask):
    client = client_of([[("ping", {})], "done"], ping)
    ask(client, "Hi", options={"temperature": 0, "seed": 7})
    assert [dict(request.options) for request in sent(client)] == [{"temperature": 0, "seed": 7}] * 2


# --- usage -----------------------------------------------------------------------------------------------------------


def counted(message: AssistantMessage | str, *usage: Any) -> ChatResponse:
    message = AssistantMessage(message) if isinstance(message, str) else message
    return ChatResponse(messages=[message], usage=Usage(*usage))


PING = said("", ("1", "ping", {}))


def test_usage_is_summed_over_rounds(ask_pair):
    script = [counted(PING, 10, 1, 4, 2), counted(PING, 20, 2, None, 3), counted("done", 30, 3, 5)]
    outcome = ask_pair(client_of(script, ping), "Hi")
    assert outcome.response.usage == Usage(60, 6, cache_read_tokens=9, cache_write_tokens=5)


def test_unreported_cache_tokens_stay_none(ask_pair):
    script = [counted(PING, 10, 1), counted("done", 30, 3)]
    assert ask_pair(client_of(script, ping), "Hi").response.usage == Usage(
        40, 4, cache_read_tokens=None, cache_write_tokens=None
    )


def test_usage_of_a_single_round_is_unchanged(ask_pair):
    assert ask_pair(client_of([counted("done", 30, 3, 0)], ping), "Hi").response.usage == Usage(
        30, 3, cache_read_tokens=0
    )


def test_usage_counts_rounds_before_one_without_a_report(ask_pair):
    script = [counted(PING, 10, 1), counted("done")]
    assert ask_pair(client_of(script, ping), "Hi").response.usage == Usage(10, 1)


def test_usage_is_counted_per_turn(ask_pair):
    client = client_of([counted(PING, 10, 1), counted("one", 1, 1), counted("two", 5, 5)], ping)
    assert ask_pair(client, "Hi").response.usage == Usage(11, 2)
    assert ask_pair(client, "Hi again").response.usage == Usage(5, 5)


def test_raw_is_the_providers_last_response(ask_pair):
    script = [ChatResponse(messages=[PING], raw="first"), ChatResponse(messages=[AssistantMessage("x")], raw="last")]
    assert ask_pair(client_of(script, ping), "Hi").response.raw == "last"


# --- hooks -----------------------------------------------------------------------------------------------------------


class Hooked(ToolCallingAdvisor):
    """Records the calls of its hooks."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.called: list[str] = []

    def initialize_loop(self, state: LoopState, request: ChatRequest) -> ChatRequest:
        self.called.append(f"initialize {state.round}")
        state.resources.callback(self.called.append, "closed")
        return request

    def before_call(self, state: LoopState, request: ChatRequest) -> ChatRequest:
        self.called.append(f"before {state.round}")
        return request

    def after_call(self, state: LoopState, response: ChatResponse) -> ChatResponse:
        self.called.append(f"after {state.round}")
        return response

    def next_instructions(
        self, state: LoopState, request: ChatRequest, response: ChatResponse, batch: ToolBatchResult
    ) -> ChatRequest:
        self.called.append(f"next {state.round}")
        following = super().next_instructions(state, request, response, batch)
        assert isinstance(following, ChatRequest)
        return following

    def finalize_loop(self, state: LoopState, response: ChatResponse) -> ChatResponse:
        self.called.append(f"finalize {state.round}")
        return response.replace(finish_reason=f"{response.finish_reason}, finalized")


def test_hooks_are_called_once_per_turn_or_round(ask):
    hooked = Hooked()
    response = ask(client_of([PING, PING, "done"], ping, advisor=hooked), "Hi").response
    rounds = ["before 1", "after 1", "next 1", "before 2", "after 2", "next 2", "before 3", "after 3"]
    assert hooked.called == ["initialize 0", *rounds, "finalize 3", "closed"]
    assert response.finish_reason == "stop, finalized"


def test_finalize_loop_runs_after_a_direct_result(ask_pair):
    hooked = Hooked()
    tool = Tool("ping", fn=lambda: "direct", return_direct=True)
    response = ask_pair(client_of([PING], tool, advisor=hooked), "Hi").response
    assert hooked.called == ["initialize 0", "before 1", "after 1", "finalize 1", "closed"]
    assert response.finish_reason == "return_direct, finalized"


def test_finalize_loop_runs_after_a_limit(ask_pair):
    hooked = Hooked(limits=ToolCallLimits(total=0))
    response = ask_pair(client_of([PING], ping, advisor=hooked), "Hi").response
    assert hooked.called == ["initialize 0", "before 1", "after 1", "finalize 1", "closed"]
    assert response.finish_reason == "tool_call_limit, finalized"


def test_resources_are_closed_after_an_error(ask):
    hooked = Hooked()
    with pytest.raises(ProviderError):
        ask(client_of([PING, ProviderError("down")], ping, advisor=hooked), "Hi")
    assert hooked.called == ["initialize 0", "before 1", "after 1", "next 1", "before 2", "closed"]


def test_resources_are_closed_when_a_stream_is_closed_early():
    hooked = Hooked()
    with client_of(["abc"], ping, advisor=hooked).stream("Hi") as stream:
        next(iter(stream))
    assert hooked.called == ["initialize 0", "before 1", "closed"]


def test_every_turn_has_its_own_state(ask):
    states: list[LoopState] = []

    class Noting(ToolCallingAdvisor):
        def initialize_loop(self, state: LoopState, request: ChatRequest) -> ChatRequest:
            states.append(state)
            state.extra["turn"] = len(states)
            return request

        def finalize_loop(self, state: LoopState, response: ChatResponse) -> ChatResponse:
            assert state.extra["turn"] == len(states)
            return response

    client = client_of([PING, "one", "two"], ping, advisor=Noting())
    ask(client, "Hi")
    ask(client, "Hi")
    assert [(state.round, state.extra) for state in states] == [(2, {"turn": 1}), (1, {"turn": 2})]


def test_hooks_can_be_generators_that_yield_effects(ask):
    class Effectful(ToolCallingAdvisor):
        def initialize_loop(self, state: LoopState, request: ChatRequest) -> Generator[Any, Any, ChatRequest]:
            word = yield Perform(lambda: "initialized")
            return request.replace(options={"word": word})

        def before_call(self, state: LoopState, request: ChatRequest) -> Generator[Any, Any, ChatRequest]:
            yield Sleep(1)
            return request

        def after_call(self, state: LoopState, response: ChatResponse) -> Generator[Any, Any, ChatResponse]:
            if not response.tool_calls:  # ask once more, with other words
                response = yield state.request.replace(options={"word": "again"})
            return response

        def next_instructions(
            self, state: LoopState, request: ChatRequest, response: ChatResponse, batch: ToolBatchResult
        ) -> Generator[Any, Any, ChatRequest]:
            word = yield Perform(lambda: "next")
            return request.replace(options={"word": word})

        def finalize_loop(self, state: LoopState, response: ChatResponse) -> Generator[Any, Any, ChatResponse]:
            call = ToolCall.from_dict("extra", "ping", {})
            batch = yield RunTools(calls=(call,), tools={"ping": Tool.from_function(ping)}, request=state.request)
            return response.replace(finish_reason=batch.messages[0].text)

    clock = FakeClock()
    client = client_of([PING, "draft", "final"], ping, advisor=Effectful(), clock=clock)
    response = ask(client, "Hi").response
    assert [dict(request.options) for request in sent(client)] == [
        {"word": "initialized"},
        {"word": "next"},
        {"word": "again"},
    ]
    assert clock.sleeps == [1, 1]
    assert response.text == "final"
    assert response.finish_reason == "pong"


@pytest.mark.parametrize(
    ("hook", "kind"),
    [
        ("initialize_loop", "ChatRequest"),
        ("before_call", "ChatRequest"),
        ("after_call", "ChatResponse"),
        ("next_instructions", "ChatRequest"),
        ("finalize_loop", "ChatResponse"),
    ],
)
def test_hooks_must_return_the_expected_type(ask, hook, kind):
    advisor = ToolCallingAdvisor()
    setattr(advisor, hook, lambda *_: None)
    with pytest.raises(ConfigurationError, match=f"the hook {hook} must return a {kind}, got NoneType"):
        ask(client_of([PING, "done"], ping, advisor=advisor), "Hi")


def test_before_tool_must_return_none_or_a_string(ask):
    advisor = ToolCallingAdvisor()
    advisor.before_tool = lambda *_: True  # type: ignore[method-assign,assignment,return-value]  # wrong on purpose
    with pytest.raises(ConfigurationError, match=r"got bool \(None runs the call, a string answers it\)"):
        ask(client_of([PING, "done"], ping, advisor=advisor), "Hi")


def test_async_hooks_are_rejected(ask_pair):
    class Wrong(ToolCallingAdvisor):
        async def before_call(self, state: LoopState, request: ChatRequest) -> ChatRequest:  # type: ignore[override]
            return request

    with pytest.raises(ConfigurationError, match=r"the hook before_call must not be async; yield Perform"):
        ask_pair(client_of([PING, "done"], ping, advisor=Wrong()), "Hi")


def test_changes_of_before_call_apply_to_one_round(ask):
    class Reveal(ToolCallingAdvisor):
        def before_call(self, state: LoopState, request: ChatRequest) -> ChatRequest:
            tools = request.tools[: state.round]
            return request.replace(tools=tools, messages=(*request.messages, SystemMessage(f"round {state.round}")))

    script = [[("ping", {}), ("add", {"a": 1, "b": 2})], [("add", {"a": 1, "b": 2})], "done"]
    client = client_of(script, ping, add, advisor=Reveal())
    response = ask(client, "Hi").response
    assert [[tool.name for tool in request.tools] for request in sent(client)] == [
        ["ping"],
        ["ping", "add"],
        ["ping", "add"],
    ]
    assert tool_results(response) == ["pong", "There is no tool 'add'. Available: ping.", "3"]
    notes = [[m.text for m in request.messages if isinstance(m, SystemMessage)] for request in sent(client)]
    assert notes == [["round 1"], ["round 2"], ["round 3"]]


def test_next_instructions_returns_the_next_request(ask):
    class LatestOnly(ToolCallingAdvisor):
        def next_instructions(
            self, state: LoopState, request: ChatRequest, response: ChatResponse, batch: ToolBatchResult
        ) -> ChatRequest:
            return request.replace(messages=(state.request.messages[0], response.message, *batch.messages))

    calls = [said("", (str(n), "add", {"a": n, "b": 0})) for n in range(3)]
    client = client_of([*calls, "done"], add, advisor=LatestOnly(limits=ToolCallLimits(per_tool=3)))
    response = ask(client, "Hi").response
    assert [len(request.messages) for request in sent(client)] == [1, 3, 3, 3]
    assert tool_results(response) == ["0", "1", "2"]


def test_limits_count_calls_that_next_instructions_drops(ask_pair):
    class Forgetful(ToolCallingAdvisor):
        def next_instructions(
            self, state: LoopState, request: ChatRequest, response: ChatResponse, batch: ToolBatchResult
        ) -> ChatRequest:
            return state.request

    advisor = Forgetful(limits=ToolCallLimits(per_tool=2, max_repeats=None))
    response = ask_pair(client_of(lambda request: PING, ping, advisor=advisor), "Hi").response
    assert response.finish_reason == "tool_call_limit"
    assert tool_results(response)[:2] == ["pong", "pong"]


def test_a_subclass_can_decide_which_calls_run(ask):
    class Guarded(ToolCallingAdvisor):
        def initialize_loop(self, state: LoopState, request: ChatRequest) -> ChatRequest:
            def intercept(call: ToolCall) -> ToolMessage | None:
                return ToolMessage(call.id, call.name, "forbidden", is_error=True) if call.name == "fail" else None

            state.intercept = intercept
            state.executable = {"hidden": Tool("hidden", fn=lambda: "from the dark"), "fail": Tool.from_function(fail)}
            return request

    client = client_of([[("fail", {}), ("hidden", {}), ("ping", {})], "done"], ping, advisor=Guarded())
    results = tool_results(ask(client, "Hi").response)
    assert results[:2] == ["forbidden", "from the dark"]
    assert results[2].startswith("There is no tool 'ping'.")


# --- limits ----------------------------------------------------------------------------------------------------------


def adds(*numbers: int) -> AssistantMessage:
    return said("", *((f"call {n}", "add", {"a": n, "b": 0}) for n in numbers))


def test_a_turn_ends_at_the_limit_of_a_tool(ask_pair):
    adder = Adder()
    client = client_of(
        [adds(1), adds(2, 3, 4), "never asked"], Tool.from_function(adder, name="add"), advisor=limited(per_tool=2)
    )
    outcome = ask_pair(client, "Hi")
    assert outcome.response.finish_reason == "tool_call_limit"
    assert (
        outcome.text_shown
        == outcome.response.text
        == "The turn ended: the limit of 2 calls of add per turn is reached."
    )
    assert adder.asked == [(1, 0), (2, 0)]
    refused = "Not run: the limit of 2 calls of add per turn is reached."
    assert tool_results(outcome.response) == ["1", "2", refused, refused]
    assert outcome.response.limit == ReachedLimit("calls_per_tool", 2, "add")
    assert len(sent(client)) == 2


def test_calls_after_a_limit_are_answered(ask_pair):
    calls = said("", ("1", "add", {"a": 1, "b": 0}), ("2", "add", {"a": 2, "b": 0}), ("3", "ping", {}))
    response = ask_pair(client_of([calls], add, ping, advisor=limited(per_tool=1)), "Hi").response
    assert tool_results(response)[2] == "Not run: the turn ended."
    asked = [
        call.id for message in response.messages if isinstance(message, AssistantMessage) for call in message.tool_calls
    ]
    assert asked == [message.tool_call_id for message in response.messages if isinstance(message, ToolMessage)]


def test_a_turn_ends_at_the_total_limit(ask_pair):
    client = client_of(
        [said("", ("1", "ping", {}), ("2", "add", {"a": 1, "b": 1})), PING], ping, add, advisor=limited(total=2)
    )
    response = ask_pair(client, "Hi").response
    assert response.text == "The turn ended: the limit of 2 tool calls per turn is reached."
    assert tool_results(response)[:2] == ["pong", "2"]


def test_on_limit_answer_answers_the_call(ask_pair):
    script = [adds(1, 2), said("", ("x", "add", {"a": 9, "b": 9}), ("y", "ping", {})), "I see."]
    client = client_of(script, add, ping, advisor=limited(per_tool=1, on_limit="answer"))
    response = ask_pair(client, "Hi").response
    refused = "Not run: the limit of 1 calls of add per turn is reached."
    assert tool_results(response) == ["1", refused, refused, "pong"]
    assert response.text == "I see."
    assert response.finish_reason == "stop"


def test_fruitless_rounds_end_the_turn(ask):
    client = client_of(lambda request: adds(len(request.messages)), add, advisor=limited(total=1, on_limit="answer"))
    response = ask(client, "Hi").response
    assert response.finish_reason == "tool_call_limit"
    assert response.limit == ReachedLimit("rounds_without_tool", 10)
    assert len(sent(client)) == 12
    assert [request.allow_tool_calls for request in sent(client)] == [True] * 11 + [False]


def test_default_limits(ask_pair):
    client = client_of(lambda request: adds(len(request.messages)), add)
    response = ask_pair(client, "Hi").response
    assert len(tool_results(response)) == 41
    assert tool_results(response)[-1] == "Not run: the limit of 40 calls of add per turn is reached."
    tools = [Tool(f"t{n}", fn=lambda: "x") for n in range(5)]
    many = ask_pair(
        client_of(lambda request: [(f"t{n}", {}) for n in range(5)], *tools, advisor=limited(max_repeats=None)), "Hi"
    )
    assert tool_results(many.response).count("x") == 150
    assert many.response.text == "The turn ended: the limit of 150 tool calls per turn is reached."


def test_overrides_set_limits_of_single_tools(ask_pair):
    calls = [said("", (f"p{n}", "ping", {}), (f"a{n}", "add", {"a": n, "b": n})) for n in range(3)]
    advisor = limited(per_tool=1, overrides={"add": 2, "ping": None}, max_repeats=None)
    response = ask_pair(client_of(calls, ping, add, advisor=advisor), "Hi").response
    assert tool_results(response)[:5] == ["pong", "0", "pong", "2", "pong"]
    assert response.text == "The turn ended: the limit of 2 calls of add per turn is reached."


def test_exempt_tools_count_towards_the_total(ask_pair):
    advisor = limited(per_tool=1, total=4, exempt=["ping"], max_repeats=None)
    response = ask_pair(client_of(lambda request: PING, ping, advisor=advisor), "Hi").response
    assert tool_results(response).count("pong") == 4
    assert response.text == "The turn ended: the limit of 4 tool calls per turn is reached."


def test_none_sets_no_limit(ask_pair):
    script = [adds(*range(start, start + 20)) for start in range(0, 200, 20)]
    response = ask_pair(client_of([*script, "done"], add, advisor=limited(per_tool=None, total=None)), "Hi").response
    assert tool_results(response) == [str(n) for n in range(200)]
    assert response.text == "done"


def test_calls_of_earlier_turns_do_not_count(ask_pair):
    client = client_of([adds(1), "one", adds(2), "two"], add, advisor=limited(per_tool=1, total=1))
    first = ask_pair(client, "Hi").response
    second = ask_pair(client, "Again", messages=[UserMessage("Hi"), *first.messages]).response
    assert (first.text, second.text) == ("one", "two")


def test_calls_of_this_turn_in_the_history_count(ask_pair):
    history = [UserMessage("Hi"), adds(1), ToolMessage("call 1", "add", "1")]
    for limits in ({"per_tool": 1}, {"total": 1}):
        response = ask_pair(client_of([adds(2)], add, advisor=limited(**limits)), messages=history).response
        assert response.finish_reason == "tool_call_limit"
        assert tool_results(response) == [f"Not run: {response.limit}."]


def test_rejected_and_unknown_calls_count(ask_pair):
    script = [[("unknown", {"n": n})] for n in range(3)]
    response = ask_pair(client_of(script, ping, advisor=limited(per_tool=2)), "Hi").response
    assert response.text == "The turn ended: the limit of 2 calls of unknown per turn is reached."


def test_the_third_repeat_of_a_call_is_answered(ask_pair):
    adder = Adder()
    twice_written = ['{"a": 1, "b": 2}', '{"b":2,"a":1}', '{ "a":1, "b":2 }']
    script = [ToolCall(str(n), "add", text) for n, text in enumerate(twice_written)]
    client = client_of([*script, adds(5), script[0], "done"], Tool.from_function(adder, name="add"))
    response = ask_pair(client, "Hi").response
    assert adder.asked == [(1, 2), (1, 2), (5, 0), (1, 2)]
    assert tool_results(response)[2] == (
        "Not run: add was called with the same arguments in 2 rounds in a row and had the same result each time. "
        "Use the result you have, change the arguments, or answer the user."
    )
    assert response.text == "done"


def test_max_repeats_can_be_changed_and_switched_off(ask_pair):
    for identical, ran in ((2, 1), (None, 5)):
        response = ask_pair(
            client_of([*[PING] * 5, "done"], ping, advisor=limited(max_repeats=identical)), "Hi"
        ).response
        assert tool_results(response).count("pong") == ran


@pytest.mark.parametrize("limits", [{}, {"per_tool": None, "total": None}])
def test_endless_repeats_end_the_turn(ask_pair, limits):
    client = client_of(lambda request: PING, ping, advisor=limited(**limits))
    response = ask_pair(client, "Hi").response
    assert response.finish_reason == "tool_call_limit"
    assert tool_results(response).count("pong") == 2
    assert len(sent(client)) < 20


@pytest.mark.parametrize(
    "wrong",
    [
        {"per_tool": -1},
        {"total": -1},
        {"overrides": {"add": -1}},
        {"overrides": {"total": -1}},
        {"max_repeats": 1},
        {"on_limit": "raise"},
        {"exempt": "add"},
    ],
)
def test_invalid_limits_are_rejected(wrong):
    with pytest.raises(ConfigurationError):
        ToolCallLimits(**wrong)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"per_tool": "3"}, "per_tool must be an integer or None, got '3'"),
        ({"total": True}, "total must be an integer or None, got True"),
        ({"max_repeats": 2.5}, "max_repeats must be an integer or None, got 2.5"),
        ({"overrides": {"add": "3"}}, "add must be an integer or None, got '3'"),
        (
            {"overrides": ["add"]},
            r"overrides must be a mapping of tool names to limits, got \['add'\]; write",
        ),
    ],
)
def test_limits_of_the_wrong_type_are_rejected(wrong, says):
    with pytest.raises(ConfigurationError, match=says):
        ToolCallLimits(**wrong)


def test_deeply_nested_arguments_are_answered(ask_pair):
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    response = ask_pair(client_of([ToolCall("1", "add", deep), "done"], add), "Hi").response
    assert "nested too deeply" in tool_results(response)[0]


# --- return direct ---------------------------------------------------------------------------------------------------


def direct(name: str, result: Any = "direct") -> Tool:
    return Tool(name, fn=lambda: result, return_direct=True)


def test_direct_results_are_the_response(ask):
    client = client_of([counted(said("", ("1", "a", {}), ("2", "b", {})), 10, 1)], direct("a"), direct("b", {"n": 1}))
    outcome = ask(client, "Hi")
    assert outcome.text_shown == outcome.response.text == 'direct\n{"n":1}'
    assert outcome.response.finish_reason == "return_direct"
    assert outcome.response.usage == Usage(10, 1)
    assert [type(message) for message in outcome.response.messages] == [
        AssistantMessage,
        ToolMessage,
        ToolMessage,
        AssistantMessage,
    ]
    assert len(sent(client)) == 1


def test_a_batch_with_another_tool_is_not_returned_directly(ask):
    client = client_of([said("", ("1", "a", {}), ("2", "ping", {})), "done"], direct("a"), ping)
    assert ask(client, "Hi").response.text == "done"


def test_a_failed_direct_tool_is_not_returned_directly(ask_pair):
    tool = Tool.from_function(fail, return_direct=True)
    response = ask_pair(client_of([[("fail", {})], "Sorry."], tool), "Hi").response
    assert tool_results(response) == ["LookupError: no such thing"]
    assert response.text == "Sorry."


def test_a_later_round_can_return_directly(ask_pair):
    outcome = ask_pair(client_of([PING, [("a", {})]], ping, direct("a")), "Hi")
    assert outcome.response.text == outcome.text_shown == "direct"
    assert tool_results(outcome.response) == ["pong", "direct"]


# --- should_continue -------------------------------------------------------------------------------------------------


def test_should_continue_can_end_the_loop(ask):
    adder = Adder()
    advisor = ToolCallingAdvisor(should_continue=lambda response: False)
    response = ask(client_of([adds(1)], Tool.from_function(adder, name="add"), advisor=advisor), "Hi").response
    assert [call.name for call in response.tool_calls] == ["add"]
    assert adder.asked == []


def test_should_continue_can_add_a_round(ask):
    advisor = ToolCallingAdvisor(should_continue=lambda response: response.text == "to be continued")
    client = client_of(["to be continued", "the end"], advisor=advisor)
    response = ask(client, "Hi").response
    assert response.text == "the end"
    assert [message.text for message in response.messages] == ["to be continued", "the end"]
    assert [message.role for message in sent(client)[1].messages] == ["user", "assistant"]


def test_the_first_candidate_with_tool_calls_is_used(ask_pair):
    answers = [AssistantMessage("no calls"), adds(1), adds(2)]
    adder = Adder()
    client = client_of([ChatResponse.from_candidates(answers), "done"], Tool.from_function(adder, name="add"))
    assert ask_pair(client, "Hi").response.text == "done"
    assert adder.asked == [(1, 0)]


# --- with and without the loop ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["client", "call"])
def test_an_application_can_drive_the_rounds(ask, where):
    script = [adds(1), "done"]
    client = client_of(script, add, tool_calling=where != "client")
    options = {"tool_calling": False} if where == "call" else {}
    response = ask(client, "Hi", **options).response
    assert [call.name for call in response.tool_calls] == ["add"]
    assert response.messages == (adds(1),)
    assert [tool.name for tool in sent(client)[0].tools] == ["add"]
    results = [ToolMessage(call.id, call.name, "1") for call in response.tool_calls]
    final = ask(client, messages=[UserMessage("Hi"), *response.messages, *results], **options).response
    assert final.text == "done"


def test_tool_calling_false_removes_the_tool_advisor(ask_pair):
    hooked = Hooked()
    client = client_of([adds(1)], add, advisor=hooked)
    assert ask_pair(client, "Hi", tool_calling=False).response.tool_calls
    assert hooked.called == []


def test_tool_calling_can_be_enabled_for_one_call(ask_pair):
    client = client_of([adds(1), "done"], add, tool_calling=False)
    assert ask_pair(client, "Hi", tool_calling=True).response.text == "done"


def test_two_tool_advisors_are_rejected(ask_pair):
    with pytest.raises(ConfigurationError, match=r"got 2: Hooked\(order=5\), ToolCallingAdvisor\(order=300\)"):
        ChatClient(ScriptedChatModel(), advisors=[ToolCallingAdvisor(), Hooked(order=5)])
    client = client_of(["x"], advisor=ToolCallingAdvisor())
    with pytest.raises(ConfigurationError, match="a chain must have one tool advisor"):
        ask_pair(client, "Hi", advisors=[Hooked()])


def test_outer_advisors_see_the_turn_and_inner_ones_every_round(ask):
    seen: dict[int, list[int]] = {1: [], 400: []}

    class Count:
        def __init__(self, order: int) -> None:
            self.order = order

        def advise(self, request: ChatRequest) -> Any:
            seen[self.order].append(len(request.messages))
            return (yield request)

    client = ChatClient(ScriptedChatModel([PING, "done"]), tools=[ping], advisors=[Count(1), Count(400)])
    ask(client, "Hi")
    assert seen == {1: [1], 400: [1, 3]}


def test_hooks_can_be_partials(ask):
    advisor = ToolCallingAdvisor()
    advisor.finalize_loop = partial(_finalized, "by partial")  # type: ignore[method-assign]  # wrong on purpose
    assert ask(client_of(["done"], advisor=advisor), "Hi").response.finish_reason == "by partial"


def _finalized(reason: str, state: LoopState, response: ChatResponse) -> ChatResponse:
    return response.replace(finish_reason=reason)
