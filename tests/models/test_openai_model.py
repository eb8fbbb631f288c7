"""OpenAIChatModel with a local server: request bytes, decoded answers, streams and errors."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from typing import Any

import pytest

from toolsearch.chat.events import ChatChunk
from toolsearch.chat.requests import ChatRequest
from toolsearch.chat.responses import ChatResponse
from toolsearch.errors import ConfigurationError, MissingExtraError, ProviderError, ProviderProtocolError
from toolsearch.messages import (
    AssistantMessage,
    Media,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolsearch.models import OpenAIChatModel
from toolsearch.testing import OpenAIWireServer, WireReply
from toolsearch.tools.tool_type import Tool

openai = pytest.importorskip("openai")

REQUEST = ChatRequest(messages=[UserMessage("hello")])
WEATHER = Tool(
    "weather",
    "Tell the weather.",
    {"type": "object", "required": ["city"], "properties": {"z": {"type": "integer"}, "city": {"type": "string"}}},
)
IMAGE = Media("image/png", b"\x89PNG")
Connect = Callable[..., tuple[OpenAIWireServer, OpenAIChatModel]]


@pytest.fixture(name="connect")
def _connect() -> Iterator[Connect]:
    """Return a function that starts a scripted server and a model connected to it."""
    with ExitStack() as stack:

        def connect(script: Any, **settings: Any) -> tuple[OpenAIWireServer, OpenAIChatModel]:
            server = stack.enter_context(OpenAIWireServer(script))
            settings = {"base_url": server.base_url, "api_key": "sk-secret", "max_retries": 0, **settings}
            return server, stack.enter_context(OpenAIChatModel(settings.pop("model", "gpt-test"), **settings))

        yield connect


def _arun(model: OpenAIChatModel, use: Callable[[], Any]) -> Any:
    async def run() -> Any:
        async with model:
            return await use()

    return asyncio.run(run())


def _astream(model: OpenAIChatModel, request: ChatRequest) -> Any:
    async def read() -> Any:
        return [piece async for piece in model.astream(request)][-1]

    return _arun(model, read)


WAYS: dict[str, Callable[[OpenAIChatModel, ChatRequest], ChatResponse]] = {
    "call": lambda model, request: model.call(request),
    "acall": lambda model, request: _arun(model, lambda: model.acall(request)),
    "stream": lambda model, request: list(model.stream(request))[-1],
    "astream": _astream,
}


@pytest.fixture(params=WAYS, name="ask")
def _ask(request: pytest.FixtureRequest) -> Any:
    return WAYS[request.param]


@pytest.fixture(params=["stream", "astream"], name="read")
def _read(request: pytest.FixtureRequest) -> Any:
    return WAYS[request.param]


def event(delta: dict[str, Any] | None = None, finish: str | None = None, index: int = 0) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": delta or {}, "finish_reason": finish}]}


def fragment(**fields: Any) -> dict[str, Any]:
    function = {name: fields.pop(name) for name in ("name", "arguments") if name in fields}
    return event({"tool_calls": [{**fields, "function": function}]})


# Requests


def test_bytes_of_a_whole_conversation(connect):
    server, model = connect(["ok"])
    messages = [
        SystemMessage("Be brief."),
        UserMessage("Wetter in Köln?"),
        AssistantMessage("", (ToolCall("c1", "weather", '{"city":  "Köln"}'),)),
        ToolMessage("c1", "weather", "no such city", is_error=True),
    ]
    model.call(ChatRequest(messages=messages, tools=[WEATHER], options={"temperature": 0}))
    body = server.requests[0].body.decode()
    assert (
        '"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Wetter in Köln?"},'
        '{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":'
        '{"name":"weather","arguments":"{\\"city\\":  \\"Köln\\"}"}}]},'
        '{"role":"tool","tool_call_id":"c1","content":"no such city"}]'
    ) in body
    assert (
        '"tools":[{"type":"function","function":{"name":"weather","description":"Tell the weather.","parameters":'
        '{"type":"object","required":["city"],"properties":{"z":{"type":"integer"},"city":{"type":"string"}}}}}]'
    ) in body
    assert set(json.loads(body)) == {"model", "messages", "tools", "temperature"}
    assert server.requests[0].headers["authorization"] == "Bearer sk-secret"


def test_all_methods_send_the_same_body_except_stream_fields(connect):
    server, model = connect(["ok"] * 4)
    request = REQUEST.replace(tools=[WEATHER], options={"tool_choice": "required"})
    for ask in WAYS.values():
        ask(model, request)
    bodies = [sent.json for sent in server.requests]
    assert bodies[0] == bodies[1]
    assert bodies[2] == bodies[3] == {**bodies[0], "stream": True, "stream_options": {"include_usage": True}}


def test_a_longer_conversation_keeps_the_prefix_bytes(connect):
    server, model = connect(["one", "two"])
    first = model.call(REQUEST.replace(tools=[WEATHER]))
    model.call(ChatRequest(messages=[*REQUEST.messages, *first.messages, UserMessage("go on")], tools=[WEATHER]))
    one, two = (sent.body for sent in server.requests)
    assert two.startswith(one[: one.index(b"]")])
    assert one[one.index(b'"tools"') :] == two[two.index(b'"tools"') :]


def test_request_tools_replace_model_tools_in_order(connect):
    server, model = connect(["ok"] * 3, tools=[WEATHER])
    clock, date = Tool("clock", "Tell the time."), Tool("a_date", "Tell the date.")
    for tools in ([], [clock, date], [date, clock]):
        model.call(REQUEST.replace(tools=tools))
    names = [[tool["function"]["name"] for tool in sent.json["tools"]] for sent in server.requests]
    assert names == [["weather"], ["clock", "a_date"], ["a_date", "clock"]]


def test_request_options_replace_model_options(connect):
    server, model = connect(["ok"], temperature=0.5, seed=1, extra_body={"top_k": 3})
    model.call(REQUEST.replace(options={"temperature": 0.25, "model": "other", "max_completion_tokens": 9}))
    sent = server.requests[0].json
    del sent["messages"]
    assert sent == {"model": "other", "temperature": 0.25, "seed": 1, "top_k": 3, "max_completion_tokens": 9}


def test_tool_options_are_omitted_without_tools(connect):
    server, model = connect(["ok"], tool_choice="auto", parallel_tool_calls=False)
    model.call(REQUEST)
    assert set(server.requests[0].json) == {"model", "messages"}


def test_context_and_session_are_not_sent(connect, ask):
    server, model = connect(["ok"])
    ask(model, REQUEST.replace(context={"key": "hidden"}, session_id="s-hidden", tenant_id="t-hidden"))
    assert b"hidden" not in server.requests[0].body


def test_stream_usage_can_be_switched_off(connect, read):
    server, model = connect([WireReply(events=[event({"content": "hi"}), event(finish="stop")])], stream_usage=False)
    response = read(model, REQUEST)
    assert "stream_options" not in server.requests[0].json
    assert (response.text, response.usage) == ("hi", Usage())


def test_user_media_are_encoded_as_parts(connect):
    server, model = connect(["ok"])
    media = (IMAGE, Media("image/jpeg", url="https://example.org/a.jpg"), Media("audio/mpeg", b"a"))
    model.call(ChatRequest(messages=[UserMessage("Look", (*media, Media("application/pdf", b"p")))]))
    assert server.requests[0].json["messages"][0]["content"] == [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.jpg"}},
        {"type": "input_audio", "input_audio": {"data": "YQ==", "format": "mp3"}},
        {"type": "file", "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,cA=="}},
    ]


def test_a_file_keeps_its_name(connect):
    server, model = connect(["ok"])
    model.call(ChatRequest(messages=[UserMessage("", (Media("application/pdf", b"p", name="invoice.pdf"),))]))
    assert server.requests[0].json["messages"][0]["content"][0]["file"]["filename"] == "invoice.pdf"


def test_result_media_follow_after_all_results_of_the_round(connect):
    server, model = connect(["ok"])
    calls = (ToolCall("c1", "draw"), ToolCall("c2", "zip"), ToolCall("c3", "draw"))
    model.call(
        ChatRequest(
            messages=[
                UserMessage("Draw"),
                AssistantMessage("", calls),
                ToolMessage("c1", "draw", "a cat", media=(IMAGE,)),
                ToolMessage("c2", "zip", "", media=(Media("application/zip", b"z"),)),
                ToolMessage("c3", "draw", "", media=(IMAGE,)),
                AssistantMessage("Done."),
            ]
        )
    )
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
    assert server.requests[0].json["messages"][2:] == [
        {"role": "tool", "tool_call_id": "c1", "content": "a cat\n[image/png: follows in the next user message]"},
        {"role": "tool", "tool_call_id": "c2", "content": "[application/zip: cannot be shown]"},
        {"role": "tool", "tool_call_id": "c3", "content": "[image/png: follows in the next user message]"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Output of draw (call c1):"},
                image,
                {"type": "text", "text": "Output of draw (call c3):"},
                image,
            ],
        },
        {"role": "assistant", "content": "Done."},
    ]


def test_invented_names_are_encoded_so_that_providers_accept_them(connect):
    server, model = connect(["ok"])
    calls = (ToolCall("a", "multi_tool_use.parallel", " "), ToolCall("b", ""), ToolCall("c", "x" * 200, "not JSON"))
    model.call(ChatRequest(messages=[AssistantMessage("", calls)]))
    sent = [call["function"] for call in server.requests[0].json["messages"][0]["tool_calls"]]
    assert sent[0]["name"].startswith("multi_tool_use_parallel_")
    assert sent[0]["arguments"] == "{}"
    assert all(0 < len(call["name"]) <= 64 for call in sent)
    assert sent[2]["arguments"] == "{}"


def test_invalid_parts_of_a_schema_are_not_sent(connect):
    schema = {"type": "object", "properties": {"tags": {"type": "array"}, "n": {"minimum": "0"}}, "required": None}
    server, model = connect(["ok"])
    tool = Tool("odd", "Odd.", schema)
    model.call(REQUEST.replace(tools=[tool]))
    sent = server.requests[0].json["tools"][0]["function"]["parameters"]
    assert sent == {"type": "object", "properties": {"tags": {"type": "array", "items": {}}, "n": {}}}
    assert tool.parameters is schema


def test_lone_surrogates_are_replaced_and_pairs_joined(connect, ask):
    server, model = connect(["ok"])
    tool = Tool("odd", "half \ud83d", {"type": "object", "properties": {"\udc00": {"enum": ["\ud83d\ude00"]}}})
    ask(model, ChatRequest(messages=[UserMessage("a\ud83d")], tools=[tool]))
    sent = server.requests[0].json
    assert sent["messages"][0]["content"] == "a\ufffd"
    assert sent["tools"][0]["function"]["description"] == "half \ufffd"
    assert sent["tools"][0]["function"]["parameters"]["properties"] == {"\ufffd": {"enum": ["😀"], "type": "string"}}


# Rejected requests


def test_too_many_tools_are_rejected_with_advice(connect, ask):
    server, model = connect([])
    with pytest.raises(ConfigurationError, match=r"128 tools.*got 129.*ToolSearchAdvisor"):
        ask(model, REQUEST.replace(tools=[Tool(f"t{n}", "x") for n in range(129)]))
    assert server.requests == []


def test_the_tool_limit_can_be_changed(connect):
    server, model = connect(["ok"], max_tools=None)
    model.call(REQUEST.replace(tools=[Tool(f"t{n}", "x") for n in range(200)]))
    assert len(server.requests[0].json["tools"]) == 200


@pytest.mark.parametrize(
    ("request_", "match"),
    [
        (REQUEST.replace(options={"tools": []}), "'tools' is not an option"),
        (REQUEST.replace(options={"stream": True}), "'stream' is not an option"),
        (REQUEST.replace(options={"temprature": 1}), "temprature.*extra_body"),
        (REQUEST.replace(options={"user": "\ud83d"}), "surrogates"),
        (REQUEST.replace(options={"metadata": {"a": object()}}), "object"),
        (REQUEST.replace(tools=[Tool("no.dots", "x")]), "'no.dots' cannot be sent"),
        (ChatRequest(messages=[UserMessage("", (Media("application/zip", b"z"),))]), "application/zip"),
    ],
)
def test_a_request_that_cannot_be_sent_is_a_configuration_error(connect, ask, request_, match):
    server, model = connect([])
    with pytest.raises(ConfigurationError, match=match):
        ask(model, request_)
    assert server.requests == []


def test_reserved_options_are_rejected_by_the_constructor():
    with pytest.raises(ConfigurationError, match="'messages' is not an option"):
        OpenAIChatModel("m", messages=[])


def test_a_client_with_settings_is_rejected(connect):
    with (
        openai.OpenAI(api_key="k", base_url="http://127.0.0.1:9/v1") as client,
        pytest.raises(ConfigurationError, match="has its own"),
    ):
        OpenAIChatModel("m", client=client, api_key="k")


def test_a_given_client_is_used_and_not_closed(connect):
    server, _ = connect(["ok"])
    with openai.OpenAI(api_key="mine", base_url=server.base_url) as client:
        with OpenAIChatModel("m", client=client) as model:
            assert model.call(REQUEST).text == "ok"
        assert not client.is_closed()
        with pytest.raises(ConfigurationError, match="async_client="):
            asyncio.run(model.acall(REQUEST))
    assert server.requests[0].headers["authorization"] == "Bearer mine"


def test_a_missing_key_error_names_the_argument(monkeypatch, ask):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_ADMIN_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="api_key"):
        ask(OpenAIChatModel("m"), REQUEST)


def test_a_missing_sdk_error_names_the_extra(monkeypatch, ask):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'toolsearch\[openai\]'"):
        ask(OpenAIChatModel("m", api_key="k"), REQUEST)


def test_secrets_are_not_shown():
    model = OpenAIChatModel("m", api_key="sk-secret", base_url="http://user:pw@127.0.0.1/v1")
    assert repr(model) == "OpenAIChatModel('m')"


# Responses


def body(*choices: dict[str, Any], **fields: Any) -> WireReply:
    return WireReply(body={"id": "x", "choices": [{"index": i, **c} for i, c in enumerate(choices)], **fields})


def test_usage_and_finish_reason_are_read(connect, ask):
    answer = ChatResponse.from_text(
        "cut", finish_reason="length", usage=Usage(100, 7, cache_read_tokens=64, cache_write_tokens=32)
    )
    _, model = connect([answer])
    response = ask(model, REQUEST)
    assert response.finish_reason == "length"
    assert response.usage == Usage(100, 7, cache_read_tokens=64, cache_write_tokens=32)
    assert response.raw is not None


def test_usage_in_every_chunk_is_not_summed(connect, read):
    events = [
        {**event({"content": c}), "usage": {"prompt_tokens": 10, "completion_tokens": n}}
        for n, c in enumerate("abc", 1)
    ]
    _, model = connect([WireReply(events=[*events, event(finish="stop")])])
    assert read(model, REQUEST).usage == Usage(10, 3)


def test_the_first_candidate_with_calls_is_chosen(connect):
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    choices = [
        {"message": {"content": "text"}, "finish_reason": "stop"},
        {"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"},
    ]
    server, model = connect([body(*choices)], n=2)
    response = model.call(REQUEST)
    assert server.requests[0].json["n"] == 2
    assert response.tool_calls == (ToolCall("c", "weather", "{}"),)
    assert response.finish_reason == "tool_calls"
    assert [candidate.text for candidate in response.candidates] == ["text", ""]


def test_a_stream_passes_on_the_first_candidate(connect):
    events = [
        event({"content": "se"}, index=1),
        event({"content": "fi"}),
        event({"content": "cond"}, "stop", index=1),
        event({"content": "rst"}, "length"),
    ]
    _, model = connect([WireReply(events=events)], n=2)
    *chunks, response = model.stream(REQUEST)
    assert [chunk.text for chunk in chunks] == ["fi", "rst"]
    assert [candidate.text for candidate in response.candidates] == ["first", "second"]
    assert (response.text, response.finish_reason) == ("first", "length")


def test_a_refusal_becomes_the_text(connect):
    streamed = WireReply(events=[event({"refusal": "I can"}), event({"refusal": "not."}), event(finish="stop")])
    whole = body({"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"})
    _, model = connect([whole, streamed])
    assert model.call(REQUEST).text == "I cannot."
    assert [piece.text for piece in model.stream(REQUEST)] == ["I can", "not.", "I cannot."]


def test_missing_and_repeated_ids_are_replaced_by_unused_ids(connect):
    calls = [{"type": "function", "function": {"name": name, "arguments": "{}"}} for name in "abcd"]
    calls[1]["id"] = calls[2]["id"] = "given"
    calls[3]["id"] = ""
    _, model = connect([body({"message": {"tool_calls": calls}, "finish_reason": "tool_calls"})] * 2)
    request = ChatRequest(
        messages=[UserMessage("x"), AssistantMessage("", (ToolCall("call_3", "a"),)), UserMessage("")]
    )
    ids = [[call.id for call in model.call(request).tool_calls] for _ in range(2)]
    assert ids == [["call_4", "given", "call_5", "call_6"]] * 2


@pytest.mark.parametrize(
    ("arguments", "kept"), [("", "{}"), (None, "{}"), ({"a": "é"}, '{"a": "é"}'), ('{"a":', '{"a":')]
)
def test_arguments_in_other_forms_are_read(connect, arguments, kept):
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    whole = body({"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"})
    streamed = WireReply(events=[event({"tool_calls": [{"index": 0, **call}]}), event(finish="tool_calls")])
    _, model = connect([whole, streamed])
    assert model.call(REQUEST).tool_calls == (ToolCall("c", "f", kept),)
    assert list(model.stream(REQUEST))[-1].tool_calls == (ToolCall("c", "f", kept),)


def test_content_parts_are_joined_and_other_calls_ignored(connect):
    message = {
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "a"},
            {"type": "text", "text": "b"},
        ],
        "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "x", "input": "y"}}],
        "function_call": {"name": "old", "arguments": "{}"},
    }
    _, model = connect([body({"message": message, "finish_reason": None})])
    response = model.call(REQUEST)
    assert (response.message, response.finish_reason) == (AssistantMessage("ab"), "stop")


# Streams of other servers

WHOLE = ToolCall("c1", "weather", '{"city": "Gouda"}')
ODD_STREAMS = {
    "as OpenAI does": [
        fragment(index=0, id="c1", name="weather", arguments=""),
        fragment(index=0, arguments='{"city": '),
        fragment(index=0, arguments='"Gouda"}'),
    ],
    "whole in one": [fragment(index=0, id="c1", name="weather", arguments='{"city": "Gouda"}')],
    "without index": [
        fragment(id="c1", name="weather", arguments=""),
        fragment(arguments='{"city": '),
        fragment(arguments='"Gouda"}'),
    ],
    "null index": [
        fragment(index=None, id="c1", name="weather", arguments='{"city": '),
        fragment(index=None, arguments='"Gouda"}'),
    ],
    "name repeated": [
        fragment(index=0, id="c1", name="weather", arguments='{"city": '),
        fragment(index=0, id="c1", name="weather", arguments='"Gouda"}'),
    ],
    "name and id repeated without index": [
        fragment(id="c1", name="weather", arguments='{"city": '),
        fragment(id="c1", name="weather", arguments='"Gouda"}'),
    ],
    "name in pieces": [
        fragment(index=0, id="c1", name="wea"),
        fragment(index=0, name="ther"),
        fragment(index=0, arguments='{"city": "Gouda"}'),
    ],
    "empty id and null name later": [
        fragment(index=0, id="c1", name="weather", arguments=None),
        fragment(index=0, id="", name=None, arguments='{"city": "Gouda"}'),
    ],
    "another id with every piece": [
        fragment(index=0, id="c1", name="weather", arguments='{"city": '),
        fragment(index=0, id="c2", arguments='"Gouda"}'),
    ],
    "whole arguments again at the end": [
        fragment(index=0, id="c1", name="weather", arguments='{"city": '),
        fragment(index=0, arguments='"Gouda"}'),
        fragment(index=0, arguments='{"city": "Gouda"}'),
    ],
    "chunks without choices, deltas or functions": [
        {"choices": []},
        {"choices": None},
        {"object": "ping"},
        {"choices": [{"index": 0, "delta": None}]},
        event({"tool_calls": None}),
        fragment(index=0, id="c1", name="weather", arguments='{"city": "Gouda"}'),
        event({"tool_calls": [{"index": 0, "function": None}]}),
    ],
}


@pytest.mark.parametrize("events", ODD_STREAMS.values(), ids=ODD_STREAMS.keys())
def test_a_streamed_call_is_assembled(connect, read, events):
    _, model = connect([WireReply(events=[*events, event(finish="tool_calls")])])
    assert read(model, REQUEST).tool_calls == (WHOLE,)


ODD_PARALLEL_STREAMS = {
    "interleaved": [
        fragment(index=0, id="c1", name="weather", arguments="{"),
        fragment(index=1, id="c2", name="weather", arguments=""),
        fragment(index=1, arguments='{"city": "Delft"}'),
        fragment(index=0, arguments='"city": "Gouda"}'),
    ],
    "in one chunk": [
        event(
            {
                "tool_calls": [
                    {"index": 0, "id": "c1", "function": {"name": "weather", "arguments": '{"city": "Gouda"}'}},
                    {"index": 1, "id": "c2", "function": {"name": "weather", "arguments": '{"city": "Delft"}'}},
                ]
            }
        )
    ],
    "index 0 for all": [
        fragment(index=0, id="c1", name="weather", arguments='{"city": "Gouda"}'),
        fragment(index=0, id="c2", name="weather", arguments='{"city": "Delft"}'),
    ],
    "without index": [
        fragment(id="c1", name="weather", arguments='{"city": "Gouda"}'),
        fragment(id="c2", name="weather", arguments='{"city": '),
        fragment(arguments='"Delft"}'),
    ],
    "interleaved by id without index": [
        fragment(id="c1", name="weather", arguments="{"),
        fragment(id="c2", name="weather", arguments='{"city": "Delft"}'),
        fragment(id="c1", arguments='"city": "Gouda"}'),
    ],
    "indexes that do not begin at 0": [
        fragment(index=3, id="c1", name="weather", arguments='{"city": "Gouda"}'),
        fragment(index=7, id="c2", name="weather", arguments='{"city": "Delft"}'),
    ],
}


@pytest.mark.parametrize("events", ODD_PARALLEL_STREAMS.values(), ids=ODD_PARALLEL_STREAMS.keys())
def test_streamed_parallel_calls_are_separated(connect, read, events):
    _, model = connect([WireReply(events=[*events, event(finish="tool_calls")])])
    assert read(model, REQUEST).tool_calls == (WHOLE, ToolCall("c2", "weather", '{"city": "Delft"}'))


def test_streamed_calls_without_index_and_id_are_separated_by_complete_arguments(connect, read):
    events = [fragment(id="", name="f", arguments='{"n": 1}'), fragment(name="f", arguments='{"n": 2}')]
    _, model = connect([WireReply(events=[*events, event(finish="stop")])])
    response = read(model, REQUEST)
    assert response.tool_calls == (ToolCall("call_1", "f", '{"n": 1}'), ToolCall("call_2", "f", '{"n": 2}'))


def test_comments_and_a_missing_done_event_are_accepted(connect, read):
    _, model = connect([WireReply(events=[event({"content": "hi"}), event(finish="stop")], done=False)])
    assert read(model, REQUEST).text == "hi"


def test_text_arrives_before_the_answer_ends(connect):
    """The server sends the second event only after the client has received the first."""
    seen: list[str] = []

    def events() -> Iterator[dict[str, Any]]:
        yield event({"content": "first"})
        assert arrived.wait(10)
        seen.append("client had the first")
        yield event({"content": " second"}, "stop")

    arrived = threading.Event()
    _, model = connect([WireReply(events=events())])
    stream = model.stream(REQUEST)
    assert next(stream) == ChatChunk("first")
    assert seen == []
    arrived.set()
    assert list(stream)[-1].text == "first second"


# Streams left early


def test_leaving_a_stream_closes_the_http_response(connect):
    endless = WireReply(events=(event({"content": "x" * 10_000}) for _ in count()))
    server, model = connect([endless])
    stream = model.stream(REQUEST)
    next(stream)
    assert not server.disconnected.is_set()
    stream.close()
    assert server.disconnected.wait(10)


def test_leaving_an_async_stream_closes_the_http_response(connect):
    endless = WireReply(events=(event({"content": "x" * 10_000}) for _ in count()))
    server, model = connect([endless])

    async def leave() -> bool:
        stream = model.astream(REQUEST)
        await anext(stream)
        await stream.aclose()
        return await asyncio.to_thread(server.disconnected.wait, 10)

    assert _arun(model, leave)


def test_a_cancelled_async_stream_closes_the_http_response(connect):
    endless = WireReply(events=(event({"content": "x" * 10_000}) for _ in count()))
    server, model = connect([endless])

    async def leave() -> bool:
        started = asyncio.Event()

        async def read() -> None:
            async for _ in model.astream(REQUEST):
                started.set()

        task = asyncio.create_task(read())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await asyncio.to_thread(server.disconnected.wait, 10)

    assert _arun(model, leave)
    gc.collect()


def test_connections_are_reused(connect):
    server, model = connect(["ok"] * 3)
    assert [model.call(REQUEST).text for _ in range(3)] == ["ok"] * 3
    assert server.connections_made == 1


def test_each_event_loop_has_its_own_connections(connect):
    server, model = connect(lambda request: "ok")

    async def ask() -> str:
        try:
            return (await model.acall(REQUEST)).text
        finally:
            await model.aclose()

    assert [asyncio.run(ask()) for _ in range(3)] == ["ok"] * 3
    assert server.connections_made == 3


def test_an_unclosed_model_leaves_no_open_connection(connect, caplog):
    """Leftovers of one loop are collected in the next one; a warning about an unclosed socket is an error here."""
    server, model = connect(lambda request: "ok")

    async def ask() -> str:
        gc.collect()
        first, last = await model.acall(REQUEST), [piece async for piece in model.astream(REQUEST)][-1]
        gc.collect()
        await asyncio.sleep(0)
        return f"{first.text} {last.text}"

    assert [asyncio.run(ask()) for _ in range(3)] == ["ok ok"] * 3
    gc.collect()
    assert server.connections_made == 3
    assert [record for record in caplog.records if record.name == "asyncio" and record.levelname == "ERROR"] == []


def test_a_dropped_model_is_closed_in_its_loop(connect, caplog):
    server, _ = connect(lambda request: "ok")

    async def ask() -> str:
        model = OpenAIChatModel("gpt-test", base_url=server.base_url, api_key="sk-secret")
        text = (await model.acall(REQUEST)).text
        del model
        gc.collect()
        return text

    assert [asyncio.run(ask()) for _ in range(2)] == ["ok"] * 2
    gc.collect()
    assert [record for record in caplog.records if record.name == "asyncio" and record.levelname == "ERROR"] == []


def test_a_model_reconnects_after_its_keeper_is_closed(connect):
    _, model = connect(lambda request: "ok")

    async def ask() -> str:
        first = await model.acall(REQUEST)
        await model._clients._by_loop[asyncio.get_running_loop()].keeper.aclose()
        return first.text + (await model.acall(REQUEST)).text

    assert asyncio.run(ask()) == "okok"


# Errors


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (401, False), (404, False), (409, True), (429, True), (500, True), (503, True)],
)
def test_http_errors_are_provider_errors(connect, ask, status, retryable):
    _, model = connect([ProviderError("the reason", status=status)])
    with pytest.raises(ProviderError, match=r"gpt-test: .*the reason") as caught:
        ask(model, REQUEST)
    assert (caught.value.status, caught.value.retryable) == (status, retryable)
    assert isinstance(caught.value.__cause__, openai.APIStatusError)
    assert not isinstance(caught.value, ProviderProtocolError)


def test_an_exhausted_quota_is_not_retryable(connect, ask):
    error = {"error": {"message": "pay first", "type": "insufficient_quota", "code": "insufficient_quota"}}
    _, model = connect([WireReply(status=429, body=error)])
    with pytest.raises(ProviderError, match="pay first") as caught:
        ask(model, REQUEST)
    assert not caught.value.retryable


def test_rejected_stream_options_are_explained(connect, read):
    _, model = connect([ProviderError("unknown field stream_options", status=400)])
    with pytest.raises(ProviderError, match="stream_usage=False"):
        read(model, REQUEST)


def test_an_unreachable_server_is_a_retryable_error(connect, ask):
    with OpenAIWireServer() as gone:
        pass
    _, model = connect([], base_url=gone.base_url)
    with pytest.raises(ProviderError, match="onnect") as caught:
        ask(model, REQUEST)
    assert caught.value.retryable
    assert caught.value.status is None
    assert isinstance(caught.value.__cause__, openai.APIConnectionError)


@pytest.mark.parametrize(
    "reply",
    [
        WireReply(body=b"{broken"),
        WireReply(body=b'{"choices": []}'),
        WireReply(body={"error": {"message": "overloaded"}}),
        WireReply(body=b"<html>", content_type="text/html"),
        WireReply(body=b"[1, 2]"),
        WireReply(body=b"null"),
        WireReply(body=b'{"choices": [{"index": 0}]}'),
        WireReply(body=b"\xff\xfe{}"),
    ],
    ids=str,
)
def test_a_malformed_answer_is_a_protocol_error(connect, reply):
    _, model = connect([reply] * 2)
    with pytest.raises(ProviderProtocolError):
        model.call(REQUEST)
    with pytest.raises(ProviderProtocolError):
        _arun(model, lambda: model.acall(REQUEST))


@pytest.mark.parametrize(
    "reply",
    [
        WireReply(events=[]),
        WireReply(events=[event({"content": "half"})]),
        WireReply(events=[event({"content": "half"})], done=False),
        WireReply(events=[event({"content": "half"}), "{broken"]),
        WireReply(events=[event({"content": "half"}), "[1]"]),
        WireReply(events=[event({"content": "half"}), "null"]),
        WireReply(events=[event({"content": "half"}), '"text"']),
        WireReply(events=[event({"content": "half"}, "stop"), event({"content": "other"}, index=1)]),
        WireReply(body={"choices": [{"message": {"content": "not a stream"}}]}),
    ],
    ids=lambda reply: str(reply.events),
)
def test_an_incomplete_stream_is_a_protocol_error(connect, read, reply):
    _, model = connect([reply])
    with pytest.raises(ProviderProtocolError):
        read(model, REQUEST)


def test_a_lost_connection_is_a_retryable_error(connect, read):
    _, model = connect([WireReply(events=[event({"content": "half"})], cut=True)])
    with pytest.raises(ProviderError) as caught:
        read(model, REQUEST)
    assert caught.value.retryable
    assert not isinstance(caught.value, ProviderProtocolError)


@pytest.mark.parametrize(
    ("error", "status", "retryable"),
    [
        ({"message": "busy", "type": "server_error"}, None, True),
        ({"message": "busy", "code": 503}, 503, True),
        ({"message": "busy", "type": "invalid_request_error"}, None, False),
    ],
)
def test_an_error_event_in_a_stream_is_a_provider_error(connect, read, error, status, retryable):
    _, model = connect([WireReply(events=[event({"content": "half"}), {"error": error}])])
    with pytest.raises(ProviderError, match="busy") as caught:
        read(model, REQUEST)
    assert (caught.value.status, caught.value.retryable) == (status, retryable)


def test_max_retries_is_passed_to_the_sdk(connect):
    busy = WireReply(status=429, body=b"{}", headers={"retry-after-ms": "1"})
    server, model = connect([busy, "second time"], max_retries=1)
    assert model.call(REQUEST).text == "second time"
    assert len(server.requests) == 2


def test_an_exhausted_script_is_reported(connect, ask):
    _, model = connect(["one"])
    ask(model, REQUEST)
    with pytest.raises(ProviderError, match="the script has 1 step, but request 2 was received"):
        ask(model, REQUEST)


def test_a_model_is_thread_safe(connect):
    _, model = connect(lambda sent: sent.json["messages"][0]["content"])
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda n: model.call(ChatRequest(messages=[UserMessage(f"n{n}")])).text, range(40)))
    assert texts == [f"n{n}" for n in range(40)]


def test_the_server_reraises_errors_of_its_script():
    def fails(sent: Any) -> str:
        raise ZeroDivisionError("in the script")

    with (
        pytest.raises(ZeroDivisionError, match="in the script"),
        OpenAIWireServer(fails) as server,
        OpenAIChatModel("m", base_url=server.base_url, api_key="k", max_retries=0) as model,
        contextlib.suppress(ProviderError),
    ):
        model.call(REQUEST)


@pytest.mark.parametrize("setting", ["http_client", "default_headers", "organization"])
def test_settings_of_the_sdk_client_are_no_options(setting):
    """They would fail at the first request."""
    with pytest.raises(ConfigurationError, match=rf"'{setting}' is a setting of .*; write client=OpenAI\({setting}="):
        OpenAIChatModel("any", **{setting: 1})


def test_tools_of_a_model_can_be_definitions(connect):
    definition = {"type": "function", "function": {"name": "ping", "description": "Ping.", "parameters": {}}}
    server, model = connect(["ok"], tools=[definition, Tool("pong", "Pong.")])
    model.call(REQUEST)
    assert [tool["function"]["name"] for tool in server.requests[0].json["tools"]] == ["ping", "pong"]
    with pytest.raises(ConfigurationError, match="tools must be Tool objects or definitions, got 'ping'"):
        OpenAIChatModel("any", tools=["ping"])
