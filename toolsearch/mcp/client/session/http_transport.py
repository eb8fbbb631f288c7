"""The transport to an HTTP endpoint."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from ....text.secret import reveal
from ..servers import HttpServer
from .answers import Answers
from .event_transport import open_events
from .http_client import HttpClient, request_message
from .message_limit import LimitedBody
from .watched_streams import WatchedSender, WatchedStream

__all__ = ["open_http"]

_UNKNOWN_SESSION = re.compile(
    rb"(no valid|invalid|unknown) session|session (not found|expired|terminated)", re.IGNORECASE
)


@asynccontextmanager
async def open_http(
    server: HttpServer,
    on_end: Callable[[], object],
    on_session_lost: Callable[[], object],
    on_status: Callable[[int], object],
    answers: Answers,
) -> AsyncIterator[TransportStreams]:
    """Open the transport to `server`; the arguments are those of `open_transport`."""

    events_only = server.transport == "sse"

    async def check(response: httpx2.Response) -> None:
        if isinstance(body := response.stream, httpx2.AsyncByteStream):
            events = response.headers.get("content-type", "").startswith("text/event-stream")
            response.stream = LimitedBody(
                body, events=events, max_bytes=server.max_message_bytes, encoded="content-encoding" in response.headers
            )
        if response.request.method != "POST" and not events_only:
            return  # servers without a stream of notifications answer a GET with any status
        on_status(response.status_code)
        if response.status_code < 400:
            return
        message = request_message(response.request) or {}
        answers.failed(message.get("id"), response.status_code, response.headers.get("retry-after"))
        if (events_only or "mcp-session-id" in response.request.headers) and await _reports_unknown_session(response):
            answers.lost(message.get("id"), on_session_lost)

    # A server may keep a response open while a call runs.
    timeout = httpx2.Timeout(server.connect_timeout, read=max(server.timeout, server.connect_timeout, 300.0))

    async def add_headers(request: httpx2.Request) -> None:
        request.headers.update(await _headers(server))

    hooks: dict[str, list[Callable[..., Any]]] = {"request": [add_headers], "response": [check]}
    async with anyio.create_task_group() as tasks:
        http = HttpClient(
            tasks,
            server.max_message_bytes,
            server.connect_timeout,
            answers_later=events_only,
            timeout=timeout,
            event_hooks=hooks,
            auth=server.auth,
        )
        # Closed after the transport, which tells the server the end of the session.
        async with http, _streams(server, http) as (read, write):
            yield WatchedStream(read, on_end, answers), WatchedSender(write, answers)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def _streams(server: HttpServer, http: HttpClient) -> AsyncIterator[TransportStreams]:
    # The size of events is limited by the client.
    if server.transport == "sse":
        opened = open_events(server.url, http)
    else:
        opened = streamable_http_client(server.url, http_client=http, max_sse_event_size=None)
    async with opened as streams:
        yield streams


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


async def _reports_unknown_session(response: httpx2.Response) -> bool:
    """Return whether the server does not know the session of the request.

    The protocol specifies status 404 for this. Servers that follow a widespread example send 400 and a sentence.
    """
    if response.status_code == 400:
        return _UNKNOWN_SESSION.search(await response.aread()) is not None
    return response.status_code == 404
