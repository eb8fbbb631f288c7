"""Execution of a batch of tool calls, with threads or with tasks.

Calls that must not overlap share a *lane*. Lanes run concurrently. The module `call` handles a single call.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ...chat.turn_record import BatchRecord, TurnRecord
from ...errors import TookTooLongError
from ...messages import ToolMessage
from ...observability.observer import ObservedToolCall, Observer, start_span
from ...tools.threads import ToolThreads, run_in_worker_thread, run_library_work
from ...tools.threads.running import run_in_slot_blocking
from ...tools.threads.tenants import acting_for, current_tenant
from ...tools.threads.tool_threads import DEFAULT_THREADS
from ..effects import RunTools, ToolBatchResult
from .call import Invocation, LargeWork, ToolResult, answer_call
from .lanes import Lane, run_lanes

__all__ = ["arun_batch", "run_batch"]


def _group_into_lanes(batch: RunTools) -> list[Lane]:
    """Return the positions of calls in groups, each of which runs in call order.

    Tools with ``concurrent=False`` share one group for each source.
    """
    lanes: list[Lane] = []
    by_source: dict[str | None, Lane] = {}
    for position, call in enumerate(batch.calls):
        if position in batch.answers:
            continue
        tool = batch.tools.get(call.name)
        if tool is not None and not tool.concurrent and tool.source in by_source:
            by_source[tool.source].positions.append(position)
            continue
        lane = Lane([position], tool.thread_source if tool is not None else None)
        lanes.append(lane)
        if tool is not None and not tool.concurrent:
            by_source[tool.source] = lane
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


def _run_call(
    position: int, batch: RunTools, observer: Observer | None, record: BatchRecord, threads: ToolThreads
) -> ToolMessage:
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
                        result = _invoke(step, threads)
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


def _invoke(invocation: Invocation, threads: ToolThreads) -> ToolResult:
    tool = invocation.tool
    if tool.timeout is None or tool.is_async:
        return invocation.run()
    # In another thread, so that it can be given up.
    return run_in_slot_blocking(
        threads.slots,
        invocation.run,
        tenant=current_tenant(),
        source=tool.thread_source,
        timeout_seconds=tool.timeout,
    )


def run_batch(
    batch: RunTools,
    observer: Observer | None = None,
    record: BatchRecord | None = None,
    threads: ToolThreads | None = None,
) -> ToolBatchResult:
    """Execute a batch with threads. The first lane, and so a single call, runs on the caller's thread.

    The other lanes run in threads as far as there are free ones for the tenant, and otherwise on the caller's thread
    too, so a batch never waits for a thread. Async tools run on the background event loop.
    """
    threads = threads or DEFAULT_THREADS
    record = record or TurnRecord().begin_batch(batch.calls)
    outcomes: dict[int, _Outcome] = {}

    def run(lane: Lane, stopped: Callable[[], bool]) -> None:
        for position in lane.positions:
            if stopped():
                return
            try:
                outcomes[position] = _run_call(position, batch, observer, record, threads)
            except Exception as error:
                record.fail(position)
                outcomes[position] = error

    with acting_for(batch.request.tenant_id):
        run_lanes(_group_into_lanes(batch), run, threads.slots, current_tenant())
    return _collect(batch, outcomes)


async def _arun_call(
    position: int, batch: RunTools, observer: Observer | None, record: BatchRecord, threads: ToolThreads
) -> ToolMessage:
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
                        result = await run_library_work(step.run)
                    else:
                        record.start(position)
                        result = await _ainvoke(step, threads)
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


async def _ainvoke(invocation: Invocation, threads: ToolThreads) -> ToolResult:
    import anyio

    given = None
    if not invocation.tool.awaits:
        # The result is converted in the worker thread too: a large result must not block the event loop.
        result = await run_in_worker_thread(
            invocation.begin,
            timeout_seconds=invocation.tool.timeout,
            threads=threads,
            source=invocation.tool.thread_source,
        )
        if isinstance(result, tuple):
            return result
        given = result
    with anyio.move_on_after(invocation.tool.timeout):
        return await invocation.arun(given)
    raise TookTooLongError


async def arun_batch(
    batch: RunTools,
    observer: Observer | None = None,
    record: BatchRecord | None = None,
    threads: ToolThreads | None = None,
    *,
    tenant: Hashable | None = None,
) -> ToolBatchResult:
    """Execute a batch with tasks. Sync tools run in worker threads with a copy of the context variables.

    Args:
        batch: The calls.
        observer: Receives each call.
        record: Records which tools ran.
        threads: The threads of sync tools; by default those of the process.
        tenant: The tenant whose share of the threads is used; by default that of the request.
    """
    import anyio

    threads = threads or DEFAULT_THREADS
    record = record or TurnRecord().begin_batch(batch.calls)
    lanes = _group_into_lanes(batch)
    outcomes: dict[int, _Outcome] = {}
    stop: list[BaseException] = []

    async def work(lane: Lane, scope: anyio.CancelScope) -> None:
        for position in lane.positions:
            try:
                outcomes[position] = await _arun_call(position, batch, observer, record, threads)
            except Exception as error:
                record.fail(position)
                outcomes[position] = error
            except BaseException as error:  # such as SystemExit, or the cancellation of a tool: the turn ends
                stop.append(error)
                if isinstance(error, anyio.get_cancelled_exc_class()):
                    raise
                scope.cancel()
                return

    with acting_for(tenant or batch.request.tenant_id):
        async with anyio.create_task_group() as group:
            for lane in lanes[1:]:
                group.start_soon(work, lane, group.cancel_scope)
            if lanes:
                await work(lanes[0], group.cancel_scope)
    if stop:
        raise stop[0]
    return _collect(batch, outcomes)
