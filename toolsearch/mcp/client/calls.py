"""One call of a server's tool, and what the model is told where no result comes."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from ..errors import McpToolError
from ..events import log_hook_failure
from .servers import HttpServer
from .session.connection import Connection
from .session.disconnects import CLOSED, describe

if TYPE_CHECKING:
    from mcp.shared.dispatcher import ProgressFnT
    from mcp_types import CallToolResult

__all__ = ["ProgressHook", "SessionLostError", "call_tool", "refuse"]

ProgressHook: TypeAlias = Callable[[str, str, float, float | None, str | None], object]
"""Called with the server's name, its name of the tool, the progress, and the total and a message if there are any."""

_REASON_PATIENCE = 1.0
_NOT_NOW = "its tools cannot be used now"


class SessionLostError(McpToolError):
    """The server refused a request because it has forgotten the session: it was restarted, or the session expired."""


def refuse(connection: Connection) -> NoReturn:
    """Tell the model that a server's tools cannot be used; from any thread.

    Raises:
        McpToolError: always.
    """
    reason, outlook = connection.reason, _outlook(connection)
    if connection.elsewhere:
        reason = "it belongs to the process this one was forked from"
    if connection.elsewhere or connection.state == "closed":
        outlook = _NOT_NOW
    running = "connected" if isinstance(connection.server, HttpServer) else "running"
    raise McpToolError(f"server {connection.server.name!r} is not {running}: {reason}; {outlook}")


async def call_tool(
    connection: Connection, tool: str, arguments: dict[str, Any], on_progress: ProgressHook | None
) -> CallToolResult:
    """Call a tool, on the background loop.

    Raises:
        McpToolError: no result came; the message says why.
        SessionLostError: the server, reached over HTTP, does not know this session any more; it ran nothing.
    """
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

    client, server = connection.client, connection.server
    if client is None:
        refuse(connection)
    try:
        result = await client.call_tool(
            tool,
            arguments,
            read_timeout_seconds=server.timeout,
            progress_callback=_progress_of(server.name, tool, on_progress),
        )
    except MCPError as error:
        if connection.forgotten and not connection.closing:
            raise SessionLostError(f"server {server.name!r} has forgotten this session; nothing was run") from error
        if error.code == CONNECTION_CLOSED:
            raise McpToolError(await _broke_off(connection, tool)) from error
        if error.code == REQUEST_TIMEOUT:
            raise McpToolError(
                f"tool {tool!r} of server {server.name!r} did not answer within {server.timeout:g} s; "
                "it was told to stop, but what it had done by then is not undone"
            ) from error
        raise McpToolError(f"server {server.name!r} refused the call of {tool!r}: {error.message}") from error
    except Exception as error:
        raise McpToolError(
            f"server {server.name!r} gave an answer to {tool!r} that cannot be used: {describe(error)}"
        ) from error
    connection.attempts.answered()
    return result


def _progress_of(server: str, tool: str, hook: ProgressHook | None) -> ProgressFnT | None:
    """What the SDK calls with a call's progress; None, so that servers are not asked for it, if nobody listens."""
    if hook is None:
        return None
    context = contextvars.copy_context()  # the caller's; the SDK calls from a task with its own

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        try:
            context.run(hook, server, tool, progress, total, message)
        except Exception:
            log_hook_failure(server, "on_progress")

    return tell


async def _broke_off(connection: Connection, tool: str) -> str:
    # Wait a little for the reason; a process that lingers takes longer than is worth waiting.
    await connection.over_within(_REASON_PATIENCE)
    reason, outlook = connection.reason, _outlook(connection)
    if connection.closing:
        reason, outlook = CLOSED.reason, _NOT_NOW
    elif connection.client is not None or connection.state == "ready":
        reason, outlook = "it closed the connection", "its tools can be tried again"
    return (
        f"server {connection.server.name!r} stopped while it ran {tool!r}: {reason}; whether the call took effect is "
        f"unknown; {outlook}"
    )


def _outlook(connection: Connection) -> str:
    return connection.attempts.outlook(remote=isinstance(connection.server, HttpServer))
