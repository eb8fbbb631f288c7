"""TODO."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..messages import ToolCall, ToolMessage
from .requests import ChatRequest
from .responses import ChatResponse

__all__ = ["ChatChunk", "RoundStarted", "ToolStarted", "ToolFinished", "TurnFinished", "StreamEvent"]


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
