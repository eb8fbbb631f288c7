"""`ChatStream` and `AsyncChatStream`: what `stream` and `astream` return."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from types import TracebackType
from typing import Self

from ..chat.events import ChatChunk, StreamEvent
from ..chat.responses import ChatResponse
from ..errors import StreamStateError
from ..loop.drivers import adrive, drive
from ..loop.turn import Turn

__all__ = ["AsyncChatStream", "ChatStream"]


class _Stream:
    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._started = False

    @property
    def response(self) -> ChatResponse:
        """The whole response, once the stream has been read to its end.

        Raises:
            StreamStateError: before that.
        """
        if self._turn.response is None:
            raise StreamStateError("the response is complete only after the stream has been read to its end")
        return self._turn.response

    def _start(self) -> None:
        if self._started:
            raise StreamStateError(
                "a stream can be read once, and not after it was closed; ask the client for a new one"
            )
        self._started = True


class ChatStream(_Stream):
    """A streamed answer: iterate it for its text, or `events` for all that happens. The turn begins at the first step.

    Leaving it early (`close`, a `with` block, or dropping it) ends the turn and leaves no half of it behind.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> with ChatClient(ScriptedChatModel(["Hello there"])).stream("Hi") as stream:
        ...     text = "".join(stream)
        >>> text == stream.response.text
        True
    """

    def __init__(self, turn: Turn) -> None:
        super().__init__(turn)
        self._events: Generator[StreamEvent, None, None] = drive(turn)

    def __iter__(self) -> Iterator[str]:
        """Yield the text, piece by piece."""
        return (event.text for event in self.events() if isinstance(event, ChatChunk))

    def events(self) -> Iterator[StreamEvent]:
        """Yield everything that happens: rounds, chunks of text, tool calls and the end."""
        self._start()
        return self._events

    def close(self) -> None:
        """End the turn now, if it is still running."""
        self._started = True
        self._events.close()
        self._turn.close()  # a generator that never began does not run its own `finally`

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncChatStream(_Stream):
    """The async twin of `ChatStream`; use it in an ``async with`` block if you may leave it early.

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

    def __init__(self, turn: Turn) -> None:
        super().__init__(turn)
        self._events: AsyncGenerator[StreamEvent] = adrive(turn)

    def __aiter__(self) -> AsyncIterator[str]:
        """Yield the text, piece by piece."""
        return _Texts(self.events())

    def events(self) -> AsyncIterator[StreamEvent]:
        """Yield everything that happens: rounds, chunks of text, tool calls and the end."""
        self._start()
        return self._events

    async def aclose(self) -> None:
        """End the turn now, if it is still running."""
        self._started = True
        await self._events.aclose()
        self._turn.close()  # a generator that never began does not run its own `finally`

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()


class _Texts:
    """The texts among events. Not a generator: one that is left early would itself have to be closed."""

    def __init__(self, events: AsyncIterator[StreamEvent]) -> None:
        self._events = events

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        async for event in self._events:
            if isinstance(event, ChatChunk):
                return event.text
        raise StopAsyncIteration
