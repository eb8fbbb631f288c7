"""State of the tool-calling loop during one turn."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from ..chat.requests import ChatRequest
from ..chat.turn_memory import TurnMemory
from ..chat.usage_limits import TurnBudget
from ..messages import Message, ToolCall, ToolMessage, Usage
from ..tools.guard import TurnGuard
from ..tools.results.limits import TurnResults
from ..tools.results.store import StoredResult
from ..tools.tool_type import Tool

__all__ = ["LoopState"]


@dataclass(slots=True)
class LoopState:
    """State of the loop during one turn. Hooks read it and may change it.

    Attributes:
        request: The request with which the turn started.
        guard: The tool filter for this turn.
        resources: Callbacks that run when the turn ends, also if it fails or is left early.
        session: The session within the tenant, or None if there is none.
        executable: The tools that may run in this round, by the name that the model sees. None means the tools that
            were sent.
        intercept: Function that answers a call before it runs, or returns None to let it run. It may block.
        resolved: Tools that only the resolver knows and that are called in this round.
        round: Number of requests to the model so far.
        usage: Sum of the tokens of all rounds.
        produced: Messages of the turn so far, oldest first.
        memory: The memory inside the loop that stores this turn, or None if there is none.
        send_history: Whether each round sends the whole turn so far. Otherwise it sends only the new messages.
        results: The limits on the size of tool results. None means those of the loop, without a store.
        budget: The budgets of tokens and cost, or None.
        own_tools: Tools of the loop itself, such as the search tool, by name. The tool filter does not apply to them.
        runnable: The tools that may run in this round, by name, as `tool_for` finds them. Set before `before_tool`.
        extra: Values that subclasses keep during the turn, under names of their own.

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
    guard: TurnGuard
    resources: ExitStack
    session: Hashable | None = None
    executable: Mapping[str, Tool] | None = None
    intercept: Callable[[ToolCall], ToolMessage | None] | None = None
    resolved: Mapping[str, Tool] = field(default_factory=dict)
    round: int = 0
    usage: Usage = Usage()
    produced: list[Message] = field(default_factory=list)
    memory: TurnMemory | None = None
    send_history: bool = True
    results: TurnResults | None = None
    budget: TurnBudget | None = None
    own_tools: dict[str, Tool] = field(default_factory=dict)
    runnable: Mapping[str, Tool] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    def may_have(self, tool: Tool) -> bool:
        """Return whether the session may have a tool now. The filter can be slow."""
        return self.own_tools.get(tool.name) is tool or self.guard.admits(tool)

    def tool_for(self, call: ToolCall) -> Tool | None:
        """Return the tool that a call of this round runs, or None if there is none.

        Decide by it in `before_tool`, e.g. by `Tool.source` and `Tool.identity`.
        """
        return self.runnable.get(call.name)

    def is_withheld(self, result: StoredResult) -> bool:
        """Return whether the session may not have a stored result, because its tool is rejected now."""
        tool = next((tool for tool in self.request.tools if tool.identity == result.identity), None) or result.tool()
        return tool is not None and not self.may_have(tool)

    @property
    def earlier(self) -> Sequence[Message]:
        """Messages of earlier turns that memory has and that the loop's request does not contain."""
        return self.request.earlier if self.memory is None else self.memory.history

    def conversation(self, request: ChatRequest) -> Sequence[Message]:
        """Return the messages that the model receives if this round sends `request`."""
        return request.messages if self.memory is None else self.memory.conversation(request.messages)
