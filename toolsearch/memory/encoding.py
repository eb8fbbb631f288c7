"""Messages as the bytes that stores keep. The form is that of `to_dict`; forms of older versions can be read too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import ConfigurationError, MemoryStoreError
from ..messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage, message_from_dict
from ..serialization import FORMAT
from ..text import short_repr

__all__ = ["FORMAT", "decode_message", "encode_message"]

_LAST_OLD_FORMAT = 2
_MESSAGE_TYPES = (SystemMessage, UserMessage, AssistantMessage, ToolMessage)


def encode_message(message: Message) -> bytes:
    """Encode `message` as JSON in UTF-8, with lone surrogates written like characters.

    Raises:
        ConfigurationError: If it is not a message of this library.

    Example:
        >>> encode_message(UserMessage("Hi"))
        b'{"format":3,"role":"user","text":"Hi"}'
        >>> decode_message(encode_message(UserMessage("Hi"))) == UserMessage("Hi")
        True
    """
    if type(message) not in _MESSAGE_TYPES:  # the fields of a subclass would be lost
        raise ConfigurationError(
            "messages must be of the classes SystemMessage, UserMessage, AssistantMessage and ToolMessage, "
            f"got {type(message).__name__}"
        )
    # Without ASCII escapes: two lone surrogates in a row would be decoded as one character.
    return json.dumps(message.to_dict(), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def decode_message(body: object) -> Message:
    """Decode a message that `encode_message` wrote.

    Raises:
        MemoryStoreError: If a newer version wrote it, or it is not an encoded message.
    """
    try:
        if not isinstance(body, bytes):
            raise TypeError("it must be bytes")
        value = json.loads(body.decode("utf-8", "surrogatepass"))
        if value["format"] <= _LAST_OLD_FORMAT:
            value = _upgrade(value)
        return message_from_dict(value)
    except Exception as error:  # whatever the damage is
        raise MemoryStoreError(f"cannot read a stored message ({short_repr(error)}): {short_repr(body)}") from error


def _upgrade(old: Mapping[str, Any]) -> dict[str, Any]:
    """Return the current form of a message in format 1 or 2."""
    new = {**old, "media": [{**part, "mime_type": part["type"]} for part in old.get("media", ())]}
    if old["role"] == "tool":
        new["text"] = old["content"]
        new["tool_call_id"] = old["call_id" if old["format"] == 1 else "tool_call_id"]
    if old["role"] == "assistant":
        new["tool_calls"] = [dict(zip(("id", "name", "arguments"), call, strict=True)) for call in old.get("calls", ())]
    return new
