"""Drivers: they perform the operations of a turn, sync or async.

`call` and `stream` use the same driver; `call` drops the events. Only drivers use models, threads, clocks and event
loops.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Any, cast

from ..chat.events import StreamEvent, ToolFinished, ToolStarted, TurnFinished
from ..chat.model import ChatModel
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..observability.observer import Span
from .chain import CallModel, Operation, Show
from .effects import Emit, Perform, RunTools, Sleep, ToolBatchResult
from .execution.batch import arun_batch, run_batch
from .execution.interrupted import astore_unstored, store_unstored
from .execution.listeners import anotify, notify
from .execution.perform import aperform, perform
from .streaming.model_stream import AsyncModelStream, ModelStream, expect_awaitable, expect_response
from .turn import Turn

__all__ = ["adrive", "drive"]


def drive(turn: Turn) -> Generator[StreamEvent, None, None]:
    """Run a turn on the caller's thread and yield its events. Afterwards `turn.response` is set."""
    return notify(turn.listeners, _drive(turn)) if turn.listeners else _drive(turn)


def _drive(turn: Turn) -> Generator[StreamEvent, None, None]:
    try:
        operation = turn.start()
        while operation is not None:
            try:
                result = yield from _operate(turn, operation)
            except Exception as error:
                operation = turn.throw(error)
            else:
                operation = turn.send(result)
        store_unstored(turn.unstored())
        turn.close()  # before the last event, so that the time of its consumer does not count
        yield TurnFinished(cast("ChatResponse", turn.response))
    except BaseException as error:
        turn.close(error)
        store_unstored(turn.unstored())
        raise


def _operate(turn: Turn, operation: Operation) -> Generator[StreamEvent, None, Any]:
    match operation:
        case CallModel(request):
            model = operation.model or turn.model
            yield turn.start_round(request)
            with turn.start_round_span(request, model) as span:
                if turn.streaming:
                    response = yield from _stream(turn, model, request, span)
                else:
                    with span.current():
                        response = expect_response(model.call(request), model, request)
                span.result = response
            return response
        case Show(events):
            yield from events
            return None
        case RunTools():
            turn.log_unknown_tools(operation)
            yield from (ToolStarted(call) for call in operation.calls)
            with turn.current():
                batch = run_batch(operation, turn.observer, turn.record.batch, turn.threads)
            yield from _finished(operation, batch)
            return batch
        case Perform(fn):
            with turn.current():
                return perform(fn)
        case Sleep(seconds):
            turn.clock.sleep(seconds)
            return None
        case Emit(event):
            yield event
            return None


def _stream(
    turn: Turn, model: ChatModel, request: ChatRequest, span: Span
) -> Generator[StreamEvent, None, ChatResponse]:
    with ModelStream(model, request, span) as answer:
        for chunk in answer:
            yield from turn.pass_chunk(chunk)
    return answer.response()


def adrive(turn: Turn) -> AsyncGenerator[StreamEvent]:
    """Run a turn on the running event loop (asyncio or trio) without blocking it, and yield its events."""
    return anotify(turn.listeners, _adrive(turn)) if turn.listeners else _adrive(turn)


async def _adrive(turn: Turn) -> AsyncGenerator[StreamEvent]:
    try:
        operation = turn.start()
        while operation is not None:
            try:
                if isinstance(operation, CallModel) and turn.streaming:
                    # An async generator cannot use `yield from`, so the operation that streams is written here.
                    model, request = operation.model or turn.model, operation.request
                    yield turn.start_round(request)
                    with turn.start_round_span(request, model) as span:
                        async with AsyncModelStream(model, request, span) as answer:
                            async for chunk in answer:
                                for shown in turn.pass_chunk(chunk):
                                    yield shown
                        result: Any = answer.response()
                        span.result = result
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
        await astore_unstored(turn.unstored())
        turn.close()  # before the last event, so that the time of its consumer does not count
        yield TurnFinished(cast("ChatResponse", turn.response))
    except BaseException as error:
        turn.close(error)
        await astore_unstored(turn.unstored())
        raise


def _before(turn: Turn, operation: Operation) -> tuple[StreamEvent, ...]:
    match operation:
        case CallModel(request):
            return (turn.start_round(request),)
        case Show(events):
            return events
        case Emit(event):
            return (event,)
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
            model = operation.model or turn.model
            with turn.start_round_span(request, model) as span, span.current():
                answer = await expect_awaitable(model.acall(request), model)
                span.result = response = expect_response(answer, model, request)
                return response
        case RunTools():
            turn.log_unknown_tools(operation)
            with turn.current():
                return await arun_batch(operation, turn.observer, turn.record.batch, turn.threads)
        case Perform(fn):
            with turn.current():
                return await aperform(fn, turn.tenant_id)
        case Sleep(seconds):
            await turn.clock.sleep_async(seconds)
            return None
        case Show() | Emit():
            return None
