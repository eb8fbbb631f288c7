"""Why a server has no session: in a few words for the model, and with all that is known for the application."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from ...events import log_event
from ..servers import HttpServer, Server, StdioServer

__all__ = ["CLOSED", "Ending", "describe", "log_not_started", "log_stopped", "not_started", "stopped"]


@dataclass(frozen=True, slots=True)
class Ending:
    """What ended a session, or kept it from beginning.

    Args:
        reason: in a few words of ours, for the model, which has no business with paths, addresses or stderr.
        error: for the application, with the end of the server's stderr; None if there is nothing to tell it.
        detail: what the error says happened, for the log.
    """

    reason: str
    error: str | None = None
    detail: str = ""


CLOSED = Ending("it was closed by the application")


def stopped(server: Server, failure: BaseException | None, exited: str, stderr: str, *, forgotten: bool) -> Ending:
    """Say why a server that was ready is there no more.

    Args:
        server: which.
        failure: what the session ended with, if that was an exception.
        exited: how its process ended; empty if it has none or still runs.
        stderr: the end of what it wrote there.
        forgotten: it only does not know the session any more.
    """
    reason = "it has forgotten this session" if forgotten else exited or "the connection to it broke"
    detail = reason if exited or failure is None or forgotten else describe(failure)
    return Ending(reason, f"MCP server {server.name!r} stopped: {detail}{_quoted(stderr)}", detail)


def not_started(server: Server, failure: BaseException | None, exited: str, stderr: str) -> Ending:
    """Say why a server did not become ready; the arguments are those of `stopped`."""
    started = "reached" if isinstance(server, HttpServer) else "started"
    reason = exited or f"it could not be {started}"
    detail = (exited if exited or failure is None else describe(failure)) or reason
    # Arguments and headers may hold secrets, and stay out.
    where = server.command if isinstance(server, StdioServer) else server.url
    error = f"MCP server {server.name!r} did not start: {detail} [{where}]{_quoted(stderr)}"
    return Ending(reason, error, detail)


def log_stopped(server: Server, ending: Ending, stderr: str, *, forgotten: bool) -> None:
    """Log that a server stopped; what it wrote last only where details are wanted."""
    level = logging.INFO if forgotten else logging.WARNING
    log_event(level, "mcp_server_stopped", server=server.name, reason=ending.detail)
    if stderr:
        log_event(logging.DEBUG, "mcp_server_stderr", server=server.name, stderr=stderr)


def log_not_started(server: Server, ending: Ending) -> None:
    """Log that a server did not start."""
    log_event(logging.WARNING, "mcp_server_not_started", server=server.name, error=ending.error or ending.reason)


def describe(error: BaseException) -> str:
    """One line for an error, looking through the groups that anyio wraps errors in."""
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return "it closed the connection"
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and text:  # a timeout, a missing command
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _quoted(stderr: str) -> str:
    return f"; its stderr ends with:\n{stderr}" if stderr else ""
