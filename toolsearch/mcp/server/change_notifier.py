"""Notifications to MCP clients that the served tools changed."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import anyio
    from anyio.lowlevel import EventLoopToken
    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import SubscriptionBus

__all__ = ["ChangeNotifier"]

_SessionKey: TypeAlias = tuple[str | None, str]
"""The owner of a session and its id."""

MAX_SESSIONS = 1000


class ChangeNotifier:
    """Notifications to the clients of a running server: to subscribers, and to clients of older protocols."""

    def __init__(self, bus: SubscriptionBus) -> None:
        self._sessions: OrderedDict[_SessionKey, ServerSession] = OrderedDict()  # the least recently used first
        self._bus = bus
        self._thread = 0
        self._token: EventLoopToken | None = None
        self._wake: anyio.Event | None = None

    def remember(self, session: _SessionKey, client: ServerSession) -> None:
        """Store the client of a session for later notifications.

        Above a limit, the least recently used session of the owner with the most sessions is forgotten.
        """
        self._sessions[session] = client
        self._sessions.move_to_end(session)
        if len(self._sessions) > MAX_SESSIONS:
            ((largest, _),) = Counter(owner for owner, _ in self._sessions).most_common(1)
            del self._sessions[next(key for key in self._sessions if key[0] == largest)]

    @asynccontextmanager
    async def open(self) -> AsyncIterator[ChangeNotifier]:
        """Send notifications on this event loop until the end of the block."""
        import anyio
        from anyio.lowlevel import current_token

        self._thread, self._token, self._wake = threading.get_ident(), current_token(), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(self._notify_when_woken)
            try:
                yield self
            finally:
                group.cancel_scope.cancel()

    def notify_soon(self) -> None:
        """Notify every client soon; callable from any thread."""
        from anyio.from_thread import run_sync

        if threading.get_ident() == self._thread:
            self._set()
        else:
            with suppress(RuntimeError):  # the loop has ended
                run_sync(self._set, token=self._token)

    def _set(self) -> None:
        if self._wake is not None:
            self._wake.set()

    async def _notify_when_woken(self) -> None:
        import anyio

        assert self._wake is not None
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()  # a later change needs another notification
            await self.notify()

    async def notify(self, session: _SessionKey | None = None) -> None:
        """Notify every client, or only the client of `session` where the protocol allows it."""
        from mcp.server.subscriptions import ToolsListChanged

        await self._bus.publish(ToolsListChanged())
        clients = list(self._sessions.values()) if session is None else [self._sessions.get(session)]
        for client in clients:
            if client is not None:
                with suppress(Exception):  # the client disconnected
                    await client.send_tool_list_changed()
