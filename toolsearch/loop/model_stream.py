"""What a model gives, checked; its stream piece by piece, and observed only while the model works on it."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Iterator
from types import TracebackType
from typing import Any, Self

from ..chat.events import ChatChunk
from ..chat.model import ChatModel
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..errors import ConfigurationError, ProviderProtocolError
from ..messages import AssistantMessage, ToolCall
from ..observability.observer import Span

__all__ = ["AsyncModelStream", "ModelStream", "awaitable_of", "checked_response"]

_END = object()


def checked_response(response: object, model: ChatModel) -> ChatResponse:
    """Return what a model answered if it is a response that a model may give.

    Raises:
        ConfigurationError: naming the model's class and what to return instead.
    """
    if not isinstance(response, ChatResponse):
        raise _wrong(model, "must return a ChatResponse", response)
    if len(response.messages) != 1 or not isinstance(response.messages[0], AssistantMessage):
        kinds = ", ".join(type(message).__name__ for message in response.messages)
        raise ConfigurationError(
            f"{type(model).__name__} must return one AssistantMessage in its ChatResponse, not [{kinds}]; "
            "return ChatResponse(messages=[AssistantMessage(text, tool_calls)])"
        )
    message = response.messages[0]
    if not isinstance(message.text, str):
        raise _wrong(
            model, "must return an AssistantMessage whose text is a str, empty where there is none", message.text
        )
    for call in message.tool_calls:
        if not isinstance(call, ToolCall):
            raise _wrong(model, "must return tool_calls that are ToolCall(id, name, arguments as JSON text)", call)
    return response


def awaitable_of(answer: object, model: ChatModel) -> Awaitable[object]:
    """Return what `acall` gave if it can be awaited."""
    if not inspect.isawaitable(answer):
        raise _wrong(model, "must have an acall that is `async def` and returns a ChatResponse", answer)
    return answer


def _wrong(model: ChatModel, wanted: str, got: object) -> ConfigurationError:
    if inspect.iscoroutine(got):
        got.close()  # else Python warns that it was never awaited
    return ConfigurationError(f"{type(model).__name__} {wanted}, not {type(got).__name__}")


class _Checked:
    """Chunks pass, the aggregate is kept, anything else is an error."""

    def __init__(self, model: ChatModel, span: Span, mark: bytes | None) -> None:
        self._asked = model
        self._model = type(model).__name__
        self._span = span
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
            self._response = checked_response(item, self._asked)
            return None
        self._text = self._text or bool(item.text)
        return item


class ModelStream(_Checked):
    """The chunks of `model.stream(request)`, which is closed at the end of the block; then `response` is there.

    Args:
        model: whose stream it is.
        request: what to ask.
        span: Span of the round; it is current while the model works on the stream, and not in between.
        mark: marks the response as one whose text was shown in this turn.
    """

    def __init__(self, model: ChatModel, request: ChatRequest, span: Span, mark: bytes | None) -> None:
        super().__init__(model, span, mark)
        with span.current():
            self._stream: Any = model.stream(request)
            if not hasattr(self._stream, "__iter__"):
                raise _wrong(model, "must have a stream that yields ChatChunks and last a ChatResponse", self._stream)
            self._items = iter(self._stream)

    def __iter__(self) -> Iterator[ChatChunk]:
        return self

    def __next__(self) -> ChatChunk:
        while True:
            if self._span.observed:
                with self._span.current():
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
            with self._span.current():
                self._stream.close()


class AsyncModelStream(_Checked):
    """The async twin of `ModelStream`, over `model.astream(request)`."""

    def __init__(self, model: ChatModel, request: ChatRequest, span: Span, mark: bytes | None) -> None:
        super().__init__(model, span, mark)
        with span.current():
            self._stream: Any = model.astream(request)
            if not hasattr(self._stream, "__aiter__"):
                wanted = "must have an astream that is `async def` with yield, or returns an async iterator"
                raise _wrong(model, wanted, self._stream)
            self._items = aiter(self._stream)

    def __aiter__(self) -> AsyncIterator[ChatChunk]:
        return self

    async def __anext__(self) -> ChatChunk:
        while True:
            with self._span.current():
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
            with self._span.current():
                await self._stream.aclose()
