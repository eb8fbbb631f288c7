"""Chat responses: the answer of a model, or of an advisor in its place."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, cast

from ..messages import AssistantMessage, Message, ToolCall, Usage
from ..serialization import NOT_SERIALIZED, Serializable
from ..text import short_repr
from .limits import ReachedLimit
from .search_report import ToolSearchReport

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    OutputT = TypeVar("OutputT", covariant=True, default=Any)
else:  # a TypeVar with a default needs Python 3.13; only type checkers use the default
    from typing import TypeVar

    OutputT = TypeVar("OutputT", covariant=True)

__all__ = ["ChatResponse", "OutputT"]

MAX_REPR_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChatResponse(Serializable, Generic[OutputT]):
    """The answer of a model, or of an advisor in its place. Immutable; `replace` makes a changed copy.

    The plain form (`to_dict`) leaves out `raw` and `metadata`. It has `output` as a JSON value, and so has the response
    that `from_dict` returns.

    Args:
        messages: All new messages of the turn, oldest first. Send them back with the next request. A model returns
            exactly one.
        usage: Token counts, summed over the rounds of the turn.
        finish_reason: Why the turn ended: the provider's word (``stop``, ``length``, ``tool_calls``, ...),
            ``return_direct``, ``tool_call_limit`` or ``usage_limit``. A turn that did not end well has ``error`` or
            ``interrupted``.
        limit: The limit that ended the turn, or None.
        candidates: All answers if the provider returned several; `messages` contains the chosen one.
        tool_search: What tool search did in this turn; None without tool search.
        output: The answer as the type given by ``output_type=``. None if no type was requested, or if the turn ended
            with tool calls or tool results instead of an answer.
        started_calls: The tool calls that were started, for a turn that did not end well, see `partial_response`.
        unfinished_calls: Those of them that did not finish. They may have taken effect.
        metadata: Values that advisors hand to the application, by name. Of the advisors inside the tool-calling loop,
            those of the last round.
        raw: The provider's own response object of the last round.

    Example:
        >>> ChatResponse.from_text("Hello").with_text("HELLO").text
        'HELLO'
    """

    messages: Sequence[Message] = ()
    usage: Usage = Usage()
    finish_reason: str = "stop"
    limit: ReachedLimit | None = None
    candidates: Sequence[AssistantMessage] = ()
    tool_search: ToolSearchReport | None = None
    output: OutputT = cast("Any", None)  # noqa: RUF009
    started_calls: Sequence[ToolCall] = ()
    unfinished_calls: Sequence[ToolCall] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, metadata=NOT_SERIALIZED)
    raw: Any = field(default=None, repr=False, metadata=NOT_SERIALIZED)

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))
        object.__setattr__(self, "candidates", tuple(self.candidates))

    def __repr__(self) -> str:
        facts: dict[str, object] = {"text": short_repr(self.text, MAX_REPR_CHARACTERS)}
        if self.tool_calls:
            facts["tool_calls"] = [call.name for call in self.tool_calls]
        if self.output is not None:
            facts["output"] = short_repr(self.output, MAX_REPR_CHARACTERS)
        facts |= {"finish_reason": repr(self.finish_reason), "messages": len(self.messages), "tokens": self.usage.total}
        if self.tool_search is not None:
            facts["tool_search"] = self.tool_search
        return f"{type(self).__name__}({', '.join(f'{name}={fact}' for name, fact in facts.items())})"

    @classmethod
    def from_text(cls, text: str, **fields: Any) -> ChatResponse[Any]:
        """Make a response of one assistant message, for advisors that answer without the model."""
        return cls(messages=(AssistantMessage(text),), **fields)

    @classmethod
    def from_candidates(cls, candidates: Sequence[AssistantMessage], **fields: Any) -> ChatResponse[Any]:
        """Make a response from several answers; choose the first with tool calls, else the first."""
        chosen = next((c for c in candidates if c.tool_calls), candidates[0] if candidates else AssistantMessage())
        return cls(messages=(chosen,), candidates=candidates if len(candidates) > 1 else (), **fields)

    @property
    def message(self) -> AssistantMessage:
        """The last assistant message; an empty message if there is none."""
        for message in reversed(self.messages):
            if isinstance(message, AssistantMessage):
                return message
        return AssistantMessage()

    @property
    def text(self) -> str:
        """The text of the last assistant message."""
        return self.message.text

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the last assistant message."""
        return self.message.tool_calls

    def replace(self, **changes: Any) -> ChatResponse[OutputT]:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def with_text(self, text: str) -> ChatResponse[OutputT]:
        """Return a copy with `text` as the text of the last assistant message.

        In a stream the text has already been shown when an advisor receives the response. What `text` has in addition
        is streamed, too. If it does not begin with the text that was shown, the stream has a `TextReplaced` event. To
        hold the text back until this advisor returns, yield `request.replace(buffered=True)`.
        """
        last = self.message
        messages = [m for m in self.messages if m is not last]
        at = next((i for i, m in enumerate(self.messages) if m is last), len(messages))
        messages.insert(at, dataclasses.replace(last, text=text))
        return self.replace(messages=messages)
