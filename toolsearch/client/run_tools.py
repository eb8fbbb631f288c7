"""Execution of one batch of tool calls, for applications that drive the rounds themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..errors import ConfigurationError
from ..loop.advisor import Advisor
from ..loop.effects import AdvisorFlow, ToolBatchResult
from ..messages import AssistantMessage, Message, ToolCall, ToolMessage
from ..text import short_repr

__all__ = ["BatchExecution"]


class BatchExecution:
    """An advisor that executes the tool calls at the end of a conversation and does not ask the model.

    It is the only advisor of its chain. Calls run as in the given tool-calling loop.

    Args:
        loop: The loop of the client or of the call.

    Raises:
        ConfigurationError: If the loop is the application's own and cannot execute a batch.

    Attributes:
        batch: The results, available when the turn is over.
    """

    order = 0

    def __init__(self, loop: Advisor) -> None:
        self._loop: Any = loop
        self.batch = ToolBatchResult(())
        if not callable(getattr(loop, "execute", None)):
            name = type(loop).__name__
            raise ConfigurationError(
                f"{name} is a tool loop without execute(request, calls), so run_tools cannot use it; define it, or "
                "run the calls in the loop"
            )

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Execute the calls at the end of the conversation that have no result yet."""
        open_calls = _open_calls(request.messages)
        if open_calls.runnable:
            self.batch = yield from self._loop.execute(request, open_calls.runnable)
        if open_calls.ambiguous:
            rejected = (ToolMessage.rejected(call, _AMBIGUOUS) for call in open_calls.ambiguous)
            self.batch = replace(self.batch, messages=(*self.batch.messages, *rejected))
        if not open_calls.complete:  # the batch has other results too, so no single result is the answer to the user
            self.batch = replace(self.batch, return_direct=False)
        return ChatResponse(messages=self.batch.messages)


_AMBIGUOUS = "Not run: several calls have the same id, and it is not clear which of them has a result already."


class _OpenCalls(NamedTuple):
    """The calls of the last assistant message without a result.

    Attributes:
        runnable: The calls that can run.
        ambiguous: The calls that must not run, because a result can belong to them.
        complete: Whether these are all calls of the message.
    """

    runnable: tuple[ToolCall, ...]
    ambiguous: tuple[ToolCall, ...]
    complete: bool


def _open_calls(messages: Sequence[Message]) -> _OpenCalls:
    trailing = takewhile(lambda message: isinstance(message, ToolMessage), reversed(messages))
    results = [message for message in trailing if isinstance(message, ToolMessage)]
    last = messages[-1 - len(results)] if len(results) < len(messages) else None
    if not isinstance(last, AssistantMessage) or not last.tool_calls:
        raise ConfigurationError(
            "messages must end with an assistant message that has tool calls, and with results of some of these calls "
            "if there are any: run_tools(messages=[*messages, response.message])"
        )
    known = {call.id for call in last.tool_calls}
    for result in results:
        if result.tool_call_id not in known:
            raise ConfigurationError(
                f"messages must end with results of the last assistant message, got a result of the unknown call "
                f"{short_repr(result.tool_call_id)} of {short_repr(result.name)}"
            )
    runnable: list[ToolCall] = []
    ambiguous: list[ToolCall] = []
    for call in last.tool_calls:
        match _state_of(call, last.tool_calls, results):
            case "open":
                runnable.append(call)
            case "ambiguous":
                ambiguous.append(call)
    return _OpenCalls(tuple(runnable), tuple(ambiguous), len(runnable) == len(last.tool_calls))


def _state_of(call: ToolCall, calls: Sequence[ToolCall], results: Sequence[ToolMessage]) -> str:
    """Return whether a call is open, answered or ambiguous.

    A result belongs to the call of its id and name. Ids come from a model, so several calls can share one.
    """
    of_id = [result for result in results if result.tool_call_id == call.id]
    if not of_id:
        return "open"
    names = {other.name for other in calls if other.id == call.id}
    if any(result.name not in names for result in of_id):  # it can belong to any call of the id
        return "answered" if sum(other.id == call.id for other in calls) == 1 else "ambiguous"
    answered = sum(result.name == call.name for result in of_id)
    alike = sum((other.id, other.name) == (call.id, call.name) for other in calls)
    return "open" if answered == 0 else "answered" if answered >= alike else "ambiguous"
