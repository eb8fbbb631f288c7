"""A limit for the size of one message of a server, and reading in time that grows linearly with it.

The SDK puts the lines of a process together by appending each chunk to what came before, which takes time quadratic in
the length of a line. So a process's output is handed to it in whole lines.
"""

from __future__ import annotations

import json
import logging
import re
from asyncio import StreamReader
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2

from ....text import EscapeRepair
from ...events import log_event

__all__ = ["LimitedBody", "MessageTooLargeError", "WholeLines", "too_large_text"]

_EDGE_BYTES = 300
_MAX_REPAIRED_BYTES = 2_000_000
_ID = rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")'
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID)
_ID_LAST = re.compile(_ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_SERVER_ERROR = -32000


def too_large_text(max_bytes: int) -> str:
    """Return the reason why an answer was dropped."""
    return f"its answer was larger than {max_bytes:,} bytes"


class MessageTooLargeError(httpx2.StreamError, httpx2.SSEError):
    """A response whose message is larger than allowed."""


class WholeLines:
    """Reads of a process's output that return whole lines, and an error in place of a line that is too long.

    Args:
        server: The server's name, for the log.
        stream: The output, whose method `read` is replaced.
        max_bytes: The largest line.
    """

    def __init__(self, server: str, stream: StreamReader, max_bytes: int) -> None:
        self._server = server
        self._max_bytes = max_bytes
        self._read: Callable[[int], Awaitable[bytes]] = stream.read
        self._parts: list[bytes] = []  # the line that is not complete yet
        self._size = 0
        self._skipping = False
        stream.read = self.read  # type: ignore[assignment]  # the SDK calls no other method

    async def read(self, size: int = -1) -> bytes:
        """Return one or more whole lines, the rest before the end, or nothing at the end."""
        while chunk := await self._read(size):
            end = chunk.rfind(b"\n") + 1
            if not end:
                self._add(chunk)
                continue
            lines = self._finish(chunk[:end])
            if end < len(chunk):
                self._add(chunk[end:])
            if lines:
                return _repaired(lines)
        return _repaired(self._finish(b""))

    def _add(self, chunk: bytes) -> None:
        self._parts.append(chunk)
        self._size += len(chunk)
        if self._size > self._max_bytes:  # only both ends are needed, to find out which request is answered
            self._skipping = True
            text = b"".join(self._parts)
            self._parts = [text[:_EDGE_BYTES], text[-_EDGE_BYTES:]]
            self._size = self._max_bytes

    def _finish(self, chunk: bytes) -> bytes:
        parts, skipping = [*self._parts, chunk], self._skipping
        self._parts, self._size, self._skipping = [], 0, False
        if not skipping:
            return b"".join(parts)
        first, newline, others = chunk.partition(b"\n")
        start, end = parts[0], (b"".join(parts[1:-1]) + first)[-_EDGE_BYTES:]
        log_event(logging.WARNING, "mcp_message_too_large", server=self._server, max_bytes=self._max_bytes)
        found = _ID_FIRST.match(start) or _ID_LAST.search(end)
        if found is None:
            return others
        error = {"code": _SERVER_ERROR, "message": too_large_text(self._max_bytes)}
        answer = {"jsonrpc": "2.0", "id": json.loads(found[1]), "error": error}
        return json.dumps(answer).encode() + (newline or b"\n") + others


def _repaired(lines: bytes) -> bytes:
    if len(lines) > _MAX_REPAIRED_BYTES:  # a line made of escapes takes long
        return lines
    repair = EscapeRepair()
    return repair.feed(lines) + repair.end()


class LimitedBody(httpx2.AsyncByteStream):
    """The body of a response, whose messages may not be larger than a limit.

    Args:
        body: The body.
        events: Whether it is a stream of events, each of which is a message.
        max_bytes: The largest message.
        encoded: Whether the bytes are compressed.
    """

    def __init__(self, body: httpx2.AsyncByteStream, *, events: bool, max_bytes: int, encoded: bool = False) -> None:
        self._body = body
        self._events = events
        self._max_bytes = max_bytes
        self._repair = None if encoded else EscapeRepair()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._body:
            end = max(chunk.rfind(b"\n\n"), chunk.rfind(b"\n\r\n"), chunk.rfind(b"\r\r")) if self._events else -1
            size = size + len(chunk) if end < 0 else len(chunk) - end
            if size > self._max_bytes:
                raise MessageTooLargeError(too_large_text(self._max_bytes))
            yield chunk if self._repair is None else self._repair.feed(chunk)
        if self._repair is not None:
            yield self._repair.end()

    async def aclose(self) -> None:
        await self._body.aclose()
