"""The piece that executes one batch of calls for callers that drive the rounds themselves."""

from __future__ import annotations

from .chat import ChatRequest, ChatResponse
from .effects import AdvisorFlow, ToolBatchResult
from .errors import ConfigurationError
from .messages import AssistantMessage
from .tool_calling import ToolCallingAdvisor

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
        """Execute the calls of the last message."""
        last = request.messages[-1]
        if not isinstance(last, AssistantMessage) or not last.tool_calls:
            raise ConfigurationError(
                "run_tools executes the calls of the last message, which must be an assistant message with tool calls: "
                "run_tools(messages=[*messages, response.message])"
            )
        self.batch = yield from self._loop.execute(request, last.tool_calls)
        return ChatResponse(messages=self.batch.messages)
