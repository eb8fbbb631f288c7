"""Advisors: steps between a client and its model, written once for call and stream, sync and async."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import Protocol, runtime_checkable

from ..chat.events import ChatChunk, StreamEvent
from ..chat.requests import ChatRequest
from ..errors import ConfigurationError
from ..text import short_repr
from ..tools.argument_types import collect_finite
from .effects import AdvisorFlow

__all__ = [
    "Advisor",
    "ChunkTransformer",
    "ChunkTransformerFactory",
    "EventListener",
    "ToolLoop",
    "is_tool_loop",
    "sort_advisors",
]


@runtime_checkable
class Advisor(Protocol):
    """A step between a client and its model, written as a plain generator that yields effects.

    An advisor can also change streamed text. If it keeps no state for that, it implements `ChunkTransformer` itself.
    Otherwise it implements `ChunkTransformerFactory`. One advisor serves any number of turns at once, so it must not
    keep the state of a turn.

    In a stream the text has already been shown when the response returns. What an advisor adds to the end of the text
    is streamed too. If it changes the text in another way, the stream has a `TextReplaced` event. To avoid it, yield
    `request.replace(buffered=True)`: the text is then held back until this advisor returns.

    Attributes:
        order: Position in the chain. Advisors with a lower order are outer: they receive a request earlier and its
            response later. Advisors of equal order keep the order in which they were passed.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> class Shout:
        ...     order = 100
        ...     def advise(self, request):
        ...         response = yield request
        ...         return response.with_text(response.text.upper())
        >>> ChatClient(ScriptedChatModel(["hello"]), advisors=[Shout()]).call("Hi").text
        'HELLO'
    """

    order: int

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Yield effects (`toolsearch.loop.effects`) and return the response.

        Yielding a `ChatRequest` runs the rest of the chain and gives its `ChatResponse`; yielding another one runs
        the rest again. If an effect raises an exception, it is raised at the `yield`. If a stream is closed early,
        the generator is closed, so its `finally` blocks run.
        """
        ...


class ChunkTransformer(Protocol):
    """Changes streamed text on its way to the caller, e.g. to redact it."""

    def on_chunk(self, chunk: ChatChunk) -> ChatChunk | None:
        """Return the chunk to pass on, or None to keep it back for `flush` or to drop it.

        A chunk has text. The pieces of tool calls are not passed: they are in the response, and `ToolStarted` events
        tell of calls.
        """
        ...

    def flush(self) -> ChatChunk | None:
        """Return the text that was kept back. Called at the end of each answer of the model that had text."""
        ...


@runtime_checkable
class ChunkTransformerFactory(Protocol):
    """Optional part of an `Advisor`: a new `ChunkTransformer` for each request that it passes on.

    Outside the tool-calling loop that is one for a turn, inside the loop one for a round. If an answer fails after text
    was streamed and is repeated, the transformer is replaced by a new one.
    """

    def chunk_transformer(self) -> ChunkTransformer:
        """Return a new transformer."""
        ...


@runtime_checkable
class ToolLoop(Protocol):
    """Optional part of an `Advisor` that runs tool calls itself: it takes the place of the tool-calling loop.

    A subclass of `ToolCallingAdvisor` has it. Another advisor that yields `RunTools` must set it, because otherwise the
    client adds a `ToolCallingAdvisor` that runs the calls first.

    An own loop is responsible for its rounds, limits and approvals. It can have the attribute `tool_filter`, which the
    client applies when the loop is switched off with ``tool_calling=False``, and a method ``execute(request, calls)``
    for `ChatClient.run_tools`; see `ToolCallingAdvisor`.

    Attributes:
        is_tool_loop: True.
    """

    is_tool_loop: bool


def is_tool_loop(advisor: object) -> bool:
    """Return whether an advisor takes the place of the tool-calling loop.

    Raises:
        ConfigurationError: If its attribute `is_tool_loop` is not a bool.
    """
    marked = getattr(advisor, "is_tool_loop", False)
    if not isinstance(marked, bool):
        raise ConfigurationError(f"is_tool_loop must be True or False, got {marked!r} in {type(advisor).__name__}")
    return marked


class EventListener(Protocol):
    """Optional part of an `Advisor`: receives every event of a turn, in `call` and `acall` too."""

    def on_event(self, event: StreamEvent) -> Awaitable[None] | None:
        """Receive an event. It may be async in `acall` and `astream`. Exceptions are logged."""
        ...


def sort_advisors(advisors: Iterable[Advisor]) -> tuple[Advisor, ...]:
    """Return the advisors from the outermost to the innermost.

    Raises:
        ConfigurationError: If `advisors` is a single advisor, or if an element is not an advisor or has an order
            that is not an integer.
    """
    if isinstance(advisors, Advisor):
        raise ConfigurationError(f"advisors must be a list; write advisors=[{type(advisors).__name__}(...)]")
    chain = collect_finite(advisors, "advisors")
    for advisor in chain:
        if isinstance(advisor, type):
            raise ConfigurationError(f"advisors must be instances, got the class {advisor.__name__}")
        if not isinstance(advisor, Advisor):
            raise ConfigurationError(
                f"advisors must define `order: int` and `advise(request)`, got {short_repr(advisor)}"
                + ("; write settings.advisor()" if hasattr(advisor, "advisor") else "")
            )
        if not isinstance(advisor.order, int):
            raise ConfigurationError(
                f"order must be an integer, got {advisor.order!r} in {type(advisor).__name__}; write order=300"
            )
    return tuple(sorted(chain, key=lambda advisor: advisor.order))
