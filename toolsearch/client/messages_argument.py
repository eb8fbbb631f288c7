"""Messages of a call, as objects or as dicts: in the form of `to_dict`, or in the form of OpenAI's chat completions."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

from ..errors import ConfigurationError
from ..messages import AssistantMessage, Media, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from ..serialization import decode_tagged
from ..text import short_repr
from ..tools.argument_types import collect_finite

__all__ = ["MessageLike", "coerce_messages"]

MessageLike: TypeAlias = Message | Mapping[str, Any]
"""A message, or a dict of one: what `to_dict` returned, or a message of OpenAI's chat completions."""

_MESSAGE_TYPES = (SystemMessage, UserMessage, AssistantMessage, ToolMessage)
_ROLES = "'system', 'developer', 'user', 'assistant' or 'tool'"
_AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_UNKNOWN_IMAGE = "image/*"


def coerce_messages(messages: Iterable[MessageLike]) -> list[Message]:
    """Return the messages as objects.

    Raises:
        ConfigurationError: If one of them is not a message. The error names its place.

    Example:
        >>> coerce_messages([{"role": "user", "content": "Hi"}, AssistantMessage("Hello")])
        [UserMessage(text='Hi', media=()), AssistantMessage(text='Hello', tool_calls=())]
    """
    if isinstance(messages, (*_MESSAGE_TYPES, Mapping)):
        raise ConfigurationError(f"messages must be a list; write messages=[{type(messages).__name__}(...)]")
    if not isinstance(messages, Iterable) or isinstance(cast("object", messages), str):
        raise ConfigurationError(f"messages must be a list of messages, got {short_repr(messages)}")
    coerced: list[Message] = []
    names: dict[str, set[str]] = {}  # of the calls so far; a result in OpenAI's form does not name its tool
    for number, given in enumerate(collect_finite(messages, "messages")):
        message = given if isinstance(given, _MESSAGE_TYPES) else _read(given, f"messages[{number}]", names)
        if isinstance(message, AssistantMessage):
            of_message: dict[str, set[str]] = {}
            for call in message.tool_calls:
                of_message.setdefault(call.id, set()).add(call.name)
            names |= of_message
        coerced.append(message)
    return coerced


def _read(value: object, place: str, names: Mapping[str, set[str]]) -> Message:
    if not isinstance(value, Mapping):
        expected = "a SystemMessage, UserMessage, AssistantMessage, ToolMessage or dict"
        raise ConfigurationError(f"{place} must be {expected}, got {short_repr(value)}")
    if "text" in value or "format" in value:
        return _read_own(value, place)
    match value.get("role"):
        case "system" | "developer":
            return SystemMessage(_text_only(value, place))
        case "user":
            return UserMessage(*_content(value.get("content"), f"{place}.content"))
        case "assistant":
            return _read_assistant(value, place)
        case "tool":
            return _read_result(value, place, names)
        case role:
            raise _wrong(f"{place}.role", _ROLES, role)


def _read_own(value: Mapping[str, Any], place: str) -> Message:
    message: Message = decode_tagged(_MESSAGE_TYPES, value, place)
    return message


def _read_assistant(value: Mapping[str, Any], place: str) -> AssistantMessage:
    text = value.get("refusal") or ""
    if value.get("content") is not None:
        text = _text_only(value, place)
    calls = value.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise _wrong(f"{place}.tool_calls", "a list", calls)
    if "function_call" in value and not calls:
        raise ConfigurationError(f"{place}.function_call is not supported; write tool_calls=[...]")
    return AssistantMessage(text, tuple(_read_call(call, f"{place}.tool_calls[{n}]") for n, call in enumerate(calls)))


def _read_call(value: object, place: str) -> ToolCall:
    function = value.get("function") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(function, Mapping):
        raise _wrong(place, 'a dict like {"id": "1", "type": "function", "function": {...}}', value)
    return ToolCall(
        _string(value.get("id"), f"{place}.id"),
        _string(function.get("name"), f"{place}.function.name"),
        _string(function.get("arguments", "{}"), f"{place}.function.arguments"),
    )


