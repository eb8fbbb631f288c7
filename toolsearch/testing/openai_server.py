"""`OpenAIWireServer`: a local server with scripted answers in the chat-completions format."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias, cast

from ..chat.requests import ChatRequest
from ..errors import ProviderError
from ..messages import AssistantMessage, Usage
from ..models.profiles import ProviderProfile
from .openai_encoding import completion, completion_chunks, json_bytes
from .script import Script, ScriptExhaustedError
from .scripted import ScriptedAnswer, ScriptedChatModel, estimate_usage
from .wire_checks import rejections

__all__ = ["OpenAIWireServer", "WireAnswer", "WireReply", "WireRequest"]

WireEvent: TypeAlias = Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A received HTTP request.

    Args:
        path: The path, such as ``"/v1/chat/completions"``.
        headers: The headers, with lower-case names.
        body: The raw body.

    Example:
        >>> WireRequest("/v1/chat/completions", {}, b'{"messages": []}').json
        {'messages': []}
    """

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class WireReply:
    """A raw HTTP reply, for errors and malformed replies.

    Args:
        status: The HTTP status.
        body: The body. A mapping is sent as JSON.
        content_type: The content type of the body.
        headers: Further headers.
        events: The data of server-sent events, sent instead of a body. The iterable may be endless.
        done: Whether the event stream ends with ``[DONE]``.
        cut: Whether the connection is closed before the end of the reply.

    Example:
        >>> WireReply(status=429, headers={"Retry-After": "1"}).status
        429
    """

    status: int = 200
    body: bytes | str | Mapping[str, Any] = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    events: Iterable[WireEvent] | None = None
    done: bool = True
    cut: bool = False


WireAnswer: TypeAlias = WireReply | ScriptedAnswer | Callable[[WireRequest], Any]
"""A step of the script of an `OpenAIWireServer`."""


class OpenAIWireServer:
    """A server on 127.0.0.1 that answers ``POST /v1/chat/completions`` from a script, streamed if requested.

    Use it as a context manager to test the requests of a model adapter. A step of the script is a `WireReply` or any
    step of `ScriptedChatModel`. A callable step gets the `WireRequest`. A `ProviderError` is sent as its HTTP status
    and its `retry_after`.

    Args:
        script: The steps, one for each request, or one callable that answers every request. An iterator is read step by
            step, so it may be endless.
        profile: What the server accepts. A request that does not fit gets status 400, and no step is taken.

    Attributes:
        requests: All requests in order of arrival.
        connections_made: The number of connections that clients opened.
        disconnected: An event that is set when a client disconnects before the end of its reply.
        errors: The exceptions of the script's callables and events. The first one is raised at the end of the
            ``with`` block.

    Example:
        >>> import urllib.request
        >>> with OpenAIWireServer(["Hello!"]) as server:
        ...     with urllib.request.urlopen(server.base_url + "/chat/completions", b'{"messages": []}') as reply:
        ...         json.load(reply)["choices"][0]["message"]["content"], server.requests[0].json
        ('Hello!', {'messages': []})
    """

    def __init__(
        self,
        script: Iterable[WireAnswer] | Callable[[WireRequest], Any] = (),
        *,
        profile: ProviderProfile | None = None,
    ) -> None:
        self._script = Script(script)
        self._profile = profile
        self._lock = threading.Lock()
        self._encoder = ScriptedChatModel(lambda request: request.context["answer"], usage=_estimate)
        self.requests: list[WireRequest] = []
        self.connections_made = 0
        self.disconnected = threading.Event()
        self.errors: list[BaseException] = []
        self._http = _Server(self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, name="openai-wire-server", daemon=True
        )

    @property
    def base_url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> OpenAIWireServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.end_connections()
        self._http.server_close()
        if self.errors and kind is None:
            raise self.errors[0]

    def reply_to(self, request: WireRequest) -> WireReply:
        """Record `request` and return the next reply of the script, streamed if the request asks for it."""
        with self._lock:
            self.requests.append(request)
        if not request.path.endswith("/chat/completions"):
            return WireReply(status=404, body=_error(f"no such path: {request.path}", "not_found"))
        if self._profile is not None and (found := rejections(request.json, self._profile)):
            return WireReply(status=400, body=_error("; ".join(found), "invalid_request_error"))
        try:
            answer: Any = self._script.take()
        except ScriptExhaustedError as error:
            return WireReply(status=400, body=_error(str(error), "script_exhausted"))
        while callable(answer):
            answer = answer(request)
        return answer if isinstance(answer, WireReply) else self._encode(request, answer)

    def _encode(self, request: WireRequest, answer: ScriptedAnswer) -> WireReply:
        try:
            response = self._encoder.call(ChatRequest(messages=(), context={"answer": answer, "body": request.body}))
        except ProviderError as error:
            headers = {} if error.retry_after is None else {"Retry-After": f"{error.retry_after:g}"}
            return WireReply(status=error.status or 500, body=_error(str(error), "scripted"), headers=headers)
        asked = request.json
        model = asked.get("model", "scripted")
        if not asked.get("stream"):
            return WireReply(body=completion(response, model))
        with_usage = bool((asked.get("stream_options") or {}).get("include_usage"))
        return WireReply(events=completion_chunks(response, model, usage=with_usage))


