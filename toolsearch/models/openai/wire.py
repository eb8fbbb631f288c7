"""Our messages and tools in the chat-completions wire format: pure functions, no I/O and no SDK."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ...errors import ConfigurationError
from ...messages import AssistantMessage, Media, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from ...text import replace_surrogates, replace_surrogates_in
from ...tools.names import is_wire_name, wire_name

if TYPE_CHECKING:
    from ...tools.tool import Tool

__all__ = ["wire_messages", "wire_tools"]

Json: TypeAlias = dict[str, Any]

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def wire_tools(tools: Iterable[Tool]) -> list[Json]:
    """Tool definitions as they are sent: in the given order, schemas with their own key order.

    Raises:
        ConfigurationError: a name that providers refuse, which would fail the whole request.
    """
    return [_definition(tool) for tool in tools]


def _definition(tool: Tool) -> Json:
    if not is_wire_name(tool.name):
        raise ConfigurationError(
            f"the tool name {tool.name!r} cannot be sent: names are 1 to 64 of the characters a-z A-Z 0-9 _ -; "
            "ChatClient sends another name for such a tool, a model used alone does not"
        )
    # No "strict": most schemas (those of MCP servers, say) do not meet its conditions, and one bad one fails all.
    parameters = tool.parameters or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": replace_surrogates_in(function)}


def wire_messages(messages: Sequence[Message]) -> list[Json]:
    """A conversation as it is sent.

    Tool messages take text only: the media of a round's results follow in one user message after all of them,
    since nothing may stand between the results of one round.

    Raises:
        ConfigurationError: a user's media of a kind that the format has no place for.
    """
    sent: list[Json] = []
    waiting: list[ToolMessage] = []
    for message in messages:
        if waiting and not isinstance(message, ToolMessage):
            sent.append(_media_of_results(waiting))
            waiting = []
        sent.append(_message(message))
        if isinstance(message, ToolMessage) and any(_part(media) for media in message.media):
            waiting.append(message)
    if waiting:
        sent.append(_media_of_results(waiting))
    return sent


def _message(message: Message) -> Json:
    match message:
        case SystemMessage():
            return {"role": "system", "content": replace_surrogates(message.text)}
        case UserMessage():
            return {"role": "user", "content": _user_content(message)}
        case AssistantMessage(tool_calls=()):
            return {"role": "assistant", "content": replace_surrogates(message.text)}
        case AssistantMessage():
            calls = [_sent_call(call) for call in message.tool_calls]
            return {"role": "assistant", "content": replace_surrogates(message.text) or None, "tool_calls": calls}
        case ToolMessage():
            notes = [_note(media) for media in message.media]
            text = "\n".join(filter(None, [message.text, *notes]))
            return {
                "role": "tool",
                "tool_call_id": replace_surrogates(message.tool_call_id),
                "content": replace_surrogates(text),
            }
    raise ConfigurationError(f"not a message: {message!r}")


def _user_content(message: UserMessage) -> str | list[Json]:
    if not message.media:
        return replace_surrogates(message.text)
    parts: list[Json] = [{"type": "text", "text": replace_surrogates(message.text)}] if message.text else []
    for media in message.media:
        part = _part(media)
        if part is None:
            raise ConfigurationError(
                f"media of type {media.mime_type!r} cannot be sent to a chat-completions model"
                + (" by URL; give its data" if media.url else "")
            )
        parts.append(part)
    return parts


def _sent_call(call: ToolCall) -> Json:
    # A name the model made up ("multi_tool_use.parallel") would make the provider refuse the history.
    name = wire_name(call.name or "unnamed")
    arguments = replace_surrogates(call.arguments) if call.arguments.strip() else "{}"
    return {"id": replace_surrogates(call.id), "type": "function", "function": {"name": name, "arguments": arguments}}


def _part(media: Media) -> Json | None:
    """One part of a user message; None for media that the format has no place for."""
    if media.mime_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": media.url or _data_url(media)}}
    if media.url:
        return None
    if audio := _AUDIO.get(media.mime_type):
        return {"type": "input_audio", "input_audio": {"data": _base64(media), "format": audio}}
    if media.mime_type == "application/pdf":
        return {"type": "file", "file": {"filename": "document.pdf", "file_data": _data_url(media)}}
    return None


def _note(media: Media) -> str:
    where = "follows in the next user message" if _part(media) else "cannot be shown"
    return f"[{media.mime_type}: {where}]"


def _media_of_results(results: Sequence[ToolMessage]) -> Json:
    parts: list[Json] = []
    for result in results:
        parts.append(
            {"type": "text", "text": replace_surrogates(f"Output of {result.name} (call {result.tool_call_id}):")}
        )
        parts.extend(part for media in result.media if (part := _part(media)))
    return {"role": "user", "content": parts}


def _data_url(media: Media) -> str:
    return f"data:{media.mime_type};base64,{_base64(media)}"


def _base64(media: Media) -> str:
    return base64.b64encode(media.data).decode("ascii")
