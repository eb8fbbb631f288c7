"""How clients of a served set of tools learn that it changed."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import anyio
    from anyio.lowlevel import EventLoopToken
    from cachetools import LRUCache
    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import SubscriptionBus

__all__ = ["Announcer"]

_SESSIONS = 1000


class Announcer:
    """Tells clients of a running server that its tools changed: those that listen, and those of the old protocol."""

    def __init__(self, bus: SubscriptionBus) -> None:
        from cachetools import LRUCache

        self._sessions: LRUCache[Hashable, ServerSession] = LRUCache(_SESSIONS)
        self._bus = bus
        self._thread = 0
        self._token: EventLoopToken | None = None
        self._wake: anyio.Event | None = None

    def remember(self, session: Hashable, client: ServerSession) -> None:
        """Note how to reach the client of a session."""
        self._sessions[session] = client

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Announcer]:
        """Announce from now until the end of the block, on this event loop."""
        import anyio
        from anyio.lowlevel import current_token

        self._thread, self._token, self._wake = threading.get_ident(), current_token(), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(self._tell_when_woken)
            try:
                yield self
            finally:
                group.cancel_scope.cancel()

    def changed(self) -> None:
        """Have every client told soon; from any thread."""
        from anyio.from_thread import run_sync

        if threading.get_ident() == self._thread:
            self._set()
        else:
            with suppress(RuntimeError):  # the loop has ended
                run_sync(self._set, token=self._token)

    def _set(self) -> None:
        if self._wake is not None:
            self._wake.set()

    async def _tell_when_woken(self) -> None:
        import anyio

        assert self._wake is not None
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()  # a change from here on is told again
            await self.tell()

    async def tell(self, session: Hashable = None) -> None:
        """Tell every client, or, as far as they can be told apart, that of one session."""
        from mcp.server.subscriptions import ToolsListChanged

        await self._bus.publish(ToolsListChanged())
        told = list(self._sessions.values()) if session is None else [self._sessions.get(session)]
        for client in told:
            if client is not None:
                with suppress(Exception):  # it has left
                    await client.send_tool_list_changed()