def _estimate(request: ChatRequest, message: AssistantMessage) -> Usage:
    """Return one token for every four characters of the received messages and tools, and of the answer."""
    body = json.loads(request.context["body"])
    sent = json.dumps([body.get("messages"), body.get("tools")], ensure_ascii=False)
    return Usage(-(-len(sent) // 4), estimate_usage(request, message).output_tokens)


def _error(message: str, kind: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


@dataclass(slots=True)
class _Connections:
    """The open connections, closed at the end of the server, since clients keep them alive."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    sockets: set[socket.socket] = field(default_factory=set)

    def add(self, connection: socket.socket) -> None:
        with self.lock:
            self.sockets.add(connection)

    def remove(self, connection: socket.socket) -> None:
        with self.lock:
            self.sockets.discard(connection)

    def end_all(self) -> None:
        with self.lock:
            for connection in self.sockets:
                _shut(connection)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # the client closed it first
        connection.shutdown(socket.SHUT_RDWR)


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close waits for the handlers
    block_on_close = True

    def __init__(self, owner: OpenAIWireServer) -> None:
        self.owner = owner
        self.connections = _Connections()
        super().__init__(("127.0.0.1", 0), _Handler)

    def end_connections(self) -> None:
        self.connections.end_all()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        self.owner.connections_made += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.remove(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Store the error for the test instead of printing it."""
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self.owner.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        owner = cast(_Server, self.server).owner
        reply = owner.reply_to(WireRequest(self.path, headers, body))
        try:
            if reply.events is None:
                self._send_body(reply)
            else:
                self._send_events(reply, reply.events)
        except OSError:
            owner.disconnected.set()
            reply = WireReply(cut=True)
        if reply.cut:
            self.close_connection = True
            _shut(self.connection)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _send_head(self, reply: WireReply, headers: Mapping[str, str]) -> None:
        self.send_response(reply.status)
        for name, value in {**headers, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_body(self, reply: WireReply) -> None:
        body = reply.body
        data = json_bytes(body) if isinstance(body, Mapping) else body.encode() if isinstance(body, str) else body
        # A length of one byte more than is sent makes the reply incomplete.
        self._send_head(reply, {"Content-Type": reply.content_type, "Content-Length": str(len(data) + reply.cut)})
        self.wfile.write(data)

    def _send_events(self, reply: WireReply, events: Iterable[WireEvent]) -> None:
        self._send_head(reply, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        for data in _event_data(events, done=reply.done and not reply.cut):
            encoded = b"data: %b\n\n" % data
            self.wfile.write(b"%x\r\n%b\r\n" % (len(encoded), encoded))
        if not reply.cut:
            self.wfile.write(b"0\r\n\r\n")


def _event_data(events: Iterable[WireEvent], *, done: bool) -> Iterator[bytes]:
    for event in events:
        yield event.encode() if isinstance(event, str) else json_bytes(event)
    if done:
        yield b"[DONE]"
