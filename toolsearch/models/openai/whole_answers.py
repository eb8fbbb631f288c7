"""Whole answers of servers that do not stream, although the request asked for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ...chat.events import ChatChunk
from ...chat.responses import ChatResponse
from ...messages import Message
from .answers import response_of

__all__ = ["completion_in", "is_whole_answer", "whole_stream"]


def is_whole_answer(response: Any) -> bool:
    """Return whether an HTTP response declares one JSON value instead of a stream."""
    kind = response.headers.get("content-type", "")
    return isinstance(kind, str) and kind.partition(";")[0].strip().casefold() == "application/json"


def completion_in(body: bytes) -> dict[str, Any] | None:
    """Return the completion that a body holds, or the failure in place of it.

    None stands for an unfinished answer, and for a stream with a wrong content type.

    Example:
        >>> completion_in(b'{"error": "overloaded"}'), completion_in(b"data: {}")
        ({'error': 'overloaded'}, None)
    """
    value = json.loads(body) if body.lstrip()[:1] == b"{" else None
    if not isinstance(value, dict):
        return None
    choices = value.get("choices")
    if not isinstance(choices, list):
        return value
    is_finished = all(isinstance(choice, dict) and choice.get("finish_reason") for choice in choices)
    return value if is_finished else None


def whole_stream(completion: dict[str, Any], messages: Sequence[Message]) -> Iterator[ChatChunk | ChatResponse]:
    """Yield a whole answer as a stream: one chunk, then the aggregate."""
    response = response_of(completion, messages)
    if response.text or response.tool_calls:
        yield ChatChunk(response.text, response.tool_calls, raw=completion)
    yield response
