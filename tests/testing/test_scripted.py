"""ScriptedChatModel: what each step of a script gives, in all four ways of asking."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from toolsearch.chat.events import ChatChunk
from toolsearch.chat.requests import ChatRequest
from toolsearch.chat.responses import ChatResponse
from toolsearch.errors import AsyncCallableError, ConfigurationError, ProviderError, ToolSearchError
from toolsearch.messages import AssistantMessage, ToolCall, Usage, UserMessage
from toolsearch.testing import ScriptedChatModel, ScriptedStream, ScriptExhaustedError

REQUEST = ChatRequest(messages=[UserMessage("hello")])
CALL = ToolCall.from_dict("call_1", "weather", {"city": "Gouda"})


def streamed(model: ScriptedChatModel) -> list[Any]:
    return list(model.stream(REQUEST))


def astreamed(model: ScriptedChatModel) -> list[Any]:
    async def read() -> list[Any]:
        return [piece async for piece in model.astream(REQUEST)]

    return asyncio.run(read())


WAYS = {
    "call": lambda model: model.call(REQUEST),
    "acall": lambda model: asyncio.run(model.acall(REQUEST)),
    "stream": lambda model: streamed(model)[-1],
    "astream": lambda model: astreamed(model)[-1],
}


@pytest.fixture(params=WAYS, name="ask")
def _ask(request: pytest.FixtureRequest) -> Any:
    return WAYS[request.param]


@pytest.mark.parametrize(
    ("step", "message", "reason"),
    [
        ("hi", AssistantMessage("hi"), "stop"),
        ("", AssistantMessage(""), "stop"),
        (AssistantMessage("so", (CALL,)), AssistantMessage("so", (CALL,)), "tool_calls"),
        (CALL, AssistantMessage("", (CALL,)), "tool_calls"),
        (("weather", {"city": "Gouda"}), AssistantMessage("", (CALL,)), "tool_calls"),
        ([("weather", {"city": "Gouda"})], AssistantMessage("", (CALL,)), "tool_calls"),
        (((("weather", {"city": "Gouda"})),), AssistantMessage("", (CALL,)), "tool_calls"),
        ([ChatChunk("a"), ChatChunk("b", (CALL,))], AssistantMessage("ab", (CALL,)), "tool_calls"),
        (ChatResponse.from_text("whole", finish_reason="length"), AssistantMessage("whole"), "length"),
        ([ChatChunk("x"), ChatResponse.from_text("y")], AssistantMessage("y"), "stop"),
        (lambda request: request.messages[-1].text.upper(), AssistantMessage("HELLO"), "stop"),
        (lambda request: lambda request: "deep", AssistantMessage("deep"), "stop"),
        (ScriptedStream("fine"), AssistantMessage("fine"), "stop"),
    ],
)
def test_each_kind_of_step_gives_the_same_response_in_every_way(ask, step, message, reason):
    response = ask(ScriptedChatModel([step]))
    assert (response.message, response.finish_reason) == (message, reason)


def test_requests_are_recorded_and_call_ids_count_on(ask):
    model = ScriptedChatModel([[("a", {}), ("b", {})], [("c", {})], "done"])
    ids = [call.id for _ in range(3) for call in ask(model).tool_calls]
    assert ids == ["call_1", "call_2", "call_3"]
    assert model.requests == [REQUEST] * 3
    assert model.remaining == 0


def test_running_past_the_end_is_an_error_that_counts(ask):
    model = ScriptedChatModel(["one"])
    ask(model)
    with pytest.raises(ScriptExhaustedError, match=r"request 2 came, but the script has 1 answers.*hello") as caught:
        ask(model)
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, ToolSearchError)


def test_an_exception_is_raised_and_the_next_request_goes_on(ask):
    model = ScriptedChatModel([ProviderError("busy", status=429, retryable=True), KeyboardInterrupt(), "ok"])
    with pytest.raises(ProviderError, match="busy"):
        ask(model)
    with pytest.raises(KeyboardInterrupt):
        model.call(REQUEST)
    assert ask(model).text == "ok"


def test_a_callable_answers_for_ever(ask):
    model = ScriptedChatModel(lambda request: [("again", {})])
    assert [ask(model).tool_calls[0].id for _ in range(3)] == ["call_1", "call_2", "call_3"]


def test_an_async_step_is_awaited_or_refused():
    async def step(request: ChatRequest) -> str:
        await asyncio.sleep(0)
        return "later"

    assert asyncio.run(ScriptedChatModel(step).acall(REQUEST)).text == "later"
    assert astreamed(ScriptedChatModel(step))[-1].text == "later"
    with pytest.raises(AsyncCallableError, match="acall and astream"):
        ScriptedChatModel(step).call(REQUEST)


def test_usage_is_estimated_fixed_or_computed(ask):
    assert ask(ScriptedChatModel(["12345"])).usage == Usage(2, 2)
    assert ask(ScriptedChatModel(["hi"], usage=Usage(7, 3, cache_read_tokens=5))).usage == Usage(
        7, 3, cache_read_tokens=5
    )
    assert ask(ScriptedChatModel(["hi"], usage=lambda request, message: Usage(len(message.text)))).usage == Usage(2)
    assert ask(ScriptedChatModel([ChatResponse.from_text("x", usage=Usage(1, 1))], usage=Usage(9))).usage == Usage(1, 1)


@pytest.mark.parametrize("read", [streamed, astreamed])
def test_a_stream_gives_text_in_chunks_then_each_call_then_the_aggregate(read):
    pieces = read(ScriptedChatModel([AssistantMessage("It rains.", (CALL, CALL))]))
    assert [(p.text, p.tool_calls) for p in pieces[:-1]] == [
        ("It ", ()),
        ("rai", ()),
        ("ns.", ()),
        ("", (CALL,)),
        ("", (CALL,)),
    ]
    assert isinstance(pieces[-1], ChatResponse)


@pytest.mark.parametrize("read", [streamed, astreamed])
def test_a_stream_can_end_without_its_aggregate(read):
    pieces = read(ScriptedChatModel([ScriptedStream("abcdef", complete=False)]))
    assert [piece.text for piece in pieces] == ["ab", "cd", "ef"]
    assert all(isinstance(piece, ChatChunk) for piece in pieces)


def test_a_stream_can_break_off_with_an_error():
    for step in (ScriptedStream("abcdef", OSError("gone"), after=1), [ChatChunk("ab"), OSError("gone")]):
        stream = ScriptedChatModel([step]).stream(REQUEST)
        assert next(stream).text == "ab"
        with pytest.raises(OSError, match="gone"):
            next(stream)
        with pytest.raises(OSError, match="gone"):
            ScriptedChatModel([step]).call(REQUEST)


def test_open_streams_counts_those_neither_ended_nor_closed():
    model = ScriptedChatModel(["abc", "abc"])
    stream, whole = model.stream(REQUEST), model.stream(REQUEST)
    next(stream)
    list(whole)
    assert model.open_streams == 1
    stream.close()  # type: ignore[attr-defined]  # wrong on purpose
    assert model.open_streams == 0


@pytest.mark.parametrize("step", [[], 5, [("a", {}), "text"], None, {"a": 1}])
def test_a_step_that_cannot_be_is_named(ask, step):
    with pytest.raises(ConfigurationError, match="script"):
        ask(ScriptedChatModel([step]))


def test_one_answer_need_not_be_in_a_list(ask):
    assert ask(ScriptedChatModel("hello")).text == "hello"


def test_threads_take_each_step_once():
    model = ScriptedChatModel([str(n) for n in range(200)])
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda _: model.call(REQUEST).text, range(200)))
    assert sorted(texts, key=int) == [str(n) for n in range(200)]
    assert len(model.requests) == 200
