"""One background event loop for all MCP servers, so that their tools work from any thread and any driver.

An MCP session belongs to the event loop and the task that opened it. Tools are called from plain threads, from
short-lived loops (`asyncio.run`) and from long-lived ones. So all sessions live on one loop in one daemon thread. The
thread is reference-counted: every open connection and every running operation holds it. The first holder starts the
thread and the last one stops it.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from ....tools.threads.waiting import await_future
from .exit_code import ProcessRecorder

__all__ = ["LoopThread", "arun", "hold", "release", "run", "start"]

T = TypeVar("T")

# The SDK gives a server two seconds to exit and two more after SIGTERM. Then the program exits anyway.
_EXIT_TIMEOUT_SECONDS = 10.0
_KILL_TIMEOUT_SECONDS = 5.0


class LoopThread:
    """A daemon thread that runs one event loop until `stop`.

    At the stop, the tasks on its loop are cancelled and awaited. Unfinished futures are cancelled, so no caller waits
    forever.
    """

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.finished: Future[None] = Future()
        self.finished.set_running_or_notify_cancel()  # a waiter can no longer cancel it
        self._pending: set[Future[Any]] = set()
        self._stopped = False
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self.thread = threading.Thread(target=self._run, args=(started,), name="toolsearch-mcp", daemon=True)
        self.thread.start()
        self.loop, self._stop = started.result()

    def _run(self, started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
        async def serve() -> None:
            stop = asyncio.Event()
            loop = asyncio.get_running_loop()
            processes = ProcessRecorder()
            processes.install(loop)
            started.set_result((loop, stop))
            await stop.wait()
            await processes.close(_KILL_TIMEOUT_SECONDS)

        try:
            asyncio.run(serve())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)
        finally:
            self._stopped = True
            for future in list(self._pending):
                future.cancel()
            self.finished.set_result(None)

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Run `work` on the loop in a copy of the caller's context; cancelling the future cancels the work."""
        coroutine = _on_asyncio(work)
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        except RuntimeError:  # the loop is closed because the interpreter exits
            coroutine.close()
            raise
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        if self._stopped:
            future.cancel()
        return future

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run `callback` on the loop soon, without waiting or locking; safe in finalizers."""
        try:
            self.loop.call_soon_threadsafe(callback)
        except RuntimeError:
            return  # the loop is closed and its tasks were cancelled

    def stop(self) -> None:
        """Ask the loop to end; it cancels and awaits its tasks."""
        self.call_soon(self._stop.set)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end of the thread; in the thread itself, return at once."""
        if threading.current_thread() is not self.thread:
            self.thread.join(timeout)


async def _on_asyncio(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None:  # the copied context of a caller on trio names trio
        sniffio.current_async_library_cvar.set("asyncio")
    return await work()


class _Shared:
    """The process's loop thread and the number of its holders."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread: LoopThread | None = None
        self.holders = 0
        self.hooked = False

    def forget(self) -> None:
        """Reset the state in a forked child, which has no such thread and may have inherited a locked lock."""
        self.lock = threading.Lock()
        self.thread = None
        self.holders = 0

    def stop_at_exit(self) -> None:
        thread = self.thread
        if thread is not None:
            thread.stop()
            thread.join(_EXIT_TIMEOUT_SECONDS)


_shared = _Shared()


def hold() -> LoopThread:
    """Return the loop thread, started if needed; it runs until every `hold` was followed by a `release`."""
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
    """Release a thread returned by `hold`; return whether this was the last holder, so the thread ends."""
    with _shared.lock:
        if _shared.thread is not thread:
            return False  # inherited by a forked child
        _shared.holders -= 1
        if _shared.holders:
            return False
        _shared.thread = None
    thread.stop()
    return True


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run `work` on the background loop and wait for its result; an interrupt cancels it."""
    thread = hold()
    try:
        if threading.current_thread() is thread.thread:
            raise RuntimeError("a blocking MCP call on the background event loop would wait forever")
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
    """Run `work` on the background loop without waiting; its exceptions are lost, so it must not raise."""
    thread = hold()
    try:
        thread.submit(work).add_done_callback(lambda _: release(thread))
    except BaseException:
        release(thread)
        raise


async def arun(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run `work` on the background loop and await its result in asyncio or trio; cancelling cancels it."""
    import anyio

    thread = hold()
    try:
        return await await_future(thread.submit(work))
    finally:
        if release(thread):
            with anyio.CancelScope(shield=True):
                await await_future(thread.finished)
            thread.join()
