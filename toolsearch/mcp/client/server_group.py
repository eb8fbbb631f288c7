"""The servers of one provider: started together, started again, asked for their lists, and closed together."""

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

# A turn that begins just after a change is to have the new tools, if only it need not wait for them.
_RELIST_WAIT = 1.0


class ServerGroup:
    """The connections of some servers; they end with `close`, or when nobody holds this object any more.

    Args:
        connections: one for each server.
        must_start: a server that does not start is an error, and the others are closed again.
        first_wait: unless they must, how long the first turn waits once one of them is there.
    """

    def __init__(self, connections: Sequence[Connection], *, must_start: bool, first_wait: float) -> None:
        self.connections = tuple(connections)
        self._must_start = must_start
        self._first_wait = first_wait
        self._connected = False
        self._closed = False
        self._lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        # Sessions hold their connections but not this object, so an object nobody uses any more takes them along.
        # At exit the loop thread closes them, and waits, which a finalizer must not.
        weakref.finalize(self, _abandon, self.connections).atexit = False

    # ------------------------------------------------------------------ from any thread

    @property
    def settled(self) -> bool:
        """Whether the servers have been started and nothing is known to have changed since they were last asked."""
        return self._connected and not self._closed and not any(connection.due for connection in self.connections)

    @property
    def listings(self) -> tuple[int, ...]:
        """How often the list of each was taken."""
        return tuple(connection.listed.listings for connection in self.connections)

    def restart_soon(self) -> None:
        """Start what has stopped again, beside the turn that begins; its calls wait for it if they must."""
        if self._connected and not self._closed and any(connection.may_start for connection in self.connections):
            loop.start(self._restart)

    def close(self) -> None:
        """End all servers, for good, and wait until their processes are gone."""
        self._closed = True
        if self._lock is not None:
            loop.run(self._close_all)
            self._lock = None

    async def aclose(self) -> None:
        """As `close`, without holding the event loop meanwhile."""
        self._closed = True
        if self._lock is not None:
            await loop.arun(self._close_all)
            self._lock = None

    # ------------------------------------------------------------------ on the background loop

    async def update(self, provide: Callable[[], T], *, refresh: bool) -> T:
        """Connect what is not, list what may have changed, and return what `provide` makes of it.

        Args:
            provide: called when lists have been taken; what it raises at the first time closes the servers again.
            refresh: ask every server, and start again those that failed or stopped.

        Raises:
            McpServerError: a server did not start, and must.
            ConfigurationError: `close` has been called.
        """
        self._refuse_if_closed()
        if not self._connected:
            await self._connect(provide)
        elif refresh:
            await self._renew(provide)
        else:
            await self._catch_up()
        return provide()

    async def reopen(self, connection: Connection) -> None:
        """Start a server again if it has stopped and may be by now."""
        if not self._closed and not connection.running and connection.may_start:
            await connection.open()

    async def _restart(self) -> None:
        await asyncio.gather(*(self.reopen(connection) for connection in self.connections))

    async def _connect(self, provide: Callable[[], object]) -> None:
        """Start all servers; one caller does, and others wait for it."""
        async with self._exclusively():
            self._refuse_if_closed()
            if self._connected:
                return
            try:
                await self._open(self.connections, None if self._must_start else self._first_wait)
                provide()
            except BaseException:  # nobody will close what has never come to be
                await self._close_all()
                raise
            self._connected = True

    async def _renew(self, provide: Callable[[], object]) -> None:
        """Ask every server for its list, and start those that have none to ask."""
        missing = [connection for connection in self.connections if not connection.running]
        listed = [connection.listed.relist() for connection in self.connections if connection.running]
        try:
            await asyncio.gather(self._open(missing, None), *listed)
        finally:
            provide()

    async def _catch_up(self) -> None:
        """Ask the servers whose list changed; one that is slow to answer is heard by a later turn."""
        asked = [connection.listed.relist_soon() for connection in self.connections if connection.due]
        if asked:
            await asyncio.wait(asked, timeout=_RELIST_WAIT)

    def _exclusively(self) -> asyncio.Lock:
        # A lock belongs to the loop it was first waited for on; the background loop may have ended and begun again.
        running = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not running:
            self._lock = (running, asyncio.Lock())
        return self._lock[1]

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ConfigurationError("these McpTools have been closed; make new ones to start their servers again")

    async def _open(self, connections: Sequence[Connection], patience: float | None) -> None:
        """Start servers at the same time.

        Args:
            connections: which.
            patience: seconds to wait if one of them is there by then, and else until one is; None waits for all. The
                others go on starting, and a later turn has their tools.

        Raises:
            McpServerError: one did not start, and must.
        """
        opening = {asyncio.create_task(connection.open()) for connection in connections}
        try:
            if opening:
                _, opening = await asyncio.wait(opening, timeout=patience)
            while opening and not any(connection.running for connection in connections):
                _, opening = await asyncio.wait(opening, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in opening:
                task.cancel()  # it only waits; the server goes on starting
        if self._closed:
            await self._close_all()
        self._refuse_if_closed()
        errors = [connection.error for connection in connections if connection.error is not None]
        if errors and self._must_start:
            raise McpServerError("\n".join(errors))

    async def _close_all(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self.connections))


def _abandon(connections: Sequence[Connection]) -> None:
    for connection in connections:
        connection.abandon()
