"""One run of a chain: its state, its span, and its end. A driver performs its operations."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import Any

from ..chat.events import ChatChunk, RoundStarted
from ..chat.model import ChatModel
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..chat.turn_record import TurnRecord, attach_response
from ..observability.observer import ObservedRound, ObservedTurn, Observer, Span, start_span
from ..text.logs import log_event
from ..tools.guard import ToolGuard
from ..tools.threads import ToolThreads
from ..tools.tool_type import Tool
from .advisor import Advisor
from .chain import Chain, Operation, run_chain
from .clock import Clock
from .effects import Perform, RunTools
from .execution.listeners import find_listeners
from .guarding import TurnGate
from .streaming.chunk_path import ChunkPath

__all__ = ["Turn"]

MAX_UNKNOWN_TOOLS_LOGGED = 5

logger = logging.getLogger(__name__)


class Turn:
    """One run of a chain. Both drivers use it.

    Advisors run in a copy of the context in which the turn was created. A context variable that an advisor sets around
    a ``yield`` is visible to the inner advisors only. It is not visible to the consumer of a stream between two
    chunks, nor to tools and the model, which run in the caller's context. The advisor can reset it, whichever thread
    or task takes the next step of the stream.

    The span of the turn is current in that copy from beginning to end. In the caller's context it is current only
    while an operation is performed.

    Args:
        model: The model at the end of the chain.
        request: The request that the outermost advisor receives.
        advisors: The advisors of the chain, outermost first.
        tools: Function that lists the tools of the request. Pass it if listing them can block.
        clock: The clock for `Sleep`.
        streaming: Whether the text is streamed to the caller.
        observer: Receives the turn and its rounds.
        threads: The worker threads of sync tools; by default those of the process.
        guard: The guard that holds for every request and every tool call of the turn. None admits every tool.

    Attributes:
        response: The response of the turn, or None until the turn is over.
        record: What happened in the turn so far.
        listeners: Functions of advisors that receive every event.
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
        threads: ToolThreads | None = None,
        guard: ToolGuard | None = None,
    ) -> None:
        self.model = model
        self.threads = threads
        self.tenant_id = request.tenant_id
        self.observer = observer
        self.clock = clock
        self.streaming = streaming
        self.response: ChatResponse | None = None
        self.listeners = find_listeners(advisors)
        self.record = TurnRecord()
        if guard is not None:
            self.record.notes[TurnGate] = TurnGate(guard, request)
        self._error: Exception | None = None
        self._rounds = 0
        self._unknown_tools: set[str] = set()
        self._context = contextvars.copy_context()
        self._depth = len(advisors)
        self._path = ChunkPath(advisors) if streaming else None
        self._request = request.replace(record=self.record)
        self._chain = _list_tools_and_run(advisors, self._request, self._path, tools)
        self._span = Span()
        self._attached: AbstractContextManager[object] = nullcontext()

    def start(self) -> Operation | None:
        """Start the turn. Return its first operation, or None if the turn is over."""
        if self.observer is not None:
            self._context.run(self._observe, self.observer)
        return self._step(partial(next, self._chain))

    def send(self, result: object) -> Operation | None:
        """Pass the result of the last operation. Return the next one, or None if the turn is over."""
        return self._step(partial(self._chain.send, result))

    def throw(self, error: Exception) -> Operation | None:
        """Pass the error of the last operation. Return the next one, or None if the turn is over."""
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
        """Return a context manager that makes the span of the turn current while an operation is performed."""
        return self._span.current()

    def close(self, error: BaseException | None = None) -> None:
        """Close every advisor that is still running, from the innermost outwards, and end the span. Idempotent.

        Args:
            error: The exception that ended the turn, or None if the turn is complete.
        """
        if error is not None and self.response is None:
            self._error = error if isinstance(error, Exception) else None
            attach_response(error, self.record)
        try:
            self._context.run(self._close_chain)
        finally:
            self._span.result = self.response
            self._span.end(error)

    def _close_chain(self) -> None:
        with self._attached:
            self._chain.close()

    def start_round(self, request: ChatRequest) -> RoundStarted:
        """Count a round and return its event."""
        self._rounds += 1
        if self._path is not None:
            self._path.begin_answer()
        return RoundStarted(self._rounds, request)

    def start_round_span(self, request: ChatRequest, model: ChatModel) -> Span:
        """Start the span of the current round."""
        with self.current():
            return start_span(self.observer, ObservedRound, request, model, self._rounds, self.streaming)

    def log_unknown_tools(self, batch: RunTools) -> None:
        """Warn of calls of tools that do not exist: of each name once, and of a bounded number in a turn."""
        for position, call in enumerate(batch.calls):
            exists = call.name in batch.tools or (position in batch.answers and position not in batch.unknown)
            known = exists or call.name in self._unknown_tools
            if not known and len(self._unknown_tools) < MAX_UNKNOWN_TOOLS_LOGGED:
                self._unknown_tools.add(call.name)
                log_event(logger, logging.WARNING, "unknown_tool", {"tool": call.name, "tools": len(batch.tools)})

    def pass_chunk(self, chunk: ChatChunk) -> tuple[ChatChunk, ...]:
        """Return the chunks that the caller sees because of a chunk of the model. Tool calls are removed."""
        if self._path is None or not chunk.text:
            return ()
        visible = ChatChunk(chunk.text, raw=chunk.raw) if chunk.tool_calls else chunk
        shown = tuple(self._path.push(visible, self._depth))
        for passed in shown:
            self.record.show(passed.text)
        return shown

    def unstored(self) -> tuple[Callable[[], Any], ...]:
        """Return the functions that store what is left of the turn. If it ends with tool calls, its caller goes on."""
        functions = self.record.take_all_unstored()
        return () if self.response is not None and self.response.tool_calls else functions

    def partial(self) -> ChatResponse:
        """Return the response of the turn, or the turn so far."""
        return self.response or self.record.partial(self._error, with_text=True)


def _list_tools_and_run(
    advisors: Sequence[Advisor],
    request: ChatRequest,
    path: ChunkPath | None,
    tools: Callable[[], tuple[Tool, ...]] | None,
) -> Chain:
    """Return the chain. If listing the tools can block, as for an MCP server, it is the first operation."""
    if tools is not None:
        request = request.replace(tools=(yield Perform(tools)))
    return (yield from run_chain(advisors, request, path))
