"""Streams as the families of servers send them, made for any calls and any size of pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Call(NamedTuple):
    """A tool call to stream."""

    id: str
    name: str
    arguments: str


Event = dict[str, Any]
Family = Callable[[list[Call], int], Iterator[Event]]

USAGE = {"prompt_tokens": 90, "completion_tokens": 7, "total_tokens": 97}


def chunk(delta: Event | None, finish: str | None = None, **fields: Any) -> Event:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **fields}


def piece(index: int | None = None, id: str | None = None, name: str | None = None, arguments: Any = "") -> Event:
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    fields: Event = {} if index is None else {"index": index}
    return {**fields, **({} if id is None else {"id": id, "type": "function"}), "function": function}


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def openai(calls: list[Call], size: int) -> Iterator[Event]:
    yield chunk({"role": "assistant", "content": None, "refusal": None})
    for index, call in enumerate(calls):
        yield chunk({"tool_calls": [piece(index, call.id, call.name)]})
        yield from (chunk({"tool_calls": [piece(index, arguments=part)]}) for part in cut(call.arguments, size))
    yield chunk({}, "tool_calls")
    yield chunk(None, usage={**USAGE, "prompt_tokens_details": {"cached_tokens": 64}})


def azure(calls: list[Call], size: int) -> Iterator[Event]:
    filters = {"hate": {"filtered": False, "severity": "safe"}}
    yield chunk(None, model="", prompt_filter_results=[{"prompt_index": 0, "content_filter_results": filters}])
    for event in openai(calls, size):
        for choice in event["choices"]:
            choice["content_filter_results"] = {}
        yield event


def vllm(calls: list[Call], size: int) -> Iterator[Event]:
    yield chunk({"role": "assistant", "content": ""}, usage={**USAGE, "completion_tokens": 0})
    for index, call in enumerate(calls):
        yield chunk({"tool_calls": [piece(index, f"chatcmpl-tool-{call.id}", call.name)]}, usage=USAGE)
        for part in cut(call.arguments, size):
            yield chunk({"tool_calls": [piece(index, arguments=part)]}, logprobs=None, usage=USAGE)
    yield chunk({"content": ""}, "tool_calls", usage=USAGE)
    yield chunk(None, usage={**USAGE, "prompt_tokens_details": None})


def ollama(calls: list[Call], size: int) -> Iterator[Event]:
    for call in calls:
        yield chunk(
            {"role": "assistant", "content": "", "tool_calls": [piece(0, call.id, call.name, call.arguments or "{}")]}
        )
    yield chunk({"role": "assistant", "content": ""}, "stop")


def ollama_without_index(calls: list[Call], size: int) -> Iterator[Event]:
    for call in calls:
        yield chunk({"role": "assistant", "tool_calls": [piece(None, call.id, call.name, call.arguments)]})
    yield chunk({"content": ""}, "tool_calls")


def llama_cpp(calls: list[Call], size: int) -> Iterator[Event]:
    yield chunk({"role": "assistant", "content": None})
    for index, call in enumerate(calls):
        first, *rest = cut(call.arguments, size) or [""]
        yield chunk({"tool_calls": [piece(index, call.id, call.name, first)]})
        yield from (chunk({"tool_calls": [piece(index, arguments=part)]}) for part in rest)
    yield chunk({}, "tool_calls", timings={"prompt_n": 3})
    yield chunk(None, usage=USAGE, timings={"prompt_n": 3})


def lm_studio(calls: list[Call], size: int) -> Iterator[Event]:
    for index, call in enumerate(calls):
        head = {**piece(index, call.id, call.name), "index": index}
        yield chunk({"role": "assistant", "tool_calls": [head]}, system_fingerprint="m", stats={})
        for part in cut(call.arguments, size):
            yield chunk({"tool_calls": [{**piece(index, arguments=part), "type": "function"}]})
    yield chunk({"tool_calls": None}, "tool_calls")


def gemini(calls: list[Call], size: int) -> Iterator[Event]:
    for call in calls:
        whole = piece(0, f"function-call-{call.id}", call.name, call.arguments or "{}")
        yield chunk({"role": "assistant", "tool_calls": [{**whole, "extra_content": {"google": {"sign": "x"}}}]})
    yield chunk({"role": "assistant"}, "stop", usage=USAGE)


def gemini_without_ids(calls: list[Call], size: int) -> Iterator[Event]:
    yield chunk({"tool_calls": [piece(0, "", call.name, call.arguments or "{}") for call in calls]}, "stop")


def deepseek(calls: list[Call], size: int) -> Iterator[Event]:
    yield chunk({"role": "assistant", "content": None, "reasoning_content": "They"})
    yield chunk({"content": None, "reasoning_content": " ask."})
    for index, call in enumerate(calls):
        yield chunk({"content": None, "tool_calls": [piece(index, call.id, call.name)]})
        yield from (chunk({"tool_calls": [piece(index, arguments=part)]}) for part in cut(call.arguments, size))
    hit = {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 26}
    yield chunk({"content": "", "reasoning_content": None}, "tool_calls", usage={**USAGE, **hit})


def mistral(calls: list[Call], size: int) -> Iterator[Event]:
    yield chunk({"role": "assistant", "content": ""})
    whole = [piece(index, call.id, call.name, call.arguments or "{}") for index, call in enumerate(calls)]
    yield chunk({"content": "", "tool_calls": whole}, "tool_calls", usage=USAGE)


def groq(calls: list[Call], size: int) -> Iterator[Event]:
    yield chunk({"role": "assistant", "content": None}, x_groq={"id": "req"})
    yield chunk({"tool_calls": [piece(i, call.id, call.name, call.arguments) for i, call in enumerate(calls)]})
    yield chunk({}, "tool_calls", x_groq={"id": "req", "usage": {**USAGE, "queue_time": 0.1}})


def bedrock(calls: list[Call], size: int) -> Iterator[Event]:
    yield chunk({"role": "assistant", "content": ""})
    for index, call in enumerate(calls, 1):  # the block of text before has index 0
        yield chunk({"tool_calls": [piece(index, f"tooluse_{call.id}", call.name)]})
        for part in cut(call.arguments, size):
            yield chunk({"tool_calls": [{**piece(index, arguments=part), "id": None, "type": None}]})
        yield chunk({"tool_calls": [piece(index)]})
    yield chunk({}, "tool_calls")
    yield chunk(None, usage={"input_tokens": 26, "output_tokens": 7, "cache_read_input_tokens": 64})


def bedrock_with_placeholder(calls: list[Call], size: int) -> Iterator[Event]:
    for index, call in enumerate(calls):
        yield chunk({"tool_calls": [piece(index, call.id, call.name, "{}")]})
        yield from (chunk({"tool_calls": [piece(index, arguments=part)]}) for part in cut(call.arguments, size))
    yield chunk({}, "tool_calls")


def nim(calls: list[Call], size: int) -> Iterator[Event]:
    for index, call in enumerate(calls):
        first, *rest = cut(call.arguments or "{}", size)
        yield chunk({"tool_calls": [piece(index, call.id, call.name, first)]})
        yield from (chunk({"tool_calls": [piece(index, arguments=part)]}) for part in rest)
    yield chunk({"content": ""})


def sglang(calls: list[Call], size: int) -> Iterator[Event]:
    yield chunk({"role": "assistant", "content": ""}, usage=None)
    for index, call in enumerate(calls):
        yield chunk({"content": None, "tool_calls": [{**piece(index, call.id, call.name), "type": "function"}]})
        for part in cut(call.arguments, size):
            empty = {"index": index, "id": None, "type": "function", "function": {"name": None, "arguments": part}}
            yield chunk({"content": None, "reasoning_content": None, "tool_calls": [empty]}, matched_stop=None)
    yield chunk({"content": None, "tool_calls": None}, "tool_calls")
    yield chunk(None, usage={**USAGE, "prompt_tokens_details": {"cached_tokens": 64}})


def lmdeploy(calls: list[Call], size: int) -> Iterator[Event]:
    for call in calls:  # all on index 0, with an empty id after the first piece
        yield chunk({"tool_calls": [piece(0, call.id, call.name)]})
        for part in cut(call.arguments, size):
            yield chunk({"tool_calls": [{**piece(0, arguments=part), "id": "", "type": "function"}]})
    yield chunk({"content": ""}, "tool_calls")


def tgi(calls: list[Call], size: int) -> Iterator[Event]:
    for index, call in enumerate(calls):  # one call in place of a list
        head = {**piece(index, call.id, call.name), "type": "function"}
        yield chunk({"role": "assistant", "tool_calls": head})
        for part in cut(call.arguments, size):
            yield chunk(
                {"role": "assistant", "tool_calls": {**piece(index, arguments=part), "id": "", "type": "function"}}
            )
    yield chunk({"role": "assistant", "content": ""}, "eos_token", usage=USAGE)


def kimi(calls: list[Call], size: int) -> Iterator[Event]:
    yield chunk({"role": "assistant", "content": "", "reasoning_content": "They ask."})
    for index, call in enumerate(calls):  # the server numbers the ids of each answer from 0
        yield chunk({"tool_calls": [piece(index, f"functions.{call.name}:{index}", call.name)]})
        yield from (chunk({"tool_calls": [piece(index, arguments=part)]}) for part in cut(call.arguments, size))
    last = chunk({}, "tool_calls")
    last["choices"][0]["usage"] = {**USAGE, "cached_tokens": 64}
    yield last


def qwen(calls: list[Call], size: int) -> Iterator[Event]:
    for index, call in enumerate(calls):  # DashScope repeats an empty name and an empty id
        yield chunk({"content": None, "tool_calls": [piece(index, call.id, call.name)]})
        for part in cut(call.arguments, size):
            empty = {"index": index, "id": "", "type": "function", "function": {"name": "", "arguments": part}}
            yield chunk({"content": None, "tool_calls": [empty]})
        yield chunk({"content": None, "tool_calls": [{**piece(index, arguments=None), "id": "", "type": "function"}]})
    yield chunk({"content": ""}, "tool_calls")
    yield chunk(None, usage={**USAGE, "prompt_tokens_details": {"cached_tokens": 64}})


def glm(calls: list[Call], size: int) -> Iterator[Event]:
    yield chunk({"role": "assistant", "reasoning_content": "They ask."})
    whole = [piece(index, call.id, call.name, call.arguments or "{}") for index, call in enumerate(calls)]
    yield chunk({"role": "assistant", "tool_calls": whole})
    yield chunk({"role": "assistant", "content": ""}, "tool_calls", usage=USAGE)


def openrouter(calls: list[Call], size: int) -> Iterator[Event]:
    details = [{"type": "reasoning.text", "text": "They ask.", "format": "x", "index": 0}]
    yield chunk({"role": "assistant", "content": "", "reasoning": "They ask.", "reasoning_details": details})
    for index, call in enumerate(calls):
        yield chunk({"role": "assistant", "content": None, "tool_calls": [piece(index, call.id, call.name)]})
        for part in cut(call.arguments, size):
            yield chunk(
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{**piece(index, arguments=part), "type": "function"}],
                }
            )
    yield chunk({"role": "assistant", "content": ""}, "tool_calls", provider="x")
    last = chunk(
        {"role": "assistant", "content": ""},
        usage={**USAGE, "cost": 0.1, "prompt_tokens_details": {"cached_tokens": 64}},
    )
    yield last


def cohere(calls: list[Call], size: int) -> Iterator[Event]:
    yield chunk({"role": "assistant", "content": None})
    for index, call in enumerate(calls):
        yield chunk({"tool_calls": [piece(index, call.id, call.name)]})
        yield from (chunk({"tool_calls": [piece(index, arguments=part)]}) for part in cut(call.arguments, size))
    yield chunk({}, "tool_calls", usage=USAGE)


def litellm(calls: list[Call], size: int) -> Iterator[Event]:
    for index, call in enumerate(calls):
        head = {**piece(index, call.id, call.name), "type": "function"}
        yield chunk({"role": "assistant", "content": "", "function_call": None, "tool_calls": [head]})
        for part in cut(call.arguments, size):
            rest = {**piece(index, arguments=part), "id": None, "type": "function"}
            yield chunk({"content": "", "function_call": None, "tool_calls": [rest]})
    yield chunk({"content": None, "function_call": None, "tool_calls": None}, "tool_calls")
    yield chunk({"content": ""}, usage={**USAGE, "cache_read_input_tokens": 64})


def gateway_with_late_indexes(calls: list[Call], size: int) -> Iterator[Event]:
    for index, call in enumerate(calls):
        yield chunk({"tool_calls": [piece(0, call.id, call.name)]})
        yield from (chunk({"tool_calls": [piece(index, arguments=part)]}) for part in cut(call.arguments, size))
    yield chunk({}, "tool_calls")


def gateway_without_indexes(calls: list[Call], size: int) -> Iterator[Event]:
    for call in calls:
        yield chunk({"tool_calls": [piece(None, call.id, call.name)]})
        yield from (chunk({"tool_calls": [piece(None, arguments=part)]}) for part in cut(call.arguments, size))
    yield chunk({}, "tool_calls")


def gateway_with_repeated_heads(calls: list[Call], size: int) -> Iterator[Event]:
    for index, call in enumerate(calls):
        for part in cut(call.arguments, size) or [""]:
            yield chunk({"tool_calls": [piece(index, call.id, call.name, part)]})
        yield chunk({"tool_calls": [piece(index, call.id, call.name, call.arguments)]})
    yield chunk({}, "tool_calls")


def gateway_with_new_ids(calls: list[Call], size: int) -> Iterator[Event]:
    for index, call in enumerate(calls):
        yield chunk({"tool_calls": [piece(index, call.id, call.name)]})
        for number, part in enumerate(cut(call.arguments, size)):
            yield chunk({"tool_calls": [piece(index, f"{call.id}-{number}", arguments=part)]})
    yield chunk({}, "tool_calls")


def gateway_with_interleaved_calls(calls: list[Call], size: int) -> Iterator[Event]:
    for index, call in enumerate(calls):
        yield chunk({"tool_calls": [piece(index, call.id, f" {call.name}\n")]})
    parts = [[(index, part) for part in cut(call.arguments, size)] for index, call in enumerate(calls)]
    while parts := [waiting for waiting in parts if waiting]:
        yield chunk({"tool_calls": [piece(*waiting[0][:1], arguments=waiting.pop(0)[1]) for waiting in parts]})
    yield chunk({}, "tool_calls")


FAMILIES: list[Family] = [
    openai,
    azure,
    vllm,
    ollama,
    ollama_without_index,
    llama_cpp,
    lm_studio,
    gemini,
    gemini_without_ids,
    deepseek,
    mistral,
    groq,
    bedrock,
    bedrock_with_placeholder,
    nim,
    sglang,
    lmdeploy,
    tgi,
    kimi,
    qwen,
    glm,
    openrouter,
    cohere,
    litellm,
    gateway_with_late_indexes,
    gateway_without_indexes,
    gateway_with_repeated_heads,
    gateway_with_new_ids,
    gateway_with_interleaved_calls,
]

REPORTING = (openai, azure, deepseek, bedrock, sglang, kimi, qwen, openrouter, litellm)
CACHED: dict[Family, int] = dict.fromkeys(REPORTING, 64)
"""Families that report tokens from the prompt cache."""
