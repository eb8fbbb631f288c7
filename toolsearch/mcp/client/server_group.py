"""The servers of one provider: starts, restarts, tool lists and closing."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Sequence
from typing import TypeVar

from ...errors import ConfigurationError
from ..errors import McpServerError
from .session import background_loop as loop
from .session.connection import Connection

__all__ = ["ServerGroup"]

T = TypeVar("T")

# A turn that begins just after a change gets the new tools if they are listed within this time.
_RELIST_TIMEOUT_SECONDS = 1.0
_MANY_TOOLS = 500


class ServerGroup:
    """The connections of several servers. They end with `close` or when this object is garbage-collected.

    Args:
        connections: One connection for each server.
        must_start: Whether a server that does not start is an error that closes the others again.
        first_wait: The seconds that the first turn waits for all servers, unless all must start.
    """

    def __init__(self, connections: Sequence[Connection], *, must_start: bool, first_wait: float) -> None:
        self.connections = tuple(connections)
        self._must_start = must_start
        self._first_wait = first_wait
        self._connected = False
        self._closed = False
        self._lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        # Sessions hold their connections but not this object, so its collection ends them. At exit the loop thread
        # closes them and waits, which a finalizer must not do.
        weakref.finalize(self, _abandon, self.connections).atexit = False

    # ------------------------------------------------------------------ callable from any thread

    @property
    def settled(self) -> bool:
        """True if the servers were started and none reported a change since its tools were listed."""
        return self._connected and not self._closed and not any(connection.due for connection in self.connections)

    @property
    def listings(self) -> tuple[int, ...]:
        """The number of tool lists received from each server."""
        return tuple(connection.listed.listings for connection in self.connections)

    def restart_soon(self) -> None:
        """Restart stopped servers in the background, without delaying the turn."""
        if self._connected and not self._closed and any(connection.may_start for connection in self.connections):
            loop.start(self._restart)

    def close(self) -> None:
        """End all servers and wait until their processes are gone."""
        self._closed = True
        if self._lock is not None:
            loop.run(self._close_all)
            self._lock = None

    async def aclose(self) -> None:
        """End all servers as `close` does, without blocking the event loop."""
        self._closed = True
        if self._lock is not None:
            await loop.arun(self._close_all)
            self._lock = None

    # ------------------------------------------------------------------ on the background loop

    async def update(self, provide: Callable[[], T], *, refresh: bool) -> T:
        """Start the servers if needed, list changed tools, and return the result of `provide`.

        Args:
            provide: Called after tools were listed. If its first call raises, the servers are closed again.
            refresh: Whether to list all servers again and restart those that failed or stopped.

        Raises:
            McpServerError: If a server that must start did not.
            ConfigurationError: If `close` was called before.
        """
        self._raise_if_closed()
        if not self._connected:
            await self._connect(provide)
        elif refresh:
            await self._renew(provide)
        else:
            await self._catch_up()
        return await self._provide(provide)

    async def reopen(self, connection: Connection) -> None:
        """Restart a stopped server if its wait is over."""
        if not self._closed and not connection.running and connection.may_start:
            await connection.open()

    async def _restart(self) -> None:
        await asyncio.gather(*(self.reopen(connection) for connection in self.connections))

    async def _connect(self, provide: Callable[[], object]) -> None:
        """Start all servers. Concurrent callers wait for the first one."""
        async with self._exclusively():
            self._raise_if_closed()
            if self._connected:
                return
            try:
                await self._open(self.connections, None if self._must_start else self._first_wait)
                await self._provide(provide)
            except BaseException:  # the caller gets no object that could be closed
                await self._close_all()
                raise
            self._connected = True

    async def _renew(self, provide: Callable[[], object]) -> None:
        """List the tools of running servers and start the others."""
        missing = [connection for connection in self.connections if not connection.running]
        listed = [connection.listed.relist() for connection in self.connections if connection.running]
        try:
            await asyncio.gather(self._open(missing, None), *listed)
        finally:
            await self._provide(provide)

    async def _provide(self, provide: Callable[[], T]) -> T:
        """Return the result of `provide`. With many tools it takes long, so calls of other servers go on meanwhile."""
        if sum(len(connection.listed.tools) for connection in self.connections) <= _MANY_TOOLS:
            return provide()
        return await asyncio.to_thread(provide)

    async def _catch_up(self) -> None:
        """List the tools of servers that reported a change; a late answer is for a later turn."""
        asked = [connection.listed.relist_soon() for connection in self.connections if connection.due]
        if asked:
            await asyncio.wait(asked, timeout=_RELIST_TIMEOUT_SECONDS)

    def _exclusively(self) -> asyncio.Lock:
        # A lock belongs to one event loop, and the background loop may have ended and started again.
        running = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not running:
            self._lock = (running, asyncio.Lock())
        return self._lock[1]

    def _raise_if_closed(self) -> None:
        if self._closed:
            raise ConfigurationError("this McpTools object is closed; create a new one to start its servers again")

    async def _open(self, connections: Sequence[Connection], wait_seconds: float | None) -> None:
        """Start servers at the same time.

        Args:
            connections: The connections to open.
            wait_seconds: The seconds to wait for all of them, and longer until one is ready; None waits for all. The
                others continue to start in the background.

        Raises:
            McpServerError: If a server that must start did not.
        """
        opening = {asyncio.create_task(connection.open()) for connection in connections}
        try:
            if opening:
                _, opening = await asyncio.wait(opening, timeout=wait_seconds)
            while opening and not any(connection.running for connection in connections):
                _, opening = await asyncio.wait(opening, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in opening:
                task.cancel()  # the task only waits; the server continues to start
        if self._closed:
            await self._close_all()
        self._raise_if_closed()
        errors = [connection.error for connection in connections if connection.error is not None]
        if errors and self._must_start:
            raise McpServerError("\n".join(errors))

    async def _close_all(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self.connections))


def _abandon(connections: Sequence[Connection]) -> None:
    for connection in connections:
        connection.abandon()
