"""Execution of one batch of tool calls, for applications that drive the rounds themselves."""

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

__all__ = ["BatchExecution"]


class BatchExecution:
    """An advisor that executes the tool calls at the end of a conversation and does not ask the model.

    It is the only advisor of its chain. Calls run as in the loop of the given tool advisor.

    Attributes:
        batch: The results, available when the turn is over.
    """

    order = 0

    def __init__(self, loop: ToolCallingAdvisor) -> None:
        self._loop = loop
        self.batch = ToolBatchResult(())

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Execute the calls at the end of the conversation that have no result yet."""
        calls, some_answered = _open_calls(request.messages)
        if calls:
            self.batch = yield from self._loop.execute(request, calls)
        if some_answered:  # the batch has other results too, so no single result is the answer to the user
            self.batch = replace(self.batch, return_direct=False)
        return ChatResponse(messages=self.batch.messages)


def _open_calls(messages: Sequence[Message]) -> tuple[tuple[ToolCall, ...], bool]:
    """Return the calls of the last assistant message without a result, and whether other calls have one."""
    results = list(takewhile(lambda m: isinstance(m, ToolMessage), reversed(messages)))
    last = messages[-1 - len(results)] if len(results) < len(messages) else None
    if not isinstance(last, AssistantMessage) or not last.tool_calls:
        raise ConfigurationError(
            "messages must end with an assistant message that has tool calls, and with results of some of these calls "
            "if there are any: run_tools(messages=[*messages, response.message])"
        )
    answered = Counter(result.tool_call_id for result in results if isinstance(result, ToolMessage))
    calls: list[ToolCall] = []
    for call in last.tool_calls:
        if answered[call.id]:
            answered[call.id] -= 1
        else:
            calls.append(call)
    return tuple(calls), len(calls) < len(last.tool_calls)
