"""Exit codes of server processes, for the message that a server stopped.

The SDK starts the processes and keeps them to itself, so the background loop records each process that it starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
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
        self._code: int | None = None

    @contextmanager
    def capture(self) -> Iterator[None]:
        """Take the next process that the current task starts."""
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
                exit_code._process = process
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
            process.close()
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
        starting.result()[0].close()
