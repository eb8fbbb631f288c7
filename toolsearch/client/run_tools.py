"""The piece that executes one batch of calls for callers that drive the rounds themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..errors import ConfigurationError
from ..loop.effects import AdvisorFlow, ToolBatchResult
from ..loop.tool_calling import ToolCallingAdvisor
from ..messages import AssistantMessage, Message, ToolCall, ToolMessage

__all__ = ["CallExecution"]


class CallExecution:
    """A chain of one: executes the calls that a conversation ends with, as the loop would, and asks no model.

    Attributes:
        batch: the results, when the turn is over.
    """

    order = 0

    def __init__(self, loop: ToolCallingAdvisor) -> None:
        self._loop = loop
        self.batch = ToolBatchResult(())

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Execute the calls at the end of the conversation that have no result yet."""
        calls, answered = _open_calls(request.messages)
        if calls:
            self.batch = yield from self._loop.execute(request, calls)
        if answered:  # a result that another one stands beside is not the answer to the user
            self.batch = replace(self.batch, return_direct=False)
        return ChatResponse(messages=self.batch.messages)


def _open_calls(messages: Sequence[Message]) -> tuple[tuple[ToolCall, ...], bool]:
    """The calls of the last assistant message without a result behind it, and whether there are some with one."""
    results = list(takewhile(lambda m: isinstance(m, ToolMessage), reversed(messages)))
    last = messages[-1 - len(results)] if len(results) < len(messages) else None
    if not isinstance(last, AssistantMessage) or not last.tool_calls:
        raise ConfigurationError(
            "run_tools executes the calls that a conversation ends with, so it ends with an assistant message with "
            "tool calls, and results of some of them if you have any: run_tools(messages=[*messages, response.message])"
        )
    have = Counter(result.tool_call_id for result in results if isinstance(result, ToolMessage))
    calls: list[ToolCall] = []
    for call in last.tool_calls:
        if have[call.id]:
            have[call.id] -= 1
        else:
            calls.append(call)
    return tuple(calls), len(calls) < len(last.tool_calls)
