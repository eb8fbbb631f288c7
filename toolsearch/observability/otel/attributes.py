"""Span names, attributes and error types by OpenTelemetry's GenAI conventions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from ...chat.model import ChatModel
from ...chat.requests import ChatRequest
from ...chat.responses import ChatResponse
from ...errors import TookTooLongError
from ...indexes.response import ToolSearchResponse
from ...messages import ToolMessage
from ...text import replace_surrogates
from ..observer import Observed, ObservedRound, ObservedSearch, ObservedToolCall, ObservedTurn

__all__ = [
    "OTHER",
    "Attributes",
    "clean",
    "error_type",
    "operation_name",
    "request_attributes",
    "result_attributes",
    "span_name",
]

Attributes: TypeAlias = dict[str, str | bool | int | float | list[str]]

OTHER = "_OTHER"
"""The conventions' value for anything without a known name."""

_MAX_TOOL_NAME_LENGTH = 128

_OPTION_ATTRIBUTES: Mapping[str, tuple[str, type]] = {
    "temperature": ("gen_ai.request.temperature", float),
    "top_p": ("gen_ai.request.top_p", float),
    "max_tokens": ("gen_ai.request.max_tokens", int),
    "max_completion_tokens": ("gen_ai.request.max_tokens", int),
    "frequency_penalty": ("gen_ai.request.frequency_penalty", float),
    "presence_penalty": ("gen_ai.request.presence_penalty", float),
    "seed": ("gen_ai.request.seed", int),
    "n": ("gen_ai.request.choice.count", int),
}


def operation_name(operation: Observed) -> str:
    """Return the value of ``gen_ai.operation.name``."""
    match operation:
        case ObservedTurn():
            return "invoke_agent"
        case ObservedRound():
            return "chat"
        case ObservedToolCall():
            return "execute_tool"
        case ObservedSearch():
            return "retrieval"


def span_name(attributes: Attributes) -> str:
    """Return the name of a span from the attributes it starts with."""
    operation = attributes["gen_ai.operation.name"]
    subject_keys = {
        "chat": "gen_ai.request.model",
        "execute_tool": "gen_ai.tool.name",
        "invoke_agent": "gen_ai.agent.name",
    }
    subject = attributes.get(subject_keys.get(str(operation), ""))
    return f"{operation} {subject}" if subject else str(operation)


def request_attributes(operation: Observed, agent_name: str | None) -> Attributes:
    """Return the attributes that are known when an operation starts."""
    attributes: Attributes = {"gen_ai.operation.name": operation_name(operation)}
    if agent_name and not isinstance(operation, ObservedSearch):
        attributes["gen_ai.agent.name"] = agent_name
    match operation:
        case ObservedTurn(request=request, model=model):
            attributes |= _model(model, request) | _conversation(request)
        case ObservedRound(request=request, model=model, number=number, streaming=streaming):
            attributes |= _model(model, request) | _conversation(request) | _options(request)
            attributes["toolsearch.round"] = number
            attributes["toolsearch.tools"] = len(request.tools)
            if streaming:
                attributes["gen_ai.request.stream"] = True
        case ObservedToolCall(call=call, tool=tool, request=request):
            attributes |= _conversation(request)
            attributes["gen_ai.tool.name"] = call.name[:_MAX_TOOL_NAME_LENGTH]
            attributes["gen_ai.tool.call.id"] = call.id
            attributes["gen_ai.tool.type"] = "function"
            if tool is not None and tool.source:
                attributes["toolsearch.tool.source"] = tool.source
        case ObservedSearch(max_results=max_results):
            attributes["gen_ai.retrieval.top_k"] = max_results
    return clean(attributes)


def result_attributes(operation: Observed, result: Any) -> Attributes:
    """Return the attributes that are known when an operation has ended."""
    attributes: Attributes = {}
    match operation, result:
        case ObservedTurn() | ObservedRound(), ChatResponse():
            attributes |= _usage(result)
            attributes["gen_ai.response.finish_reasons"] = [replace_surrogates(result.finish_reason)]
            if isinstance(operation, ObservedRound):
                attributes |= _provider_response(result.raw)
            if (report := result.tool_search) is not None:
                attributes["toolsearch.tokens.avoided"] = report.tokens_avoided
                attributes["toolsearch.tokens.spent"] = report.tokens_spent
                attributes["toolsearch.searches"] = len(report.searches)
                attributes["toolsearch.revealed"] = len(report.revealed)
        case ObservedSearch(), ToolSearchResponse():
            attributes["toolsearch.search.hits"] = len(result.hits)
            if result.metadata is not None:
                attributes["gen_ai.data_source.id"] = result.metadata.search_type
            if result.reason_code is not None:
                attributes["toolsearch.search.reason"] = result.reason_code
        case _:
            pass
    return clean(attributes)


def error_type(operation: Observed, result: Any, error: BaseException | None) -> str | None:
    """Return the value of ``error.type``, or None without an error. Closing a stream early is not an error."""
    if isinstance(operation, ObservedToolCall) and operation.tool is None:
        return "unknown_tool"
    if error is None:
        return OTHER if isinstance(result, ToolMessage) and result.is_error else None
    if isinstance(error, GeneratorExit):
        return None
    if isinstance(error, TookTooLongError):
        return "timeout"
    status = getattr(error, "status", None)
    if isinstance(status, int):
        return str(status)
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _model(model: ChatModel, request: ChatRequest) -> Attributes:
    # Each name counts by itself: `NamedModel` has both, but a model may define one.
    attributes: Attributes = {"gen_ai.provider.name": _text(getattr(model, "provider_name", "")) or OTHER}
    name = _text(request.options.get("model")) or _text(getattr(model, "model_name", ""))
    if name:
        attributes["gen_ai.request.model"] = name
    return attributes


def _conversation(request: ChatRequest) -> Attributes:
    return {} if request.session_id is None else {"gen_ai.conversation.id": request.session_id}


def _options(request: ChatRequest) -> Attributes:
    attributes: Attributes = {}
    for option, (name, kind) in _OPTION_ATTRIBUTES.items():
        value = request.options.get(option)
        if isinstance(value, int | float) and not isinstance(value, bool):
            attributes[name] = kind(value)
    if attributes.get("gen_ai.request.choice.count") == 1:
        del attributes["gen_ai.request.choice.count"]
    return attributes


def _usage(response: ChatResponse) -> Attributes:
    usage = response.usage
    if not usage.total:  # the provider reported no usage
        return {}
    attributes: Attributes = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    if usage.cache_read_tokens is not None:
        attributes["gen_ai.usage.cache_read.input_tokens"] = usage.cache_read_tokens
    if usage.cache_write_tokens is not None:
        attributes["gen_ai.usage.cache_creation.input_tokens"] = usage.cache_write_tokens
    return attributes


def _provider_response(raw: object) -> Attributes:
    """Return the provider's response id and the model that answered."""
    found = {"gen_ai.response.model": getattr(raw, "model", None), "gen_ai.response.id": getattr(raw, "id", None)}
    return {name: value for name, value in found.items() if isinstance(value, str) and value}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def clean(attributes: Attributes) -> Attributes:
    """Replace lone surrogates: a single one prevents the export of a whole batch of spans."""
    return {name: replace_surrogates(value) if isinstance(value, str) else value for name, value in attributes.items()}
