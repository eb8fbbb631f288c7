"""Long results in a turn: where their rests are kept, and when the tool that reads them is sent."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable
from typing import Any

from ...chat.requests import ChatRequest
from ...messages import Message
from ...tools.names import READ_TOOL
from ...tools.results.limits import ResultLimits, TurnResults
from ...tools.results.store import ResultStore
from ..effects import Effect, Perform
from ..state import LoopState

__all__ = ["add_read_tool", "open_results"]


def open_results(
    state: LoopState,
    limits: ResultLimits,
    store: ResultStore,
    session: Hashable | None,
    conversation: Iterable[Message],
) -> None:
    """Let the session read the rests of its long results. Without a session, they are kept for the turn."""
    key = (state.request.tenant_id, object() if session is None else session)
    if session is None:
        state.resources.callback(store.discard, key)
    state.results = TurnResults(limits, store, key, state.is_withheld)
    state.results.open(conversation)


def add_read_tool(
    state: LoopState, request: ChatRequest, tools_before: Callable[[LoopState, ChatRequest], frozenset[str] | None]
) -> Generator[Effect, Any, ChatRequest]:
    """Return the request with the tool that reads long results, if the session needs it.

    Args:
        state: The state of the turn.
        request: The request of a round.
        tools_before: Returns the names of the tools before it, or None for the end. Called if it has no place yet.
    """
    results = state.results
    if results is None or not results.needs_read_tool:
        return request
    state.own_tools[READ_TOOL] = results.read_tool
    if results.is_placed:
        return request.replace(tools=results.place(request.tools))
    before = yield Perform(lambda: tools_before(state, request))
    return request.replace(tools=results.place(request.tools, before))
