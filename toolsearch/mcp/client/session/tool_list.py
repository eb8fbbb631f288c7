"""The tool list of a server: read page by page, and again when the server reports a change."""

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
_UNDECLARED_TIMEOUT_SECONDS = 2.0
_LISTEN_TIMEOUT_SECONDS = 5.0
_RELISTEN_WAIT_SECONDS = 1.0


class ToolList:
    """The tools that a server listed last; used on the background loop.

    Args:
        server: The server.
        current: A function that returns the client of the session, None while there is no session.
        on_changed: The application's hook, called with the server's name.

    Attributes:
        tools: The tools listed last. They stay when the server stops, so the names of other servers' tools stay too.
        listings: The number of lists received; a change means that there are new tools.
    """

    def __init__(
        self, server: Server, current: Callable[[], Client | None], on_changed: Callable[[str], object] | None = None
    ) -> None:
        self.tools: tuple[McpTool, ...] = ()
        self.listings = 0
        self._server = server
        self._current = current
        self._on_changed = on_changed
        self._stale = False  # the server reported a change
        self._relisting: asyncio.Task[None] | None = None
        self._requested = 0  # the number of list requests
        self._answered = 0  # the newest request that was answered

    @property
    def due(self) -> bool:
        """True if the server reported a change and no request for the new tools is under way."""
        return self._stale and (self._relisting is None or self._relisting.done())

    def session_ended(self) -> None:
        """Forget reported changes; the next session starts with a new list."""
        self._stale = False

    async def begin(self, client: Client, watchers: TaskGroup) -> None:
        """Listen for changes in `watchers` and read the first list of a session."""
        await self._start_watching(client, watchers)
        self._store(await self._list(client))

    # ------------------------------------------------------------------ new lists

    def relist_soon(self) -> asyncio.Task[None]:
        """List the tools again in a new task, which the caller need not await."""
        own = contextvars.Context()
        self._relisting = asyncio.create_task(self.relist(), name=f"mcp list {self._server.name}", context=own)
        return self._relisting

    async def relist(self) -> None:
        """List the tools again; if that fails, the known tools stay."""
        client = self._current()
        if client is None:
            return
        import anyio

        self._stale = False  # before the request, so a change during the request counts again
        self._requested += 1
        number = self._requested
        try:
            with anyio.fail_after(self._server.connect_timeout):
                tools = await self._list(client)
        except Exception as error:
            if self._current() is client:  # otherwise the session ended, which calls report
                log_event(logging.WARNING, "mcp_tools_not_listed", server=self._server.name, error=error)
        else:
            if self._current() is client and number > self._answered:  # no newer request was answered before
                self._answered = number
                self._store(tools)

    async def _list(self, client: Client) -> tuple[McpTool, ...]:
        """Return the tools of all pages; none of a server that offers only prompts, resources or the like.

        A server that declares nothing at all is asked too, but need not answer.
        """
        import anyio
        from mcp import MCPError
        from mcp_types import METHOD_NOT_FOUND

        capabilities = client.server_capabilities
        if capabilities.tools is not None:
            try:
                return await _list_all_pages(client)
            except MCPError as error:
                if error.code != METHOD_NOT_FOUND:
                    raise
        elif not capabilities.model_dump(exclude_none=True):
            with suppress(MCPError), anyio.move_on_after(_UNDECLARED_TIMEOUT_SECONDS):
                return await _list_all_pages(client)
        log_event(logging.INFO, "mcp_server_without_tools", server=self._server.name)
        return ()

    def _store(self, tools: tuple[McpTool, ...]) -> None:
        self.tools = tools
        self.listings += 1

    # ------------------------------------------------------------------ changes

    async def on_message(self, message: ServerNotification | Exception) -> None:
        """Handle the change notification of protocols before 2026."""
        if not isinstance(message, Exception) and message.method == "notifications/tools/list_changed":
            self._report_change()

    def _report_change(self) -> None:
        self._stale = True
        if self._on_changed is not None:
            try:
                self._on_changed(self._server.name)
            except Exception:
                log_hook_failure(self._server.name, "on_tools_changed")

    async def _start_watching(self, client: Client, watchers: TaskGroup) -> None:
        """Subscribe to changes, which protocols since 2026 require; older ones notify `on_message` without that."""
        import anyio
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        capability = client.server_capabilities.tools
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS and capability is not None and capability.list_changed:
            watching = anyio.Event()
            watchers.start_soon(self._watch, client, watching)
            with anyio.move_on_after(_LISTEN_TIMEOUT_SECONDS):
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
                            self._report_change()
                await anyio.sleep(_RELISTEN_WAIT_SECONDS)
                self._report_change()  # changes during the pause were not reported
        except Exception as error:  # the tools work without notifications
            log_event(logging.DEBUG, "mcp_changes_not_reported", server=self._server.name, error=error)
        finally:
            watching.set()


async def _list_all_pages(client: Client) -> tuple[McpTool, ...]:
    """Return the tools of all pages; of tools with the same name, the first."""
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
