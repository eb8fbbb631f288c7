"""A model's stream as the drivers read it: checked piece by piece, and observed only while the model works on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any, Self

from .chat import ChatChunk, ChatRequest, ChatResponse
from .errors import ConfigurationError, ProviderProtocolError
from .model import ChatModel
from .observer import Watch

__all__ = ["AsyncModelStream", "ModelStream"]

_END = object()


class _Checked:
    """Chunks pass, the aggregate is kept, anything else is an error."""

    def __init__(self, model: ChatModel, watch: Watch, mark: bytes | None) -> None:
        self._model = type(model).__name__
        self._watch = watch
        self._mark = mark
        self._response: ChatResponse | None = None
        self._text = False

    def response(self) -> ChatResponse:
        """Return the aggregate, marked as shown if its text came in chunks."""
        if self._response is None:
            raise ProviderProtocolError(
                f"{self._model}'s stream ended without an aggregate response: the answer is incomplete", retryable=True
            )
        shown = self._text or not self._response.text
        return self._response.replace(streamed_in=self._mark if shown else None)

    def _chunk(self, item: object) -> ChatChunk | None:
        if not isinstance(item, ChatChunk | ChatResponse):
            raise ConfigurationError(
                f"{self._model} must stream ChatChunks and last a ChatResponse, not {type(item).__name__}"
            )
        if self._response is not None:
            what = "a chunk" if isinstance(item, ChatChunk) else "another"
            raise ProviderProtocolError(f"{self._model} streamed {what} after its aggregate response")
        if isinstance(item, ChatResponse):
            self._response = item
            return None
        self._text = self._text or bool(item.text)
        return item


class ModelStream(_Checked):
    """The chunks of `model.stream(request)`, which is closed at the end of the block; then `response` is there.

    Args:
        model: whose stream it is.
        request: what to ask.
        watch: of the round; it is current while the model works on the stream, and not in between.
        mark: marks the response as one whose text was shown in this turn.
    """

    def __init__(self, model: ChatModel, request: ChatRequest, watch: Watch, mark: bytes | None) -> None:
        super().__init__(model, watch, mark)
        with watch.current():
            self._stream: Any = model.stream(request)
            self._items = iter(self._stream)

    def __iter__(self) -> Iterator[ChatChunk]:
        return self

    def __next__(self) -> ChatChunk:
        while True:
            if self._watch.observed:
                with self._watch.current():
                    item = next(self._items, _END)  # the end comes as a value: `current` is to see errors only
            else:
                item = next(self._items, _END)
            if item is _END:
                raise StopIteration
            if (chunk := self._chunk(item)) is not None:
                return chunk

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # A model may give any iterator; only generators must be closed.
        if hasattr(self._stream, "close"):
            with self._watch.current():
                self._stream.close()


class AsyncModelStream(_Checked):
    """The async twin of `ModelStream`, over `model.astream(request)`."""

    def __init__(self, model: ChatModel, request: ChatRequest, watch: Watch, mark: bytes | None) -> None:
        super().__init__(model, watch, mark)
        with watch.current():
            self._stream: Any = model.astream(request)
            self._items = aiter(self._stream)

    def __aiter__(self) -> AsyncIterator[ChatChunk]:
        return self

    async def __anext__(self) -> ChatChunk:
        while True:
            with self._watch.current():
                item = await anext(self._items, _END)
            if item is _END:
                raise StopAsyncIteration
            if (chunk := self._chunk(item)) is not None:
                return chunk

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if hasattr(self._stream, "aclose"):
            with self._watch.current():
                await self._stream.aclose()
