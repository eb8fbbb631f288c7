"""Background event loop on which sync code runs async tools.

The loop runs in one daemon thread, which starts with the first async tool that sync code runs. It lives as long as the
process, so a connection that a tool opened in one call can be used in the next. What belongs to another event loop,
such as the application's own, cannot be used on it.
"""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import TookTooLongError
from ..shared import new_lock, reset_in_child

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

__all__ = ["run_coroutine"]

T = TypeVar("T")

_EXIT_TIMEOUT_SECONDS = 1.0
_CLEANUP_TIMEOUT_SECONDS = 0.5


class _LoopThread:
    def __init__(self) -> None:
        import asyncio

        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="toolsearch-async-tools", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Stop the loop after the cleanup of cancelled tools, or after a second at most."""
        self.loop.call_soon_threadsafe(self._begin_stop)
        self.thread.join(_EXIT_TIMEOUT_SECONDS)
        if not self.thread.is_alive():
            self.loop.close()

    def _begin_stop(self) -> None:
        self._stopping = self.loop.create_task(self._stop_after_cleanup())  # the loop holds tasks only weakly

    async def _stop_after_cleanup(self) -> None:
        import asyncio

        cancelled = [task for task in asyncio.all_tasks() if task.cancelling()]
        if cancelled:
            await asyncio.wait(cancelled, timeout=_CLEANUP_TIMEOUT_SECONDS)
        self.loop.stop()


class _Shared:
    """The process's loop thread, if it was started."""

    def __init__(self) -> None:
        self.lock = new_lock()
        self.thread: _LoopThread | None = None

    def get(self) -> _LoopThread:
        with self.lock:
            if self.thread is None:
                self.thread = _LoopThread()
                atexit.register(self.thread.stop)
            return self.thread

    def reset_after_fork(self) -> None:
        """Forget the thread in a forked child, which does not have it."""
        if self.thread is not None:
            atexit.unregister(self.thread.stop)
        self.thread = None


_shared = _Shared()
reset_in_child(_shared)


def run_coroutine(work: Callable[[], Coroutine[Any, Any, T]], *, timeout_seconds: float | None = None) -> T:
    """Run `work` on the background event loop in a copy of the context variables, and wait for its result.

    In the loop's own thread, which must not wait for itself, `work` runs on a loop of its own in another thread.

    Args:
        work: The coroutine function to run.
        timeout_seconds: How long it may take. It is cancelled after that.

    Raises:
        TookTooLongError: If the work takes longer, also if it blocks the loop.

    Example:
        >>> async def answer():
        ...     return 42
        >>> run_coroutine(answer)
        42
    """
    shared = _shared.get()
    own = shared if threading.current_thread() is not shared.thread else _LoopThread()
    try:
        return _run(work, own.loop, timeout_seconds)
    finally:
        if own is not shared:
            own.stop()


def _run(
    work: Callable[[], Coroutine[Any, Any, T]], loop: asyncio.AbstractEventLoop, timeout_seconds: float | None
) -> T:
    import asyncio
    from concurrent.futures import wait

    future: Future[tuple[T, None] | tuple[None, BaseException]] = asyncio.run_coroutine_threadsafe(_guard(work), loop)
    try:
        if future in wait([future], timeout_seconds).not_done:
            raise TookTooLongError(f"not finished within {timeout_seconds:g} seconds")
    except BaseException:  # Ctrl-C too
        future.cancel()
        raise
    result, stop = future.result()
    if stop is not None:
        raise stop
    return result  # type: ignore[return-value]  # None is a result here


async def _guard(work: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, None] | tuple[None, BaseException]:
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None:  # the copied context of a caller on trio names trio
        sniffio.current_async_library_cvar.set("asyncio")
    try:
        return await work(), None
    except (KeyboardInterrupt, SystemExit) as error:  # they would end the loop
        return None, error
