"""`ToolThreads`: the threads of sync tools, and apart from them those of the library's own short work."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from ...errors import ConfigurationError
from .running import run_in_slot
from .slots import FairSlots
from .tenants import current_tenant

__all__ = ["DEFAULT_THREADS", "ToolThreads", "run_in_worker_thread", "run_library_work"]

T = TypeVar("T")

_MAX_LIBRARY_THREADS = 64


class ToolThreads:
    """The worker threads of sync tools, shared fairly between tenants and sources.

    Pass one object to several clients and servers to give them the same threads. By default, all of the process share
    one with these defaults. Async tools need no threads. Threads are daemons: a tool that never returns does not keep
    the program from ending. A call that waits for a thread can be cancelled, and its timeout does not count yet.

    A tool that is given up, after a timeout for example, keeps its thread until it returns. If such calls hold all
    threads of a tool or tenant, its next calls are answered with `NoFreeThreadError`.

    Args:
        max_threads: The largest number of tools that run in threads at once.
        per_tenant: The largest number for one tenant. None shares what is free: a tenant gets a thread while it has
            fewer than are free, and one in eight threads is kept for tenants that have none. So one busy tenant alone
            has 112 of 256 threads, and each of two has 74.
        per_source: The largest number for one source of a tenant: an MCP server, say, or a local function. None
            shares in the same way: one busy source alone has 75 of 256 threads.

    Raises:
        ConfigurationError: If a number is not an integer of at least 1.

    Example:
        >>> threads = ToolThreads(64, per_tenant=16)
        >>> threads.max_threads, threads.running, threads.waiting
        (64, 0, 0)
    """

    def __init__(self, max_threads: int = 256, *, per_tenant: int | None = None, per_source: int | None = None) -> None:
        for name, value in (("max_threads", max_threads), ("per_tenant", per_tenant), ("per_source", per_source)):
            optional = name != "max_threads"
            if (value is None and optional) or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
                continue
            kind = "an integer of at least 1, or None" if optional else "an integer of at least 1"
            raise ConfigurationError(f"{name} must be {kind}, got {value!r}")
        self.max_threads = max_threads
        self.per_tenant = per_tenant
        self.per_source = per_source
        self.slots = FairSlots(max_threads, per_tenant, per_source)

    @property
    def running(self) -> int:
        """The number of tools that run in threads now, also those that nobody waits for any more."""
        return self.slots.running

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a thread."""
        return self.slots.waiting

    def __repr__(self) -> str:
        return f"ToolThreads({self.max_threads}, per_tenant={self.per_tenant}, per_source={self.per_source})"


DEFAULT_THREADS = ToolThreads()
"""The threads of all clients and servers that are not given others."""

_library = FairSlots(_MAX_LIBRARY_THREADS)


async def run_in_worker_thread(
    work: Callable[[], T],
    *,
    timeout_seconds: float | None = None,
    threads: ToolThreads | None = None,
    tenant: Hashable | None = None,
    source: Hashable | None = None,
) -> T:
    """Run a sync tool in a thread with a copy of the context variables, on asyncio or trio.

    Cancelling abandons the work: a thread cannot be stopped.

    Args:
        work: The function to run. It may return an awaitable, which the caller has to await.
        timeout_seconds: How long it may take, counted from the start of its thread.
        threads: The threads; by default those of the process.
        tenant: The tenant that it runs for; by default the one that the caller works for.
        source: The source or name of the tool. None counts for the tenant only.

    Raises:
        TookTooLongError: If the work takes longer.
        NoFreeThreadError: If threads that were given up hold all that it could get.
    """
    return await run_in_slot(
        (threads or DEFAULT_THREADS).slots,
        work,
        tenant=current_tenant(tenant),
        source=source,
        timeout_seconds=timeout_seconds,
    )


async def run_library_work(work: Callable[[], T], *, tenant: Hashable | None = None) -> T:
    """Run short work of the library or of an advisor in a thread, as `run_in_worker_thread` does.

    Its threads are apart from those of tools, so slow tools do not delay it.

    Args:
        work: The function to run.
        tenant: The tenant that it runs for; by default the one that the caller works for.

    Raises:
        NoFreeThreadError: If threads that were given up hold all that it could get.
    """
    return await run_in_slot(_library, work, tenant=current_tenant(tenant))
