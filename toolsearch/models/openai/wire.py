"""Encoding of messages and tools in the chat completions format: pure functions, without I/O and SDK."""

from __future__ import annotations

import base64
import json
import logging
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias
from weakref import WeakKeyDictionary

from ...errors import ConfigurationError
from ...messages import AssistantMessage, Media, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from ...text import replace_surrogates, replace_surrogates_in, short_repr
from ...text.logs import log_event
from ...tools.names import is_wire_name, wire_name
from ..changes import log_change
from ..profiles import PROFILES, ProviderProfile
from .wire_schema import wire_schema

if TYPE_CHECKING:
    from ...tools.tool_type import Tool

__all__ = ["wire_messages", "wire_tools"]

Json: TypeAlias = dict[str, Any]

logger = logging.getLogger("toolsearch.models")

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_EMPTY = {"null": None, "text": ""}
_OPENAI = PROFILES["openai"]
_encodings: WeakKeyDictionary[Tool, tuple[ProviderProfile, Json | None]] = WeakKeyDictionary()


def wire_tools(tools: Iterable[Tool], profile: ProviderProfile = _OPENAI) -> list[Json]:
    """Encode tool definitions, in the given order and with the key order of their schemas.

    A provider rejects the whole request for one definition that it does not accept. So schemas and descriptions are
    changed to fit the profile, and a tool that cannot be made to fit is left out, with a warning.

    Raises:
        ConfigurationError: If a name contains characters that providers reject.
    """
    encoded = (_encoded_tool(tool, profile) for tool in tools)
    return [tool for tool in encoded if tool is not None]


def _encoded_tool(tool: Tool, profile: ProviderProfile) -> Json | None:
    """Return the encoding of a tool, made once for its latest profile: a tool is sent in many rounds."""
    made_for, encoded = _encodings.get(tool, (None, None))
    if made_for != profile:
        encoded = _encode_tool(tool, profile)
        _encodings[tool] = (profile, encoded)
    return encoded


