"""Reasons why a server has no session: a short one for the model, all details for the application."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from http import HTTPStatus

from ....text import one_line
from ....text.secret import redact
from ...events import log_event
from ..servers import HttpServer, Server, StdioServer, credentials_of

__all__ = [
    "CLOSED",
    "Disconnect",
    "describe",
    "describe_failed_start",
    "describe_status",
    "describe_stop",
    "log_failed_start",
    "log_stop",
]

_MAX_CHARACTERS = 10_000
"""Longer than the kept end of a server's standard error."""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The reason why a session ended or did not start.

    Args:
        reason: A short phrase for the model, in parentheses. It contains no paths, addresses or standard error.
        error: The message for the application, with the end of the server's standard error; None if there is none.
        detail: What happened, for the log.
    """

    reason: str
    error: str | None = None
    detail: str = ""


CLOSED = Disconnect("closed by the application")


def describe_stop(
    server: Server, failure: BaseException | None, exited: str, stderr: str, *, session_lost: bool
) -> Disconnect:
    """Describe the end of a server that was ready.

    Args:
        server: The server.
        failure: The exception that ended the session, if there was one.
        exited: How the process ended; empty if the server has no process or it still runs.
        stderr: The end of the process's standard error.
        session_lost: Whether the server runs but no longer knows the session.
    """
    reason = "it no longer knows this session" if session_lost else exited or "the connection to it broke"
    detail = reason if exited or failure is None or session_lost else describe(failure)
    error = f"MCP server {server.name!r} stopped: {detail}{_quote(stderr)}"
    return _without_credentials(server, Disconnect(reason, error, detail))


def describe_failed_start(
    server: Server, failure: BaseException | None, exited: str, stderr: str, *, refused: int | None = None
) -> Disconnect:
    """Describe why a server did not become ready.

    Args:
        server: The server.
        failure: The exception, as in `describe_stop`.
        exited: How the process ended, as in `describe_stop`.
        stderr: The end of the process's standard error.
        refused: The HTTP status 401 or 403 if the server refused the credentials.
    """
    started = "reached" if isinstance(server, HttpServer) else "started"
    reason = exited or f"it could not be {started}"
    detail = (exited if exited or failure is None else describe(failure)) or reason
    if refused is not None:
        reason = detail = f"it refused the credentials with {describe_status(refused)}"
    # Arguments and headers may contain secrets, so they are left out.
    where = server.command if isinstance(server, StdioServer) else server.url
    error = f"MCP server {server.name!r} did not start: {detail} [{where}]{_quote(stderr)}"
    return _without_credentials(server, Disconnect(reason, error, detail))


def _without_credentials(server: Server, disconnect: Disconnect) -> Disconnect:
    hidden = credentials_of(server)
    error = redact(disconnect.error, hidden) if disconnect.error is not None else None
    return Disconnect(disconnect.reason, error, redact(disconnect.detail, hidden))


def log_stop(server: Server, disconnect: Disconnect, stderr: str, *, session_lost: bool) -> None:
    """Log that a server stopped; its standard error only at level DEBUG."""
    level = logging.INFO if session_lost else logging.WARNING
    log_event(level, "mcp_server_stopped", server=server.name, reason=disconnect.detail)
    if stderr:
        stderr = redact(stderr, credentials_of(server))
        log_event(logging.DEBUG, "mcp_server_stderr", server=server.name, stderr=stderr, max_length=_MAX_CHARACTERS)


def log_failed_start(server: Server, disconnect: Disconnect) -> None:
    """Log on one line that a server did not start."""
    error = disconnect.error or disconnect.reason
    line = one_line(error, _MAX_CHARACTERS)
    log_event(logging.WARNING, "mcp_server_not_started", server=server.name, error=line, max_length=_MAX_CHARACTERS)


def describe_status(status: int) -> str:
    """Return an HTTP status in words.

    Example:
        >>> describe_status(401), describe_status(599)
        ('HTTP status 401 (Unauthorized)', 'HTTP status 599')
    """
    try:
        return f"HTTP status {status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return f"HTTP status {status}"


def describe(error: BaseException) -> str:
    """Return one line for an error; an exception group is described by its first error."""
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


def _quote(stderr: str) -> str:
    return f"; its stderr ends with:\n{stderr}" if stderr else ""
