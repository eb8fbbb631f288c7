"""Execution of a batch of tool calls, with threads or with tasks.

Calls that must not overlap share a *lane*. Lanes run concurrently. The module `call` handles a single call.
"""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from ...chat.turn_record import BatchRecord, TurnRecord
from ...errors import TookTooLongError
from ...messages import ToolMessage
from ...observability.observer import ObservedToolCall, Observer, start_span
from ...tools.threads import run_in_worker_thread
from ..effects import RunTools, ToolBatchResult
from .call import Invocation, LargeWork, ToolResult, answer_call

__all__ = ["arun_batch", "run_batch"]

_MAX_THREADS = 16


def _group_into_lanes(batch: RunTools) -> list[list[int]]:
    """Return the positions of calls in groups, each of which runs in call order.

    Tools with ``concurrent=False`` share one group for each source.
    """
    lanes: list[list[int]] = []
    by_source: dict[str | None, list[int]] = {}
    for position, call in enumerate(batch.calls):
        if position in batch.answers:
            continue
        tool = batch.tools.get(call.name)
        if tool is None or tool.concurrent:
            lanes.append([position])
        elif tool.source in by_source:
            by_source[tool.source].append(position)
        else:
            by_source[tool.source] = lane = [position]
            lanes.append(lane)
    return lanes


_Outcome = ToolMessage | Exception


def _collect(batch: RunTools, outcomes: dict[int, _Outcome]) -> ToolBatchResult:
    """Return the outcomes in call order. If there are exceptions to raise, raise the first."""
    messages: list[ToolMessage] = []
    for position in range(len(batch.calls)):
        outcome = batch.answers.get(position) or outcomes[position]
        if isinstance(outcome, Exception):
            raise outcome
        messages.append(outcome)
    direct = (
        bool(messages)
        and not batch.answers
        and all(
            (tool := batch.tools.get(message.name)) is not None and tool.return_direct and not message.is_error
            for message in messages
        )
    )
    # The results are for the model unless they are the answer to the user.
    return ToolBatchResult(tuple(messages if direct else map(batch.limit, messages)), direct)


def _run_call(position: int, batch: RunTools, observer: Observer | None, record: BatchRecord) -> ToolMessage:
    call = batch.calls[position]
    with (
        start_span(observer, ObservedToolCall, call, batch.tools.get(call.name), batch.request) as span,
        span.current(),
    ):
        flow = answer_call(call, batch, span)
        try:
            step = next(flow)
            while True:
                try:
                    if isinstance(step, LargeWork):
                        result = step.run()
                    else:
                        record.start(position)
                        result = _invoke(step)
                except Exception as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration as stop:
            message: ToolMessage = stop.value
            span.result = message
            record.finish(position, message)
            return message
        finally:
            flow.close()


def _invoke(invocation: Invocation) -> ToolResult:
    if invocation.tool.timeout is None or invocation.tool.is_async:
        return invocation.run()
    finished = threading.Event()
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(invocation.run())
        except BaseException as error:
            outcome.append(error)
        finally:
            finished.set()

    _start_daemon(contextvars.copy_context(), work)
    if not finished.wait(invocation.tool.timeout):
        raise TookTooLongError
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    result: ToolResult = outcome[0]
    return result


def _start_daemon(context: contextvars.Context, work: Callable[[], None]) -> threading.Thread:
    # A daemon thread, so that a tool that never returns does not keep the process running.
    thread = threading.Thread(target=context.run, args=(work,), name="toolsearch-tool", daemon=True)
    thread.start()
    return thread


def run_batch(batch: RunTools, observer: Observer | None = None, record: BatchRecord | None = None) -> ToolBatchResult:
    """Execute a batch with threads. The first lane, and so a single call, runs on the caller's thread.

    Async tools run on the background event loop.
    """
    record = record or TurnRecord().begin_batch(batch.calls)
    lanes = deque(_group_into_lanes(batch))
    outcomes: dict[int, _Outcome] = {}
    stop: list[BaseException] = []

    def work(lane: list[int] | None) -> None:
        while lane is not None:
            for position in lane:
                if stop:
                    return
                try:
                    outcomes[position] = _run_call(position, batch, observer, record)
                except Exception as error:
                    record.fail(position)
                    outcomes[position] = error
                except BaseException as error:  # Ctrl-C, sys.exit: nothing more is begun
                    stop.append(error)
            lane = _next_lane(lanes)

    first, more = _next_lane(lanes), min(len(lanes), _MAX_THREADS - 1)
    threads = [_start_daemon(contextvars.copy_context(), partial(work, _next_lane(lanes))) for _ in range(more)]
    try:
        work(first)
        for thread in threads:
            thread.join()
    except BaseException as error:  # Ctrl-C while waiting
        stop.append(error)
    if stop:
        raise stop[0]
    return _collect(batch, outcomes)


def _next_lane(lanes: deque[list[int]]) -> list[int] | None:
    try:
        return lanes.popleft()
    except IndexError:  # another thread took the last lane
        return None


async def _arun_call(position: int, batch: RunTools, observer: Observer | None, record: BatchRecord) -> ToolMessage:
    call = batch.calls[position]
    with (
        start_span(observer, ObservedToolCall, call, batch.tools.get(call.name), batch.request) as span,
        span.current(),
    ):
        flow = answer_call(call, batch, span)
        try:
            step = next(flow)
            while True:
                try:
                    if isinstance(step, LargeWork):
                        result = await run_in_worker_thread(step.run)
                    else:
                        record.start(position)
                        result = await _ainvoke(step)
                except Exception as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration as stop:
            message: ToolMessage = stop.value
            span.result = message
            record.finish(position, message)
            return message
        finally:
            flow.close()


async def _ainvoke(invocation: Invocation) -> ToolResult:
    import anyio

    given = None
    if not invocation.tool.awaits:
        # The result is converted in the worker thread too: a large result must not block the event loop.
        result = await run_in_worker_thread(invocation.begin, timeout_seconds=invocation.tool.timeout)
        if isinstance(result, tuple):
            return result
        given = result
    with anyio.move_on_after(invocation.tool.timeout):
        return await invocation.arun(given)
    raise TookTooLongError


async def arun_batch(
    batch: RunTools, observer: Observer | None = None, record: BatchRecord | None = None
) -> ToolBatchResult:
    """Execute a batch with tasks. Sync tools run in worker threads with a copy of the context variables."""
    import anyio

    record = record or TurnRecord().begin_batch(batch.calls)
    lanes = _group_into_lanes(batch)
    outcomes: dict[int, _Outcome] = {}
    stop: list[BaseException] = []

    async def work(lane: list[int], scope: anyio.CancelScope) -> None:
        for position in lane:
            try:
                outcomes[position] = await _arun_call(position, batch, observer, record)
            except Exception as error:
                record.fail(position)
                outcomes[position] = error
            except BaseException as error:  # such as SystemExit, or the cancellation of a tool: the turn ends
                stop.append(error)
                if isinstance(error, anyio.get_cancelled_exc_class()):
                    raise
                scope.cancel()
                return

    async with anyio.create_task_group() as group:
        for lane in lanes[1:]:
            group.start_soon(work, lane, group.cancel_scope)
        if lanes:
            await work(lanes[0], group.cancel_scope)
    if stop:
        raise stop[0]
    return _collect(batch, outcomes)
