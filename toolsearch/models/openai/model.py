"""`OpenAIChatModel`: chat completions of OpenAI, and of the many servers that speak their format."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ...chat.events import ChatChunk
from ...chat.requests import ChatRequest
from ...chat.responses import ChatResponse
from ...errors import ConfigurationError, MissingExtraError
from .answers import response_of
from .stream import StreamAssembler
from .strict_schema import response_format
from .wire import wire_messages, wire_tools

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from openai import AsyncOpenAI, OpenAI

    from ...tools.tool import Tool

__all__ = ["OpenAIChatModel"]

_Client = TypeVar("_Client")

_RESERVED = ("messages", "stream", "tools")
_ONLY_WITH_TOOLS = ("tool_choice", "parallel_tool_calls")


class OpenAIChatModel:
    """A `ChatModel` over the official SDK (extra ``openai``), by chat completions.

    Nothing is connected, and no environment variable is read, before the first request. Options are passed on
    by name, those of a request over the model's own: ``temperature``, ``tool_choice``, ``reasoning_effort``,
    ``extra_body`` for what the SDK does not know, and so on. With ``n`` greater than 1 the first answer with
    tool calls counts; a stream passes on the text of the first answer.

    Args:
        model: the model's name; an option ``model`` of a request wins over it.
        base_url: another server's, e.g. ``"http://127.0.0.1:8080/v1"``.
        api_key: the key; by default the SDK takes it from ``OPENAI_API_KEY``. Never shown.
        client: an SDK client to use in `call` and `stream`, instead of `base_url` and `api_key`; you close it.
        async_client: the same for `acall` and `astream`.
        tools: sent when a request has none of its own; like all tools, never run by the model.
        max_tools: the most tools a request may carry, OpenAI's limit by default; None for no limit.
        stream_usage: ask for token counts at the end of streams; False for servers that refuse to be asked.
        output_schema: whether structured output is asked for by ``response_format``, strict where the schema can
            be; False for models and servers that do not know it, which are then told in words. An option
            ``response_format`` of your own wins over it.
        max_retries: how often the SDK itself tries again on 429, 5xx and lost connections, with its own waits;
            by default the SDK's number. A stream that has begun is never tried again.
        **options: defaults of the options of every request.

    Example:
        >>> from toolsearch.messages import UserMessage
        >>> from toolsearch.testing import OpenAIWireServer
        >>> with OpenAIWireServer(["Hello!"]) as server:
        ...     with OpenAIChatModel("gpt-5-mini", base_url=server.base_url, api_key="secret") as model:
        ...         model.call(ChatRequest(messages=[UserMessage("Hi")])).text
        'Hello!'
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: OpenAI | None = None,
        async_client: AsyncOpenAI | None = None,
        tools: Sequence[Tool] = (),
        max_tools: int | None = 128,
        stream_usage: bool = True,
        output_schema: bool = True,
        max_retries: int | None = None,
        **options: Any,
    ) -> None:
        given = client is not None or async_client is not None
        if given and (base_url is not None or api_key is not None or max_retries is not None):
            raise ConfigurationError(
                "a given client has its own base_url, api_key and max_retries; pass either it or them"
            )
        _check_options(options)
        self.model = model
        self.supports_output_schema = output_schema
        self._settings = {
            name: value
            for name, value in (("base_url", base_url), ("api_key", api_key), ("max_retries", max_retries))
            if value is not None
        }
        self._given = (client, async_client) if given else None
        self._tools = tuple(tools)
        self._max_tools = max_tools
        self._stream_usage = stream_usage
        self._options = dict(options)
        self._lock = threading.Lock()
        self._own: OpenAI | None = None
        # Connections belong to the event loop that made them, and `asyncio.run` makes a loop each time.
        self._own_async: dict[AbstractEventLoop | None, _LoopClient] = {}

    @property
    def model_name(self) -> str:
        """The model's name, for observers."""
        return self.model

    @property
    def provider_name(self) -> str:
        """Whose format it speaks, for observers: ``"openai"``, whichever server answers."""
        return "openai"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"

    def call(self, request: ChatRequest) -> ChatResponse:
        """Return the answer."""
        create, arguments = self._client().chat.completions.create, self._arguments(request)
        with self._errors():
            completion = create(**arguments)
        return response_of(completion, request.messages)

    async def acall(self, request: ChatRequest) -> ChatResponse:
        """Return the answer, without holding the event loop."""
        client, arguments = await self._async_client(), self._arguments(request)
        with self._errors():
            completion = await client.chat.completions.create(**arguments)
        return response_of(completion, request.messages)

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk | ChatResponse]:
        """Yield the answer's chunks as they come, then the aggregate. Closing it closes the HTTP response."""
        create, arguments = self._client().chat.completions.create, self._arguments(request, stream=True)
        assembler = StreamAssembler(request.messages)
        with self._errors():
            source = create(**arguments)
        try:
            while True:
                with self._errors(reading=True):
                    chunk = next(source, None)
                if chunk is None:
                    break
                if (passed := assembler.add(chunk)) is not None:
                    yield passed
        finally:
            source.close()
        yield assembler.finish()

    async def astream(self, request: ChatRequest) -> AsyncIterator[ChatChunk | ChatResponse]:
        """Yield the answer's chunks as they come, then the aggregate. Closing it closes the HTTP response."""
        client, arguments = await self._async_client(), self._arguments(request, stream=True)
        assembler = StreamAssembler(request.messages)
        with self._errors():
            source = await client.chat.completions.create(**arguments)
        try:
            while True:
                with self._errors(reading=True):
                    chunk = await anext(source, None)
                if chunk is None:
                    break
                if (passed := assembler.add(chunk)) is not None:
                    yield passed
        finally:
            await source.close()
        yield assembler.finish()

    def close(self) -> None:
        """Close the connections of `call` and `stream`; a later request opens new ones."""
        with self._lock:
            client, self._own = self._own, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Close the connections that `acall` and `astream` opened in this event loop, and those of `close`.

        Where it is not called, they are closed when the loop ends as `asyncio.run` ends it.
        """
        self.close()
        with self._lock:
            own = self._own_async.pop(_running_loop(), None)
        if own is not None:
            await own.keeper.aclose()

    def __enter__(self) -> OpenAIChatModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> OpenAIChatModel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _arguments(self, request: ChatRequest, *, stream: bool = False) -> dict[str, Any]:
        """The arguments of the SDK's `create`; all four methods send these."""
        _check_options(request.options)
        tools = request.tools or self._tools
        if self._max_tools is not None and len(tools) > self._max_tools:
            raise ConfigurationError(
                f"{len(tools)} tools in one request, and {self.model} takes {self._max_tools} at most; let "
                "ToolSearchAdvisor disclose them as they are needed, or set max_tools if the server takes more"
            )
        arguments: dict[str, Any] = {"model": self.model, "messages": wire_messages(request.messages)}
        if tools:
            arguments["tools"] = wire_tools(tools)
        if request.output_schema is not None:
            arguments["response_format"] = response_format(request.output_schema)
        if stream:
            arguments["stream"] = True
            if self._stream_usage:
                arguments["stream_options"] = {"include_usage": True}
        options = {**self._options, **request.options}
        if not stream:
            options.pop("stream_options", None)
        if not tools:  # providers refuse these alone
            options = {name: value for name, value in options.items() if name not in _ONLY_WITH_TOOLS}
        return arguments | options

    def _errors(self, *, reading: bool = False) -> AbstractContextManager[None]:
        from .errors import provider_errors

        return provider_errors(self.model, reading=reading)

    def _client(self) -> OpenAI:
        if self._given is not None:
            return _of_given(self._given[0], "client")
        with self._lock:
            if (client := self._own) is None:
                sdk = _sdk()
                with self._errors():
                    client = self._own = sdk.OpenAI(**self._settings)
            return client

    async def _async_client(self) -> AsyncOpenAI:
        if self._given is not None:
            return _of_given(self._given[1], "async_client")
        loop = _running_loop()
        with self._lock:
            own = self._own_async.get(loop)
            if own is not None and not own.client.is_closed():
                return own.client
            sdk = _sdk()
            self._own_async = {key: c for key, c in self._own_async.items() if key and not key.is_closed()}
            with self._errors():
                # The SDK's own default would be closed, when collected, in whatever loop runs then.
                client = sdk.AsyncOpenAI(**self._settings, http_client=sdk.DefaultAsyncHttpxClient())
            own = self._own_async[loop] = _LoopClient(client, _kept_open(client))
        await anext(own.keeper)
        return own.client


class _LoopClient(NamedTuple):
    """The client of one event loop, and what closes it at the loop's end."""

    client: AsyncOpenAI
    keeper: AsyncGenerator[None]


async def _kept_open(client: AsyncOpenAI) -> AsyncGenerator[None]:
    """Close a client when this is closed: event loops close, as they end, the async generators begun in them."""
    try:
        yield
    finally:
        await client.close()


def _sdk() -> ModuleType:
    try:
        import openai
    except ImportError as error:
        raise MissingExtraError("openai", "OpenAIChatModel") from error
    return openai


def _running_loop() -> AbstractEventLoop | None:
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:  # under trio
        return None


def _of_given(client: _Client | None, name: str) -> _Client:
    if client is None:
        other = "client" if name == "async_client" else "async_client"
        raise ConfigurationError(f"this needs {name}=, and the model was made with {other}= only; pass both")
    return client


def _check_options(options: Mapping[str, Any]) -> None:
    if reserved := [name for name in _RESERVED if name in options]:
        raise ConfigurationError(f"{reserved[0]!r} is no option: it belongs to the request itself")
