"""The guards of a turn whose tool calls the application runs."""

from __future__ import annotations

from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..tools.guard import ToolGuard
from .effects import AdvisorFlow, Perform
from .tool_calling import ToolCallingAdvisor, report_filter_failure

__all__ = ["ToolGate"]


class ToolGate:
    """An advisor that takes the place of the tool-calling loop: its filter and budgets hold, but no tool runs.

    Args:
        guard: The filter of the loop.
        order: The position of the loop in the chain.
        loop: The loop, for its budgets and for the tool that reads long results. None for a loop of the application.
    """

    def __init__(self, guard: ToolGuard, order: int, loop: ToolCallingAdvisor | None = None) -> None:
        self.guard = guard
        self.order = order
        self._loop = loop

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Send the tools that the session may have, and return the answer of the model, with its tool calls."""
        turn = self.guard.open(request.tool_context())
        if turn.filters:
            request = request.replace(tools=(yield Perform(lambda: turn.select(request.tools))))
            yield from report_filter_failure(turn)
        response: ChatResponse = yield from self._ask(request) if self._loop is None else self._loop.send_once(request)
        return response

    def _ask(self, request: ChatRequest) -> AdvisorFlow:
        response: ChatResponse = yield request
        return response
