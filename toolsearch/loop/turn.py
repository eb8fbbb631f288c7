"""One run of a chain: where it stands, what is seen of it, and how it is closed; a driver performs it."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial

from ..chat.events import ChatChunk, RoundStarted
from ..chat.model import ChatModel
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..observability.observer import ObservedRound, ObservedTurn, Observer, Span, start_span
from ..tools.tool import Tool
from .advisor import Advisor
from .chain import Chain, ChunkPath, Operation, run_chain
from .clock import Clock
from .effects import Perform

__all__ = ["Turn"]


class Turn:
    """One run of a chain: where it stands, and what the drivers share.

    Advisors run in a copy of the context that the turn was made in. So a context variable that one sets around a
    yield is seen by the advisors further in, and by nobody else: not by the consumer of a stream between two chunks,
    nor by tools and the model, which run in their caller's context. It can be reset there, too, whichever thread or
    task takes the next step of the stream. There the turn is current for its observer from beginning to end; around
    an effect it is current while the effect is performed.
    """

    def __init__(
        self,
        model: ChatModel,
        request: ChatRequest,
        advisors: Sequence[Advisor],
        tools: Callable[[], tuple[Tool, ...]] | None = None,
        *,
        clock: Clock,
        streaming: bool,
        observer: Observer | None = None,
    ) -> None:
        self.model = model
        self.observer = observer
        self.clock = clock
        self.streaming = streaming
        self.response: ChatResponse | None = None
        self._rounds = 0
        self._context = contextvars.copy_context()
        self._depth = len(advisors)
        self._path = ChunkPath(advisors) if streaming else None
        self._chain = _with_tools(advisors, request, self._path, tools)
        self._request = request
        self._span = Span()
        self._attached: AbstractContextManager[object] = nullcontext()

    def start(self) -> Operation | None:
        """Return the first operation, None when the turn is already over."""
        if self.observer is not None:
            self._context.run(self._observe, self.observer)
        return self._step(partial(next, self._chain))

    def send(self, result: object) -> Operation | None:
        """Hand in the result of the last operation."""
        return self._step(partial(self._chain.send, result))

    def throw(self, error: Exception) -> Operation | None:
        """Hand in the error of the last operation."""
        return self._step(partial(self._chain.throw, error))

    def _step(self, advance: Callable[[], Operation]) -> Operation | None:
        try:
            return self._context.run(advance)
        except StopIteration as stop:
            self.response = stop.value
            return None

    def _observe(self, observer: Observer) -> None:
        self._span = start_span(observer, ObservedTurn, self._request, self.model, self.streaming)
        attached = ExitStack()
        attached.enter_context(self._span.current())
        self._attached = attached

    def current(self) -> AbstractContextManager[object]:
        """What an effect of the turn is performed in."""
        return self._span.current()

    def close(self, error: BaseException | None = None) -> None:
        """Close every advisor that is still running, innermost first. Again: does nothing.

        Args:
            error: what ended the turn, unless it came to its end.
        """
        try:
            self._context.run(self._close_chain)
        finally:
            self._span.result = self.response
            self._span.end(error)

    def _close_chain(self) -> None:
        with self._attached:
            self._chain.close()

    def round(self, request: ChatRequest) -> RoundStarted:
        """Note that the model is asked once more."""
        self._rounds += 1
        if self._path is not None:
            self._path.open(self._depth)
        return RoundStarted(self._rounds, request)

    def start_round_span(self, request: ChatRequest) -> Span:
        """Start the span of the current round."""
        with self.current():
            return start_span(self.observer, ObservedRound, request, self.model, self._rounds, self.streaming)

    def chunks(self, chunk: ChatChunk) -> tuple[ChatChunk, ...]:
        """What the caller sees of a chunk of the model; calls stay inside."""
        if self._path is None or not chunk.text:
            return ()
        shown = ChatChunk(chunk.text, raw=chunk.raw) if chunk.tool_calls else chunk
        return tuple(self._path.push(shown, self._depth))

    @property
    def mark(self) -> bytes | None:
        """What marks a response whose text was shown in this turn's stream."""
        return self._path.turn if self._path is not None else None

    def round_over(self) -> tuple[ChatChunk, ...]:
        """What the caller still sees when the model's answer is complete."""
        return tuple(self._path.close(self._depth)) if self._path is not None else ()


def _with_tools(
    advisors: Sequence[Advisor],
    request: ChatRequest,
    path: ChunkPath | None,
    tools: Callable[[], tuple[Tool, ...]] | None,
) -> Chain:
    """The chain; tools that take time to list, such as an MCP server's, are listed as its first effect."""
    if tools is not None:
        request = request.replace(tools=(yield Perform(tools)))
    return (yield from run_chain(advisors, request, path))
