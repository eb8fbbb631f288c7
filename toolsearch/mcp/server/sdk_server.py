"""The SDK's server with our answers in it: what it says it can do, and who announces changes while it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from .change_notifier import Announcer

if TYPE_CHECKING:
    from mcp.server import NotificationOptions, Server
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

__all__ = ["sdk_server"]


def sdk_server(
    name: str,
    *,
    version: str,
    instructions: str | None,
    changes: bool,
    announcers: list[Announcer],
    on_list: Callable[[ServerRequestContext[Any], PaginatedRequestParams | None], Awaitable[ListToolsResult]],
    on_call: Callable[[ServerRequestContext[Any], CallToolRequestParams], Awaitable[CallToolResult]],
) -> Server[Any]:
    """Return a server of tools, to be run over any transport.

    Args:
        name: what it calls itself.
        version: the version it tells.
        instructions: what clients may tell their model about it.
        changes: whether it tells clients that its tools changed.
        announcers: holds one more while the server runs.
        on_list: answers ``tools/list``.
        on_call: answers ``tools/call``.
    """
    from mcp.server import NotificationOptions, Server
    from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

    bus = InMemorySubscriptionBus()

    class SdkServer(Server[Any]):
        # Its HTTP side asks for the options without saying what this server notifies of.
        def create_initialization_options(
            self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
        ) -> Any:
            notifies = notification_options or NotificationOptions(tools_changed=changes)
            return super().create_initialization_options(notifies, *args, **kwargs)

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[None]:
        async with Announcer(bus).open() as announcer:
            announcers.append(announcer)
            try:
                yield
            finally:
                announcers.remove(announcer)

    return SdkServer(
        name,
        version=version,
        instructions=instructions,
        lifespan=lifespan,
        on_list_tools=on_list,
        on_call_tool=on_call,
        on_subscriptions_listen=ListenHandler(bus) if changes else None,
    )
