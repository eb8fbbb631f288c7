"""A hand-written MCP server over HTTP that answers chosen requests in a broken way, for the tests of one process."""

from __future__ import annotations

import gzip
import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any

JSON = "application/json"
EVENTS = "text/event-stream"
TOOLS = ("good", "bad", "slow")


class Handler(BaseHTTPRequestHandler):
    """One connection, whose requests are answered by `HostileServer.faults`."""

    protocol_version = "HTTP/1.1"
    server: HostileServer

    def raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        with suppress(OSError):
            self.wfile.write(data)
            self.wfile.flush()

    def reply(self, status: int, body: bytes = b"", content_type: str | None = JSON, **headers: str) -> None:
        """Write a whole response."""
        lines = [f"HTTP/1.1 {status} x", f"content-length: {len(body)}"]
        lines += [f"content-type: {content_type}"] if content_type else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.raw("\r\n".join([*lines, "", ""]).encode() + body)

    def open(self, content_type: str = EVENTS, *, chunked: bool = False) -> None:
        """Write the head of a response without a length, which ends with the connection."""
        length = "transfer-encoding: chunked" if chunked else "connection: close"
        self.raw(f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n{length}\r\n\r\n".encode())
        self.close_connection = True

    def reset(self) -> None:
        """Break the connection instead of closing it."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
        self.close_connection = True

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.request_id: Any = request.get("id")
        method = request.get("method", "answer")
        self.server.seen.append(method)
        name = request.get("params", {}).get("name") if method == "tools/call" else None
        fault = self.server.faults.get(name or method)
        if fault is not None:
            fault(self)
        elif "id" not in request:
            self.reply(202)
        elif self.server.events is not None:
            self.server.events.put(b"data: " + answer(self.request_id, method, request) + b"\n\n")
            self.reply(202)
        else:
            self.reply(200, answer(self.request_id, method, request), **self.server.session_header(method))

    def do_GET(self) -> None:
        self.server.gets += 1
        self.other("GET")

    def do_DELETE(self) -> None:
        self.other("DELETE")

    def other(self, method: str) -> None:
        fault = self.server.faults.get(method)
        if fault is not None:
            fault(self)
        elif method == "GET" and self.server.events is not None:
            self.open()
            self.raw(b"event: endpoint\ndata: /messages?session=1\n\n")
            while (event := self.server.events.get()) is not None:
                self.raw(event)
        else:
            self.reply(405)

    def log_message(self, *_: object) -> None:
        pass


def answer(request_id: object, method: str, request: dict[str, Any]) -> bytes:
    about = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "hostile", "version": "1"}}
    fields: dict[str, Any] = {
        "initialize": {"result": {**about, "capabilities": {"tools": {"listChanged": True}}}},
        "tools/list": {
            "result": {"tools": [{"name": n, "inputSchema": {"type": "object"}, **READ_ONLY} for n in TOOLS]}
        },
        "tools/call": {"result": {"content": [{"type": "text", "text": "fine"}]}},
    }.get(method, {"error": {"code": -32601, "message": "unknown method"}})
    return json.dumps({"jsonrpc": "2.0", "id": request_id, **fields}).encode()


READ_ONLY = {"annotations": {"readOnlyHint": True}}  # so that calls run at the same time


class HostileServer(ThreadingHTTPServer):
    """A server on a free port.

    Attributes:
        faults: The functions that answer in place of the server, by method or by name of a tool.
        seen: The methods of MCP asked so far.
        gets: The number of streams of notifications asked for.
        released: Set at the end, so that answers that wait can end.
        sessions: Whether `initialize` begins a session with an id.
        events: The events to send in answer to a GET, as in the older transport; None ends them.
    """

    daemon_threads = True

    def __init__(self, *, sessions: bool = True, events: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults: dict[str, Callable[[Handler], object]] = {}
        self.seen: list[str] = []
        self.gets = 0
        self.released = threading.Event()
        self.sessions = sessions
        self.events: Queue[bytes | None] | None = Queue() if events else None
        self._begun = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mcp"

    def session_header(self, method: str) -> dict[str, str]:
        if method != "initialize" or not self.sessions:
            return {}
        self._begun += 1
        return {"mcp_session_id": f"s{self._begun}"}

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@contextmanager
def hostile(**options: bool) -> Iterator[HostileServer]:
    with HostileServer(**options) as web:
        thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield web
        finally:
            web.released.set()
            if web.events is not None:
                web.events.put(None)
            web.shutdown()
            thread.join()


# ---------------------------------------------------------------- faults


def message(h: Handler, **fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": h.request_id, **fields}).encode()


def fine(h: Handler) -> bytes:
    return message(h, result={"content": [{"type": "text", "text": "late"}]})


def status(code: int, body: bytes = b"no", content_type: str | None = "text/plain", **headers: str) -> Any:
    return lambda h: h.reply(code, body, content_type, **headers)


def body(data: bytes, content_type: str | None = JSON, **headers: str) -> Any:
    return lambda h: h.reply(200, data, content_type, **headers)


def text(*parts: bytes, content_type: str = EVENTS) -> Any:
    """Send parts in a response that ends with the connection."""

    def fault(h: Handler) -> None:
        h.open(content_type)
        for part in parts:
            h.raw(part)

    return fault


def raw(data: bytes) -> Any:
    def fault(h: Handler) -> None:
        h.raw(data)
        h.close_connection = True

    return fault


def reset(before: bytes = b"") -> Any:
    def fault(h: Handler) -> None:
        h.raw(before)
        h.reset()

    return fault


def chunks(data: bytes) -> Any:
    def fault(h: Handler) -> None:
        h.open(JSON, chunked=True)
        h.raw(data)

    return fault


def drip(piece: bytes, content_type: str) -> Any:
    """Send bytes without end, far apart."""

    def fault(h: Handler) -> None:
        h.open(content_type)
        while not h.server.released.wait(0.02):
            h.raw(piece)

    return fault


def silence(h: Handler) -> None:
    h.server.released.wait(20)
    h.close_connection = True


def short_body(h: Handler) -> None:
    """Announce more bytes than there are."""
    h.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n" + fine(h))
    h.close_connection = True


def redirect(code: int, location: str) -> Any:
    return status(code, b"", None, location=location)


def bomb(h: Handler) -> None:
    h.reply(200, gzip.compress(b'{"a": "' + b"x" * 30_000_000 + b'"}', 1), JSON, content_encoding="gzip")


def other_id(h: Handler) -> None:
    h.request_id = 987654
    h.reply(200, fine(h))


RESULT_AS_EVENT = b'event: message\ndata: {"jsonrpc": "2.0", "id": 0, "result": {"content": []}}\n\n'
PROGRESS = b'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n'
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"

STATUSES = (400, 401, 402, 403, 404, 405, 406, 409, 410, 413, 418, 451, 500, 502, 504, 999)
FAULTS: dict[str, Any] = {
    # another content, or none
    "page instead of an answer": body(b"<html>Sign in</html>", "text/html"),
    "no content type": body(b"{}", None),
    "empty content type": body(b"{}", ""),
    "accepted without an answer": status(202, b""),
    "no content": status(204, b""),
    "reset content": status(205, b""),
    "partial content": status(206, b'{"jsonrpc": "2.0"', JSON),
    "empty JSON": body(b""),
    "half JSON": body(b'{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type"'),
    "array": body(b"[]"),
    "null": body(b"null"),
    "number": body(b"1e999"),
    "deep JSON": body(b"[" * 100_000),
    "not UTF-8": body(b'{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "\xff\xfe"}]}}'),
    "UTF-16": body('{"jsonrpc": "2.0"}'.encode("utf-16"), "application/json; charset=utf-16"),
    "answer without result": lambda h: h.reply(200, message(h)),
    "another id": other_id,
    "a request as the answer": lambda h: h.reply(200, message(h, method="tools/list")),
    "a notification as the answer": body(b'{"jsonrpc": "2.0", "method": "notifications/message"}'),
    "result is text": lambda h: h.reply(200, message(h, result="3 rows")),
    # statuses
    **{
        f"status {code}": status(code)
        for code in (400, 401, 402, 403, 405, 406, 409, 410, 413, 418, 451, 500, 502, 504, 999)
    },
    "status 404": status(404),
    "status 429": status(429, b'{"error": "slow down"}', JSON, retry_after="30"),
    "status 429 with a date": status(429, b"", None, retry_after="Fri, 31 Dec 1999 23:59:59 GMT"),
    "status 503": status(503, b"<html>busy</html>", "text/html", retry_after="5"),
    "status 500 with JSON": status(500, b'{"detail": "db password is hunter2"}', JSON),
    "status 500 with an odd error": status(500, b'{"jsonrpc": "2.0", "id": null, "error": "boom"}', JSON),
    "status 400 with garbage": status(400, b"\xff\x00{", JSON),
    "status 400 unfinished": raw(b"HTTP/1.1 400 Bad\r\ncontent-length: 500\r\ncontent-type: application/json\r\n\r\n{"),
    # redirects
    "redirect elsewhere": redirect(307, "http://127.0.0.1:9/mcp"),
    "redirect to a page": redirect(302, "/login"),
    "redirect without end": redirect(307, "/mcp"),
    "redirect to a file": redirect(308, "file:///etc/passwd"),
    "redirect nowhere": redirect(301, ""),
    "redirect with a broken address": redirect(307, "http://[::1"),
    "status 300": status(300),
    "status 304": status(304, b""),
    # events
    "no events": text(),
    "only comments": text(b": hello\n\n: bye\n\n"),
    "half an event": text(b'data: {"jsonrpc": "2.0", "id'),
    "event of garbage": text(b"data: }{\n\n"),
    "event that is not UTF-8": text(b"data: \xff\xfe\n\n"),
    "event of another kind": text(b"event: ping\ndata: {}\n\n"),
    "events end after progress": text(PROGRESS),
    "events end after many": text(PROGRESS * 500),
    "events with an id end": text(b"id: 7\nretry: 10\ndata:\n\n"),
    "events as JSON": body(RESULT_AS_EVENT),
    "JSON as events": text(b'{"jsonrpc": "2.0", "id": 1, "result": {}}'),
    "event with a huge field": text(b"x" * 3_000_000),
    "event with an array": text(b"data: []\n\n"),
    # HTTP itself
    "huge header": raw(HEAD + b"x-a: " + b"a" * 1_000_000 + b"\r\n\r\n{}"),
    "many headers": raw(HEAD + b"".join(b"x-%d: 1\r\n" % n for n in range(20_000)) + b"\r\n{}"),
    "header of garbage": raw(HEAD + b"\x00\xff: \x01\r\n\r\n{}"),
    "chunks of garbage": chunks(b"zz\r\nhello\r\n"),
    "chunk too large": chunks(b"FFFFFFFFFFFFFFFFFF\r\n{"),
    "chunks end early": chunks(b'20\r\n{"jsonrpc"'),
    "body too short": short_body,
    "two lengths": raw(HEAD + b"content-length: 5\r\ncontent-length: 7\r\n\r\n{}"),
    "negative length": raw(HEAD + b"content-length: -1\r\n\r\n{}"),
    "gzip that is not gzip": body(b"not gzip", JSON, content_encoding="gzip"),
    "unknown encoding": body(b"{}", JSON, content_encoding="zz9"),
    "gzip bomb": bomb,
    "no HTTP": raw(b"SSH-2.0-OpenSSH_9.9\r\n"),
    "status line of garbage": raw(b"HTTP/9.9 abc\r\n\r\n"),
    "closed without a word": raw(b""),
    "informational only": raw(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 3),
    "switching protocols": raw(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n"),
    "reset at once": reset(),
    "reset after the head": reset(HEAD + b"content-length: 100\r\n\r\n"),
    "reset in the body": reset(HEAD + b'content-length: 100\r\n\r\n{"jsonrpc"'),
    "reset in the events": reset(STREAM + PROGRESS),
}
SLOW_FAULTS: dict[str, Any] = {
    "retry out of range": text(b"id: 7\nretry: 99999999999999999999\ndata:\n\n"),
    "silence": silence,
    "drip of JSON": drip(b" ", JSON),
    "drip of comments": drip(b": x\n\n", EVENTS),
    "drip of events": drip(PROGRESS, EVENTS),
    "drip of a header": drip(b"x", EVENTS),
}
