"""Messages as JSON and back, without loss: media, lone surrogates, tool calls to the byte."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ConfigurationError, MemoryStoreError
from ..messages import AssistantMessage, Media, Message, SystemMessage, ToolCall, ToolMessage, UserMessage

__all__ = ["decode_message", "encode_message"]

FORMAT = 2
"""Of what this version writes; it reads this and all before. Raise it whenever a message gains a field."""


def encode_message(message: Message) -> bytes:
    """Return `message` as JSON in UTF-8, in which lone surrogates are written as if they were characters.

    Raises:
        ConfigurationError: if it is not a message of this library.

    Example:
        >>> encode_message(UserMessage("Hi"))
        b'{"format":2,"role":"user","text":"Hi"}'
        >>> decode_message(encode_message(UserMessage("Hi"))) == UserMessage("Hi")
        True
    """
    fields = _encoded(message)
    lasting = {name: value for name, value in fields.items() if value not in ((), False, None)}
    value = {"format": FORMAT, "role": message.role, **lasting}
    # Not ASCII with escapes: two lone surrogates in a row would come back as one character.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def decode_message(body: bytes) -> Message:
    """Return the message that `encode_message` wrote as `body`.

    Raises:
        MemoryStoreError: if a newer version wrote it, or it is something else.
    """
    try:
        value = json.loads(body.decode("utf-8", "surrogatepass"))
        written = value["format"]
        role = value["role"]
        if written > FORMAT or role not in _READERS:
            raise MemoryStoreError(
                f"a stored message has format {written} and role {role!r}; this version of toolsearch reads formats up "
                f"to {FORMAT} with roles {', '.join(_READERS)}. A newer version wrote it: upgrade toolsearch here"
            )
        return _READERS[role](value)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise MemoryStoreError(f"a stored message cannot be read ({error!r}): {body[:200]!r}") from error


def _encoded(message: Message) -> dict[str, Any]:
    # Exact classes: a subclass may hold what would be lost here.
    if type(message) is SystemMessage:
        return {"text": message.text}
    if type(message) is UserMessage:
        return {"text": message.text, "media": _encoded_media(message.media)}
    if type(message) is AssistantMessage:
        calls = tuple([call.id, call.name, call.arguments] for call in message.tool_calls)
        return {"text": message.text, "calls": calls}
    if type(message) is ToolMessage:
        return {
            "tool_call_id": message.tool_call_id,
            "name": message.name,
            "content": message.text,
            "is_error": message.is_error,
            "media": _encoded_media(message.media),
            "revealed": None if message.revealed is None else list(message.revealed),
        }
    raise ConfigurationError(f"memory cannot keep {type(message).__name__}, it keeps the four kinds of message")


def _encoded_media(media: tuple[Media, ...]) -> tuple[dict[str, str | None], ...]:
    return tuple(
        {"type": part.mime_type, "data": b64encode(part.data).decode("ascii"), "url": part.url} for part in media
    )


def _media(value: Mapping[str, Any]) -> tuple[Media, ...]:
    return tuple(
        Media(part["type"], b64decode(part["data"], validate=True), part["url"]) for part in value.get("media", ())
    )


def _assistant(value: Mapping[str, Any]) -> AssistantMessage:
    calls = (ToolCall(tool_call_id, name, arguments) for tool_call_id, name, arguments in value.get("calls", ()))
    return AssistantMessage(value["text"], tuple(calls))


def _tool(value: Mapping[str, Any]) -> ToolMessage:
    is_error = value.get("is_error", False)
    revealed = tuple(value["revealed"]) if "revealed" in value else None
    return ToolMessage(value["tool_call_id"], value["name"], value["content"], is_error, _media(value), revealed)


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Message]] = {
    "system": lambda value: SystemMessage(value["text"]),
    "user": lambda value: UserMessage(value["text"], _media(value)),
    "assistant": _assistant,
    "tool": _tool,
}
