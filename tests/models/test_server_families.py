"""OpenAIChatModel reads the streams of every family of servers, whatever the size of their pieces."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from toolsearch import ChatClient, Tool
from toolsearch.chat.requests import ChatRequest
from toolsearch.errors import ProviderError, ProviderProtocolError
from toolsearch.messages import ToolCall, Usage, UserMessage
from toolsearch.models import OpenAIChatModel

from .families import CACHED, FAMILIES, Call, Event, Family, chunk, openai, piece

sdk = pytest.importorskip("openai")
transport = import_module(sdk.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])  # httpx or httpx2

GOUDA = Call("c1", "get_weather", '{"city": "Gouda é", "days": {"n": 1}}')
DELFT = Call("c2", "get_weather", '{"city": "Delft", "days": {"n": 2}}')
ZONES = Call("c3", "list_zones", "")
CALLS = {"one": [GOUDA], "parallel": [GOUDA, DELFT, ZONES], "without arguments first": [ZONES, DELFT]}
DAYS = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": DAYS},
    "required": ["city", "days"],
    "additionalProperties": False,
}
REQUEST = ChatRequest(
    messages=[UserMessage("x")], tools=[Tool("get_weather", parameters=WEATHER), Tool("list_zones", parameters={})]
)


class Bytes(transport.SyncByteStream):  # type: ignore[name-defined, misc]
    """A body that arrives in parts of one size."""

    def __init__(self, body: bytes, size: int) -> None:
        self._parts = [body[at : at + size] for at in range(0, len(body), size)]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._parts)


def model_of(bodies: list[bytes], *, size: int = 1_000_000, kind: str = "text/event-stream") -> OpenAIChatModel:
    """Return a model whose SDK reads one body after another, in parts of `size` bytes."""
    waiting = iter(bodies)

    def answer(_: Any) -> Any:
        return transport.Response(200, headers={"content-type": kind}, stream=Bytes(next(waiting), size))

    client = sdk.OpenAI(
        api_key="k",
        max_retries=0,
        base_url="http://t/v1",
        http_client=transport.Client(transport=transport.MockTransport(answer)),
    )
    return OpenAIChatModel("m", client=client)


def sse(events: list[Event], *, done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events]
    return "".join([*lines, "data: [DONE]\n\n"] if done else lines).encode()


def read(events: list[Event], *, size: int = 1_000_000, done: bool = True) -> Any:
    return list(model_of([sse(events, done=done)], size=size).stream(REQUEST))[-1]


def meaning(calls: Any) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments or "{}")) for call in calls]


@pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_calls_are_read_from_pieces_of_every_size(family: Family, calls: list[Call]) -> None:
    sizes = range(1, len(GOUDA.arguments) + 1, 1 if len(calls) == 1 else 5)
    bodies = {sse(list(family(calls, size))): None for size in sizes}
    model = model_of(list(bodies))
    for _ in bodies:
        response = list(model.stream(REQUEST))[-1]
        assert meaning(response.tool_calls) == meaning(calls)
        assert response.usage.cache_read_tokens == CACHED.get(family)
        assert response.usage.input_tokens in (0, 90)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 4096])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_calls_are_read_from_bytes_in_parts_of_every_size(family: Family, size: int) -> None:
    assert meaning(read(list(family(CALLS["parallel"], 9)), size=size).tool_calls) == meaning(CALLS["parallel"])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_stream_cut_anywhere_never_gives_other_arguments(family: Family) -> None:
    events = list(family(CALLS["parallel"], 9))
    wanted = meaning(CALLS["parallel"])
    for end in range(len(events)):
        try:
            response = read(events[:end], done=False)
        except ProviderError as error:
            assert error.retryable  # noqa: PT017
        else:
            assert [call for call in meaning(response.tool_calls) if call not in wanted] in ([], [("get_weather", {})])


@pytest.mark.parametrize("arguments", ["", "{}", '{"city": "Gou', '{"city"'])
@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "content_filter"])
@pytest.mark.parametrize("streamed", [True, False])
def test_a_truncated_call_is_reported_and_not_run(arguments: str, reason: str, streamed: bool) -> None:
    ran: list[Any] = []
    tool = Tool("list_zones", parameters={"properties": {"city": {"type": "string"}}}, fn=lambda **a: ran.append(a))
    call = piece(0, "c1", "list_zones", arguments)
    whole = {"choices": [{"index": 0, "message": {"tool_calls": [call]}, "finish_reason": reason}]}
    end = {"choices": [{"index": 0, "message": {"content": "end"}, "finish_reason": "stop"}]}
    if streamed:
        bodies = [sse([chunk({"tool_calls": [call]}), chunk({}, reason)]), sse([chunk({"content": "end"}, "stop")])]
        client = ChatClient(model_of(bodies), tools=[tool])
        stream = client.stream("x")
        list(stream)
        messages = stream.response.messages
    else:
        model = model_of([json.dumps(body).encode() for body in (whole, end)], kind="application/json")
        messages = ChatClient(model, tools=[tool]).call("x").messages
    assert not ran
    assert "cut off" in messages[1].text


FAILURES: list[tuple[Event, str, bool]] = [
    ({"choices": None, "error_type": "BadRequestError", "error_message": "too long", "code": 400}, "too long", False),
    ({"object": "error", "message": "too long", "type": "BadRequestError", "code": 400}, "too long", False),
    ({"error": "overloaded, wait"}, "overloaded, wait", True),
    ({"error": {"message": "busy", "code": 502}, "choices": []}, "busy", True),
    ({"error": {"message": "busy", "code": "503"}}, "busy", True),
    ({"error": {"msg": "no money", "code": 429, "type": "insufficient_quota"}}, "no money", False),
    ({"error": {"message": "You exceeded your current quota, see billing", "code": 429}}, "quota", False),
    ({"error": {"message": "You exceeded your current quota. Please retry in 9s", "code": 429}}, "quota", True),
    ({"error": {"message": "slow", "status": "RESOURCE_EXHAUSTED"}}, "slow", True),
    ({"error": {"message": "slow", "type": "ThrottlingException"}}, "slow", True),
    ({"errors": [{"message": "slow", "code": 429}]}, "slow", True),
    ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, "insufficient balance", False),
    ({"detail": "Internal problem", "status_code": 500}, "Internal problem", True),
    ({"code": 403, "msg": "not allowed"}, "not allowed", False),
    (
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": {"message": "gone", "code": 502}}]},
        "gone",
        True,
    ),
]


@pytest.mark.parametrize(("event", "reason", "retryable"), FAILURES, ids=str)
@pytest.mark.parametrize("before", [[], [chunk({"content": "half"})]], ids=["first", "later"])
def test_a_failure_with_status_200_keeps_its_reason(
    event: Event, reason: str, retryable: bool, before: list[Event]
) -> None:
    with pytest.raises(ProviderError, match=reason) as caught:
        read([*before, event])
    assert caught.value.retryable == retryable


@pytest.mark.parametrize(("event", "reason", "retryable"), FAILURES, ids=str)
def test_a_failure_in_place_of_an_answer_keeps_its_reason(event: Event, reason: str, retryable: bool) -> None:
    with pytest.raises(ProviderProtocolError, match=reason) as caught:
        model_of([json.dumps(event).encode()], kind="application/json").call(REQUEST)
    assert caught.value.retryable == retryable


@pytest.mark.parametrize(
    "event",
    [
        {"object": "ping"},
        {"type": "ping", "message": "still here"},
        {"code": 0, "message": "success"},
        {"status": "ok"},
    ],
    ids=str,
)
def test_a_ping_is_ignored(event: Event) -> None:
    events = list(openai([GOUDA], 5))
    assert meaning(read([event, *events[:4], event, *events[4:], event]).tool_calls) == meaning([GOUDA])


def test_text_is_complete_with_the_token_counts_after_it() -> None:
    text = [chunk({"content": "whole"}), chunk(None, usage={"prompt_tokens": 3, "completion_tokens": 1})]
    assert read(text).text == "whole"
    with pytest.raises(ProviderProtocolError, match="after 5 characters"):
        read(text[:1])


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(9, 0, 4)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5}, Usage(9, 0, 4)),
        ({"prompt_tokens": 9, "cached_tokens": 4}, Usage(9, 0, 4)),
        ({"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}, Usage(9, 2, 4)),
        ({"prompt_tokens": 9, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 3}, Usage(9, 0, 4, 3)),
        ({"input_tokens": 2, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 3}, Usage(9, 0, 4, 3)),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": None}, "cached_tokens": 0}, Usage(9, 0, 0)),
        ({"prompt_tokens": "9", "completion_tokens": 2.0, "cached_tokens": -1}, Usage(9, 2)),
    ],
    ids=str,
)
def test_token_counts_are_read_under_their_various_names(usage: Event, expected: Usage) -> None:
    assert read([chunk({"content": "a"}, "stop", usage=usage)]).usage == expected


WRONG_TYPES: list[Event] = [
    {"usage": {"prompt_tokens": "many"}},
    {"usage": {"prompt_tokens": [3]}},
    {"usage": {"prompt_tokens": True}},
    {"usage": [1]},
    {"choices": ["text"]},
    {"choices": 5},
    {"choices": [[1]]},
    *(
        {"choices": [{"index": 0, name: value, "finish_reason": "stop"}]}
        for name in ("delta", "message")
        for value in (
            "text",
            7,
            {"content": 5},
            {"tool_calls": 5},
            {"tool_calls": "x"},
            {"tool_calls": ["x"]},
            {"tool_calls": [{"index": 0, "function": "x"}]},
            {"tool_calls": [{"index": 0, "id": [1], "function": {"name": "f", "arguments": "{}"}}]},
            {"tool_calls": [{"index": 0, "id": "c", "function": {"name": ["f"], "arguments": "{}"}}]},
            {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": 5}}]},
        )
    ),
    {"choices": [{"index": [0], "delta": {"content": "a"}, "finish_reason": "stop"}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": {}, "function": {"name": "f"}}]}}]},
    {"choices": [{"index": 0, "delta": {}, "message": {}, "finish_reason": ["stop"]}]},
]


@pytest.mark.parametrize("event", WRONG_TYPES, ids=str)
def test_a_wrong_type_is_a_protocol_error_that_no_retry_helps(event: Event) -> None:
    is_whole_only = '"message": ' in json.dumps(event) and '"delta"' not in json.dumps(event)
    if is_whole_only:
        with pytest.raises(ProviderProtocolError) as caught:
            model_of([json.dumps(event).encode()], kind="application/json").call(REQUEST)
    else:
        with pytest.raises(ProviderProtocolError) as caught:
            read([event, chunk({}, "stop")])
    assert not caught.value.retryable


def nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, member in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from nodes(member, (*path, key))


def mutated(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = mutated(value[path[0]], path[1:], new)
    return copy


MUTATIONS = 200 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 25
LOSING = (None, [], {}, "")
OTHERS = (5, -1, 1.5, True, "x", [1], ["x"], [None], {"a": 1}, [[]], [{}], {"index": "x"}, 10**30)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_mutated_streams_raise_provider_errors_only(family: Family) -> None:
    chance = random.Random(family.__name__)
    events = list(family(CALLS["parallel"], 12))
    for _ in range(MUTATIONS):
        changed = json.loads(json.dumps(events))
        is_lossy = False
        for _ in range(chance.choice((1, 1, 2))):
            at = chance.randrange(len(changed))
            path = chance.choice(list(nodes(changed[at])))
            new = chance.choice(LOSING + OTHERS)
            is_lossy |= new in LOSING or new == [None] or new == [{}] or new == [[]] or isinstance(new, dict | str)
            changed[at] = mutated(changed[at], path, new)
        assert_sound(changed, is_lossy=is_lossy)


def assert_sound(events: list[Any], *, is_lossy: bool) -> None:
    """Assert that a turn either raises a provider's error, or runs tools with the arguments that the model wrote."""
    ran: list[tuple[str, Any]] = []
    tools = [
        Tool("get_weather", parameters=WEATHER, fn=lambda **given: ran.append(("get_weather", given))),
        Tool("list_zones", parameters={}, fn=lambda: ran.append(("list_zones", {}))),
    ]
    end = [chunk({"content": "end"}, "stop")]
    try:
        list(ChatClient(model_of([sse(events), sse(end)]), tools=tools).stream("x"))
    except ProviderError:
        return
    for name, arguments in ran:
        if name == "get_weather" and is_lossy:
            assert isinstance(arguments["city"], str)
            assert isinstance(arguments["days"]["n"], int)
        else:
            assert (name, arguments) in meaning(CALLS["parallel"])


