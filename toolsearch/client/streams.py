"""Streamed turns: `ChatStream` is returned by `ChatClient.stream`, `AsyncChatStream` by `ChatClient.astream`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from types import TracebackType
from typing import Generic, Self, cast

from ..chat.events import ChatChunk, StreamEvent
from ..chat.responses import ChatResponse, OutputT
from ..errors import StreamStateError
from ..loop.drivers import adrive, drive
from ..loop.turn import Turn as _Turn  # streams are created by a client only
from ..text import short_repr
from .open_streams import close_at_exit

__all__ = ["AsyncChatStream", "ChatStream"]


class _Stream(Generic[OutputT]):
    """State that both kinds of stream share."""

    def __init__(self, turn: _Turn) -> None:
        self._turn = turn
        self._started = False

    @property
    def response(self) -> ChatResponse[OutputT]:
        """The complete response. It is available once the stream is read to its end.

        Raises:
            StreamStateError: If the stream is not read to its end.
        """
        if self._turn.response is None:
            raise StreamStateError("response is available only after the stream is read to its end")
        return cast("ChatResponse[OutputT]", self._turn.response)

    @property
    def partial(self) -> ChatResponse:
        """The turn so far, at any time: while it runs, after it failed, and after the stream was closed.

        It has the messages, the text streamed so far as the last message, and the tool calls that were started. Every
        tool call has a result, so the messages can be sent again. It is `response` once the turn is complete.
        """
        return self._turn.partial()

    def __repr__(self) -> str:
        if self._turn.response is not None:
            return f"<{type(self).__name__}: finished, {short_repr(self._turn.response.text)}>"
        return f"<{type(self).__name__}: {'started' if self._started else 'not started'}>"

    def _start(self) -> None:
        if self._started:
            raise StreamStateError(
                "a stream can be iterated once, and not after it is closed; ask the client for a new one"
            )
        self._started = True


class ChatStream(_Stream[OutputT]):
    """A streamed turn. Iterate it for the text of the answer, or iterate `events` for everything that happens.

    The turn starts when the first item is read. Closing the stream early (`close`, a `with` block, or dropping the
    last reference) ends the turn. So does the end of the program.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> with ChatClient(ScriptedChatModel(["Hello there"])).stream("Hi") as stream:
        ...     text = "".join(stream)
        >>> text == stream.response.text
        True
    """

    def __init__(self, turn: _Turn) -> None:
        super().__init__(turn)
        self._events: Generator[StreamEvent, None, None] = drive(turn)

    def __iter__(self) -> Iterator[str]:
        """Yield the text of the answer in pieces."""
        return (event.text for event in self.events() if isinstance(event, ChatChunk))

    def events(self) -> Iterator[StreamEvent]:
        """Yield all events: rounds, chunks of text, tool calls, and the end of the turn.

        Raises:
            StreamStateError: If the stream was iterated or closed before.
        """
        self._start()
        close_at_exit(self._events)
        return self._events

    def close(self) -> None:
        """End the turn if it is still running. Idempotent."""
        self._started = True
        self._events.close()
        self._turn.close()  # a generator that was never started does not run its own `finally`

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncChatStream(_Stream[OutputT]):
    """A streamed turn for async code. Use an ``async with`` block if you may leave the stream early.

    It has the same interface as `ChatStream`, with `aclose` instead of `close`.

    Example:
        >>> import anyio
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> async def main():
        ...     async with ChatClient(ScriptedChatModel(["Hello there"])).astream("Hi") as stream:
        ...         return "".join([text async for text in stream])
        >>> anyio.run(main)
        'Hello there'
    """

    def __init__(self, turn: _Turn) -> None:
        super().__init__(turn)
        self._events: AsyncGenerator[StreamEvent] = adrive(turn)

    def __aiter__(self) -> AsyncIterator[str]:
        """Yield the text of the answer in pieces."""
        return _TextIterator(self.events())

    def events(self) -> AsyncIterator[StreamEvent]:
        """Yield all events: rounds, chunks of text, tool calls, and the end of the turn.

        Raises:
            StreamStateError: If the stream was iterated or closed before.
        """
        self._start()
        return self._events

    async def aclose(self) -> None:
        """End the turn if it is still running. Idempotent."""
        self._started = True
        await self._events.aclose()
        self._turn.close()  # a generator that was never started does not run its own `finally`

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()


class _TextIterator:
    """The text among the events of a stream. Not a generator: one that is left early would need closing itself."""

    def __init__(self, events: AsyncIterator[StreamEvent]) -> None:
        self._events = events

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        async for event in self._events:
            if isinstance(event, ChatChunk):
                return event.text
        raise StopAsyncIteration
