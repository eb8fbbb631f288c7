"""Encoding of messages and tools in the chat completions format: pure functions, without I/O and SDK."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ...errors import ConfigurationError
from ...messages import AssistantMessage, Media, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from ...text import replace_surrogates, replace_surrogates_in, short_repr
from ...tools.names import is_wire_name, wire_name
from .valid_schema import valid_schema

if TYPE_CHECKING:
    from ...tools.tool_type import Tool

__all__ = ["wire_messages", "wire_tools"]

Json: TypeAlias = dict[str, Any]

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def wire_tools(tools: Iterable[Tool]) -> list[Json]:
    """Encode tool definitions, in the given order and with the key order of their schemas.

    Parts of a schema that are not valid JSON Schema are left out, because a provider rejects the whole request for
    one invalid schema.

    Raises:
        ConfigurationError: If a name contains characters that providers reject.
    """
    return [_encode_tool(tool) for tool in tools]


def _encode_tool(tool: Tool) -> Json:
    if not is_wire_name(tool.name):
        raise ConfigurationError(
            f"the tool name {tool.name!r} cannot be sent: a name must be 1 to 64 of the characters a-z A-Z 0-9 _ -; "
            "ChatClient renames such tools, a model that is called directly does not"
        )
    # No "strict": most schemas of MCP servers do not meet its conditions, and one such schema fails the request.
    parameters = valid_schema(tool.parameters) or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": replace_surrogates_in(function)}


def wire_messages(messages: Sequence[Message]) -> list[Json]:
    """Encode a conversation.

    Tool messages hold text only. The media of a round's tool results follow in one user message after all of them,
    because no message may stand between the results of one round. What providers reject in a history is replaced:
    arguments that are not a JSON object by `{}`, an empty result by a note. An empty answer is left out.

    Raises:
        ConfigurationError: If media of a user message are of a kind that the format does not have.
    """
    sent: list[Json] = []
    waiting: list[ToolMessage] = []
    for message in messages:
        if waiting and not isinstance(message, ToolMessage):
            sent.append(_encode_result_media(waiting))
            waiting = []
        if isinstance(message, AssistantMessage) and not (message.text.strip() or message.tool_calls):
            continue
        sent.append(_encode_message(message))
        if isinstance(message, ToolMessage) and any(_encode_media(media) for media in message.media):
            waiting.append(message)
    if waiting:
        sent.append(_encode_result_media(waiting))
    return sent


def _encode_message(message: Message) -> Json:
    match message:
        case SystemMessage():
            return {"role": "system", "content": replace_surrogates(message.text)}
        case UserMessage():
            return {"role": "user", "content": _user_content(message)}
        case AssistantMessage(tool_calls=()):
            return {"role": "assistant", "content": replace_surrogates(message.text)}
        case AssistantMessage():
            calls = [_encode_call(call) for call in message.tool_calls]
            return {"role": "assistant", "content": replace_surrogates(message.text) or None, "tool_calls": calls}
        case ToolMessage():
            notes = [_note(media) for media in message.media]
            text = "\n".join(filter(None, [message.text, *notes]))
            text = text if text.strip() else "(empty result)"
            return {
                "role": "tool",
                "tool_call_id": replace_surrogates(message.tool_call_id),
                "content": replace_surrogates(text),
            }
    raise ConfigurationError(f"messages must be Message objects, got {short_repr(message)}")


def _user_content(message: UserMessage) -> str | list[Json]:
    if not message.media:
        return replace_surrogates(message.text)
    parts: list[Json] = [{"type": "text", "text": replace_surrogates(message.text)}] if message.text else []
    for media in message.media:
        part = _encode_media(media)
        if part is None:
            raise ConfigurationError(
                f"media of type {media.mime_type!r} cannot be sent to a chat-completions model"
                + (" by URL; pass its data" if media.url else "")
            )
        parts.append(part)
    return parts


def _encode_call(call: ToolCall) -> Json:
    # A name that the model invented ("multi_tool_use.parallel") would make the provider reject the history.
    name = wire_name(call.name or "unnamed")
    arguments = replace_surrogates(call.arguments) if _is_object(call.arguments) else "{}"
    return {"id": replace_surrogates(call.id), "type": "function", "function": {"name": name, "arguments": arguments}}


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _encode_media(media: Media) -> Json | None:
    """Return a part of a user message, or None for media that the format does not have."""
    if media.mime_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": media.url or _data_url(media)}}
    if media.url:
        return None
    if audio := _AUDIO.get(media.mime_type):
        return {"type": "input_audio", "input_audio": {"data": _base64(media), "format": audio}}
    if media.mime_type == "application/pdf":
        name = replace_surrogates(media.name) if media.name else "document.pdf"
        return {"type": "file", "file": {"filename": name, "file_data": _data_url(media)}}
    return None


def _note(media: Media) -> str:
    where = "follows in the next user message" if _encode_media(media) else "cannot be shown"
    return f"[{media.mime_type}: {where}]"


def _encode_result_media(results: Sequence[ToolMessage]) -> Json:
    parts: list[Json] = []
    for result in results:
        parts.append(
            {"type": "text", "text": replace_surrogates(f"Output of {result.name} (call {result.tool_call_id}):")}
        )
        parts.extend(part for media in result.media if (part := _encode_media(media)))
    return {"role": "user", "content": parts}


def _data_url(media: Media) -> str:
    return f"data:{media.mime_type};base64,{_base64(media)}"


def _base64(media: Media) -> str:
    return base64.b64encode(media.data).decode("ascii")
