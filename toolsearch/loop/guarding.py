"""The guards of a turn as effects: the tool filter, and definitions that changed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from ..chat.events import ToolDefinitionChanged, ToolFilterFailed
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..messages import Message, ToolMessage
from ..tools.guard import DefinitionChange, ToolGuard, TurnGuard
from .effects import AdvisorFlow, Effect, Emit, Perform
from .state import LoopState

__all__ = ["ToolGate", "filter_tools", "note_sent", "report_filter_failure", "withhold_changed_tools"]


class ToolGate:
    """An advisor that takes the place of the tool-calling loop: its filter and budgets hold, but no tool runs.

    Args:
        guard: The filter of the loop.
        order: The position of the loop in the chain.
        send: Function that sends a request within the budgets of the loop. By default the request is sent as it is.
    """

    def __init__(self, guard: ToolGuard, order: int, send: Callable[[ChatRequest], AdvisorFlow] | None = None) -> None:
        self.guard = guard
        self.order = order
        self._send = send or _send

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Send the tools that the session may have, and return the answer of the model, with its tool calls."""
        turn = self.guard.open(request.tool_context())
        if turn.filters:
            request = request.replace(tools=(yield Perform(lambda: turn.select(request.tools))))
            yield from report_filter_failure(turn)
        return (yield from self._send(request))


def _send(request: ChatRequest) -> AdvisorFlow:
    response: ChatResponse = yield request
    return response


def filter_tools(state: LoopState, request: ChatRequest) -> Generator[Effect, Any, ChatRequest]:
    """Return the request with the tools that the session may have."""
    if not state.guard.filters:
        return request
    tools = yield Perform(lambda: [tool for tool in request.tools if state.may_have(tool)])
    yield from report_filter_failure(state.guard)
    return request if len(tools) == len(request.tools) else request.replace(tools=tools)


def note_sent(state: LoopState, outgoing: ChatRequest) -> None:
    """Remember the definitions that the session is sent, except those of the loop's own tools."""
    state.guard.note_sent(tool for tool in outgoing.tools if state.own_tools.get(tool.name) is not tool)


def report_filter_failure(guard: TurnGuard) -> Generator[Effect, Any, None]:
    """Show an event if the filter failed since the last time."""
    if (failure := guard.take_failure()) is not None:
        yield Emit(ToolFilterFailed(*failure))


def withhold_changed_tools(
    guard: TurnGuard, request: ChatRequest, earlier: Sequence[Message]
) -> Generator[Effect, Any, ChatRequest]:
    """Return the request without the tools that are withheld because their definition changed. Show the changes.

    Args:
        guard: The guard of the turn.
        request: The request, with the tools that the filter admits.
        earlier: The messages of earlier turns that the request does not contain.
    """
    seen = [
        version
        for message in (*earlier, *request.messages)
        if isinstance(message, ToolMessage)
        for version in message.tools
        if version.fingerprint
    ]
    compare = partial(guard.compare, request.tools, seen)
    changes: Sequence[DefinitionChange] = (yield Perform(compare)) if guard.compares_slowly else compare()
    for change in changes:
        tool = change.tool
        yield Emit(ToolDefinitionChanged(tool.name, tool.identity, change.before, change.after, change.withheld))
    if not guard.filters:
        return request
    return request.replace(tools=[tool for tool in request.tools if not guard.withholds(tool)])
