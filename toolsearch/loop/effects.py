"""Effects: the operations that an advisor asks the driver to perform.

An advisor yields an effect and receives its result at the same place. An exception of the effect is raised there.

=================  =========================================================================  ====================
effect             operation                                                                  result
=================  =========================================================================  ====================
`ChatRequest`      run the rest of the chain and the model; yield it again to run them again  `ChatResponse`
`AskModel`         like `ChatRequest`, with another model than the client's                       `ChatResponse`
`RunTools`         execute a batch of tool calls                                              `ToolBatchResult`
`Perform`          call a function that may block, or await an async one                      its return value
`Sleep`            wait on the client's clock                                                 None
`Emit`             show an event in the stream, if the turn is streamed                       None
=================  =========================================================================  ====================
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ..chat.events import StreamEvent
from ..chat.model import ChatModel
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..errors import leaf_errors
from ..messages import AssistantMessage, ToolCall, ToolMessage

if TYPE_CHECKING:
    from ..chat.limits import ReachedLimit
    from ..tools.results import ResultLimits
    from ..tools.tool_type import Tool

__all__ = ["AdvisorFlow", "AskModel", "Effect", "Emit", "Perform", "RunTools", "Sleep", "ToolBatchResult"]


@dataclass(frozen=True, slots=True)
class AskModel:
    """Run the rest of the chain with another model than the client's.

    Example:
        >>> from toolsearch.testing import ScriptedChatModel
        >>> AskModel(ChatRequest(messages=()), ScriptedChatModel(["Hello!"])).model.call(ChatRequest(messages=())).text
        'Hello!'
    """

    request: ChatRequest
    model: ChatModel


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """Execution of a batch of tool calls. The results are returned in the order of `calls`.

    Args:
        calls: The calls of the model.
        tools: The tools that may run, by the name that the model sees. A call of another name is answered with an
            error and never run.
        request: The request of the round. Its context, session id and tenant id are passed to the tools.
        answers: Results of calls that must not run, by position in `calls`.
        unknown: Positions of the answers to calls of tools that do not exist, for the log.
        raise_on_error: True raises every exception of a tool. Exception types raise exceptions of these types. All
            other exceptions are answered to the model.
        on_error: Function that returns the text for an exception that is answered. By default, the text is the type
            and message of the exception.
        message: The assistant message with the calls, for the record of the turn. By default it is the latest response
            that the advisor received.
        results: The limits on the size of the results. None means the default limits.

    Example:
        >>> from toolsearch.tools.tool_type import Tool
        >>> RunTools(
        ...     calls=(ToolCall("call_1", "ping"),),
        ...     tools={"ping": Tool("ping", fn=lambda: "pong")},
        ...     request=ChatRequest(messages=()),
        ... ).answers
        {}
    """

    calls: tuple[ToolCall, ...]
    tools: Mapping[str, Tool]
    request: ChatRequest
    answers: Mapping[int, ToolMessage] = field(default_factory=dict)
    raise_on_error: bool | tuple[type[Exception], ...] = False
    on_error: Callable[[ToolCall, Exception], str] | None = None
    message: AssistantMessage | None = None
    results: ResultLimits | None = None
    unknown: frozenset[int] = frozenset()

    def raises(self, error: Exception) -> bool:
        """Return whether the exception of a tool, or one in its exception group, is raised instead of answered."""
        types = self.raise_on_error
        if isinstance(types, bool):
            return types
        return isinstance(error, types) or any(isinstance(one, types) for one in leaf_errors(error))

    def limit(self, result: ToolMessage) -> ToolMessage:
        """Return a result of the batch within the limits on its size."""
        from ..tools.results import ResultLimits

        return (self.results or ResultLimits()).limit(result, self.tools.get(result.name))


@dataclass(frozen=True, slots=True)
class ToolBatchResult:
    """Results of a batch of tool calls, in the order of the calls.

    Args:
        messages: One message for each call.
        return_direct: Whether the results are the response to the user: every tool is marked with `return_direct`, and
            no call failed.
        limit: The limit that ends the turn, or None. An application that drives the rounds itself must not ask the
            model again.

    Example:
        >>> ToolBatchResult((ToolMessage("call_1", "ping", "pong"),)).messages[0].text
        'pong'
    """

    messages: tuple[ToolMessage, ...]
    return_direct: bool = False
    limit: ReachedLimit | None = None


@dataclass(frozen=True, slots=True)
class Perform:
    """Call a function that takes no arguments and may block.

    Async drivers run a sync function in a worker thread and await an async one. Sync drivers reject an async function
    with `AsyncCallableError`.

    Example:
        >>> Perform(lambda: 42).fn()
        42
    """

    fn: Callable[[], Any] = field()


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait some seconds on the client's clock.

    Example:
        >>> Sleep(0.5).seconds
        0.5
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class Emit:
    """Show an event to the reader of the stream. In `call` and `acall` nobody reads it.

    Text does not belong here: the chain carries the chunks of an answer.

    Example:
        >>> from toolsearch.chat import ToolFilterFailed
        >>> Emit(ToolFilterFailed("delete_all", error="KeyError")).event.tool
        'delete_all'
    """

    event: StreamEvent


Effect: TypeAlias = ChatRequest | AskModel | RunTools | Perform | Sleep | Emit
"""Anything that an advisor can yield."""

AdvisorFlow: TypeAlias = Generator[Effect, Any, ChatResponse]
"""The generator that `Advisor.advise` returns."""