def _read_result(value: Mapping[str, Any], place: str, names: Mapping[str, set[str]]) -> ToolMessage:
    call_id = _string(value.get("tool_call_id"), f"{place}.tool_call_id")
    known = names.get(call_id, set())
    if "name" not in value and len(known) > 1:
        raise ConfigurationError(
            f"{place} must name its tool, because several calls have the id {short_repr(call_id)}; write the 'name' of "
            f"the tool too: {' or '.join(map(repr, sorted(known)))}"
        )
    name = value.get("name", next(iter(known), None))
    if not isinstance(name, str):
        raise ConfigurationError(
            f"{place}.tool_call_id must be the id of an earlier tool call, got {short_repr(call_id)}; "
            "the assistant message with this call is missing, or write the tool's 'name' too"
        )
    text, media = _content(value.get("content"), f"{place}.content")
    return ToolMessage(call_id, name, text, media=media)


def _text_only(value: Mapping[str, Any], place: str) -> str:
    text, media = _content(value.get("content"), f"{place}.content")
    if media:
        raise ConfigurationError(f"{place}.content must be text, got {media[0].mime_type}; only users send media")
    return text


def _content(content: object, place: str) -> tuple[str, tuple[Media, ...]]:
    """Return the text and the media of a content. Texts are joined by line breaks; media follow the text."""
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list | tuple):
        raise _wrong(place, "a string or a list of parts", content)
    texts: list[str] = []
    media: list[Media] = []
    for number, part in enumerate(content):
        at = f"{place}[{number}]"
        kind = part.get("type") if isinstance(part, Mapping) else None
        if not isinstance(part, Mapping) or not isinstance(kind, str) or kind not in {*_TEXT_PARTS, *_MEDIA_PARTS}:
            known = ", ".join(map(repr, (*_TEXT_PARTS, *_MEDIA_PARTS)))
            raise _wrong(at, f"a part of the type {known}", part)
        if kind in _TEXT_PARTS:
            texts.append(_string(part.get(kind), f"{at}.{kind}"))
        else:
            media.append(_MEDIA_PARTS[kind](part.get(kind), f"{at}.{kind}"))
    return "\n".join(texts), tuple(media)


def _read_image(value: object, place: str) -> Media:
    url = _string(value.get("url") if isinstance(value, Mapping) else value, f"{place}.url")
    if url.startswith("data:"):
        return _read_data_url(url, f"{place}.url")
    import mimetypes  # costs milliseconds

    guessed = mimetypes.guess_type(url.partition("?")[0])[0] or ""
    return Media(guessed if guessed.startswith("image/") else _UNKNOWN_IMAGE, url=url)


def _read_audio(value: object, place: str) -> Media:
    kind = value.get("format") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or kind not in _AUDIO_TYPES:
        raise _wrong(place, 'a dict like {"data": "...", "format": "wav"}', value)
    return Media(_AUDIO_TYPES[kind], _bytes(value.get("data"), f"{place}.data"))


def _read_file(value: object, place: str) -> Media:
    data = value.get("file_data") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(data, str):
        raise _wrong(place, 'a dict like {"filename": "a.pdf", "file_data": "data:application/pdf;base64,..."}', value)
    media = _read_data_url(data, f"{place}.file_data")
    name = value.get("filename")
    return Media(media.mime_type, media.data, name=None if name is None else _string(name, f"{place}.filename"))


def _read_data_url(url: str, place: str) -> Media:
    head, comma, data = url.partition(",")
    mime_type, *parameters = head.removeprefix("data:").split(";")
    if not head.startswith("data:") or not comma or "base64" not in parameters:
        raise _wrong(place, "a data URL in base64", url)
    return Media(mime_type, _bytes(data, place))


_TEXT_PARTS = ("text", "refusal")
_MEDIA_PARTS: Mapping[str, Callable[[object, str], Media]] = {
    "image_url": _read_image,
    "input_audio": _read_audio,
    "file": _read_file,
}


def _bytes(value: object, place: str) -> bytes:
    text = _string(value, place)
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise _wrong(place, "base64 text", text) from None


def _string(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise _wrong(place, "a string", value)
    return value


def _wrong(place: str, expected: str, value: object) -> ConfigurationError:
    return ConfigurationError(f"{place} must be {expected}, got {short_repr(value)}")
