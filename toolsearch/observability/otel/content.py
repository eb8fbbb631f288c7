"""Span attributes with the content of messages, tool calls and searches, recorded only with ``content=True``."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable
from typing import Any

from ...chat.responses import ChatResponse
from ...indexes.response import ToolSearchResponse
from ...messages import AssistantMessage, Message, ToolMessage, json_object
from ...tools.tool_type import Tool
from ..observer import Observed, ObservedRound, ObservedSearch, ObservedToolCall
from .attributes import Attributes, clean

__all__ = ["error_content", "request_content", "result_content"]


def request_content(operation: Observed) -> Attributes:
    """Return the input of an operation: messages, arguments or a query."""
    return clean(_request_content(operation))


def result_content(operation: Observed, result: Any) -> Attributes:
    """Return the output of an operation: the answer, a tool result, or the tools found."""
    return clean(_result_content(operation, result))


def _request_content(operation: Observed) -> Attributes:
    match operation:
        case ObservedRound(request=request):
            messages: Attributes = {"gen_ai.input.messages": _json(map(_message, request.messages))}
            definitions = _json(map(_definition, request.tools))
            return {**messages, "gen_ai.tool.definitions": definitions} if request.tools else messages
        case ObservedToolCall(call=call, tool=tool):
            arguments: Attributes = {"gen_ai.tool.call.arguments": call.arguments}
            return arguments if tool is None else {**arguments, "gen_ai.tool.description": tool.description}
        case ObservedSearch(query=query, category=category):
            content: Attributes = {"gen_ai.retrieval.query.text": query}
            return content if category is None else {**content, "toolsearch.search.category": category}
        case _:
            return {}


def _result_content(operation: Observed, result: Any) -> Attributes:
    match operation, result:
        case ObservedRound(), ChatResponse():
            answer = {**_message(result.message), "finish_reason": result.finish_reason}
            return {"gen_ai.output.messages": _json([answer])}
        case ObservedToolCall(), ToolMessage():
            return {"gen_ai.tool.call.result": result.text}
        case ObservedSearch(), ToolSearchResponse():
            documents = [{"id": hit.name, "score": hit.score} for hit in result.hits]
            return {"gen_ai.retrieval.documents": _json(documents)}
        case _:
            return {}


def error_content(error: BaseException) -> Attributes:
    """Return the attributes of the event ``exception``: type, message and traceback of an error."""
    return clean(
        {
            "exception.type": type(error).__qualname__,
            "exception.message": str(error),
            "exception.stacktrace": "".join(traceback.format_exception(error)),
        }
    )


def _message(message: Message) -> dict[str, Any]:
    """Return a message in the conventions' schema of chat histories. Of media, only the type is recorded."""
    parts: list[dict[str, Any]] = []
    if isinstance(message, ToolMessage):
        parts.append({"type": "tool_call_response", "id": message.tool_call_id, "response": message.text})
    elif message.text:
        parts.append({"type": "text", "content": message.text})
    if isinstance(message, AssistantMessage):
        for call in message.tool_calls:
            arguments = json_object(call.arguments)
            shown = call.arguments if arguments is None else arguments
            parts.append({"type": "tool_call", "id": call.id, "name": call.name, "arguments": shown})
    parts.extend({"type": "media", "mime_type": media.mime_type} for media in getattr(message, "media", ()))
    return {"role": message.role, "parts": parts}


def _definition(tool: Tool) -> dict[str, Any]:
    """Return a tool in the conventions' schema of tool definitions."""
    parameters = dict(tool.parameters)
    return {"type": "function", "name": tool.name, "description": tool.description, "parameters": parameters}


def _json(values: Iterable[object]) -> str:
    try:
        return json.dumps(list(values), ensure_ascii=False, separators=(",", ":"), default=str)
    except (RecursionError, ValueError, TypeError):  # nested too deeply, or not JSON; an observer must not raise
        return "[]"
