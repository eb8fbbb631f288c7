"""How far a served tool has come, told from wherever it runs."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import TypeAlias

__all__ = ["SendProgress", "progress_to", "report_progress"]

SendProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
_Step: TypeAlias = tuple[float, float | None, str | None]
_report: ContextVar[Callable[[_Step], None] | None] = ContextVar("toolsearch_mcp_progress", default=None)


def report_progress(progress: float, total: float | None = None, message: str | None = None) -> None:
    """Tell the client of a served tool's call how far it has come; elsewhere, and if it did not ask, nothing happens.

    Works in sync tools, which run in a thread, as in async ones, and never waits for the client.

    Args:
        progress: more than what was told before.
        total: what it will be at the end, if that is known.
        message: what is being done.

    Example:
        >>> report_progress(1, 3, "reading")
    """
    report = _report.get()
    if report is not None:
        report((progress, total, message))


@asynccontextmanager
async def progress_to(send: SendProgress) -> AsyncIterator[None]:
    """While it is open, pass what `report_progress` is told in this context to `send`; at the end all has been sent."""
    import anyio
    from anyio.from_thread import run_sync
    from anyio.lowlevel import current_token

    steps, received = anyio.create_memory_object_stream[_Step](1000)
    token, thread = current_token(), threading.get_ident()

    def report(step: _Step) -> None:
        # A tool that outlives its call, or a client that does not read: progress is not worth an error.
        with suppress(anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError, RuntimeError):
            if threading.get_ident() == thread:
                steps.send_nowait(step)
            else:
                run_sync(steps.send_nowait, step, token=token)

    async def forward() -> None:
        async with received:
            async for step in received:
                await send(*step)

    async with anyio.create_task_group() as group:
        group.start_soon(forward)
        reset = _report.set(report)
        try:
            yield
        finally:
            _report.reset(reset)
            steps.close()
