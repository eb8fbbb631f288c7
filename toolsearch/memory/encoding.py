"""Messages as JSON and back without loss: media, lone surrogates and tool calls byte for byte."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ConfigurationError, MemoryStoreError
from ..messages import AssistantMessage, Media, Message, SystemMessage, ToolCall, ToolMessage, UserMessage

__all__ = ["FORMAT", "decode_message", "encode_message"]

FORMAT = 2
"""The format that this version writes. It reads this one and all earlier ones. A new field needs a new format."""


def encode_message(message: Message) -> bytes:
    """Encode `message` as JSON in UTF-8, with lone surrogates written like characters.

    Raises:
        ConfigurationError: If it is not a message of this library.

    Example:
        >>> encode_message(UserMessage("Hi"))
        b'{"format":2,"role":"user","text":"Hi"}'
        >>> decode_message(encode_message(UserMessage("Hi"))) == UserMessage("Hi")
        True
    """
    fields = {name: value for name, value in _encoded_fields(message).items() if value not in ((), False, None)}
    value = {"format": FORMAT, "role": message.role, **fields}
    # Without ASCII escapes: two lone surrogates in a row would be decoded as one character.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def decode_message(body: bytes) -> Message:
    """Decode a message that `encode_message` wrote.

    Raises:
        MemoryStoreError: If a newer version wrote it, or it is not an encoded message.
    """
    try:
        value = json.loads(body.decode("utf-8", "surrogatepass"))
        version = value["format"]
        role = value["role"]
        if version > FORMAT or role not in _DECODERS:
            raise MemoryStoreError(
                f"a stored message has format {version} and role {role!r}, but this version of toolsearch reads "
                f"formats up to {FORMAT} with roles {', '.join(_DECODERS)}. A newer version wrote it: upgrade"
            )
        return _DECODERS[role](value)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise MemoryStoreError(f"cannot read a stored message ({error!r}): {body[:200]!r}") from error


def _encoded_fields(message: Message) -> dict[str, Any]:
    # Exact classes: the fields of a subclass would be lost.
    if type(message) is SystemMessage:
        return {"text": message.text}
    if type(message) is UserMessage:
        return {"text": message.text, "media": _encode_media(message.media)}
    if type(message) is AssistantMessage:
        calls = tuple([call.id, call.name, call.arguments] for call in message.tool_calls)
        return {"text": message.text, "calls": calls}
    if type(message) is ToolMessage:
        return {
            "tool_call_id": message.tool_call_id,
            "name": message.name,
            "content": message.text,
            "is_error": message.is_error,
            "media": _encode_media(message.media),
            "revealed": None if message.revealed is None else list(message.revealed),  # [] is not None: keep it
        }
    raise ConfigurationError(
        "messages must be of the classes SystemMessage, UserMessage, AssistantMessage and ToolMessage, "
        f"got {type(message).__name__}"
    )


def _encode_media(media: tuple[Media, ...]) -> tuple[dict[str, str | None], ...]:
    return tuple(
        {"type": part.mime_type, "data": b64encode(part.data).decode("ascii"), "url": part.url} for part in media
    )


def _decode_media(value: Mapping[str, Any]) -> tuple[Media, ...]:
    return tuple(
        Media(part["type"], b64decode(part["data"], validate=True), part["url"]) for part in value.get("media", ())
    )


def _decode_assistant(value: Mapping[str, Any]) -> AssistantMessage:
    calls = (ToolCall(tool_call_id, name, arguments) for tool_call_id, name, arguments in value.get("calls", ()))
    return AssistantMessage(value["text"], tuple(calls))


def _decode_tool(value: Mapping[str, Any]) -> ToolMessage:
    return ToolMessage(
        value["call_id"] if value["format"] == 1 else value["tool_call_id"],
        value["name"],
        value["content"],
        is_error=value.get("is_error", False),
        media=_decode_media(value),
        revealed=tuple(value["revealed"]) if "revealed" in value else None,
    )


_DECODERS: Mapping[str, Callable[[Mapping[str, Any]], Message]] = {
    "system": lambda value: SystemMessage(value["text"]),
    "user": lambda value: UserMessage(value["text"], _decode_media(value)),
    "assistant": _decode_assistant,
    "tool": _decode_tool,
}
