"""Functions in worker threads: for an event loop, for a thread that waits a limited time, and in the background."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import AsyncIterator, Callable, Hashable
from concurrent.futures import Future
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ...errors import TookTooLongError
from .slots import FairSlots, Slot, current_slot
from .waiting import await_future, on_asyncio
from .workers import start_in_thread

if TYPE_CHECKING:
    import anyio

__all__ = ["hold_slot", "run_in_slot", "run_in_slot_blocking", "start_in_slot", "wait_for_slot"]

T = TypeVar("T")


async def wait_for_slot(slots: FairSlots, tenant: Hashable, source: Hashable | None = None) -> Slot:
    """Wait for a slot. If the wait is cancelled, nothing is held.

    Raises:
        NoFreeThreadError: If it would never come.
    """
    settled: Future[None] = Future()
    settled.set_running_or_notify_cancel()  # so that nobody can cancel it, and `set_result` cannot fail
    slot = slots.request(tenant, source, lambda: settled.set_result(None))
    if not slot.settled:
        try:
            await await_future(settled)
        except BaseException:
            slot.abandon()
            raise
    slot.raise_if_refused()
    return slot


@asynccontextmanager
async def hold_slot(slots: FairSlots, tenant: Hashable, source: Hashable | None = None) -> AsyncIterator[None]:
    """Hold a slot until the end of the block. Waiting for it can be cancelled."""
    slot = await wait_for_slot(slots, tenant, source)
    try:
        yield
    finally:
        slot.release()


async def run_in_slot(
    slots: FairSlots,
    work: Callable[[], T],
    *,
    tenant: Hashable,
    source: Hashable | None = None,
    timeout_seconds: float | None = None,
) -> T:
    """Run `work` in a thread with a copy of the context variables, on asyncio or trio.

    Cancelling abandons the work: a thread cannot be stopped. It keeps its slot until it ends.

    Raises:
        TookTooLongError: If the work takes longer than `timeout_seconds`, counted from the start of its thread.
        NoFreeThreadError: If no slot can become free.
    """
    import anyio
    from anyio.lowlevel import checkpoint_if_cancelled

    await checkpoint_if_cancelled()
    slot = await wait_for_slot(slots, tenant, source)
    with anyio.move_on_after(timeout_seconds) as scope:
        try:
            if on_asyncio():
                return await _run_on_asyncio(slot, work, scope)
            return await _run_on_trio(slot, work)
        except BaseException:
            slot.abandon()  # does nothing if the work has ended
            raise
    raise TookTooLongError(f"not finished within {timeout_seconds:g} seconds")


def run_in_slot_blocking(
    slots: FairSlots, work: Callable[[], T], *, tenant: Hashable, source: Hashable | None, timeout_seconds: float
) -> T:
    """Run `work` in a thread, and wait for it in this thread at most `timeout_seconds`; see `run_in_slot`."""
    settled = threading.Event()
    slot = slots.request(tenant, source, settled.set)
    ended: Future[tuple[Any, BaseException | None]] = Future()
    try:
        if not slot.settled:
            settled.wait()
        slot.raise_if_refused()
        start_in_slot(slot, work, contextvars.copy_context(), ended)
        try:
            outcome = ended.result(timeout_seconds)
        except TimeoutError:
            raise TookTooLongError(f"not finished within {timeout_seconds:g} seconds") from None
        return cast("T", _value(outcome))
    except BaseException:  # also Ctrl-C while waiting
        slot.abandon()
        raise


def start_in_slot(
    slot: Slot,
    work: Callable[[], object],
    context: contextvars.Context,
    ended: Future[tuple[Any, BaseException | None]] | None = None,
    claim: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Start `work` in a thread that holds a slot, and give the slot back when it ends.

    Args:
        slot: A slot that is held.
        work: The work. Its exceptions go to `ended` only.
        context: The context variables of the work.
        ended: Receives the result and the exception. Both are a result, because a future refuses some exceptions.
        claim: Makes a context manager around the work, in its thread.
    """
    context.run(current_slot.set, slot)
    if ended is not None:
        ended.set_running_or_notify_cancel()  # so that nobody can cancel it

    def job() -> None:
        outcome: tuple[Any, BaseException | None] = (None, None)
        try:
            if slot.begin():
                with claim():
                    outcome = (context.run(work), None)
        except BaseException as error:
            outcome = (None, error)
        slot.release()
        if ended is not None:
            ended.set_result(outcome)

    try:
        start_in_thread(job)
    except BaseException:  # the system has no more threads
        slot.release()
        raise


def _value(outcome: tuple[Any, BaseException | None]) -> Any:
    value, error = outcome
    if error is None:
        return value
    try:
        raise error
    finally:
        del error, outcome  # the traceback refers to this frame


async def _run_on_asyncio(slot: Slot, work: Callable[[], T], scope: anyio.CancelScope) -> T:
    ended: Future[tuple[Any, BaseException | None]] = Future()
    context = contextvars.copy_context()
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None:  # no event loop runs in the thread
        context.run(sniffio.current_async_library_cvar.set, None)
    start_in_slot(slot, work, context, ended, _claim(scope))
    return cast("T", _value(await await_future(ended)))


def _claim(scope: anyio.CancelScope) -> Callable[[], AbstractContextManager[object]]:
    """Return what makes `anyio.from_thread` work in a thread that anyio did not start."""
    import asyncio

    try:  # anyio has no public way
        from anyio._core._eventloop import claim_worker_thread, get_async_backend, threadlocals

        backend = get_async_backend("asyncio")
    except (ImportError, AttributeError):
        return nullcontext
    loop = asyncio.get_running_loop()

    def claim() -> AbstractContextManager[object]:
        threadlocals.current_cancel_scope = scope
        return claim_worker_thread(backend, loop)

    return claim


async def _run_on_trio(slot: Slot, work: Callable[[], T]) -> T:
    # The threads of trio are daemons. They are used, so that `trio.from_thread` works in them.
    import anyio
    from anyio.to_thread import run_sync

    def job() -> tuple[Any, BaseException | None]:
        current_slot.set(slot)
        try:
            return (work() if slot.begin() else None), None
        except BaseException as error:
            return None, error
        finally:
            slot.release()

    # The result is a tuple, because trio rejects a function that returns a coroutine.
    outcome = await run_sync(job, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
    return cast("T", _value(outcome))
