"""The drivers: they perform what a chain of advisors asks for.

There are two, sync and async; `call` and `stream` are the same driver with the events dropped or passed on. Only
drivers touch models, threads, clocks and event loops.
"""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import Any, cast

from .advisor import Advisor
from .chain import CallModel, Chain, ChunkPath, Operation, Show, run_chain
from .chat import (
    ChatChunk,
    ChatRequest,
    ChatResponse,
    RoundStarted,
    StreamEvent,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from .clock import Clock
from .effects import Perform, RunTools, Sleep, ToolBatchResult
from .errors import AsyncCallableError
from .execution import arun_batch, run_batch
from .model import ChatModel
from .model_stream import AsyncModelStream, ModelStream, awaitable_of, checked_response
from .observer import ObservedRound, ObservedTurn, Observer, Watch, watch
from .tool import Tool
from .worker import in_worker_thread

__all__ = ["Turn", "adrive", "drive"]


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
        self._watch = Watch()
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
        self._watch = watch(observer, ObservedTurn, self._request, self.model, self.streaming)
        attached = ExitStack()
        attached.enter_context(self._watch.current())
        self._attached = attached

    def current(self) -> AbstractContextManager[object]:
        """What an effect of the turn is performed in."""
        return self._watch.current()

    def close(self, error: BaseException | None = None) -> None:
        """Close every advisor that is still running, innermost first. Again: does nothing.

        Args:
            error: what ended the turn, unless it came to its end.
        """
        try:
            self._context.run(self._close_chain)
        finally:
            self._watch.result = self.response
            self._watch.end(error)

    def _close_chain(self) -> None:
        with self._attached:
            self._chain.close()

    def round(self, request: ChatRequest) -> RoundStarted:
        """Note that the model is asked once more."""
        self._rounds += 1
        if self._path is not None:
            self._path.open(self._depth)
        return RoundStarted(self._rounds, request)

    def watch(self, request: ChatRequest) -> Watch:
        """Watch the round that has just been noted."""
        with self.current():
            return watch(self.observer, ObservedRound, request, self.model, self._rounds, self.streaming)

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


def drive(turn: Turn) -> Generator[StreamEvent, None, None]:
    """Run a turn on the caller's thread; the response is in `turn.response` after the end."""
    try:
        operation = turn.start()
        while operation is not None:
            try:
                result = yield from _operate(turn, operation)
            except Exception as error:
                operation = turn.throw(error)
            else:
                operation = turn.send(result)
        turn.close()  # before the last event: what its consumer does is no part of the turn
        yield TurnFinished(cast("ChatResponse", turn.response))
    except BaseException as error:
        turn.close(error)
        raise


def _operate(turn: Turn, operation: Operation) -> Generator[StreamEvent, None, Any]:
    match operation:
        case CallModel(request):
            yield turn.round(request)
            with turn.watch(request) as seen:
                if turn.streaming:
                    response = yield from _stream(turn, request, seen)
                else:
                    with seen.current():
                        response = checked_response(turn.model.call(request), turn.model)
                seen.result = response
            return response
        case Show(chunks):
            yield from chunks
            return None
        case RunTools():
            yield from (ToolStarted(call) for call in operation.calls)
            with turn.current():
                batch = run_batch(operation, turn.observer)
            yield from _finished(operation, batch)
            return batch
        case Perform(fn):
            with turn.current():
                return _perform(fn)
        case Sleep(seconds):
            turn.clock.sleep(seconds)
            return None


def _stream(turn: Turn, request: ChatRequest, seen: Watch) -> Generator[StreamEvent, None, ChatResponse]:
    with ModelStream(turn.model, request, seen, turn.mark) as answer:
        for chunk in answer:
            yield from turn.chunks(chunk)
    yield from turn.round_over()
    return answer.response()


def _perform(fn: Callable[[], Any]) -> Any:
    result = None if _is_async(fn) else fn()
    if _is_async(fn) or inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise AsyncCallableError(f"{fn!r} is async; call() and stream() cannot await it: use acall() or astream()")
    return result


async def adrive(turn: Turn) -> AsyncGenerator[StreamEvent]:
    """Run a turn on the running event loop, asyncio's or trio's, without holding it."""
    try:
        operation = turn.start()
        while operation is not None:
            try:
                if isinstance(operation, CallModel) and turn.streaming:
                    # An async generator cannot delegate, so the one operation that streams is written out here.
                    yield turn.round(operation.request)
                    with turn.watch(operation.request) as seen:
                        async with AsyncModelStream(turn.model, operation.request, seen, turn.mark) as answer:
                            async for chunk in answer:
                                for shown in turn.chunks(chunk):
                                    yield shown
                        for shown in turn.round_over():
                            yield shown
                        result: Any = answer.response()
                        seen.result = result
                else:
                    for event in _before(turn, operation):
                        yield event
                    result = await _aoperate(turn, operation)
                    for event in _after(operation, result):
                        yield event
            except Exception as error:
                operation = turn.throw(error)
            else:
                operation = turn.send(result)
        turn.close()  # before the last event: what its consumer does is no part of the turn
        yield TurnFinished(cast("ChatResponse", turn.response))
    except BaseException as error:
        turn.close(error)
        raise


def _before(turn: Turn, operation: Operation) -> tuple[StreamEvent, ...]:
    match operation:
        case CallModel(request):
            return (turn.round(request),)
        case Show(chunks):
            return chunks
        case RunTools(calls=calls):
            return tuple(ToolStarted(call) for call in calls)
        case _:
            return ()


def _after(operation: Operation, result: Any) -> tuple[StreamEvent, ...]:
    return _finished(operation, result) if isinstance(operation, RunTools) else ()


def _finished(operation: RunTools, batch: ToolBatchResult) -> tuple[StreamEvent, ...]:
    return tuple(map(ToolFinished, operation.calls, batch.messages))


async def _aoperate(turn: Turn, operation: Operation) -> Any:
    match operation:
        case CallModel(request):
            with turn.watch(request) as seen, seen.current():
                answer = await awaitable_of(turn.model.acall(request), turn.model)
                seen.result = response = checked_response(answer, turn.model)
                return response
        case RunTools():
            with turn.current():
                return await arun_batch(operation, turn.observer)
        case Perform(fn):
            with turn.current():
                return await _aperform(fn)
        case Sleep(seconds):
            await turn.clock.asleep(seconds)
            return None
        case Show():
            return None


async def _aperform(fn: Callable[[], Any]) -> Any:
    if _is_async(fn):
        return await cast("Callable[[], Coroutine[Any, Any, Any]]", fn)()
    result = await in_worker_thread(fn)
    return await result if inspect.isawaitable(result) else result


def _is_async(fn: Callable[[], Any]) -> bool:
    while isinstance(fn, partial):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004
