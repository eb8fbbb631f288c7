"""Transports to a server for the SDK's client: a child process or an HTTP endpoint."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import anyio
from mcp.client._transport import Transport, TransportStreams
from mcp.client.stdio import StdioServerParameters, stdio_client

from ....text.secret import reveal
from ..servers import Server, StdioServer
from .answers import Answers
from .exit_code import ExitCode
from .http_transport import open_http
from .message_limit import WholeLines
from .stderr_tail import StderrTail
from .watched_streams import WatchedSender, WatchedStream

__all__ = ["open_transport"]

# A process that closed its output exits soon afterwards; then its exit code is known.
_EXIT_TIMEOUT_SECONDS = 0.5
_GROUP_END_TIMEOUT_SECONDS = 1.0


def open_transport(
    server: Server,
    stderr: StderrTail,
    exit_code: ExitCode,
    *,
    on_end: Callable[[], object],
    on_session_lost: Callable[[], object],
    on_status: Callable[[int], object],
    version: Callable[[], str | None],
) -> Transport:
    """Return the transport to `server`.

    Args:
        server: The server to start or reach.
        stderr: The receiver of the process's standard error.
        exit_code: The receiver of the process's exit code.
        on_end: Called when a process closes its output, or a stream of events ends.
        on_session_lost: Called when an HTTP server does not know the session any more.
        on_status: Called with the HTTP status of each answer to a message.
        version: A function that returns the protocol version of the session, None during the handshake.
    """
    if isinstance(server, StdioServer):
        return _stdio(server, stderr, exit_code, on_end, Answers(server.name, version))
    return open_http(server, on_end, on_session_lost, on_status, Answers(server.name, version))


@asynccontextmanager
async def _stdio(
    server: StdioServer,
    stderr: StderrTail,
    exit_code: ExitCode,
    on_end: Callable[[], object],
    answers: Answers,
) -> AsyncIterator[TransportStreams]:
    inherited = {name: os.environ[name] for name in server.inherit_env if name in os.environ}
    parameters = StdioServerParameters(
        command=server.command,
        args=[reveal(word) for word in server.args],
        env=inherited | {name: reveal(value) for name, value in (server.env or {}).items()},
        cwd=server.cwd,
        encoding_error_handler="replace",
    )

    async def end_group() -> None:
        with anyio.CancelScope(shield=True):
            await exit_code.end_group(_GROUP_END_TIMEOUT_SECONDS)

    async with AsyncExitStack() as stack:
        stack.push_async_callback(end_group)
        limit = partial(WholeLines, server.name, max_bytes=server.max_message_bytes)
        with stderr.sink() as errlog, exit_code.capture(limit):
            read, write = await stack.enter_async_context(stdio_client(parameters, errlog=errlog))
        watched = WatchedStream(read, on_end, answers)
        try:
            yield watched, WatchedSender(write, answers)
        finally:
            if watched.ended:
                with anyio.CancelScope(shield=True):
                    await exit_code.settle(_EXIT_TIMEOUT_SECONDS)
