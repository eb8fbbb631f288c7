"""Worker threads for blocking functions beside an event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import TookTooLongError

__all__ = ["run_in_worker_thread"]

T = TypeVar("T")


async def run_in_worker_thread(work: Callable[[], T], *, timeout_seconds: float | None = None) -> T:
    """Run `work` in a thread with a copy of the context variables, on asyncio or trio.

    Cancelling abandons the work: a thread cannot be stopped.

    Args:
        work: The function to run. It may return an awaitable, which the caller has to await.
        timeout_seconds: How long it may take, counted from the moment a thread is free.

    Raises:
        TookTooLongError: If the work takes longer.
    """
    import anyio
    from anyio.to_thread import current_default_thread_limiter, run_sync

    # The limiter is awaited here, so that the timeout starts with the work. The result is wrapped in a tuple, because
    # trio rejects a function that returns a coroutine.
    async with current_default_thread_limiter():
        with anyio.move_on_after(timeout_seconds):
            (result,) = await run_sync(lambda: (work(),), abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
            return result
    raise TookTooLongError(f"not finished within {timeout_seconds:g} seconds")
