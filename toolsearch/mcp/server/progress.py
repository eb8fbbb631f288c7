"""Progress reports of served tools, from the event loop or a worker thread."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import TypeAlias

__all__ = ["SendProgress", "progress_to", "report_progress"]

SendProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
_Report: TypeAlias = tuple[float, float | None, str | None]
_MAX_PENDING_REPORTS = 1000
_report: ContextVar[Callable[[_Report], None] | None] = ContextVar("toolsearch_mcp_progress", default=None)


def report_progress(progress: float, total: float | None = None, message: str | None = None) -> None:
    """Report the progress of a tool call to the MCP client that made it.

    Does nothing outside a call of a served tool, or if the client did not ask for progress. Works in sync and async
    tools, and never waits for the client.

    Args:
        progress: The progress so far, in any unit; it must grow with each report.
        total: The final value of `progress`, if known.
        message: A description of the current step.

    Example:
        >>> report_progress(1, 3, "reading")
    """
    report = _report.get()
    if report is not None:
        report((progress, total, message))


@asynccontextmanager
async def progress_to(send: SendProgress) -> AsyncIterator[None]:
    """Pass the reports of this context to `send` until the end of the block; the exit waits until all are sent."""
    import anyio
    from anyio.from_thread import run_sync
    from anyio.lowlevel import current_token

    reports, received = anyio.create_memory_object_stream[_Report](_MAX_PENDING_REPORTS)
    token, thread = current_token(), threading.get_ident()

    def report(entry: _Report) -> None:
        # A report after the end of the call, or to a client that does not read, is dropped without an error.
        with suppress(anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError, RuntimeError):
            if threading.get_ident() == thread:
                reports.send_nowait(entry)
            else:
                run_sync(reports.send_nowait, entry, token=token)

    async def forward() -> None:
        async with received:
            async for entry in received:
                await send(*entry)

    async with anyio.create_task_group() as group:
        group.start_soon(forward)
        reset = _report.set(report)
        try:
            yield
        finally:
            _report.reset(reset)
            reports.close()
