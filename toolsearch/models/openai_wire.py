"""Between our values and the chat-completions wire format: pure functions, no I/O and no SDK."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..chat import ChatResponse
from ..errors import ConfigurationError, ProviderProtocolError
from ..messages import AssistantMessage, Media, Message, SystemMessage, ToolCall, ToolMessage, Usage, UserMessage
from ..names import is_wire_name, wire_name

if TYPE_CHECKING:
    from ..tool import Tool

__all__ = [
    "CallIds",
    "arguments_text",
    "content_text",
    "response_of",
    "usage_of",
    "wire_messages",
    "wire_tools",
]

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
    return {"type": "function", "function": _clean(function)}


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
            return {"role": "system", "content": _cleaned(message.text)}
        case UserMessage():
            return {"role": "user", "content": _user_content(message)}
        case AssistantMessage(tool_calls=()):
            return {"role": "assistant", "content": _cleaned(message.text)}
        case AssistantMessage():
            calls = [_sent_call(call) for call in message.tool_calls]
            return {"role": "assistant", "content": _cleaned(message.text) or None, "tool_calls": calls}
        case ToolMessage():
            notes = [_note(media) for media in message.media]
            text = "\n".join(filter(None, [message.content, *notes]))
            return {"role": "tool", "tool_call_id": _cleaned(message.call_id), "content": _cleaned(text)}
    raise ConfigurationError(f"not a message: {message!r}")


def _user_content(message: UserMessage) -> str | list[Json]:
    if not message.media:
        return _cleaned(message.text)
    parts: list[Json] = [{"type": "text", "text": _cleaned(message.text)}] if message.text else []
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
    arguments = _cleaned(call.arguments) if call.arguments.strip() else "{}"
    return {"id": _cleaned(call.id), "type": "function", "function": {"name": name, "arguments": arguments}}


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
        parts.append({"type": "text", "text": _cleaned(f"Output of {result.name} (call {result.call_id}):")})
        parts.extend(part for media in result.media if (part := _part(media)))
    return {"role": "user", "content": parts}


def _data_url(media: Media) -> str:
    return f"data:{media.mime_type};base64,{_base64(media)}"


def _base64(media: Media) -> str:
    return base64.b64encode(media.data).decode("ascii")


def _cleaned(text: str) -> str:
    """The text with lone surrogates, which no UTF-8 can carry, replaced."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _clean(value: Any) -> Any:
    """JSON with every text `_cleaned`; what has nothing to clean keeps its content and key order."""
    if isinstance(value, str):
        return _cleaned(value)
    if isinstance(value, Mapping):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value


class CallIds:
    """Gives each tool call of an answer an id of its own, where the provider gave none or one twice.

    Made ids depend on the conversation only, and none is in use in it.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._taken: set[str] = set()
        self._in_use: set[str] | None = None

    def take(self, given: str | None) -> str:
        """Return `given` if it can serve, else a new id."""
        if given and given not in self._taken:
            self._taken.add(given)
            return given
        if self._in_use is None:
            assistants = (m for m in self._messages if isinstance(m, AssistantMessage))
            self._in_use = {call.id for message in assistants for call in message.tool_calls}
        number = len(self._messages)
        while (made := f"call_{number}") in self._in_use or made in self._taken:
            number += 1
        self._taken.add(made)
        return made


def response_of(completion: Any, messages: Sequence[Message]) -> ChatResponse:
    """A completion object of the SDK as a response.

    Raises:
        ProviderProtocolError: it has no choices, or is no completion at all.
    """
    choices = getattr(completion, "choices", None)
    if not isinstance(choices, list) or not choices:
        raise ProviderProtocolError(f"the provider's answer has no choices: {_excerpt(completion)}")
    ids = CallIds(messages)
    candidates = [_assistant(getattr(choice, "message", None), ids) for choice in choices]
    response = ChatResponse.choose(candidates, usage=usage_of(getattr(completion, "usage", None)), raw=completion)
    chosen = next(i for i, candidate in enumerate(candidates) if candidate is response.message)
    return response.replace(finish_reason=finish_reason(choices[chosen], response))


def finish_reason(choice: Any, response: ChatResponse) -> str:
    """The provider's word, or for a provider that says nothing, what it must be."""
    return getattr(choice, "finish_reason", None) or ("tool_calls" if response.tool_calls else "stop")


def _assistant(message: Any, ids: CallIds) -> AssistantMessage:
    text = content_text(getattr(message, "content", None)) or content_text(getattr(message, "refusal", None))
    functions = [
        (call, function)
        for call in getattr(message, "tool_calls", None) or ()
        if (function := getattr(call, "function", None)) is not None
    ]
    calls = (
        ToolCall(
            ids.take(getattr(call, "id", None)),
            getattr(function, "name", None) or "",
            arguments_text(getattr(function, "arguments", None)) or "{}",
        )
        for call, function in functions
    )
    return AssistantMessage(text, tuple(calls))


def content_text(content: Any) -> str:
    """Content as text; some servers send a list of parts, of which the text ones count."""
    if isinstance(content, str):
        return _cleaned(content)
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") if isinstance(part, Mapping) else getattr(part, "text", None) for part in content)
    return _cleaned("".join(text for text in texts if isinstance(text, str)))


def arguments_text(arguments: Any) -> str:
    """Arguments as the JSON text they should be; some servers send the object itself."""
    if isinstance(arguments, str):
        return _cleaned(arguments)
    return "" if arguments is None else _cleaned(json.dumps(arguments, ensure_ascii=False))


def usage_of(usage: Any) -> Usage:
    """The provider's token counts; zeros where it reports none."""
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        getattr(usage, "prompt_tokens", None) or 0,
        getattr(usage, "completion_tokens", None) or 0,
        cache_read=getattr(details, "cached_tokens", None),
        cache_write=getattr(details, "cache_write_tokens", None),
    )


def _excerpt(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 200 else text[:200] + "..."
