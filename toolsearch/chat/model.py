"""Chat models: the protocol that a provider adapter implements, and its optional parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Protocol, runtime_checkable

from .events import ChatChunk
from .requests import ChatRequest
from .responses import ChatResponse

__all__ = ["ChatModel", "NamedModel", "OutputSchemaModel"]


@runtime_checkable
class ChatModel(Protocol):
    """An adapter for a provider: sends one request to a model and returns its answer. It never runs tools.

    A stream yields chunks, and last the aggregate: a `ChatResponse` with complete tool calls and the usage.
    Implementations raise `ProviderError` if the provider fails, and `ProviderProtocolError` if a stream breaks off.

    An adapter can also implement `OutputSchemaModel` and `NamedModel`.

    Example:
        >>> from toolsearch.testing import ScriptedChatModel
        >>> isinstance(ScriptedChatModel(["Hello"]), ChatModel)
        True
    """

    def call(self, request: ChatRequest) -> ChatResponse:
        """Return the answer."""
        ...

    async def acall(self, request: ChatRequest) -> ChatResponse:
        """Return the answer without blocking the event loop."""
        ...

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk | ChatResponse]:
        """Yield the chunks of the answer as they arrive, then the aggregate."""
        ...

    def astream(self, request: ChatRequest) -> AsyncIterator[ChatChunk | ChatResponse]:
        """Yield the chunks of the answer as they arrive, then the aggregate, without blocking the event loop."""
        ...


@runtime_checkable
class OutputSchemaModel(Protocol):
    """Optional part of a `ChatModel`: structured output that the provider enforces.

    Attributes:
        supports_output_schema: Whether the model sends `ChatRequest.output_schema` to the provider. Without it the
            schema is described to the model in instructions.
    """

    supports_output_schema: bool


@runtime_checkable
class NamedModel(Protocol):
    """Optional part of a `ChatModel`: names for observers.

    Attributes:
        model_name: The model, e.g. ``"gpt-5-mini"``.
        provider_name: The provider, e.g. ``"openai"``.
    """

    @property
    def model_name(self) -> str:
        """The model's name."""
        ...

    @property
    def provider_name(self) -> str:
        """The provider's name."""
        ...
