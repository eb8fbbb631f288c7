"""`Observer`: what is told of turns, rounds, tool calls and searches, e.g. to make spans of them.

An operation is begun once, ended once, and *current* whenever work is done on it. The drivers see to that: while a
stream's chunk is with its consumer nothing is current, and a turn that is left early is ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, Self, TypeAlias

if TYPE_CHECKING:
    from ..chat.model import ChatModel
    from ..chat.requests import ChatRequest
    from ..messages import ToolCall
    from ..tools.tool import Tool

__all__ = [
    "Observation",
    "Observed",
    "ObservedRound",
    "ObservedSearch",
    "ObservedToolCall",
    "ObservedTurn",
    "Observer",
    "Span",
    "start_span",
    "watch",
]

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class ObservedTurn:
    """One call of a client; its result is the `ChatResponse`.

    Args:
        request: what the turn begins with. Tools that take time to list are not in it yet.
        model: what will be asked.
        streaming: whether the answer is streamed.
    """

    request: ChatRequest = field(repr=False)
    model: ChatModel
    streaming: bool


@dataclass(frozen=True, slots=True)
class ObservedRound:
    """One request to the model; its result is the model's `ChatResponse`.

    Args:
        request: what is sent.
        model: what is asked.
        number: counts from 1 within the turn.
        streaming: whether the answer is streamed.
    """

    request: ChatRequest = field(repr=False)
    model: ChatModel
    number: int
    streaming: bool


@dataclass(frozen=True, slots=True)
class ObservedToolCall:
    """One tool call that is executed; its result is the `ToolMessage`, also where the tool's error is answered.

    Args:
        call: what the model asked for.
        tool: what runs; None if there is no tool of that name.
        request: the request of the round.
    """

    call: ToolCall = field(repr=False)
    tool: Tool | None
    request: ChatRequest = field(repr=False)


@dataclass(frozen=True, slots=True)
class ObservedSearch:
    """One search for tools; its result is the index's `ToolSearchResponse`.

    Args:
        query: as the model wrote it, or the user's words where tools are preselected.
        max_results: how many were asked for.
        category: the category asked for, if any.
    """

    query: str = field(repr=False)
    max_results: int
    category: str | None = None


Observed: TypeAlias = ObservedTurn | ObservedRound | ObservedToolCall | ObservedSearch


class Observation(Protocol):
    """One operation that has begun."""

    def current(self) -> AbstractContextManager[object]:
        """Return a context manager that makes the operation current, where that means something.

        It is entered anew for each stretch of work, always left in the thread or task that entered it, and never
        open while the consumer of a stream has control. Of a turn, one is open for the advisors as well.
        """
        ...

    def end(self, result: Any, error: BaseException | None) -> None:
        """The operation is over, however it ended; called once.

        Args:
            result: what it came to; None if it was broken off.
            error: what was raised; `GeneratorExit` if a stream was left early. Of a tool call, also an error that was
                answered to the model.
        """
        ...


class Observer(Protocol):
    """Is told of everything a client does. What it raises ends the turn, so it should not raise.

    Called from whichever thread or task does the work, several at once.

    Example:
        >>> from contextlib import nullcontext
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> class Noted:
        ...     def __init__(self, operation):
        ...         self.name = type(operation).__name__
        ...     def current(self):
        ...         return nullcontext()
        ...     def end(self, result, error):
        ...         print("ended", self.name)
        >>> class Notes:
        ...     def begin(self, operation):
        ...         return Noted(operation)
        >>> _ = ChatClient(ScriptedChatModel(["Hello!"]), observer=Notes()).call("Hi")
        ended ObservedRound
        ended ObservedTurn
    """

    def begin(self, operation: Observed) -> Observation:
        """An operation begins; called where the one around it is current."""
        ...


_NOTHING = nullcontext()

# Found by searches, which happen deep inside tools and indexes. Set only while work is done, like what is current.
_observer: ContextVar[Observer | None] = ContextVar("toolsearch_observer", default=None)


class Span:
    """One operation in the hands of whoever performs it: a block that ends it however it is left.

    The block may hold a `yield`; nothing is current in it except inside `current()`.

    Attributes:
        result: what the operation came to; set it before the block ends.
        error: an error that was dealt with inside; one that leaves the block counts by itself.
    """

    __slots__ = ("_observation", "_observer", "error", "result")

    def __init__(self, observer: Observer | None = None, observation: Observation | None = None) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._observer = observer
        self._observation = observation

    @property
    def observed(self) -> bool:
        """Whether anybody looks."""
        return self._observation is not None

    def current(self) -> AbstractContextManager[object]:
        """Make the operation current; without an observer this does nothing."""
        return _NOTHING if self._observation is None else self._current(self._observation)

    @contextmanager
    def _current(self, observation: Observation) -> Iterator[None]:
        token = _observer.set(self._observer)
        try:
            with observation.current():
                yield
        finally:
            _observer.reset(token)

    def end(self, error: BaseException | None = None) -> None:
        """End the operation. Again: does nothing."""
        observation, self._observation = self._observation, None
        result, self.result = self.result, None
        noted, self.error = self.error, None  # an error holds the frames it passed, and these hold this object
        if observation is not None:
            observation.end(result, error or noted)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end(error)


def watch(observer: Observer | None, operation: Callable[P, Observed], *args: P.args, **kwargs: P.kwargs) -> Span:
    """Tell `observer` that an operation begins; without one nothing is even made of it."""
    if observer is None:
        return Span()
    return Span(observer, observer.begin(operation(*args, **kwargs)))


def start_span(operation: Callable[P, Observed], *args: P.args, **kwargs: P.kwargs) -> Span:
    """Tell the observer of the turn that is running here, if any."""
    return watch(_observer.get(), operation, *args, **kwargs)
