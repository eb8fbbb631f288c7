"""What goes to a model and what comes back: requests, responses, chunks and events."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from ..messages import AssistantMessage, Message, ToolCall, ToolMessage, Usage

if TYPE_CHECKING:
    from ..disclosure.savings import ToolSearchReport
    from ..tools.tool import Tool
    from .turn_memory import TurnMemory

__all__ = [
    "ChatChunk",
    "ChatRequest",
    "ChatResponse",
    "OutputSchema",
    "RoundStarted",
    "StreamEvent",
    "ToolFinished",
    "ToolStarted",
    "TurnFinished",
]

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """What form a provider is to hold the answer to, for models with `supports_output_schema`.

    Args:
        name: what the form is called, in the characters a-z A-Z 0-9 _ -.
        schema: a JSON Schema whose root is an object.

    Example:
        >>> OutputSchema("city", {"type": "object", "properties": {"name": {"type": "string"}}}).name
        'city'
    """

    name: str
    schema: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request on its way down the chain of advisors to the model. Immutable; `replace` makes a changed copy.

    Args:
        messages: the whole conversation to send, oldest first.
        tools: the tools whose definitions are sent, in this order.
        options: provider options (temperature and so on), passed through by name.
        context: the application's own values; they reach tools and advisors, never the model.
        session_id: whose conversation this is; None for a turn that leaves nothing behind.
        tenant_id: keeps the sessions of several customers apart.
        output_schema: the form the provider is to hold the answer to; set by `StructuredOutputAdvisor`.
        buffered: hold streamed text back until the advisor that set this returns its response; then the text of that
            response is shown, and nothing of rejected answers or earlier rounds.
        memory: set by the client where an advisor further in than the tool loop keeps the conversation.

    Example:
        >>> from toolsearch.messages import UserMessage
        >>> request = ChatRequest(messages=[UserMessage("Hi")], options={"temperature": 0})
        >>> request.replace(options={}).options
        {}
    """

    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    options: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    context: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    session_id: str | None = None
    tenant_id: str | None = None
    output_schema: OutputSchema | None = None
    buffered: bool = False
    memory: TurnMemory | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))
        object.__setattr__(self, "tools", tuple(self.tools))

    def replace(self, **changes: Any) -> ChatRequest:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResponse:
    """What a model, or an advisor in its place, answers. Immutable; `replace` makes a changed copy.

    Args:
        messages: all new messages of the turn, oldest first, to be sent back next time; a model gives one.
        usage: tokens, summed over the rounds of the turn.
        finish_reason: why it ended: the provider's word (``stop``, ``length``, ``tool_calls``, ...), or
            ``return_direct`` or ``tool_call_limit``.
        candidates: where a provider gave several answers, all of them; `messages` holds the one chosen.
        tool_search: what tool search did in this turn, where it was on.
        output: what the answer says as the type that was asked for by ``output_type=``; None where no answer was
            checked: none was asked for, or the turn ended with tool results or tool calls instead of an answer.
        raw: the provider's own response object, of the last round.
        streamed_in: set by the drivers: the turn in whose stream its text has already been shown.

    Example:
        >>> ChatResponse.from_text("Hello").with_text("HELLO").text
        'HELLO'
    """

    messages: Sequence[Message] = ()
    usage: Usage = Usage()
    finish_reason: str = "stop"
    candidates: Sequence[AssistantMessage] = ()
    tool_search: ToolSearchReport | None = None
    output: Any = None
    raw: Any = field(default=None, repr=False)
    streamed_in: bytes | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))
        object.__setattr__(self, "candidates", tuple(self.candidates))

    @classmethod
    def from_text(cls, text: str, **fields: Any) -> ChatResponse:
        """A response of one assistant message, for advisors that answer themselves."""
        return cls(messages=(AssistantMessage(text),), **fields)

    @classmethod
    def from_candidates(cls, candidates: Sequence[AssistantMessage], **fields: Any) -> ChatResponse:
        """A response from a provider's several answers: the first with tool calls, else the first."""
        chosen = next((c for c in candidates if c.tool_calls), candidates[0] if candidates else AssistantMessage())
        return cls(messages=(chosen,), candidates=candidates if len(candidates) > 1 else (), **fields)

    @property
    def message(self) -> AssistantMessage:
        """The last assistant message; an empty one when there is none."""
        return next((m for m in reversed(self.messages) if isinstance(m, AssistantMessage)), AssistantMessage())

    @property
    def text(self) -> str:
        """The text of the last assistant message."""
        return self.message.text

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls the last assistant message asks for."""
        return self.message.tool_calls

    def replace(self, **changes: Any) -> ChatResponse:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def with_text(self, text: str) -> ChatResponse:
        """Return a copy whose last assistant message says `text`."""
        last = self.message
        messages = [m for m in self.messages if m is not last]
        at = next((i for i, m in enumerate(self.messages) if m is last), len(messages))
        messages.insert(at, dataclasses.replace(last, text=text))
        return self.replace(messages=messages)


@dataclass(frozen=True, slots=True)
class ChatChunk:
    """A piece of a streamed answer.

    Args:
        text: the text that came with it; may be empty.
        tool_calls: the (pieces of) calls that came with it; they stay inside the client.
        raw: the provider's own chunk.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    raw: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """The model is about to be asked; `number` counts from 1 within the turn, whatever asks again."""

    number: int
    request: ChatRequest = field(repr=False)


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call begins."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call ended with `message` as the result for the model."""

    call: ToolCall
    message: ToolMessage


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn is over; the last event of every stream that was not left early."""

    response: ChatResponse


StreamEvent: TypeAlias = ChatChunk | RoundStarted | ToolStarted | ToolFinished | TurnFinished
