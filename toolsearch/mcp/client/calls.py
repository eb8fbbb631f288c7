"""Calls of a server's tool, and the errors that the model reads when no result comes."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from ...text import clip
from ...text.secret import redact
from ..errors import McpToolError
from ..events import log_event, log_hook_failure
from .servers import HttpServer, Server, credentials_of
from .session.connection import Connection
from .session.disconnects import CLOSED

if TYPE_CHECKING:
    from mcp import MCPError
    from mcp.shared.dispatcher import ProgressFnT
    from mcp_types import CallToolResult

__all__ = ["ProgressHook", "SessionLostError", "call_tool", "raise_unavailable"]

ProgressHook: TypeAlias = Callable[[str, str, float, float | None, str | None], object]
"""A hook called with the server's name, the server's name of the tool, the progress, the total and a message.

Total and message may be None.
"""

_END_TIMEOUT_SECONDS = 1.0
_UNAVAILABLE = "Its tools cannot be used now."


class SessionLostError(McpToolError):
    """A request refused because the server does not know the session: it was restarted, or the session expired."""


def raise_unavailable(connection: Connection) -> NoReturn:
    """Raise the error with the reason why a server's tools cannot be used; callable from any thread.

    Raises:
        McpToolError: Always.
    """
    reason, next_attempt = connection.reason, _next_attempt(connection)
    if connection.forked:
        reason = "it belongs to the process this one was forked from"
    if connection.forked or connection.state == "closed":
        next_attempt = _UNAVAILABLE
    running = "connected" if isinstance(connection.server, HttpServer) else "running"
    raise McpToolError(f"Server {connection.server.name!r} is not {running} ({reason}). {next_attempt}")


async def call_tool(
    connection: Connection, tool: str, arguments: dict[str, Any], on_progress: ProgressHook | None
) -> CallToolResult:
    """Call a tool on the background loop.

    Raises:
        McpToolError: If no result came; the message says why.
        SessionLostError: If the HTTP server does not know this session any more; it ran nothing.
    """
    import anyio
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

    from .session.answers import SESSION_LOST
    from .session.http_client import ANSWER_BROKEN
    from .session.message_limit import too_large_text

    client, server = connection.client, connection.server
    started, longest = anyio.current_time(), max(server.timeout, server.max_timeout)
    if client is None:
        raise_unavailable(connection)
    try:
        # Each report of progress starts the timeout again.
        with anyio.CancelScope(deadline=started + server.timeout) as scope:

            def extend() -> None:
                scope.deadline = min(anyio.current_time() + server.timeout, started + longest)

            result = await client.call_tool(
                tool,
                arguments,
                read_timeout_seconds=longest,
                progress_callback=_progress_callback(server.name, tool, on_progress, extend),
            )
            connection.attempts.answered()
            return result
        raise MCPError(code=REQUEST_TIMEOUT, message="timed out")
    except MCPError as error:
        if error.code == SESSION_LOST and not connection.closing:
            raise SessionLostError(
                f"Server {server.name!r} did not run {tool!r}: it no longer knows this session ({error.message})."
            ) from error
        if (reason := too_large_text(server.max_message_bytes)) in error.message:
            text = f"Tool {tool!r} of server {server.name!r} ran, but {reason}. Ask it for less."
            raise McpToolError(text) from error
        if error.code == ANSWER_BROKEN:
            raise McpToolError(
                f"Server {server.name!r} gave no answer to the call of {tool!r}: {error.message}. "
                "The call may or may not have taken effect."
            ) from error
        if error.code == CONNECTION_CLOSED:
            raise McpToolError(await _describe_end(connection, tool)) from error
        if error.code == REQUEST_TIMEOUT:
            waited = max(server.timeout, round(anyio.current_time() - started, 1))
            raise McpToolError(
                f"Tool {tool!r} of server {server.name!r} did not answer within {waited:g} s. "
                "The call was cancelled, but effects that it already had are not undone."
            ) from error
        raise McpToolError(f"Server {server.name!r} refused the call of {tool!r}: {_refusal(server, error)}") from error
    except Exception as error:  # its text can contain addresses, arguments and results
        shown = clip(tool, 100)
        log_event(logging.WARNING, "mcp_invalid_answer", error=error, show_text=False, server=server.name, tool=shown)
        raise McpToolError(f"Server {server.name!r} gave an invalid answer to the call of {tool!r}.") from error


def _refusal(server: Server, error: MCPError) -> str:
    """Return the server's own words for a refusal. The words of the SDK can contain addresses and parts of answers."""
    if error.message.startswith("Redirect to "):
        return "it redirects to another address"
    return redact(error.message, credentials_of(server))


def _progress_callback(server: str, tool: str, hook: ProgressHook | None, extend: Callable[[], object]) -> ProgressFnT:
    """Return the SDK's callback for a call's progress, which extends the timeout of the call."""
    context = contextvars.copy_context()  # the caller's context; the SDK calls back from another task

    async def notify(progress: float, total: float | None, message: str | None) -> None:
        extend()
        if hook is None:
            return
        try:
            context.run(hook, server, tool, progress, total, message)
        except Exception:
            log_hook_failure(server, "on_progress")

    return notify


async def _describe_end(connection: Connection, tool: str) -> str:
    # The reason is known once the process ended; a process that takes longer is not waited for.
    await connection.wait_ended_within(_END_TIMEOUT_SECONDS)
    reason, next_attempt = connection.reason, _next_attempt(connection)
    if connection.closing:
        reason, next_attempt = CLOSED.reason, _UNAVAILABLE
    elif connection.client is not None or connection.state == "ready":
        reason, next_attempt = "it closed the connection", "Its tools can be called again."
    return (
        f"Server {connection.server.name!r} stopped while it ran {tool!r} ({reason}). The call may or may not have "
        f"taken effect. {next_attempt}"
    )


def _next_attempt(connection: Connection) -> str:
    return connection.attempts.describe_next(remote=isinstance(connection.server, HttpServer))
