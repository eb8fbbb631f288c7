"""Transports to a server for the SDK's client: a child process or an HTTP endpoint."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self

import anyio
import httpx2
from mcp.client._transport import ReadStream, Transport, TransportStreams, WriteStream
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from ....text.secret import reveal
from ..servers import HttpServer, Server, StdioServer
from .answers import Answers
from .exit_code import ExitCode
from .message_limit import LimitedBody, WholeLines
from .stderr_tail import StderrTail

__all__ = ["open_transport"]

_UNKNOWN_SESSION = re.compile(
    rb"(no valid|invalid|unknown) session|session (not found|expired|terminated)", re.IGNORECASE
)

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
        on_end: Called when a process closes its output.
        on_session_lost: Called when an HTTP server does not know the session any more.
        on_status: Called with the HTTP status of each answer to a message.
        version: A function that returns the protocol version of the session, None during the handshake.
    """
    if isinstance(server, StdioServer):
        return _stdio(server, stderr, exit_code, on_end, Answers(server.name, version))
    return _http(server, on_session_lost, on_status, Answers(server.name, version))


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
        watched = _WatchedStream(read, on_end, answers)
        try:
            yield watched, _WatchedSender(write, answers)
        finally:
            if watched.ended:
                with anyio.CancelScope(shield=True):
                    await exit_code.settle(_EXIT_TIMEOUT_SECONDS)


@asynccontextmanager
async def _http(
    server: HttpServer,
    on_session_lost: Callable[[], object],
    on_status: Callable[[int], object],
    answers: Answers,
) -> AsyncIterator[TransportStreams]:
    async def check(response: httpx2.Response) -> None:
        if isinstance(body := response.stream, httpx2.AsyncByteStream):
            events = response.headers.get("content-type", "").startswith("text/event-stream")
            response.stream = LimitedBody(body, events=events, max_bytes=server.max_message_bytes)
        if "mcp-session-id" in response.request.headers and await _reports_unknown_session(response):
            on_session_lost()
        if response.request.method == "POST":
            on_status(response.status_code)
            if response.status_code >= 400:
                answers.failed(_request_id(response.request), response.status_code)

    # A server may keep a response open while a call runs.
    timeout = httpx2.Timeout(server.connect_timeout, read=max(server.timeout, server.connect_timeout, 300.0))

    async def add_headers(request: httpx2.Request) -> None:
        request.headers.update(await _headers(server))

    hooks: dict[str, list[Callable[..., Any]]] = {"request": [add_headers], "response": [check]}
    async with (
        httpx2.AsyncClient(timeout=timeout, event_hooks=hooks, auth=server.auth) as http,
        streamable_http_client(server.url, http_client=http) as streams,
    ):
        read, write = streams
        yield _WatchedStream(read, lambda: None, answers), _WatchedSender(write, answers)


async def _headers(server: HttpServer) -> dict[str, str]:
    """Return the headers for a request; a function that returns them is called."""
    headers = server.headers
    if callable(headers):
        if inspect.iscoroutinefunction(headers):
            returned = await headers()
        else:
            returned = await anyio.to_thread.run_sync(headers)
            if inspect.isawaitable(returned):
                returned = await returned
        headers = returned
        server.record_credentials(headers.values())
    return {name: reveal(value) for name, value in (headers or {}).items()}


def _request_id(request: httpx2.Request) -> object:
    """Return the id of the message in a request to a server; None for other requests."""
    try:
        message = json.loads(request.content)
    except (ValueError, httpx2.StreamError):
        return None
    return message.get("id") if isinstance(message, dict) else None


async def _reports_unknown_session(response: httpx2.Response) -> bool:
    """Return whether the server does not know the session of the request.

    The protocol specifies status 404 for this. Servers that follow a widespread example send 400 and a sentence.
    """
    if response.status_code == 400:
        return _UNKNOWN_SESSION.search(await response.aread()) is not None
    return response.status_code == 404


class _WatchedStream:
    """A read stream that reports its end and repairs answers.

    The SDK's session notices the end of its stream, but reports it only with the next request.

    Attributes:
        ended: Whether the server ended the stream rather than the client.
    """

    def __init__(
        self,
        stream: ReadStream[SessionMessage | Exception],
        on_end: Callable[[], object],
        answers: Answers,
    ) -> None:
        self._stream = stream
        self._on_end = on_end
        self._answers = answers
        self.ended = False

    def _record_end(self, error: Exception) -> None:
        self.ended = self.ended or not isinstance(error, anyio.ClosedResourceError)
        self._on_end()

    async def receive(self) -> SessionMessage | Exception:
        try:
            message = await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError) as error:
            self._record_end(error)
            raise
        return await self._answers.received(message)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            message = await self._stream.__anext__()
        except (StopAsyncIteration, anyio.ClosedResourceError) as error:
            self._record_end(error)
            raise
        return await self._answers.received(message)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(exc_type, exc_val, exc_tb)


class _WatchedSender:
    """A write stream that records the requests under way."""

    def __init__(self, stream: WriteStream[SessionMessage], answers: Answers) -> None:
        self._stream = stream
        self._answers = answers

    async def send(self, item: SessionMessage, /) -> None:
        self._answers.sent(item)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(exc_type, exc_val, exc_tb)
