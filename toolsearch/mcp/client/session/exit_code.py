"""Server processes: their exit codes, for the message that a server stopped, and the end of what they started.

The SDK starts the processes and keeps them to itself, so the background loop records each process that it starts.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

__all__ = ["ExitCode", "ProcessRecorder"]

_POLL_SECONDS = 0.01

_current: ContextVar[ExitCode | None] = ContextVar("toolsearch_mcp_exit_code", default=None)


class ExitCode:
    """The exit code of the process that is started within `capture`."""

    def __init__(self) -> None:
        self._process: asyncio.SubprocessTransport | None = None
        self._on_output: Callable[[asyncio.StreamReader], object] = lambda _: None
        self._group: int | None = None
        self._code: int | None = None

    @contextmanager
    def capture(self, on_output: Callable[[asyncio.StreamReader], object]) -> Iterator[None]:
        """Take the next process that the current task starts, and pass its output to `on_output` before it is read."""
        self._on_output = on_output
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    async def settle(self, seconds: float) -> None:
        """Wait at most `seconds` for the process to end by itself; a later kill by the SDK does not count."""
        process = self._process
        if process is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                # Awaiting the process would also wait for its children that inherited the pipes.
                while process.get_returncode() is None:  # noqa: ASYNC110
                    await asyncio.sleep(_POLL_SECONDS)
        self._code = process.get_returncode()

    async def end_group(self, seconds: float) -> None:
        """End what the process left behind: processes that it started and that did not leave its group."""
        group, self._group = self._group, None
        if group is None or not _signal_group(group, signal.SIGTERM):
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while _signal_group(group, 0):  # noqa: ASYNC110
                    await asyncio.sleep(_POLL_SECONDS)
            return
        _signal_group(group, signal.SIGKILL)

    def _started(self, process: asyncio.SubprocessTransport, protocol: Any) -> None:
        self._process = process
        self._group = _group_of(process)
        if isinstance(output := getattr(protocol, "stdout", None), asyncio.StreamReader):
            self._on_output(output)

    def __str__(self) -> str:
        """Return a phrase that the model may read; empty if the code is unknown."""
        if self._code is None:
            return ""
        return f"killed by signal {-self._code}" if self._code < 0 else f"exit code {self._code}"


class ProcessRecorder:
    """The server processes that a loop starts: it records their exit codes, and ends them with the loop.

    A start that is cancelled halfway goes on in the background, and its process is closed then. asyncio alone would
    leave the pipes open that it connects after the cancellation, and the process without a parent that waits for it.
    """

    def __init__(self) -> None:
        self._starting: set[asyncio.Future[Any]] = set()
        self._processes: WeakSet[asyncio.SubprocessTransport] = WeakSet()

    def install(self, loop: asyncio.AbstractEventLoop) -> None:
        """Record what `loop` starts. On a loop that does not allow it, exit codes stay unknown."""
        start = loop.subprocess_exec

        async def subprocess_exec(*args: Any, **kwargs: Any) -> Any:
            starting = asyncio.ensure_future(start(*args, **kwargs))
            self._starting.add(starting)
            starting.add_done_callback(self._started)
            try:
                process, protocol = await asyncio.shield(starting)
            except asyncio.CancelledError:
                starting.add_done_callback(_close_started)
                raise
            if (exit_code := _current.get()) is not None:
                exit_code._started(process, protocol)
            return process, protocol

        with suppress(AttributeError):
            setattr(loop, "subprocess_exec", subprocess_exec)  # noqa: B010

    async def close(self, seconds: float) -> None:
        """Cancel the other tasks of the loop, then end its processes and wait at most `seconds` for their exit."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()} - self._starting
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *self._starting, return_exceptions=True)
        for process in self._processes:
            _kill(process)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(process.get_returncode() is None for process in self._processes):  # noqa: ASYNC110
                    await asyncio.sleep(_POLL_SECONDS)

    def _started(self, starting: asyncio.Future[Any]) -> None:
        self._starting.discard(starting)
        if not starting.cancelled() and starting.exception() is None:
            self._processes.add(starting.result()[0])


def _close_started(starting: asyncio.Future[Any]) -> None:
    if not starting.cancelled() and starting.exception() is None:
        _kill(starting.result()[0])


def _kill(process: asyncio.SubprocessTransport) -> None:
    group = _group_of(process) if process.get_returncode() is None else None
    if group is not None:
        _signal_group(group, signal.SIGKILL)
    process.close()


def _group_of(process: asyncio.SubprocessTransport) -> int | None:
    """Return the process group that the SDK started for a process; None if it is in another one, such as our own."""
    pid = process.get_pid()
    with suppress(AttributeError, OSError):  # Windows, or it ended already
        if os.getpgid(pid) == pid:
            return pid
    return None


def _signal_group(group: int, number: int) -> bool:
    """Send a signal to a process group; return whether there is one."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return number == 0
    return True
