"""The guards of a turn as effects: the tool filter, and definitions that changed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..chat.events import ToolDefinitionChanged, ToolFilterFailed
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..messages import Message, ToolMessage
from ..tools.guard import DefinitionChange, ToolGuard, TurnGuard
from ..tools.tool_type import Tool
from .effects import AdvisorFlow, Effect, Emit, Perform, RunTools
from .state import LoopState

__all__ = [
    "ToolGate",
    "TurnGate",
    "filter_tools",
    "gate_of",
    "note_sent",
    "report_filter_failure",
    "withhold_changed_tools",
]


class TurnGate:
    """The guard of a turn at the two places that everything passes: the way to a model, and the way to the tools.

    Advisors around and inside the loop, and loops of the application, pass it too. The loop has asked the filter about
    the tools that it sends, so the gate only asks about the others.

    Args:
        guard: The guard of the loop of this chain.
        request: The request of the turn. A loop of the application may send requests without its context.
    """

    def __init__(self, guard: ToolGuard, request: ChatRequest) -> None:
        self.guard = guard
        self._request = request
        self._turn: TurnGuard | None = None
        self._own_tools: Mapping[str, Tool] = {}
        self._sent: frozenset[str] = frozenset()

    def follow(self, turn: TurnGuard, own_tools: Mapping[str, Tool]) -> None:
        """Use the guard of the loop's turn from now on. `own_tools` are the tools of the loop itself."""
        self._turn = turn
        self._own_tools = own_tools

    def note_sent(self, tools: Sequence[Tool]) -> None:
        """Note the tools that the loop sends."""
        self._sent = frozenset(tool.identity for tool in tools)

    def check_request(self, request: ChatRequest) -> Generator[Perform | Emit, Any, ChatRequest]:
        """Return a request on its way to a model with the tools that the session may have."""
        turn = self._turn_of(request)
        if not turn.filters or all(tool.identity in self._sent for tool in request.tools):
            return request
        tools = yield Perform(
            lambda: [tool for tool in request.tools if tool.identity in self._sent or turn.admits(tool)]
        )
        yield from report_filter_failure(turn)
        return request if len(tools) == len(request.tools) else request.replace(tools=tools)

    def check_batch(self, batch: RunTools) -> Generator[Perform | Emit, Any, RunTools]:
        """Return a batch of calls with the tools that the session may have."""
        turn = self._turn_of(batch.request)
        called = {call.name for call in batch.calls} & batch.tools.keys()
        asked = {name: batch.tools[name] for name in called if self._own_tools.get(name) is not batch.tools[name]}
        if not turn.filters or not asked:
            return batch
        refused = yield Perform(lambda: {name for name, tool in asked.items() if not turn.admits(tool)})
        yield from report_filter_failure(turn)
        if not refused:
            return batch
        return replace(batch, tools={name: tool for name, tool in batch.tools.items() if name not in refused})

    def _turn_of(self, request: ChatRequest) -> TurnGuard:
        if self._turn is None:
            has_context = request.context or request.session_id is not None or request.tenant_id is not None
            self._turn = self.guard.open((request if has_context else self._request).tool_context())
        return self._turn


class ToolGate:
    """An advisor that takes the place of the tool-calling loop: its filter and budgets hold, but no tool runs.

    Args:
        guard: The filter of the loop.
        order: The position of the loop in the chain.
        send: Function that filters and sends a request within the budgets of the loop. By default the request is sent
            with the tools that `guard` admits.
    """

    def __init__(self, guard: ToolGuard, order: int, send: Callable[[ChatRequest], AdvisorFlow] | None = None) -> None:
        self.guard = guard
        self.order = order
        self._send = send

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Send the tools that the session may have, and return the answer of the model, with its tool calls."""
        if self._send is not None:
            return (yield from self._send(request))
        turn = self.guard.open(request.tool_context())
        if turn.filters:
            request = request.replace(tools=(yield Perform(lambda: turn.select(request.tools))))
            yield from report_filter_failure(turn)
        if (gate := gate_of(request)) is not None:
            gate.follow(turn, {})
            gate.note_sent(request.tools)
        response: ChatResponse = yield request
        return response


def filter_tools(state: LoopState, request: ChatRequest) -> Generator[Effect, Any, ChatRequest]:
    """Return the request with the tools that the session may have."""
    if not state.guard.filters:
        return request
    tools = yield Perform(lambda: [tool for tool in request.tools if state.may_have(tool)])
    yield from report_filter_failure(state.guard)
    return request if len(tools) == len(request.tools) else request.replace(tools=tools)


def gate_of(request: ChatRequest) -> TurnGate | None:
    """Return the gate of the turn, or None if no client runs it."""
    return None if request.record is None else request.record.notes.get(TurnGate)


def note_sent(state: LoopState, outgoing: ChatRequest) -> None:
    """Remember the definitions that the session is sent, except those of the loop's own tools."""
    if (gate := gate_of(state.request)) is not None:
        gate.note_sent(outgoing.tools)
    state.guard.note_sent(tool for tool in outgoing.tools if state.own_tools.get(tool.name) is not tool)


def report_filter_failure(guard: TurnGuard) -> Generator[Emit, Any, None]:
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
