"""The list of a server's tools: read page by page, and read again when the server says that it changed."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ...events import log_event, log_hook_failure
from ..servers import Server

if TYPE_CHECKING:
    import anyio
    from anyio.abc import TaskGroup
    from mcp import Client
    from mcp_types import ServerNotification
    from mcp_types import Tool as McpTool

__all__ = ["ToolList"]

_MAX_PAGES = 1000
_LISTEN_PATIENCE = 5.0
_RELISTEN_PAUSE = 1.0


class ToolList:
    """What a server listed last, and whether that has changed since; used on the background loop.

    Args:
        server: whose list it is.
        current: the session to ask, None while there is none.
        on_changed: the application's hook, called with the server's name.

    Attributes:
        tools: the tools listed last; kept when the server stops, so that the names of the others stay what they are.
        listings: how often they were taken, so that others see when there are new ones.
    """

    def __init__(
        self, server: Server, current: Callable[[], Client | None], on_changed: Callable[[str], object] | None = None
    ) -> None:
        self.tools: tuple[McpTool, ...] = ()
        self.listings = 0
        self._server = server
        self._current = current
        self._on_changed = on_changed
        self._stale = False  # the server has said that its list changed since
        self._relisting: asyncio.Task[None] | None = None
        self._asked = 0  # listings asked for
        self._taken = 0  # the latest of them that was answered

    @property
    def due(self) -> bool:
        """Whether the list has changed and nobody asks for the new one yet."""
        return self._stale and (self._relisting is None or self._relisting.done())

    def session_ended(self) -> None:
        """What the server said of changes counts no more; the next session begins with a new list."""
        self._stale = False

    async def begin(self, client: Client, watchers: TaskGroup) -> None:
        """Listen for changes in `watchers`, and take the first list of a session."""
        await self._start_watching(client, watchers)
        self._take(await _listed(client))

    # ------------------------------------------------------------------ again

    def relist_soon(self) -> asyncio.Task[None]:
        """List the tools again in a task of its own, which whoever began it need not wait for."""
        own = contextvars.Context()
        self._relisting = asyncio.create_task(self.relist(), name=f"mcp list {self._server.name}", context=own)
        return self._relisting

    async def relist(self) -> None:
        """List the tools again; if that fails, the tools known so far stay."""
        client = self._current()
        if client is None:
            return
        import anyio

        self._stale = False  # before asking: a change while the answer is under way counts again
        self._asked += 1
        asked = self._asked
        try:
            with anyio.fail_after(self._server.connect_timeout):
                tools = await _listed(client)
        except Exception as error:
            if self._current() is client:  # else it has ended, and whoever calls is told
                log_event(logging.WARNING, "mcp_tools_not_listed", server=self._server.name, error=repr(error))
        else:
            if self._current() is client and asked > self._taken:  # nobody who asked later has been answered
                self._taken = asked
                self._take(tools)

    def _take(self, tools: tuple[McpTool, ...]) -> None:
        self.tools = tools
        self.listings += 1

    # ------------------------------------------------------------------ changes

    async def on_message(self, message: ServerNotification | Exception) -> None:
        """Hear, unasked, that the list changed; for protocols before 2026."""
        if not isinstance(message, Exception) and message.method == "notifications/tools/list_changed":
            self._changed()

    def _changed(self) -> None:
        self._stale = True
        if self._on_changed is not None:
            try:
                self._on_changed(self._server.name)
            except Exception:
                log_hook_failure(self._server.name, "on_tools_changed")

    async def _start_watching(self, client: Client, watchers: TaskGroup) -> None:
        """On protocols since 2026 a client must ask to be told of changes; before, `on_message` is told unasked."""
        import anyio
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        capability = client.server_capabilities.tools
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS and capability is not None and capability.list_changed:
            watching = anyio.Event()
            watchers.start_soon(self._watch, client, watching)
            with anyio.move_on_after(_LISTEN_PATIENCE):
                await watching.wait()

    async def _watch(self, client: Client, watching: anyio.Event) -> None:
        import anyio
        from mcp.client.subscriptions import SubscriptionLost

        try:
            while True:
                async with client.listen(tools_list_changed=True) as changes:
                    watching.set()
                    with suppress(SubscriptionLost):
                        async for _ in changes:
                            self._changed()
                await anyio.sleep(_RELISTEN_PAUSE)
                self._changed()  # nothing is replayed: what changed meanwhile is unknown
        except Exception as error:  # its tools work all the same
            log_event(logging.DEBUG, "mcp_changes_not_told", server=self._server.name, error=repr(error))
        finally:
            watching.set()


async def _listed(client: Client) -> tuple[McpTool, ...]:
    """All pages of a list; of tools of one name the first."""
    tools: dict[str, McpTool] = {}
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            tools.setdefault(tool.name, tool)
        cursor = page.next_cursor
        if cursor is None or cursor in seen:
            break
        seen.add(cursor)
    return tuple(tools.values())
