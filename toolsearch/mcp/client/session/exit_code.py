"""How a child process ended, which the SDK keeps to itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

__all__ = ["ExitCode", "keep_exit_codes"]

_PAUSE = (
    0.01  # asyncio tells of an exit by `get_returncode` alone; `wait` would also wait for those who inherited pipes
)

_starting: ContextVar[ExitCode | None] = ContextVar("_starting", default=None)


class ExitCode:
    """The exit code of the process that is started within `noted`."""

    def __init__(self) -> None:
        self._process: asyncio.SubprocessTransport | None = None
        self._code: int | None = None

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Take note of the process that the current task starts meanwhile."""
        token = _starting.set(self)
        try:
            yield
        finally:
            _starting.reset(token)

    def _started(self, process: asyncio.SubprocessTransport) -> None:
        self._process = process

    async def settle(self, patience: float) -> None:
        """Wait until the process is gone, so that what ends it later, such as a kill of ours, does not count."""
        process = self._process
        if process is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while process.get_returncode() is None:  # noqa: ASYNC110
                    await asyncio.sleep(_PAUSE)
        self._code = process.get_returncode()

    def __str__(self) -> str:
        """What to say of it, in words for a model too; empty if it is not known."""
        if self._code is None:
            return ""
        return f"it was killed (signal {-self._code})" if self._code < 0 else f"it ended with exit code {self._code}"


def keep_exit_codes(loop: asyncio.AbstractEventLoop) -> None:
    """Let `ExitCode` work on a loop of ours: the SDK hands out the streams of the processes it starts, and no more."""
    start = loop.subprocess_exec

    async def subprocess_exec(*arguments: Any, **options: Any) -> Any:
        process, protocol = await start(*arguments, **options)
        noted = _starting.get()
        if noted is not None:
            noted._started(process)
        return process, protocol

    with suppress(AttributeError):  # a loop that cannot be extended; exit codes stay unknown
        setattr(loop, "subprocess_exec", subprocess_exec)  # noqa: B010
