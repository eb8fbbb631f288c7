"""The tool filter of a turn whose tool calls the application runs."""

from __future__ import annotations

from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..tools.guard import ToolGuard
from .effects import AdvisorFlow, Perform
from .tool_calling import report_filter_failure

__all__ = ["ToolGate"]


class ToolGate:
    """An advisor that takes the place of the tool-calling loop and only applies its tool filter.

    Args:
        guard: The filter of the loop.
        order: The position of the loop in the chain.
    """

    def __init__(self, guard: ToolGuard, order: int) -> None:
        self.guard = guard
        self.order = order

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Send the tools that the session may have, and return the answer of the model, with its tool calls."""
        turn = self.guard.open(request.tool_context())
        if turn.filters:
            request = request.replace(tools=(yield Perform(lambda: turn.select(request.tools))))
            yield from report_filter_failure(turn)
        response: ChatResponse = yield request
        return response
