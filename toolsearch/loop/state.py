"""What the tool-calling loop knows of a turn while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from ..chat.requests import ChatRequest
from ..chat.turn_memory import TurnMemory
from ..messages import Message, ToolCall, ToolMessage, Usage
from ..tools.tool import Tool

__all__ = ["LoopState"]


@dataclass(slots=True)
class LoopState:
    """One turn of the loop, from request to response; hooks read it and may change it.

    Attributes:
        request: the request the turn began with.
        resources: closed when the turn ends, however it ends.
        executable: what may run in this round, by the name the model sees; None: the tools that were sent.
        intercept: answers a call before it is run, or returns None to let it run; may block.
        resolved: tools of this round's calls that only the resolver knows.
        round: how often the model was asked.
        usage: tokens of all rounds so far.
        produced: the messages of the turn so far, oldest first.
        memory: what keeps this turn further in; None where the loop sends the whole conversation itself.
        send_history: whether each round is sent the turn so far, or only what is new since the last one.
        extra: for subclasses: what they keep for the turn, under names of their own.

    Example:
        >>> from toolsearch import ToolCallingAdvisor
        >>> class Counting(ToolCallingAdvisor):
        ...     def finalize_loop(self, state, response):
        ...         return response.with_text(f"{response.text} ({state.round} rounds)")
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> ChatClient(ScriptedChatModel(["Hi."]), advisors=[Counting()]).call("Hello").text
        'Hi. (1 rounds)'
    """

    request: ChatRequest
    resources: ExitStack
    executable: Mapping[str, Tool] | None = None
    intercept: Callable[[ToolCall], ToolMessage | None] | None = None
    resolved: Mapping[str, Tool] = field(default_factory=dict)
    round: int = 0
    usage: Usage = Usage()
    produced: list[Message] = field(default_factory=list)
    memory: TurnMemory | None = None
    send_history: bool = True
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def earlier(self) -> Sequence[Message]:
        """Messages of earlier turns that are not in `request`, as an inner memory adds them later."""
        return () if self.memory is None else self.memory.history

    def conversation(self, request: ChatRequest) -> Sequence[Message]:
        """What the model will be sent if this round sends `request`."""
        return request.messages if self.memory is None else self.memory.conversation(request.messages)
