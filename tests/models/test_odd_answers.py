"""OpenAIChatModel reads odd answers that public bug reports describe, and a fault of one chunk ends at once."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest

from toolsearch import ChatClient
from toolsearch.errors import ProviderProtocolError
from toolsearch.models import OpenAIChatModel
from toolsearch.models.openai import model as model_module
from toolsearch.models.openai.stream import StreamAssembler
from toolsearch.testing import OpenAIWireServer, WireReply

from .families import Event, chunk, piece
from .test_server_families import REQUEST, meaning, model_of, read, sse

GOUDA, DELFT = '{"city": "Gouda"}', '{"city": "Delft"}'
WEATHER = ("get_weather", {"city": "Gouda"})
OTHER = ("get_weather", {"city": "Delft"})
FLAT = {"id": "a", "type": "function", "name": "get_weather", "arguments": GOUDA}
PARAMETERS = {"index": 0, "id": "a", "function": {"name": "get_weather", "parameters": {"city": "Gouda"}}}
NOTHING: Event = {"index": 1, "id": None, "type": None, "function": {"name": None, "arguments": None}}

PIECES: dict[str, tuple[list[Any], list[tuple[str, Any]]]] = {
    "one call without a list": ([piece(0, "a", "get_weather", GOUDA)], [WEATHER]),
    "no function object": ([[FLAT]], [WEATHER]),
    "parameters": ([[PARAMETERS]], [WEATHER]),
    "an empty list for no arguments": ([[piece(0, "a", "list_zones", [])]], [("list_zones", {})]),
    "repeated in another notation": (
        [[piece(0, "a", "get_weather", GOUDA)], [piece(0, "a", "get_weather", '{"city":"Gouda"}')]],
        [WEATHER],
    ),
    "arguments repeated in another notation": (
        [[piece(0, "a", "get_weather", GOUDA)], [piece(0, arguments='{"city":"Gouda"}')]],
        [WEATHER],
    ),
    "an id that contradicts the index": (
        [
            [piece(0, "a", "get_weather"), piece(1, "b", "get_weather")],
            [piece(0, "b", arguments=DELFT), piece(1, "a", arguments=GOUDA)],
        ],
        [WEATHER, OTHER],
    ),
    "a name after the arguments": ([[piece(0, arguments=GOUDA)], [piece(0, "a", "get_weather")]], [WEATHER]),
    "ids of Kimi on one index": (
        [
            [piece(0, "functions.get_weather:0", "get_weather")],
            [piece(0, arguments=GOUDA)],
            [piece(0, "functions.get_weather:1", "get_weather")],
            [piece(0, arguments=DELFT)],
        ],
        [WEATHER, OTHER],
    ),
    "ids repeated without an index": (
        [
            [piece(None, "a", "get_weather"), piece(None, "b", "get_weather")],
            [piece(None, "b", arguments=DELFT), piece(None, "a", arguments=GOUDA)],
        ],
        [WEATHER, OTHER],
    ),
    "a last piece without anything": ([[piece(0, "a", "get_weather", GOUDA)], [NOTHING]], [WEATHER]),
}


@pytest.mark.parametrize(("pieces", "expected"), PIECES.values(), ids=PIECES)
def test_odd_pieces_of_calls_are_read(pieces: list[Any], expected: list[tuple[str, Any]]) -> None:
    events = [*(chunk({"tool_calls": calls}) for calls in pieces), chunk({}, "tool_calls")]
    assert meaning(read(events).tool_calls) == expected


@pytest.mark.parametrize("calls", [piece(0, "a", "get_weather", GOUDA), [FLAT], [PARAMETERS]], ids=["one", "flat", "p"])
def test_odd_calls_of_a_whole_answer_are_read(calls: Any) -> None:
    body = {"choices": [{"index": 0, "message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
    answer = model_of([json.dumps(body).encode()], kind="application/json").call(REQUEST)
    assert meaning(answer.tool_calls) == [WEATHER]


def test_the_old_form_of_a_call_is_read() -> None:
    head, rest = {"name": "get_weather", "arguments": ""}, {"arguments": GOUDA}
    events = [chunk({"function_call": head}), chunk({"function_call": rest}), chunk({}, "function_call")]
    assert meaning(read(events).tool_calls) == [WEATHER]
    body = {"choices": [{"index": 0, "message": {"function_call": {**head, **rest}}, "finish_reason": "stop"}]}
    answer = model_of([json.dumps(body).encode()], kind="application/json").call(REQUEST)
    assert meaning(answer.tool_calls) == [WEATHER]


def test_a_message_in_place_of_a_delta_is_read() -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    assert read([{**chunk({}), "choices": [choice]}]).text == "hello"


def test_a_chunk_that_is_null_does_not_end_a_stream() -> None:
    body = b"data: null\n\n" + sse([chunk({"content": "hello"}), chunk({}, "stop")])
    assert list(model_of([body]).stream(REQUEST))[-1].text == "hello"


def test_a_failure_in_place_of_a_finish_reason_is_reported() -> None:
    abort = {"type": "abort", "message": "waited too long", "status_code": 503}
    with pytest.raises(ProviderProtocolError, match="waited too long") as caught:
        read([chunk({"content": "h"}), {**chunk({}), "choices": [{"index": 0, "delta": {}, "finish_reason": abort}]}])
    assert caught.value.retryable


ANSWER = {"choices": [{"index": 0, "message": {"content": "hello"}, "finish_reason": "stop"}]}
WHOLE: dict[str, tuple[bytes, str]] = {
    "an answer": (json.dumps(ANSWER).encode(), "hello"),
    "a stream": (sse([chunk({"content": "hello"}), chunk({}, "stop")]), "hello"),
    "an error": (b'{"error": {"message": "too long", "code": 400}}', "too long"),
    "half an answer": (b'{"choices": [', "cannot be parsed"),
}


@pytest.mark.parametrize(("body", "expected"), WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_server_that_does_not_stream_is_read(body: bytes, expected: str, is_async: bool) -> None:
    async def astream(model: OpenAIChatModel) -> list[Any]:
        async with model:
            return [event async for event in model.astream(REQUEST)]

    with OpenAIWireServer([WireReply(body=body, content_type="application/json; charset=utf-8")]) as server:
        model = OpenAIChatModel("m", base_url=server.base_url, api_key="k", max_retries=0)
        try:
            events: list[Any] = asyncio.run(astream(model)) if is_async else list(model.stream(REQUEST))
        except ProviderProtocolError as error:
            assert expected in str(error)  # noqa: PT017
        else:
            assert [event.text for event in events] == [expected] * 2
        model.close()


class Faulty(StreamAssembler):
    """An assembler with a programming mistake, which no provider's error stands for."""

    def add(self, chunk: Any) -> Any:
        raise RuntimeError("a mistake")


@pytest.mark.parametrize("way", ["stream", "astream", "client.stream", "client.astream"])
def test_a_mistake_in_the_assembler_ends_an_endless_stream_at_once(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "StreamAssembler", Faulty)
    sent = itertools.count()
    endless = (chunk({"content": f"{number} " * 100}) for number in sent)

    async def run_async(model: OpenAIChatModel) -> None:
        async with model:
            if way == "astream":
                [event async for event in model.astream(REQUEST)]
            async with ChatClient(model).astream("x") as stream:
                [text async for text in stream]

    def run(model: OpenAIChatModel) -> None:
        if way.endswith("astream"):
            asyncio.run(run_async(model))
        else:
            list(model.stream(REQUEST) if way == "stream" else ChatClient(model).stream("x"))

    with OpenAIWireServer([WireReply(events=endless)]) as server:
        model = OpenAIChatModel("m", base_url=server.base_url, api_key="k", max_retries=0)
        with pytest.raises(RuntimeError, match="a mistake"):
            run(model)
        model.close()
    assert next(sent) < 100_000  # the server was not read to an end that does not come
