"""One background event loop for all MCP servers, so that their tools work from any thread and any driver.

An MCP session belongs to the event loop and the task that opened it, while tools are called from plain threads, from
short-lived loops (`asyncio.run`) and from long-lived ones. So all sessions live on one loop in one daemon thread. The
thread is counted, not configured: every open connection and every operation under way holds it, the first one starts
it and the last one ends it.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from .exit_code import keep_exit_codes

__all__ = ["LoopThread", "arun", "hold", "release", "run", "start"]

T = TypeVar("T")

# A server gets two seconds to leave by itself and two more to heed SIGTERM; past that the exit of the program goes on.
_EXIT_GRACE = 10.0


class LoopThread:
    """A daemon thread that runs one event loop until it is asked to stop.

    When it stops, the tasks still on its loop are cancelled and awaited, and futures nobody will complete any more are
    cancelled, so that no caller waits for ever.
    """

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.finished: Future[None] = Future()
        self.finished.set_running_or_notify_cancel()  # from here on a waiter's cancellation cannot reach it
        self._pending: set[Future[Any]] = set()
        self._over = False
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self.thread = threading.Thread(target=self._run, args=(started,), name="toolsearch-mcp", daemon=True)
        self.thread.start()
        self.loop, self._stop = started.result()

    def _run(self, started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
        async def serve() -> None:
            stop = asyncio.Event()
            loop = asyncio.get_running_loop()
            keep_exit_codes(loop)
            started.set_result((loop, stop))
            await stop.wait()

        try:
            asyncio.run(serve())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)
        finally:
            self._over = True
            for future in list(self._pending):
                future.cancel()
            self.finished.set_result(None)

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Run `work` on the loop, in a copy of the caller's context; cancelling the future cancels it there."""
        coroutine = _on_asyncio(work)
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        except RuntimeError:  # the loop is closed: the interpreter is on its way out
            coroutine.close()
            raise
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        if self._over:
            future.cancel()
        return future

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run `callback` on the loop soon. Takes no lock and never waits, so a finalizer may call it."""
        try:
            self.loop.call_soon_threadsafe(callback)
        except RuntimeError:
            return  # closed: whatever it was, its task has been cancelled already

    def stop(self) -> None:
        """Ask the loop to end; it cancels and awaits what still runs on it."""
        self.call_soon(self._stop.set)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end, unless this is the thread itself."""
        if threading.current_thread() is not self.thread:
            self.thread.join(timeout)


async def _on_asyncio(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None:  # the caller's context, which this is a copy of, may say that trio is running
        sniffio.current_async_library_cvar.set("asyncio")
    return await work()


class _Shared:
    """The process's loop thread and the number of those who need it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread: LoopThread | None = None
        self.holders = 0
        self.hooked = False

    def forget(self) -> None:
        """In a forked child the thread does not exist, and the lock may have been held by one that does not either."""
        self.lock = threading.Lock()
        self.thread = None
        self.holders = 0

    def stop_at_exit(self) -> None:
        thread = self.thread
        if thread is not None:
            thread.stop()
            thread.join(_EXIT_GRACE)


_shared = _Shared()


def hold() -> LoopThread:
    """The running loop thread, started if need be, and kept until `release` is called as often as this was."""
    with _shared.lock:
        if not _shared.hooked:
            atexit.register(_shared.stop_at_exit)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=_shared.forget)
            _shared.hooked = True
        if _shared.thread is None:
            _shared.thread = LoopThread()
        _shared.holders += 1
        return _shared.thread


def release(thread: LoopThread) -> bool:
    """Give back what `hold` returned; True when it was the last holder and the thread is now ending."""
    with _shared.lock:
        if _shared.thread is not thread:
            return False  # a forked child's copy
        _shared.holders -= 1
        if _shared.holders:
            return False
        _shared.thread = None
    thread.stop()
    return True


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run `work` on the background loop and block until it is done; an interrupt cancels it."""
    thread = hold()
    try:
        if threading.current_thread() is thread.thread:
            raise RuntimeError("a blocking MCP call from the background event loop itself would wait for ever")
        future = thread.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise
    finally:
        if release(thread):
            thread.join()


def start(work: Callable[[], Coroutine[Any, Any, T]]) -> None:
    """Run `work` on the background loop without waiting for it; it must not raise, as nobody would know."""
    thread = hold()
    try:
        thread.submit(work).add_done_callback(lambda _: release(thread))
    except BaseException:
        release(thread)
        raise


async def arun(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run `work` on the background loop and await it from asyncio or trio; cancelling cancels it there."""
    import anyio

    thread = hold()
    try:
        return await _completed(thread.submit(work))
    finally:
        if release(thread):
            with anyio.CancelScope(shield=True):
                await _completed(thread.finished)
            thread.join()


async def _completed(future: Future[T]) -> T:
    """Await a future of another thread on the running loop, whichever library's it is."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return await _completed_on_trio(future)
    return await asyncio.wrap_future(future)


async def _completed_on_trio(future: Future[T]) -> T:
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