def _encode_tool(tool: Tool, profile: ProviderProfile) -> Json | None:
    if not is_wire_name(tool.name):
        raise ConfigurationError(
            f"the tool name {tool.name!r} cannot be sent: a name must be 1 to 64 of the characters a-z A-Z 0-9 _ -; "
            "ChatClient renames such tools, a model that is called directly does not"
        )
    # No "strict": most schemas of MCP servers do not meet its conditions, and one such schema fails the request.
    try:
        parameters, hints = wire_schema(tool.parameters, profile)
        description = _description(tool.description, hints, profile)
        function = replace_surrogates_in({"name": tool.name, "description": description, "parameters": parameters})
        changed = function != {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    except (ValueError, TypeError, RecursionError) as error:
        log_change("tool left out", tool.name, profile.name, digest=tool.fingerprint, level=logging.WARNING)
        log_event(logger, logging.DEBUG, "tool_left_out", {"tool": tool.name}, error=error)
        return None
    if changed:
        log_change("definition of a tool", tool.name, profile.name, digest=tool.fingerprint)
    return {"type": "function", "function": function}


def _description(text: str, hints: Sequence[str], profile: ProviderProfile) -> str:
    """Return a description with hints of what the schema no longer says, cut at a word to the profile's length."""
    limit = profile.max_description
    whole = "\n".join(filter(None, [text, *hints]))
    if len(whole) <= limit:
        return whole
    cut = whole[: limit - 1]
    return cut[: max(cut.rfind(" "), limit - 60)].rstrip() + "…"


def wire_messages(messages: Sequence[Message], profile: ProviderProfile = _OPENAI) -> list[Json]:
    """Encode a conversation, message by message; `acceptable_history` repairs it as a whole.

    Tool messages hold text only. The media of a round's tool results follow in one user message after all of them,
    because no message may stand between the results of one round. What providers reject is replaced: arguments that
    are not a JSON object by `{}`, an empty result by a note, media that cannot be sent by a note. An empty answer is
    left out.

    Raises:
        ConfigurationError: If the last message has media of a kind that the format does not have.
    """
    sent: list[Json] = []
    waiting: list[ToolMessage] = []
    for position, message in enumerate(messages):
        if waiting and not isinstance(message, ToolMessage):
            _append_user(sent, _encode_result_media(waiting, profile), profile)
            waiting = []
        if isinstance(message, AssistantMessage) and not (message.text.strip() or message.tool_calls):
            continue
        if isinstance(message, UserMessage):
            content = _user_content(message, profile, is_last=position == len(messages) - 1)
            _append_user(sent, {"role": "user", "content": content}, profile)
        else:
            sent.append(_encode_message(message, profile))
        if isinstance(message, ToolMessage) and any(_encode_media(media, profile) for media in message.media):
            waiting.append(message)
    if waiting:
        _append_user(sent, _encode_result_media(waiting, profile), profile)
    return sent


def _append_user(sent: list[Json], message: Json, profile: ProviderProfile) -> None:
    last = sent[-1]["role"] if sent else ""
    if last == "tool" and not profile.user_after_tool:
        sent.append({"role": "assistant", "content": "I have the results."})
    elif last == "user" and profile.alternating:
        earlier = sent.pop()
        message = {"role": "user", "content": _joined(earlier["content"], message["content"])}
    sent.append(message)


def _joined(first: str | list[Json], second: str | list[Json]) -> str | list[Json]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _encode_message(message: Message, profile: ProviderProfile) -> Json:
    match message:
        case SystemMessage():
            return {"role": "system", "content": replace_surrogates(message.text)}
        case AssistantMessage(tool_calls=()):
            return {"role": "assistant", "content": replace_surrogates(message.text)}
        case AssistantMessage():
            calls = [_encode_call(call) for call in message.tool_calls]
            content: Json = {"content": replace_surrogates(message.text)}
            if not message.text.strip():
                content = {} if profile.empty_content == "omit" else {"content": _EMPTY[profile.empty_content]}
            return {"role": "assistant", **content, "tool_calls": calls}
        case ToolMessage():
            notes = [_note(media, profile) for media in message.media]
            text = "\n".join(filter(None, [message.text, *notes]))
            text = text if text.strip() else "(empty result)"
            return {
                "role": "tool",
                "tool_call_id": replace_surrogates(message.tool_call_id),
                "content": replace_surrogates(text),
            }
    raise ConfigurationError(f"messages must be Message objects, got {short_repr(message)}")


def _user_content(message: UserMessage, profile: ProviderProfile, *, is_last: bool) -> str | list[Json]:
    if not message.media:
        return replace_surrogates(message.text)
    parts: list[Json] = [{"type": "text", "text": replace_surrogates(message.text)}] if message.text.strip() else []
    for media in message.media:
        part = _encode_media(media, profile)
        if part is None:
            if is_last and not media.mime_type.startswith("image/"):
                raise ConfigurationError(
                    f"media of type {media.mime_type!r} cannot be sent to a chat-completions model"
                    + (" by URL; pass its data" if media.url else "")
                )
            log_change("media left out", media.mime_type, profile.name, level=logging.WARNING)
            part = {"type": "text", "text": _note(media, profile)}
        parts.append(part)
    return parts


def _encode_call(call: ToolCall) -> Json:
    # A name that the model invented ("multi_tool_use.parallel") would make the provider reject the history.
    name = wire_name(call.name or "unnamed")
    arguments = replace_surrogates(call.arguments) if _is_object(call.arguments) else "{}"
    return {"id": replace_surrogates(call.id), "type": "function", "function": {"name": name, "arguments": arguments}}


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments, parse_constant=_reject_constant, parse_float=_finite), dict)
    except (ValueError, RecursionError):
        return False


def _finite(number: str) -> float:
    value = float(number)
    return value if math.isfinite(value) else _reject_constant(number)


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_ALIASES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}


def _encode_media(media: Media, profile: ProviderProfile) -> Json | None:
    """Return a part of a user message, or None for media that the format does not have or the provider rejects."""
    mime_type = media.mime_type.partition(";")[0].strip().lower()
    mime_type = _ALIASES.get(mime_type, mime_type)
    if mime_type.startswith("image/"):
        if mime_type not in profile.image_types or not (media.url or media.data):
            return None
        return {"type": "image_url", "image_url": {"url": media.url or _data_url(media, mime_type)}}
    if media.url or not media.data:
        return None
    if audio := _AUDIO.get(mime_type):
        return {"type": "input_audio", "input_audio": {"data": _base64(media), "format": audio}}
    if mime_type == "application/pdf":
        name = replace_surrogates(media.name) if media.name else "document.pdf"
        return {"type": "file", "file": {"filename": name, "file_data": _data_url(media, mime_type)}}
    return None


def _note(media: Media, profile: ProviderProfile) -> str:
    where = "follows in the next user message" if _encode_media(media, profile) else "cannot be shown"
    return f"[{media.mime_type}: {where}]"


def _encode_result_media(results: Sequence[ToolMessage], profile: ProviderProfile) -> Json:
    parts: list[Json] = []
    for result in results:
        parts.append(
            {"type": "text", "text": replace_surrogates(f"Output of {result.name} (call {result.tool_call_id}):")}
        )
        parts.extend(part for media in result.media if (part := _encode_media(media, profile)))
    return {"role": "user", "content": parts}


def _data_url(media: Media, mime_type: str) -> str:
    return f"data:{mime_type};base64,{_base64(media)}"


def _base64(media: Media) -> str:
    return base64.b64encode(media.data).decode("ascii")
