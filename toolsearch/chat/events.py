"""Events of a stream: chunks of the answer, rounds, tool calls and the end of the turn."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, get_args

from ..messages import ToolCall, ToolMessage
from ..serialization import NOT_SERIALIZED, Serializable, decode_tagged
from .requests import ChatRequest
from .responses import ChatResponse

__all__ = [
    "ChatChunk",
    "RoundStarted",
    "StreamEvent",
    "TextReplaced",
    "ToolDefinitionChanged",
    "ToolFilterFailed",
    "ToolFinished",
    "ToolStarted",
    "TurnFinished",
    "event_from_dict",
]


class _Event(Serializable):
    """Base class of events: in their plain form, `type` names the class in snake case."""

    __slots__ = ()
    _tag: ClassVar[str | None] = "type"
    type: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.type = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


@dataclass(frozen=True, slots=True)
class ChatChunk(_Event):
    """A piece of a streamed answer.

    Args:
        text: The text of this piece; may be empty.
        tool_calls: Tool calls, or parts of them, in this piece. The client does not pass them on.
        raw: The provider's own chunk.

    Example:
        >>> ChatChunk("Hel").text + ChatChunk("lo").text
        'Hello'
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    raw: Any = field(default=None, repr=False, compare=False, metadata=NOT_SERIALIZED)


@dataclass(frozen=True, slots=True)
class RoundStarted(_Event):
    """A request is about to be sent to the model.

    Args:
        number: The round within the turn, from 1. Retries count too.
        request: The request that is sent. The plain form leaves it out.

    Example:
        >>> RoundStarted(1, ChatRequest(messages=[])).number
        1
    """

    number: int
    request: ChatRequest = field(default_factory=lambda: ChatRequest(messages=()), repr=False, metadata=NOT_SERIALIZED)


@dataclass(frozen=True, slots=True)
class ToolStarted(_Event):
    """A tool call is about to run.

    Example:
        >>> ToolStarted(ToolCall("call_1", "weather")).call.name
        'weather'
    """

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolFinished(_Event):
    """A tool call ended; `message` is the tool result for the model.

    Example:
        >>> ToolFinished(ToolCall("call_1", "weather"), ToolMessage("call_1", "weather", "rain")).message.text
        'rain'
    """

    call: ToolCall
    message: ToolMessage


@dataclass(frozen=True, slots=True)
class TurnFinished(_Event):
    """The turn is over: the last event of every stream that is read to its end.

    Example:
        >>> TurnFinished(ChatResponse.from_text("Hello")).response.text
        'Hello'
    """

    response: ChatResponse


@dataclass(frozen=True, slots=True)
class ToolFilterFailed(_Event):
    """The tool filter did not answer True or False, so the tool was refused. Reported once per turn.

    Args:
        tool: The name of the first tool that was refused in this way.
        source: The source of the tool, or None.
        error: The type of the exception, or of the answer that is not a bool. The log has the traceback.

    Example:
        >>> ToolFilterFailed("delete_all", error="KeyError").error
        'KeyError'
    """

    tool: str
    source: str | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class TextReplaced(_Event):
    """The text of the answer was changed, or the answer was repeated, after it was shown.

    `text` takes the place of all chunks since the turn began or since tools ran last. Later chunks follow it. Advisors
    that only add to the end of a text do not cause it. To avoid it, an advisor yields `request.replace(buffered=True)`.

    Example:
        >>> TextReplaced("The number is ***.").text
        'The number is ***.'
    """

    text: str


@dataclass(frozen=True, slots=True)
class ToolDefinitionChanged(_Event):
    """The definition of a tool differs from the one that the session was sent before. Reported once per change.

    Args:
        tool: The name of the tool.
        identity: The source and own name of the tool.
        before: The fingerprint of the earlier definition; see `Tool.fingerprint`.
        after: The fingerprint of the definition as it is now.
        withheld: Whether the session cannot find, see or run the tool with this definition.

    Example:
        >>> ToolDefinitionChanged("joke", "fun::joke", "0" * 32, "f" * 32, withheld=True).identity
        'fun::joke'
    """

    tool: str
    identity: str
    before: str
    after: str
    withheld: bool = False


StreamEvent: TypeAlias = (
    ChatChunk
    | TextReplaced
    | RoundStarted
    | ToolStarted
    | ToolFinished
    | ToolFilterFailed
    | ToolDefinitionChanged
    | TurnFinished
)
"""Any event of a stream."""


def event_from_dict(value: Mapping[str, Any]) -> StreamEvent:
    """Return the event of a plain form that `to_dict` of an event returned. The key ``type`` names its class.

    Raises:
        ConfigurationError: If the form is wrong, or a newer version wrote it. The error names the place.

    Example:
        >>> ChatChunk("Hel").to_dict()
        {'format': 3, 'type': 'chat_chunk', 'text': 'Hel'}
        >>> event_from_dict({"type": "chat_chunk", "text": "Hel"}).text
        'Hel'
    """
    event: StreamEvent = decode_tagged(get_args(StreamEvent), value, "event")
    return event
