"""Waiting for the future of another thread on asyncio or trio."""

from __future__ import annotations

import sys
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

__all__ = ["await_future", "on_asyncio"]

T = TypeVar("T")


def on_asyncio() -> bool:
    """Return whether asyncio runs in this thread; otherwise it is trio."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def await_future(future: Future[T]) -> T:
    """Await a future of another thread on asyncio or trio. Cancelling the wait cancels the future."""
    if on_asyncio():
        import asyncio

        return await asyncio.wrap_future(future)
    return await _await_on_trio(future)


async def _await_on_trio(future: Future[T]) -> T:
    import trio

    token = trio.lowlevel.current_trio_token()
    done = trio.Event()

    def wake(_: Future[T]) -> None:
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(done.set)

    future.add_done_callback(wake)
    try:
        await done.wait()
    except BaseException:
        future.cancel()
        raise
    return future.result()
