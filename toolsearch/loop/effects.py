"""What an advisor can ask of the driver that runs it.

An advisor yields one of these and receives the result at the same place; an exception of the effect is raised there.

=================  =================================================================  =======================
effect             meaning                                                            what comes back
=================  =================================================================  =======================
`ChatRequest`      run the rest of the chain, then the model; again means once more   `ChatResponse`
`RunTools`         execute a batch of tool calls                                      `ToolBatchResult`
`Perform`          do blocking or async work                                          its result
`Sleep`            wait, on the client's clock                                        None
=================  =================================================================  =======================
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..messages import ToolCall, ToolMessage

if TYPE_CHECKING:
    from ..tools.tool import Tool

__all__ = ["AdvisorFlow", "Effect", "Perform", "RunTools", "Sleep", "ToolBatchResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """Execute `calls` and return their results in the same order.

    Args:
        calls: what the model asked for.
        tools: what may run, by the name the model sees. A call of any other name is answered, never run.
        request: the request of this round: its context, session id and tenant reach the tools.
        answers: results of calls that are not to run, by their position in `calls`.
        raise_on_error: True, or exception types: a tool's error of such a type is raised instead of answered.
        on_error: words the answer to any other error of a tool; None: its type and text.

    Example:
        >>> from toolsearch.tools.tool import Tool
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


@dataclass(frozen=True, slots=True)
class ToolBatchResult:
    """The results of a batch in call order.

    Args:
        messages: one for each call.
        return_direct: every tool of the batch says that its result is the response, and none failed.

    Example:
        >>> ToolBatchResult((ToolMessage("call_1", "ping", "pong"),)).messages[0].text
        'pong'
    """

    messages: tuple[ToolMessage, ...]
    return_direct: bool = False


@dataclass(frozen=True, slots=True)
class Perform:
    """Call `fn` without arguments. Async drivers run a sync `fn` in a worker thread and await an async one;
    sync drivers refuse an async one with `AsyncCallableError`.

    Example:
        >>> Perform(lambda: 42).fn()
        42
    """

    fn: Callable[[], Any] = field()


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait `seconds` on the client's clock.

    Example:
        >>> Sleep(0.5).seconds
        0.5
    """

    seconds: float


Effect: TypeAlias = ChatRequest | RunTools | Perform | Sleep

AdvisorFlow: TypeAlias = Generator[Effect, Any, ChatResponse]
