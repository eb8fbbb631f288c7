"""Exit codes of server processes, for the message that a server ended with exit code N.

The SDK starts the processes and keeps them to itself, so the background loop records each process that it starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

__all__ = ["ExitCode", "record_processes"]

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
        """Return a clause that the model may read; empty if the code is unknown."""
        if self._code is None:
            return ""
        return f"it was killed (signal {-self._code})" if self._code < 0 else f"it ended with exit code {self._code}"


def record_processes(loop: asyncio.AbstractEventLoop) -> None:
    """Make `ExitCode` work on `loop`; on a loop that does not allow it, exit codes stay unknown."""
    start = loop.subprocess_exec

    async def subprocess_exec(*args: Any, **kwargs: Any) -> Any:
        process, protocol = await start(*args, **kwargs)
        if (exit_code := _current.get()) is not None:
            exit_code._process = process
        return process, protocol

    with suppress(AttributeError):
        setattr(loop, "subprocess_exec", subprocess_exec)  # noqa: B010
