"""TODO."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..messages import AssistantMessage, Message, ToolCall, Usage

if TYPE_CHECKING:
    from .search_report import ToolSearchReport

__all__ = ["ChatResponse"]


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
