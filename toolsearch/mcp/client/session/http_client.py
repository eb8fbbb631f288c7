"""An HTTP client for one MCP server, whose failed requests are answers instead of the end of the session.

The SDK ends the session, and with it all other calls, when one request breaks: its connection is reset, its headers or
chunks are garbage, its body cannot be decoded. Here each request fails for itself.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import anyio
import httpx2
from anyio.abc import TaskGroup

from ...events import log_event
from .disconnects import describe_status
from .message_limit import LimitedBody, MessageTooLargeError, too_large_text

__all__ = ["ANSWER_BROKEN", "HttpClient", "request_message"]

ANSWER_BROKEN = -32099
"""The code of an answer that stands for a response without one; the message says what was wrong."""

_UNREACHABLE = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError, httpx2.UnsupportedProtocol)
_MAX_PARSED_BYTES = 1_000_000
_MIN_GET_SECONDS = 0.2
_MAX_NOTICE_SECONDS = 2.0
_INITIALIZED = "notifications/initialized"


class HttpClient(httpx2.AsyncClient):
    """A client whose requests to an MCP server always have a response, unless the server cannot be reached.

    Args:
        tasks: The task group of notifications under way. The SDK sends nothing else until one is sent.
        max_bytes: The largest message.
        connect_timeout: The seconds that a start may take, a part of which is for notifications.
        answers_later: Whether a response does not contain the answer to its request.
        options: The options of the HTTP client.
    """

    def __init__(
        self, tasks: TaskGroup, max_bytes: int, connect_timeout: float, *, answers_later: bool = False, **options: Any
    ) -> None:
        super().__init__(**options)
        self._answers_later = answers_later
        self._tasks = tasks
        self._max_bytes = max_bytes
        self._notice_seconds = min(connect_timeout / 4, _MAX_NOTICE_SECONDS)
        self._next_get = 0.0
        self._answered = False

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request; an answer of its own replaces a broken response."""
        if request.method == "DELETE":
            return await self._end(request, options)
        if request.method == "GET":
            await self._pace()
        message = request_message(request) if request.method == "POST" else None
        if message is None:
            return _decoded(await super().send(request, **options), self._max_bytes)
        if "id" in message and "method" in message:
            return await self._ask(request, message["id"], options)
        sent = anyio.Event()
        self._tasks.start_soon(self._notify, request, options, sent)
        if message.get("method") == _INITIALIZED:  # requests come after it
            with anyio.move_on_after(self._notice_seconds):
                await sent.wait()
        return httpx2.Response(202, request=request)

    async def _ask(self, request: httpx2.Request, request_id: object, options: dict[str, Any]) -> httpx2.Response:
        response: httpx2.Response | None = None
        try:
            response = _decoded(await super().send(request, **options), self._max_bytes)
            complete = _accepted if self._answers_later else _completed
            completed = await complete(response, request_id)
            self._answered = True
            return completed
        except _UNREACHABLE:
            raise
        except MessageTooLargeError:
            problem = too_large_text(self._max_bytes)
        except (httpx2.RequestError, httpx2.StreamError, httpx2.InvalidURL) as error:
            problem = _problem(error)
        except Exception as error:  # of a function for headers, or an authentication
            if not self._answered:
                raise  # it is the reason why the server did not start
            log_event(logging.WARNING, "mcp_request_not_sent", error=error, show_text=False)
            problem = "the request could not be sent"
        if response is not None:
            await response.aclose()
        return _error(request, request_id, problem)

    async def _notify(self, request: httpx2.Request, options: dict[str, Any], sent: anyio.Event) -> None:
        # A request that follows finds out whether the server works.
        with suppress(Exception):
            response = await super().send(request, **options)
            await response.aclose()
        sent.set()

    async def _end(self, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
        """Tell the server that the session ends; an answer is not needed."""
        with anyio.move_on_after(self._notice_seconds):
            response = await super().send(request, **options)
            await response.aclose()
        return httpx2.Response(200, request=request)

    async def _pace(self) -> None:
        """Wait if there was a GET just before: a server may end each stream at once and ask for no wait."""
        now = anyio.current_time()
        start = max(now, self._next_get)
        self._next_get = start + _MIN_GET_SECONDS
        await anyio.sleep(start - now)


def request_message(request: httpx2.Request) -> dict[str, Any] | None:
    """Return the message in a request to a server; None for other requests."""
    try:
        message = json.loads(request.content)
    except (ValueError, httpx2.StreamError):
        return None
    return message if isinstance(message, dict) and message.get("jsonrpc") == "2.0" else None


class _DecodedBody(httpx2.AsyncByteStream):
    """The body of a response without its content encoding."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.aiter_bytes():
            yield chunk

    async def aclose(self) -> None:
        await self._response.aclose()


def _decoded(response: httpx2.Response, max_bytes: int) -> httpx2.Response:
    """Return a response whose limit counts the decoded bytes: a few can expand to any number."""
    encoded = response.headers.get("content-encoding")
    if encoded is None or response.next_request is not None:
        return response
    headers = {k: v for k, v in response.headers.items() if k not in ("content-encoding", "content-length")}
    events = headers.get("content-type", "").startswith("text/event-stream")
    body = LimitedBody(_DecodedBody(response), events=events, max_bytes=max_bytes)
    return httpx2.Response(response.status_code, headers=headers, stream=body, request=response.request)


async def _completed(response: httpx2.Response, request_id: object) -> httpx2.Response:
    """Return a response that the SDK can read: with the answer to the request, or the reason of its absence."""
    request, status = response.request, response.status_code
    content_type = response.headers.get("content-type", "").lower()
    if status >= 400:
        if not content_type.startswith("application/json"):
            return response
        body = await _read_error(response)
        return httpx2.Response(status, headers={"content-type": content_type}, content=body, request=request)
    if response.next_request is not None or content_type.startswith("text/event-stream"):
        return response
    if not 200 <= status < 300:
        return _error(request, request_id, f"it answered with {describe_status(status)}")
    body = await response.aread()
    if status != 200 and not body.strip():
        return _error(request, request_id, "it accepted the request but gave no answer")
    if content_type.startswith("application/json") and len(body) > _MAX_PARSED_BYTES:
        return response
    messages = _parsed(body)
    if status == 200 and content_type.startswith("application/json") and _is_sound(messages, request_id, body):
        return response
    found = _answer_in(messages, request_id)
    if found is None:
        if not content_type.startswith("application/json"):
            return _error(request, request_id, "the answer was of another content type")
        return _error(request, request_id, "the answer was invalid")
    content = json.dumps({**found, "jsonrpc": "2.0", "id": request_id})
    return httpx2.Response(200, headers=_kept(response.headers), content=content, request=request)


async def _accepted(response: httpx2.Response, request_id: object) -> httpx2.Response:
    """Return a response whose body is read: that of an accepted request is empty, because its answer comes later."""
    if response.next_request is not None:
        return response
    status = 202 if response.status_code < 300 else response.status_code
    completed = response if status == 202 else await _completed(response, request_id)
    if completed is not response:
        return completed
    await response.aclose()
    return httpx2.Response(status, request=response.request)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _is_answer(message: Any) -> bool:
    return isinstance(message, dict) and "method" not in message and ("result" in message or "error" in message)


def _is_sound(message: object, request_id: object, body: bytes) -> bool:
    """Return whether the SDK reads a message as the answer to a request."""
    return (
        isinstance(message, dict)
        and _is_answer(message)
        and message.get("id") == request_id
        and message.get("jsonrpc") == "2.0"
        and body[:1].isascii()  # no byte order mark
    )


def _answer_in(messages: object, request_id: object) -> dict[str, Any] | None:
    """Return the answer to a request in the messages of a body: servers send batches, and ids of another type."""
    listed: list[Any] = messages if isinstance(messages, list) else [messages]
    answers: list[dict[str, Any]] = [message for message in listed if _is_answer(message)]
    same = (answer for answer in answers if str(answer.get("id")) == str(request_id))
    return next(same, answers[0] if len(answers) == 1 else None)


def _kept(headers: httpx2.Headers) -> dict[str, str]:
    kept = {"content-type": "application/json"}
    return kept | {name: value for name, value in headers.items() if name == "mcp-session-id"}


async def _read_error(response: httpx2.Response) -> bytes:
    try:
        return await response.aread()
    except (httpx2.RequestError, httpx2.StreamError):
        return b""


def _problem(error: Exception) -> str:
    if isinstance(error, httpx2.TimeoutException):
        return "the answer stopped coming"
    if isinstance(error, httpx2.DecodingError):
        return "the answer could not be decoded"
    if isinstance(error, httpx2.LocalProtocolError):
        return "the request could not be sent"
    if isinstance(error, httpx2.NetworkError) or re.search("disconnected|closed connection", str(error)):
        return "the connection broke"
    return "the answer was not valid HTTP"


def _error(request: httpx2.Request, request_id: object, problem: str) -> httpx2.Response:
    error = {"code": ANSWER_BROKEN, "message": problem}
    return httpx2.Response(200, json={"jsonrpc": "2.0", "id": request_id, "error": error}, request=request)
