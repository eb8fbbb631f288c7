"""Validation of the responses and streams of models. The span of a round is current only while the model works."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Iterator
from types import TracebackType
from typing import Any, Self

from ...chat.call_ids import with_unique_ids
from ...chat.events import ChatChunk
from ...chat.model import ChatModel
from ...chat.requests import ChatRequest
from ...chat.responses import ChatResponse
from ...errors import ConfigurationError, ProviderProtocolError
from ...messages import AssistantMessage
from ...observability.observer import Span

__all__ = ["AsyncModelStream", "ModelStream", "expect_awaitable", "expect_response"]

_END = object()


def expect_response(response: object, model: ChatModel, request: ChatRequest) -> ChatResponse:
    """Return the response of a model if it is valid, with distinct ids of its tool calls.

    Raises:
        ConfigurationError: If it is not valid. The message names the class of the model and what to return instead.
    """
    if not isinstance(response, ChatResponse):
        raise _invalid(model, "must return a ChatResponse", response)
    if len(response.messages) != 1 or not isinstance(response.messages[0], AssistantMessage):
        kinds = ", ".join(type(message).__name__ for message in response.messages)
        raise ConfigurationError(
            f"{type(model).__name__} must return one AssistantMessage in its ChatResponse, got [{kinds}]; "
            "return ChatResponse(messages=[AssistantMessage(text, tool_calls)])"
        )
    message = response.messages[0]
    if not isinstance(message.text, str):
        raise _invalid(model, "must return an AssistantMessage whose text is a string, empty if none", message.text)
    distinct = with_unique_ids(message, request.messages)
    return response if distinct is message else response.replace(messages=(distinct,))


def expect_awaitable(answer: object, model: ChatModel) -> Awaitable[object]:
    """Return the result of `acall` if it can be awaited.

    Raises:
        ConfigurationError: If it cannot be awaited.
    """
    if not inspect.isawaitable(answer):
        raise _invalid(model, "must define acall with `async def`, and it must return a ChatResponse", answer)
    return answer


def _invalid(model: ChatModel, wanted: str, got: object) -> ConfigurationError:
    if inspect.iscoroutine(got):
        got.close()  # otherwise Python warns that it was never awaited
    return ConfigurationError(f"{type(model).__name__} {wanted}, got {type(got).__name__}")


class _ValidatedStream:
    """Passes chunks on, keeps the aggregate, and raises an error for anything else."""

    def __init__(self, model: ChatModel, request: ChatRequest, span: Span) -> None:
        self._model = model
        self._request = request
        self._model_name = type(model).__name__
        self._span = span
        self._response: ChatResponse | None = None

    def response(self) -> ChatResponse:
        """Return the aggregate.

        Raises:
            ProviderProtocolError: If the stream ended without an aggregate.
        """
        if self._response is None:
            raise ProviderProtocolError(
                f"{self._model_name}'s stream ended without an aggregate response; the answer is incomplete",
                retryable=True,
            )
        return self._response

    def _chunk(self, item: object) -> ChatChunk | None:
        if not isinstance(item, ChatChunk | ChatResponse):
            raise ConfigurationError(
                f"{self._model_name} must stream ChatChunks and at the end a ChatResponse, got {type(item).__name__}"
            )
        if self._response is not None:
            what = "a chunk" if isinstance(item, ChatChunk) else "another"
            raise ProviderProtocolError(f"{self._model_name} streamed {what} after its aggregate response")
        if isinstance(item, ChatResponse):
            self._response = expect_response(item, self._model, self._request)
            return None
        return item


class ModelStream(_ValidatedStream):
    """Chunks of `model.stream(request)`. The stream is closed at the end of the ``with`` block.

    Read `response` after the last chunk.

    Args:
        model: The model to call.
        request: The request to send.
        span: Span of the round. It is current only while the model works on the stream.
    """

    def __init__(self, model: ChatModel, request: ChatRequest, span: Span) -> None:
        super().__init__(model, request, span)
        with span.current():
            self._stream: Any = model.stream(request)
            if not hasattr(self._stream, "__iter__"):
                raise _invalid(
                    model, "must define stream so that it yields ChatChunks and at the end a ChatResponse", self._stream
                )
            self._items = iter(self._stream)

    def __iter__(self) -> Iterator[ChatChunk]:
        return self

    def __next__(self) -> ChatChunk:
        while True:
            if self._span.observed:
                with self._span.current():
                    item = next(self._items, _END)  # the end is a value, so that the span sees only errors
            else:
                item = next(self._items, _END)
            if item is _END:
                raise StopIteration
            if (chunk := self._chunk(item)) is not None:
                return chunk

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # Generators must be closed; other iterators need not have `close`.
        if hasattr(self._stream, "close"):
            with self._span.current():
                self._stream.close()


class AsyncModelStream(_ValidatedStream):
    """Chunks of `model.astream(request)`. It works like `ModelStream`."""

    def __init__(self, model: ChatModel, request: ChatRequest, span: Span) -> None:
        super().__init__(model, request, span)
        with span.current():
            self._stream: Any = model.astream(request)
            if not hasattr(self._stream, "__aiter__"):
                wanted = "must define astream with `async def` and yield, or return an async iterator from it"
                raise _invalid(model, wanted, self._stream)
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
