"""Streams to a server, for the SDK's client: a child process or an HTTP endpoint."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self

import anyio
import httpx2
from mcp.client._transport import ReadStream, Transport, TransportStreams
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from ..servers import HttpServer, Server, StdioServer
from .exit_code import ExitCode
from .stderr_tail import StderrTail
from .tool_list_repair import leave_out_odd_tools

__all__ = ["open_transport"]

_UNKNOWN_SESSION = re.compile(
    rb"(no valid|invalid|unknown) session|session (not found|expired|terminated)", re.IGNORECASE
)


# A process that closed its output is about to exit; how, is known a moment later.
_EXIT_PATIENCE = 0.5


def open_transport(
    server: Server,
    stderr: StderrTail,
    exit_code: ExitCode,
    *,
    ended: Callable[[], object],
    forgotten: Callable[[], object],
    version: Callable[[], str | None],
) -> Transport:
    """The transport to `server`.

    Args:
        server: what to start or reach.
        stderr: where a process's standard error goes.
        exit_code: where the way it ends by itself is noted.
        ended: called when a process closes its output.
        forgotten: called when an HTTP server does not know the session any more.
        version: returns the version of the protocol that was agreed on, None before.
    """
    if isinstance(server, StdioServer):
        return _stdio(server, stderr, exit_code, ended, version)
    return _http(server, forgotten, version)


@asynccontextmanager
async def _stdio(
    server: StdioServer,
    stderr: StderrTail,
    exit_code: ExitCode,
    ended: Callable[[], object],
    version: Callable[[], str | None],
) -> AsyncIterator[TransportStreams]:
    parameters = StdioServerParameters(
        command=server.command,
        args=list(server.args),
        env=dict(server.env) if server.env is not None else None,
        cwd=server.cwd,
        encoding_error_handler="replace",
    )
    async with AsyncExitStack() as stack:
        with stderr.sink() as errlog, exit_code.noted():
            read, write = await stack.enter_async_context(stdio_client(parameters, errlog=errlog))
        watched = _Watched(server.name, read, ended, version)
        try:
            yield watched, write
        finally:
            if watched.ended:
                with anyio.CancelScope(shield=True):
                    await exit_code.settle(_EXIT_PATIENCE)


@asynccontextmanager
async def _http(
    server: HttpServer, forgotten: Callable[[], object], version: Callable[[], str | None]
) -> AsyncIterator[TransportStreams]:
    async def look(response: httpx2.Response) -> None:
        if "mcp-session-id" in response.request.headers and await _names_an_unknown_session(response):
            forgotten()

    # A server may hold a response open for as long as a call takes.
    timeout = httpx2.Timeout(server.connect_timeout, read=max(server.timeout, server.connect_timeout, 300.0))
    headers = dict(server.headers) if server.headers is not None else None
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks={"response": [look]}) as http,
        streamable_http_client(server.url, http_client=http) as streams,
    ):
        read, write = streams
        yield _Watched(server.name, read, lambda: None, version), write


async def _names_an_unknown_session(response: httpx2.Response) -> bool:
    """Whether a server says that it does not know the session that a request was sent in.

    The protocol has 404 for that; servers made after a widespread example answer 400 and say it in words.
    """
    if response.status_code == 400:
        return _UNKNOWN_SESSION.search(await response.aread()) is not None
    return response.status_code == 404


class _Watched:
    """A read stream that says when it ends: the SDK's session learns of it, but tells nobody until the next request.

    What it gives to the session has been through `leave_out_odd_tools`.

    Attributes:
        ended: whether the other side ended it, rather than this one.
    """

    def __init__(
        self,
        server: str,
        stream: ReadStream[SessionMessage | Exception],
        ended: Callable[[], object],
        version: Callable[[], str | None],
    ) -> None:
        self._server = server
        self._stream = stream
        self._tell = ended
        self._version = version
        self.ended = False

    def _note(self, error: Exception) -> None:
        self.ended = self.ended or not isinstance(error, anyio.ClosedResourceError)
        self._tell()

    async def receive(self) -> SessionMessage | Exception:
        try:
            message = await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError) as error:
            self._note(error)
            raise
        leave_out_odd_tools(self._server, message, self._version())
        return message

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            message = await self._stream.__anext__()
        except (StopAsyncIteration, anyio.ClosedResourceError) as error:
            self._note(error)
            raise
        leave_out_odd_tools(self._server, message, self._version())
        return message

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(exc_type, exc_val, exc_tb)
