"""The older HTTP transport: one endpoint sends all answers as events, another receives the requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urljoin, urlsplit

import anyio
import httpx2
from anyio.abc import TaskStatus
from mcp.client._transport import TransportStreams
from mcp.shared._httpx_utils import request_within_origin, stream_within_origin
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCRequest, jsonrpc_message_adapter
from pydantic import ValidationError

from .disconnects import describe_status
from .http_client import HttpClient

__all__ = ["open_events"]

_HEADERS = {"accept": "text/event-stream", "cache-control": "no-store"}


@asynccontextmanager
async def open_events(url: str, http: HttpClient) -> AsyncIterator[TransportStreams]:
    """Open the stream of events at `url`, and send messages to the endpoint that its first event names.

    The SDK's own client ends the session when a request fails or an event is larger than a megabyte.

    Raises:
        OSError: If the server sends no events, or names an endpoint of another server.
    """
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception]()
    to_send, outgoing = anyio.create_memory_object_stream[SessionMessage]()
    # A server need not send anything while there are no requests.
    timeout = httpx2.Timeout(http.timeout.connect, read=None)

    async def read(*, task_status: TaskStatus[str]) -> None:
        named = False
        async with incoming:
            try:
                async for event in httpx2.EventSource(response, max_event_size=None):
                    if event.event == "endpoint" and not named:
                        named = True
                        task_status.started(_same_origin(url, event.data))
                    elif event.event == "message" and event.data:
                        await incoming.send(_parsed(event.data))
            except (httpx2.HTTPError, httpx2.StreamError, httpx2.SSEError) as error:
                if not named:
                    raise OSError("its events cannot be read") from error
            if not named:
                raise OSError("it named no endpoint for requests")

    async def post(item: SessionMessage, endpoint: str) -> None:
        content = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        answer = await request_within_origin(http, "POST", endpoint, json=content)
        failed = _failure(answer, item.message)
        if failed is not None:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the session ended meanwhile
                await incoming.send(SessionMessage(failed))

    async def write(endpoint: str) -> None:
        async for item in outgoing:
            if isinstance(item.message, JSONRPCRequest):
                tasks.start_soon(post, item, endpoint)
            else:
                await post(item, endpoint)

    async with (
        incoming,
        received,
        to_send,
        outgoing,
        stream_within_origin(http, "GET", url, headers=_HEADERS, timeout=timeout) as response,
        anyio.create_task_group() as tasks,
    ):
        if response.status_code != 200:
            raise OSError(f"it answered with {describe_status(response.status_code)}")
        tasks.start_soon(write, await tasks.start(read))
        yield received, to_send
        tasks.cancel_scope.cancel()


def _same_origin(url: str, endpoint: str) -> str:
    endpoint = urljoin(url, endpoint)
    if urlsplit(endpoint)[:2] != urlsplit(url)[:2]:
        raise OSError("it named an endpoint of another server")
    return endpoint


def _parsed(data: str) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(data, by_name=False))
    except ValidationError as error:
        return error


def _failure(answer: httpx2.Response, request: JSONRPCMessage) -> JSONRPCError | None:
    """Return the error in the response to a request; None if the answer is to come as an event."""
    if answer.status_code == 202 or not isinstance(request, JSONRPCRequest):
        return None
    with suppress(ValidationError):
        message = jsonrpc_message_adapter.validate_json(answer.content, by_name=False)
        if isinstance(message, JSONRPCError):
            return JSONRPCError(jsonrpc="2.0", id=request.id, error=message.error)
    text = "Server returned an error response" if answer.status_code >= 400 else "Redirect to another address"
    return JSONRPCError(jsonrpc="2.0", id=request.id, error=ErrorData(code=INTERNAL_ERROR, message=text))
