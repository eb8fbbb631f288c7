"""Interface of observers and the spans with which the library reports its operations.

An operation starts once, ends once, and is *current* while work is done on it. The drivers guarantee that: nothing is
current while the consumer of a stream holds a chunk, and a turn that is abandoned is ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, Self, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from ..chat.model import ChatModel
    from ..chat.requests import ChatRequest
    from ..messages import ToolCall
    from ..tools.tool_type import Tool

__all__ = [
    "Observation",
    "Observed",
    "ObservedRound",
    "ObservedSearch",
    "ObservedToolCall",
    "ObservedTurn",
    "Observer",
    "Span",
    "start_child_span",
    "start_span",
]

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class ObservedTurn:
    """Turn: one call of a client. Its result is the `ChatResponse`.

    Args:
        request: The request at the start of the turn. Tools that are listed later are missing.
        model: The model of the client.
        streaming: Whether the answer is streamed.

    Example:
        >>> from toolsearch import ChatRequest, UserMessage
        >>> from toolsearch.testing import ScriptedChatModel
        >>> request = ChatRequest(messages=[UserMessage("Hi")])
        >>> ObservedTurn(request, ScriptedChatModel([]), streaming=False).request.messages[0].text
        'Hi'
    """

    request: ChatRequest = field(repr=False)
    model: ChatModel
    streaming: bool


@dataclass(frozen=True, slots=True)
class ObservedRound:
    """Round: one request to the model. Its result is the model's `ChatResponse`.

    Args:
        request: The request that is sent.
        model: The model that receives it.
        number: Number of the round within its turn, from 1.
        streaming: Whether the answer is streamed.

    Example:
        >>> from toolsearch import ChatRequest, UserMessage
        >>> from toolsearch.testing import ScriptedChatModel
        >>> request = ChatRequest(messages=[UserMessage("Hi")])
        >>> ObservedRound(request, ScriptedChatModel([]), number=1, streaming=False).number
        1
    """

    request: ChatRequest = field(repr=False)
    model: ChatModel
    number: int
    streaming: bool


@dataclass(frozen=True, slots=True)
class ObservedToolCall:
    """Execution of one tool call. Its result is the `ToolMessage`, also if the tool failed and the error is answered.

    Args:
        call: The tool call of the model.
        tool: The tool that runs, or None if no tool has the name of the call.
        request: The request of the round.

    Example:
        >>> from toolsearch import ChatRequest, ToolCall, UserMessage
        >>> request = ChatRequest(messages=[UserMessage("Hi")])
        >>> ObservedToolCall(ToolCall("1", "ring_bell", "{}"), tool=None, request=request).call.name
        'ring_bell'
    """

    call: ToolCall = field(repr=False)
    tool: Tool | None
    request: ChatRequest = field(repr=False)


@dataclass(frozen=True, slots=True)
class ObservedSearch:
    """Search for tools. Its result is the index's `ToolSearchResponse`.

    Args:
        query: The query of the model, or the user's message if tools are revealed before the first round.
        max_results: Number of tools that were asked for.
        category: The category that was asked for, or None.

    Example:
        >>> ObservedSearch("ring a bell", max_results=5)
        ObservedSearch(max_results=5, category=None)
    """

    query: str = field(repr=False)
    max_results: int
    category: str | None = None


Observed: TypeAlias = ObservedTurn | ObservedRound | ObservedToolCall | ObservedSearch
"""Any operation that an observer receives."""


class Observation(Protocol):
    """Operation that has started, as an observer follows it."""

    def current(self) -> AbstractContextManager[object]:
        """Return a context manager that makes the operation current.

        It is entered again for each stretch of work. It is left in the thread or task that entered it, and is never
        open while the consumer of a stream has control. For a turn, one is also open while its advisors run.
        """
        ...

    def end(self, result: Any, error: BaseException | None) -> None:
        """Record the end of the operation. Called once, however the operation ends.

        Args:
            result: The result, or None if the operation was interrupted.
            error: The exception that ended the operation; `GeneratorExit` if a stream was closed early. For a tool
                call, also an error that was answered to the model.
        """
        ...


@runtime_checkable
class Observer(Protocol):
    """Receives every operation a client performs. Must not raise: an exception ends the turn.

    Several threads and tasks may call an observer at once.

    Example:
        >>> from contextlib import nullcontext
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> class PrintedOperation:
        ...     def __init__(self, operation):
        ...         self.name = type(operation).__name__
        ...     def current(self):
        ...         return nullcontext()
        ...     def end(self, result, error):
        ...         print("ended", self.name)
        >>> class PrintingObserver:
        ...     def begin(self, operation):
        ...         return PrintedOperation(operation)
        >>> _ = ChatClient(ScriptedChatModel(["Hello!"]), observer=PrintingObserver()).call("Hi")
        ended ObservedRound
        ended ObservedTurn
    """

    def begin(self, operation: Observed) -> Observation:
        """Record the start of an operation. Called while the enclosing operation is current."""
        ...


_NULL_CONTEXT = nullcontext()

# Searches happen deep inside tools and indexes and read the observer from here. Set only while an operation is current.
_current_observer: ContextVar[Observer | None] = ContextVar("toolsearch_observer", default=None)


class Span:
    """Handle of one operation for the code that performs it: a ``with`` block that ends it, however it is left.

    The block may contain a ``yield``. The operation is current only inside `current()`.

    Attributes:
        result: The result of the operation. Set it before the block ends.
        error: An error that was handled inside the block. An exception that leaves the block is recorded by itself.
    """

    __slots__ = ("_observation", "_observer", "error", "result")

    def __init__(self, observer: Observer | None = None, observation: Observation | None = None) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._observer = observer
        self._observation = observation

    @property
    def observed(self) -> bool:
        """Return whether an observer follows the operation."""
        return self._observation is not None

    def current(self) -> AbstractContextManager[object]:
        """Make the operation current. Does nothing without an observer."""
        return _NULL_CONTEXT if self._observation is None else self._make_current(self._observation)

    @contextmanager
    def _make_current(self, observation: Observation) -> Iterator[None]:
        token = _current_observer.set(self._observer)
        try:
            with observation.current():
                yield
        finally:
            _current_observer.reset(token)

    def end(self, error: BaseException | None = None) -> None:
        """End the operation. Idempotent.

        Args:
            error: The exception that ended the operation, if any.
        """
        observation, self._observation = self._observation, None
        result, self.result = self.result, None
        # The error is dropped here: it refers to the frames it passed through, and those refer to this span.
        handled, self.error = self.error, None
        if observation is not None:
            observation.end(result, error or handled)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end(error)


def start_span(observer: Observer | None, operation: Callable[P, Observed], *args: P.args, **kwargs: P.kwargs) -> Span:
    """Start the span of an operation. Without an observer, the operation is not even created.

    Args:
        observer: The observer to report to, or None.
        operation: The class of the operation.
        *args: Arguments of `operation`.
        **kwargs: Keyword arguments of `operation`.
    """
    if observer is None:
        return Span()
    return Span(observer, observer.begin(operation(*args, **kwargs)))


def start_child_span(operation: Callable[P, Observed], *args: P.args, **kwargs: P.kwargs) -> Span:
    """Start the span of an operation inside the current one, with the same observer."""
    return start_span(_current_observer.get(), operation, *args, **kwargs)
