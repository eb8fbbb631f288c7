"""Conversion of responses to the chat-completions format of OpenAI."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..chat.responses import ChatResponse
from ..messages import ToolCall

__all__ = ["completion", "completion_chunks", "json_bytes"]


def completion(response: ChatResponse, model: str = "scripted") -> dict[str, Any]:
    """Return the body of a response that is not streamed."""
    answers = response.candidates or [response.message]
    choices = [
        {
            "index": index,
            "message": _message(answer.text, [_call(call) for call in answer.tool_calls]),
            "finish_reason": response.finish_reason,
        }
        for index, answer in enumerate(answers)
    ]
    return {**_head("chat.completion", model), "choices": choices, "usage": _usage(response)}


def completion_chunks(response: ChatResponse, model: str = "scripted", *, usage: bool = True) -> list[dict[str, Any]]:
    """Return the events of a streamed response, split in the way of providers."""
    head = _head("chat.completion.chunk", model)
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    text = response.text
    size = max(1, -(-len(text) // 3))
    deltas += [{"content": text[start : start + size]} for start in range(0, len(text), size)]
    for index, call in enumerate(response.tool_calls):
        begun = {"index": index, **_call(call)}
        begun["function"] = {"name": call.name, "arguments": ""}
        deltas.append({"tool_calls": [begun]})
        half = len(call.arguments) // 2
        for piece in (call.arguments[:half], call.arguments[half:]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    events = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": response.finish_reason}]})
    if usage:
        events.append({**head, "choices": [], "usage": _usage(response)})
    return events


def _head(kind: str, model: str) -> dict[str, Any]:
    return {"id": "chatcmpl-scripted", "object": kind, "created": 0, "model": model}


def _message(text: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else "")}
    return {**message, "tool_calls": calls} if calls else message


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _usage(response: ChatResponse) -> dict[str, Any]:
    usage = response.usage
    counts: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
    }
    details = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_write_tokens}
    known = {name: count for name, count in details.items() if count is not None}
    return {**counts, "prompt_tokens_details": known} if known else counts


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """Return JSON in UTF-8, escaped to ASCII if it contains lone surrogates."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
