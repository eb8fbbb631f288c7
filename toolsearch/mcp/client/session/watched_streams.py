"""Streams of a session that report their end, record requests and repair answers."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

import anyio
from mcp.client._transport import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from .answers import Answers

__all__ = ["WatchedSender", "WatchedStream"]


class WatchedStream:
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


class WatchedSender:
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
