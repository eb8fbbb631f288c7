"""Blocking work beside an event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import TookTooLongError

__all__ = ["in_worker_thread"]

T = TypeVar("T")


async def in_worker_thread(work: Callable[[], T], *, seconds: float | None = None) -> T:
    """Run `work` in a thread with the context variables copied; the event loop, asyncio's or trio's, stays free.

    Cancelling leaves the work behind, as a thread cannot be stopped.

    Args:
        work: what to run; it may return an awaitable, for the caller to await.
        seconds: how long it may take, from the moment a thread is free for it.

    Raises:
        TookTooLongError: when the work took longer.
    """
    import anyio
    from anyio.to_thread import current_default_thread_limiter, run_sync

    # The limit on threads is waited for out here, so that the time does not begin before the work does. The result is
    # boxed, as trio takes a returned coroutine for a mistake.
    async with current_default_thread_limiter():
        with anyio.move_on_after(seconds):
            (result,) = await run_sync(lambda: (work(),), abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
            return result
    raise TookTooLongError
