"""`ChatModel`: what talks to a provider."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Protocol, runtime_checkable

from .events import ChatChunk
from .requests import ChatRequest
from .responses import ChatResponse

__all__ = ["ChatModel"]


@runtime_checkable
class ChatModel(Protocol):
    """Sends one request to a model and returns its answer. It sends tools and never runs them.

    A stream yields chunks and last the aggregate, a `ChatResponse` with whole tool calls and the usage.
    A model whose provider can hold an answer to a JSON Schema has an attribute ``supports_output_schema`` that is
    True, and sends `ChatRequest.output_schema`; without it the model is told in words.
    For observers a model may have ``model_name`` and ``provider_name``, e.g. ``"gpt-5-mini"`` and ``"openai"``.

    Implementations raise `ProviderError`, and `ProviderProtocolError` for a stream that ends without its end.
    """

    def call(self, request: ChatRequest) -> ChatResponse:
        """Return the answer."""
        ...

    async def acall(self, request: ChatRequest) -> ChatResponse:
        """Return the answer, without holding the event loop."""
        ...

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk | ChatResponse]:
        """Yield the answer's chunks as they come, then the aggregate."""
        ...

    def astream(self, request: ChatRequest) -> AsyncIterator[ChatChunk | ChatResponse]:
        """Yield the answer's chunks as they come, then the aggregate, without holding the event loop."""
        ...
