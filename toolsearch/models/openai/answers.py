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
from .failures import reported_failure
from .fields import (
    get_arguments,
    get_calls,
    get_count,
    get_field,
    get_function,
    get_list,
    get_object,
    get_text,
    wrong_type,
)

__all__ = ["arguments_text", "content_text", "final_arguments", "is_refusal", "response_of", "usage_in", "usage_of"]


TRUNCATED_REASONS = ("length", "max_tokens", "max_output_tokens", "model_length", "content_filter")
"""The reasons, in lower case, after which the last call of an answer can be incomplete."""


def response_of(completion: Any, messages: Sequence[Message]) -> ChatResponse:
    """Convert a completion object of the SDK to a response.

    Raises:
        ProviderProtocolError: If there are no choices, if a choice has no message, if it is not a completion, or if a
            field has a wrong type. A failure that the provider reports in their place is the reason.
    """
    choices = get_list(completion, "choices")
    if not choices:
        raise reported_failure(completion, certain=False) or ProviderProtocolError(
            f"the provider's answer has no choices: {short_repr(completion, 200)}"
        )
    answers = [get_object(choice, "message") for choice in choices]
    reasons = [get_text(choice, "finish_reason") for choice in choices]
    if None in answers or "error" in reasons:
        failures = (reported_failure(choice) or reported_failure(completion) for choice in choices)
        raise next(filter(None, failures), None) or ProviderProtocolError(
            f"the provider's answer has a choice without a message: {short_repr(completion, 200)}"
        )
    ids = CallIds(messages)
    candidates = [_assistant(answer, reason, ids) for answer, reason in zip(answers, reasons, strict=True)]
    response = ChatResponse.from_candidates(candidates, usage=usage_of(usage_in(completion)), raw=completion)
    chosen = next(i for i, candidate in enumerate(candidates) if candidate is response.message)
    return response.replace(finish_reason=_finish_reason(answers[chosen], reasons[chosen], response))


def _finish_reason(message: Any, reason: str, response: ChatResponse) -> str:
    """Return the provider's word, or the right one if it is missing or wrong."""
    if not response.tool_calls and is_refusal(message):
        return "refusal"  # the provider says "stop"
    return reason or ("tool_calls" if response.tool_calls else "stop")


def is_refusal(message: Any) -> bool:
    """Return whether a message, or a piece of a streamed one, is a refusal instead of an answer."""
    return bool(content_text(get_field(message, "refusal")) and not content_text(get_field(message, "content")))


def _assistant(message: Any, reason: str, ids: CallIds) -> AssistantMessage:
    text = content_text(get_field(message, "content")) or content_text(get_field(message, "refusal"))
    # Calls without a function belong to kinds of tools that this library does not send.
    calls = [call for call in get_calls(message) if get_function(call)]
    return AssistantMessage(text, tuple(_tool_call(call, ids, reason, is_last=call is calls[-1]) for call in calls))


def _tool_call(call: Any, ids: CallIds, reason: str, *, is_last: bool) -> ToolCall:
    function = get_function(call)
    arguments = arguments_text(get_arguments(function))
    given_id, name = get_text(call, "id", or_number=True), get_text(function, "name")
    return ToolCall(ids.take(given_id), name, final_arguments(arguments, reason, is_last=is_last))


def final_arguments(arguments: str, reason: str, *, is_last: bool) -> str:
    """Return the arguments of a call, an empty object for none.

    If the answer was cut before them, they are the beginning of an object, so that the call is not run without them.
    Some servers complete such arguments to an empty object.
    """
    is_cut = is_last and reason.casefold() in TRUNCATED_REASONS
    if arguments.strip() and not (is_cut and "".join(arguments.split()) == "{}"):
        return arguments
    return "{" if is_cut else "{}"


def content_text(content: Any) -> str:
    """Return content as a string. Some servers send a list of parts; their texts are joined."""
    if content is None or isinstance(content, str):
        return replace_surrogates(content or "")
    parts = [content] if isinstance(content, Mapping) else content
    if not isinstance(parts, list):
        raise wrong_type("content", "a string", content)
    texts = (part if isinstance(part, str) else get_field(part, "text") for part in parts)
    return replace_surrogates("".join(text for text in texts if isinstance(text, str)))


def arguments_text(arguments: Any) -> str:
    """Return arguments as JSON text. Some servers send the object itself, or a list for an empty object."""
    if isinstance(arguments, str):
        return replace_surrogates(arguments)
    if arguments == []:
        return ""
    if arguments is not None and not isinstance(arguments, Mapping):
        raise wrong_type("arguments", "a string", arguments)
    return "" if arguments is None else replace_surrogates(json.dumps(arguments, ensure_ascii=False))


def usage_in(answer: Any) -> Any:
    """Return the token counts of a completion or a chunk, wherever the server puts them; None if there are none."""
    choices = get_field(answer, "choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    for owner in (answer, get_field(answer, "x_groq"), first):
        if (usage := get_object(owner, "usage")) is not None:
            return usage
    return None


def usage_of(usage: Any) -> Usage:
    """Return the provider's token counts, zeros if it reports none. Servers name them differently."""
    details = get_field(usage, "prompt_tokens_details") or get_field(usage, "input_tokens_details")
    read = get_count(details, "cached_tokens", "cache_read_tokens", "cache_read_input_tokens")
    if read is None:
        read = get_count(usage, *_READ_COUNTS)
    written = get_count(details, "cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
    if written is None:
        written = get_count(usage, *_WRITE_COUNTS)
    read_tokens = get_count(usage, "prompt_tokens", "input_tokens") or 0
    cached = (read or 0) + (written or 0)
    if cached > read_tokens:  # counted apart, as Anthropic does
        read_tokens += cached
    return Usage(
        read_tokens,
        get_count(usage, "completion_tokens", "output_tokens") or 0,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


_READ_COUNTS = (
    "prompt_cache_hit_tokens",
    "cached_tokens",
    "cache_read_input_tokens",
    "cache_read_tokens",
    "cacheReadInputTokens",
    "cached_prompt_tokens",
)
_WRITE_COUNTS = (
    "cache_creation_input_tokens",
    "cache_write_input_tokens",
    "cache_write_tokens",
    "cacheWriteInputTokens",
)