def test_an_answer_nested_too_deeply_is_a_protocol_error() -> None:
    deep = b"[" * 200_000
    with pytest.raises(ProviderProtocolError):
        model_of([deep], kind="application/json").call(REQUEST)
    with pytest.raises(ProviderProtocolError):
        list(model_of([b"data: " + deep + b"\n\n"]).stream(REQUEST))


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([piece(0, "a", "list_zones"), piece(0, "b", "list_zones")], [("list_zones", {})] * 2),
        ([piece(0, "", "list_zones", "{}"), piece(0, "", "get_time", '{"n": 1}')], [("list_zones", {}), ("get_time", {"n": 1})]),  # noqa: E501
        ([piece(0, None, "list_zones"), piece(0, None, "get_weather", "{}")], [("list_zones", {}), ("get_weather", {})]),  # noqa: E501
        ([piece(0, "a", "f", {}), piece(0, arguments='{"n": 1}')], [("f", {"n": 1})]),
        ([piece(0, "a", "f", "null"), piece(0, arguments='{"n": 1}')], [("f", {"n": 1})]),
        ([piece(0, "a", "f", '{"n": 1}'), piece(0, arguments="{}")], [("f", {"n": 1})]),
        ([piece(0, arguments='{"n":'), piece(0, "a", "f", " 1}")], [("f", {"n": 1})]),
        ([piece(0, "a", "f"), piece(1, "b", "g"), piece(0, arguments='{"n": 1}'), piece(0, arguments='{"n": 2}')], [("f", {"n": 1}), ("g", {"n": 2})]),  # noqa: E501
        ([piece(0, "a", "f", '{"n'), piece(0, arguments='{"n": 1'), piece(0, arguments='{"n": 1}')], [("f", {"n": 1})]),
        ([piece("0", 7, "f", '{"n": '), piece(0.0, arguments="1}")], [("f", {"n": 1})]),
        ([piece(None, "a", "get_"), piece(None, None, "weather", "{}")], [("get_weather", {})]),
        ([piece(0, "a", "f", "{}"), piece(5)], [("f", {})]),
    ],
    ids=str,
)  # fmt: skip
def test_pieces_are_assigned_by_what_they_say(pieces: list[Event], expected: list[tuple[str, Any]]) -> None:
    events = [*(chunk({"tool_calls": [one]}) for one in pieces), chunk({}, "tool_calls")]
    assert meaning(read(events).tool_calls) == expected


def test_equal_ids_of_parallel_calls_are_told_apart() -> None:
    calls = [piece(None, "same", "f", '{"n": 1}'), piece(None, "same", "f", '{"n": 2}')]
    calls = read([chunk({"tool_calls": calls}, "tool_calls")]).tool_calls
    assert calls == (ToolCall("same", "f", '{"n": 1}'), ToolCall("call_1", "f", '{"n": 2}'))
