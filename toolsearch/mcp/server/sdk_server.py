"""The SDK's server with the request handlers of `McpServer`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from .change_notifier import ChangeNotifier

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
    notifies_changes: bool,
    notifiers: list[ChangeNotifier],
    on_list: Callable[[ServerRequestContext[Any], PaginatedRequestParams | None], Awaitable[ListToolsResult]],
    on_call: Callable[[ServerRequestContext[Any], CallToolRequestParams], Awaitable[CallToolResult]],
) -> Server[Any]:
    """Return a server of tools for any transport.

    Args:
        name: The name that the server reports.
        version: The version that the server reports.
        instructions: Text about the server that clients may give to their model.
        notifies_changes: Whether the server notifies clients when its tools change.
        notifiers: The list that contains the server's notifier while it runs.
        on_list: The handler of ``tools/list``.
        on_call: The handler of ``tools/call``.
    """
    from mcp.server import NotificationOptions, Server
    from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

    bus = InMemorySubscriptionBus()

    class SdkServer(Server[Any]):
        # The SDK's HTTP transport asks for the options without the notifications of this server.
        def create_initialization_options(
            self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
        ) -> Any:
            notifies = notification_options or NotificationOptions(tools_changed=notifies_changes)
            return super().create_initialization_options(notifies, *args, **kwargs)

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[None]:
        async with ChangeNotifier(bus).open() as notifier:
            notifiers.append(notifier)
            try:
                yield
            finally:
                notifiers.remove(notifier)

    return SdkServer(
        name,
        version=version,
        instructions=instructions,
        lifespan=lifespan,
        on_list_tools=on_list,
        on_call_tool=on_call,
        on_subscriptions_listen=ListenHandler(bus) if notifies_changes else None,
    )
