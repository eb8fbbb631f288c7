"""`ScriptedChatModel`: the answers of each kind of step, in all four methods."""

from __future__ import annotations

import asyncio
import itertools
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


def stream_sync(model: ScriptedChatModel) -> list[Any]:
    return list(model.stream(REQUEST))


def stream_async(model: ScriptedChatModel) -> list[Any]:
    async def read() -> list[Any]:
        return [piece async for piece in model.astream(REQUEST)]

    return asyncio.run(read())


METHODS = {
    "call": lambda model: model.call(REQUEST),
    "acall": lambda model: asyncio.run(model.acall(REQUEST)),
    "stream": lambda model: stream_sync(model)[-1],
    "astream": lambda model: stream_async(model)[-1],
}


@pytest.fixture(params=METHODS, name="ask")
def _ask(request: pytest.FixtureRequest) -> Any:
    return METHODS[request.param]


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
def test_each_kind_of_step(ask, step, message, reason):
    response = ask(ScriptedChatModel([step]))
    assert (response.message, response.finish_reason) == (message, reason)


def test_requests_are_recorded_and_call_ids_are_consecutive(ask):
    model = ScriptedChatModel([[("a", {}), ("b", {})], [("c", {})], "done"])
    ids = [call.id for _ in range(3) for call in ask(model).tool_calls]
    assert ids == ["call_1", "call_2", "call_3"]
    assert model.requests == [REQUEST] * 3
    assert model.remaining == 0


def test_request_after_the_last_step_raises(ask):
    steps = [[("tool_search", {"query": "x"})], "one"][1:]  # a list of mixed types is a script for a type checker
    model = ScriptedChatModel(steps)
    ask(model)
    with pytest.raises(ScriptExhaustedError) as caught:
        ask(model)
    assert str(caught.value) == "the script has 1 step, but request 2 was received; the last message is user: 'hello'"
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, ToolSearchError)


def test_exception_step_is_raised(ask):
    model = ScriptedChatModel([ProviderError("busy", status=429, retryable=True), KeyboardInterrupt(), "ok"])
    with pytest.raises(ProviderError, match="busy"):
        ask(model)
    with pytest.raises(KeyboardInterrupt):
        model.call(REQUEST)
    assert ask(model).text == "ok"


def test_callable_script_answers_every_request(ask):
    model = ScriptedChatModel(lambda request: [("again", {})])
    assert [ask(model).tool_calls[0].id for _ in range(3)] == ["call_1", "call_2", "call_3"]


def test_async_step_requires_an_async_method():
    async def step(request: ChatRequest) -> str:
        await asyncio.sleep(0)
        return "later"

    assert asyncio.run(ScriptedChatModel(step).acall(REQUEST)).text == "later"
    assert stream_async(ScriptedChatModel(step))[-1].text == "later"
    with pytest.raises(AsyncCallableError, match="acall and astream"):
        ScriptedChatModel(step).call(REQUEST)


def test_usage_is_estimated_fixed_or_computed(ask):
    assert ask(ScriptedChatModel(["12345"])).usage == Usage(2, 2)
    assert ask(ScriptedChatModel(["hi"], usage=Usage(7, 3, cache_read_tokens=5))).usage == Usage(
        7, 3, cache_read_tokens=5
    )
    assert ask(ScriptedChatModel(["hi"], usage=lambda request, message: Usage(len(message.text)))).usage == Usage(2)
    assert ask(ScriptedChatModel([ChatResponse.from_text("x", usage=Usage(1, 1))], usage=Usage(9))).usage == Usage(1, 1)


@pytest.mark.parametrize("read", [stream_sync, stream_async])
def test_stream_yields_text_then_calls_then_the_response(read):
    pieces = read(ScriptedChatModel([AssistantMessage("It rains.", (CALL, CALL))]))
    assert [(p.text, p.tool_calls) for p in pieces[:-1]] == [
        ("It ", ()),
        ("rai", ()),
        ("ns.", ()),
        ("", (CALL,)),
        ("", (CALL,)),
    ]
    assert isinstance(pieces[-1], ChatResponse)


@pytest.mark.parametrize("read", [stream_sync, stream_async])
def test_stream_can_end_without_a_response(read):
    pieces = read(ScriptedChatModel([ScriptedStream("abcdef", complete=False)]))
    assert [piece.text for piece in pieces] == ["ab", "cd", "ef"]
    assert all(isinstance(piece, ChatChunk) for piece in pieces)


def test_stream_can_fail_after_some_chunks():
    for step in (ScriptedStream("abcdef", OSError("gone"), after=1), [ChatChunk("ab"), OSError("gone")]):
        stream = ScriptedChatModel([step]).stream(REQUEST)
        assert next(stream).text == "ab"
        with pytest.raises(OSError, match="gone"):
            next(stream)
        with pytest.raises(OSError, match="gone"):
            ScriptedChatModel([step]).call(REQUEST)


def test_open_streams_counts_unfinished_streams():
    model = ScriptedChatModel(["abc", "abc"])
    stream, whole = model.stream(REQUEST), model.stream(REQUEST)
    next(stream)
    list(whole)
    assert model.open_streams == 1
    stream.close()  # type: ignore[attr-defined]  # wrong on purpose
    assert model.open_streams == 0


@pytest.mark.parametrize("step", [[], 5, [("a", {}), "text"], None, {"a": 1}])
def test_invalid_step_is_rejected(ask, step):
    with pytest.raises(ConfigurationError, match="script"):
        ask(ScriptedChatModel([step]))


def test_script_can_be_one_string(ask):
    assert ask(ScriptedChatModel("hello")).text == "hello"


def test_concurrent_requests_take_different_steps():
    model = ScriptedChatModel([str(n) for n in range(200)])
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda _: model.call(REQUEST).text, range(200)))
    assert sorted(texts, key=int) == [str(n) for n in range(200)]
    assert len(model.requests) == 200


def test_an_endless_script_is_read_step_by_step() -> None:
    model = ScriptedChatModel(itertools.chain(["first"], itertools.repeat("again")))
    assert [model.call(REQUEST).text for _ in range(3)] == ["first", "again", "again"]
    assert model.remaining == 1


def test_a_generator_can_be_a_script() -> None:
    model = ScriptedChatModel(text for text in ("one", "two"))
    assert [model.call(REQUEST).text for _ in range(2)] == ["one", "two"]
    with pytest.raises(ScriptExhaustedError, match="the script has 2 steps, but request 3 was received"):
        model.call(REQUEST)
    assert model.remaining == 0
