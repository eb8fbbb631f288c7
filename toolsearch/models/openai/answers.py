"""Decoding of completions: the SDK's objects as chat responses, tolerant of servers that deviate from OpenAI."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...chat.call_ids import CallIds
from ...chat.responses import ChatResponse
from ...errors import ProviderProtocolError
from ...messages import AssistantMessage, Message, ToolCall, Usage
from ...text import replace_surrogates, short_repr

__all__ = ["arguments_text", "content_text", "is_refusal", "response_of", "usage_of"]


def response_of(completion: Any, messages: Sequence[Message]) -> ChatResponse:
    """Convert a completion object of the SDK to a response.

    Raises:
        ProviderProtocolError: If there are no choices, if a choice has no message, or if it is not a completion.
    """
    choices = getattr(completion, "choices", None)
    if not isinstance(choices, list) or not choices:
        raise ProviderProtocolError(f"the provider's answer has no choices: {short_repr(completion, 200)}")
    answers = [getattr(choice, "message", None) for choice in choices]
    if None in answers:
        raise ProviderProtocolError(
            f"the provider's answer has a choice without a message: {short_repr(completion, 200)}"
        )
    ids = CallIds(messages)
    candidates = [_assistant(answer, ids) for answer in answers]
    response = ChatResponse.from_candidates(
        candidates, usage=usage_of(getattr(completion, "usage", None)), raw=completion
    )
    chosen = next(i for i, candidate in enumerate(candidates) if candidate is response.message)
    return response.replace(finish_reason=_finish_reason(choices[chosen], response))


def _finish_reason(choice: Any, response: ChatResponse) -> str:
    """Return the provider's word, or the right one if it is missing or wrong."""
    if not response.tool_calls and is_refusal(getattr(choice, "message", None)):
        return "refusal"  # the provider says "stop"
    return getattr(choice, "finish_reason", None) or ("tool_calls" if response.tool_calls else "stop")


def is_refusal(message: Any) -> bool:
    """Return whether a message, or a piece of a streamed one, is a refusal instead of an answer."""
    return bool(content_text(getattr(message, "refusal", None)) and not content_text(getattr(message, "content", None)))


def _assistant(message: Any, ids: CallIds) -> AssistantMessage:
    text = content_text(getattr(message, "content", None)) or content_text(getattr(message, "refusal", None))
    calls = getattr(message, "tool_calls", None) or ()
    # Calls without a function belong to kinds of tools that this library does not send.
    return AssistantMessage(text, tuple(_tool_call(call, ids) for call in calls if getattr(call, "function", None)))


def _tool_call(call: Any, ids: CallIds) -> ToolCall:
    arguments = arguments_text(getattr(call.function, "arguments", None))
    return ToolCall(ids.take(getattr(call, "id", None)), getattr(call.function, "name", None) or "", arguments or "{}")


def content_text(content: Any) -> str:
    """Return content as a string. Some servers send a list of parts; their texts are joined."""
    if isinstance(content, str):
        return replace_surrogates(content)
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") if isinstance(part, Mapping) else getattr(part, "text", None) for part in content)
    return replace_surrogates("".join(text for text in texts if isinstance(text, str)))


def arguments_text(arguments: Any) -> str:
    """Return arguments as JSON text. Some servers send the object itself."""
    if isinstance(arguments, str):
        return replace_surrogates(arguments)
    return "" if arguments is None else replace_surrogates(json.dumps(arguments, ensure_ascii=False))


def usage_of(usage: Any) -> Usage:
    """Return the provider's token counts, zeros if it reports none."""
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        getattr(usage, "prompt_tokens", None) or 0,
        getattr(usage, "completion_tokens", None) or 0,
        cache_read_tokens=getattr(details, "cached_tokens", None),
        cache_write_tokens=getattr(details, "cache_write_tokens", None),
    )
