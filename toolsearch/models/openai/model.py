"""Chat model for chat completions of OpenAI, and of servers that use the same format."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from ...chat.events import ChatChunk
from ...chat.requests import ChatRequest
from ...chat.responses import ChatResponse
from ...errors import ConfigurationError
from ...messages import ToolMessage
from ...text import short_repr
from ...text.secret import Secret
from ...tools.tool_type import Tool
from ..history import acceptable_history
from ..profiles import ProviderProfile, coerce_profile
from .answers import response_of
from .clients import SdkClients
from .stream import StreamAssembler
from .strict_schema import response_format
from .tool_choice import acceptable_choice
from .whole_answers import completion_in, is_whole_answer, whole_stream
from .wire import wire_messages, wire_tools

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

__all__ = ["OpenAIChatModel"]

_RESERVED_OPTIONS = ("messages", "stream", "tools")
_CLIENT_SETTINGS = ("http_client", "default_headers", "default_query", "organization", "project")
_END: Any = object()
_TOOL_OPTIONS = ("tool_choice", "parallel_tool_calls")


class OpenAIChatModel:
    """A `ChatModel` that uses the official SDK (extra ``openai``) and chat completions.

    Connects, and reads environment variables, at the first request only. Options are passed on by name, and those of
    a request replace the model's own: ``temperature``, ``tool_choice``, ``reasoning_effort``, and so on. Parameters
    that the SDK does not know go into ``extra_body``. With ``n`` greater than 1 the first answer with tool calls is
    the response; a stream passes on the text of the first answer.

    Args:
        model: The model's name. An option ``model`` of a request replaces it.
        base_url: The address of another server, e.g. ``"http://127.0.0.1:8080/v1"``.
        api_key: The API key, as a string or a `Secret`; by default the SDK reads ``OPENAI_API_KEY``. It is never shown.
        client: An SDK client for `call` and `stream`, instead of `base_url` and `api_key`. The caller closes it.
        async_client: The same for `acall` and `astream`.
        tools: Tools or definitions to send if a request has none. The model never runs tools, and a `ChatClient` does
            not know them: use them with a model that is called directly, or with ``tool_calling=False``.
        max_tools: The largest number of tools in one request; by default OpenAI's limit. None for no limit.
        profile: What the server accepts: a name of `PROFILES` or a `ProviderProfile`. By default it is found by the
            server's address and the model's name. Requests are changed to fit it, on the wire only.
        stream_usage: Whether to request token counts at the end of streams. False for servers that reject the
            request for them.
        output_schema: Whether structured output uses ``response_format``, strict if the schema allows it. False for
            models and servers that do not support it; they get instructions instead. An option ``response_format``
            replaces the generated one.
        max_retries: How often the SDK retries after 429, 5xx and lost connections, with its own delays. By default
            the SDK's number. A stream that has started is never retried.
        **options: Default options of every request.

    Attributes:
        model: The model's name.
        profile: What the server accepts.
        supports_output_schema: The argument `output_schema`.

    Raises:
        ConfigurationError: If a client is given together with its settings, or an option is reserved or a setting of
            the SDK's client.

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
        api_key: str | Secret | None = None,
        client: OpenAI | None = None,
        async_client: AsyncOpenAI | None = None,
        tools: Sequence[Tool | Mapping[str, Any]] = (),
        max_tools: int | None = 128,
        profile: str | ProviderProfile | None = None,
        stream_usage: bool = True,
        output_schema: bool = True,
        max_retries: int | None = None,
        **options: Any,
    ) -> None:
        given = client is not None or async_client is not None
        if given and (base_url is not None or api_key is not None or max_retries is not None):
            raise ConfigurationError(
                "a given client has its own base_url, api_key and max_retries; pass either the client or the settings"
            )
        _validate_options(options)
        _validate_no_client_settings(options)
        self.model = model
        self.supports_output_schema = output_schema
        key = Secret(api_key) if isinstance(api_key, str) else api_key
        settings = {"base_url": base_url, "api_key": key, "max_retries": max_retries}
        settings = {name: value for name, value in settings.items() if value is not None}
        # Not a method: the clients must not refer back to the model, or dropping it would not close them at once.
        self._errors = partial(_convert_errors, model)
        self._clients = SdkClients(settings, client, async_client, self._errors)
        address = base_url if not given else str((client or async_client).base_url)  # type: ignore[union-attr]
        self.profile = coerce_profile(profile, model, address)
        self._tools = tuple(map(_coerce_tool, tools))
        self._max_tools = max_tools
        self._stream_usage = stream_usage
        self._options = dict(options)

    @property
    def model_name(self) -> str:
        """The model's name, for observers."""
        return self.model

    @property
    def provider_name(self) -> str:
        """The provider of the format, for observers: ``"openai"`` for every server."""
        return "openai"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"

    def call(self, request: ChatRequest) -> ChatResponse:
        """Return the answer."""
        client, arguments = self._clients.for_sync(), self._arguments(request)
        with self._errors(max_retries=client.max_retries):
            completion = client.chat.completions.create(**arguments)
        return response_of(completion, request.messages)

    async def acall(self, request: ChatRequest) -> ChatResponse:
        """Return the answer without blocking the event loop."""
        client, arguments = await self._clients.for_async(), self._arguments(request)
        with self._errors(max_retries=client.max_retries):
            completion = await client.chat.completions.create(**arguments)
        return response_of(completion, request.messages)

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk | ChatResponse]:
        """Yield the chunks of the answer as they arrive, then the aggregate. Closing it closes the HTTP response."""
        client, arguments = self._clients.for_sync(), self._arguments(request, stream=True)
        assembler = StreamAssembler(request.messages, self._names(request))
        with self._errors(max_retries=client.max_retries):
            source = client.chat.completions.create(**arguments)
        try:
            if is_whole_answer(source.response):
                with self._errors(reading=True):
                    completion = completion_in(source.response.read())
                if completion is not None:
                    yield from whole_stream(completion, request.messages)
                    return
            while True:
                with self._errors(reading=True):
                    chunk = next(source, _END)
                if chunk is _END:
                    break
                if (passed := assembler.add(chunk)) is not None:
                    yield passed
        finally:
            source.close()
        yield assembler.finish()

    async def astream(self, request: ChatRequest) -> AsyncIterator[ChatChunk | ChatResponse]:
        """Yield the chunks of the answer as they arrive, then the aggregate. Closing it closes the HTTP response."""
        client, arguments = await self._clients.for_async(), self._arguments(request, stream=True)
        assembler = StreamAssembler(request.messages, self._names(request))
        with self._errors(max_retries=client.max_retries):
            source = await client.chat.completions.create(**arguments)
        try:
            if is_whole_answer(source.response):
                with self._errors(reading=True):
                    completion = completion_in(await source.response.aread())
                if completion is not None:
                    for event in whole_stream(completion, request.messages):
                        yield event
                    return
            while True:
                with self._errors(reading=True):
                    chunk = await anext(source, _END)
                if chunk is _END:
                    break
                if (passed := assembler.add(chunk)) is not None:
                    yield passed
        finally:
            await source.close()
        yield assembler.finish()

    def close(self) -> None:
        """Close the connections of `call` and `stream`. A later request opens new ones."""
        self._clients.close()

    async def aclose(self) -> None:
        """Close the connections that `acall` and `astream` opened in this event loop, and those of `close`.

        Without it, they are closed when the loop ends the way `asyncio.run` ends it.
        """
        self.close()
        await self._clients.aclose()

    def __enter__(self) -> OpenAIChatModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> OpenAIChatModel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _names(self, request: ChatRequest) -> list[str]:
        return [tool.name for tool in request.tools or self._tools]

    def _arguments(self, request: ChatRequest, *, stream: bool = False) -> dict[str, Any]:
        """Return the arguments of the SDK's `create`, the same for all four methods."""
        _validate_options(request.options)
        tools = request.tools or self._tools
        if self._max_tools is not None and len(tools) > self._max_tools:
            raise ConfigurationError(
                f"{self.model} takes at most {self._max_tools} tools in one request, got {len(tools)} tools; let "
                "ToolSearchAdvisor reveal them as they are needed, or set max_tools if the server takes more"
            )
        arguments: dict[str, Any] = {"model": self.model, "messages": self._messages(request)}
        if tools:
            arguments["tools"] = wire_tools(tools, self.profile)
        if request.output_schema is not None:
            arguments["response_format"] = response_format(request.output_schema)
        if stream:
            arguments["stream"] = True
            if self._stream_usage:
                arguments["stream_options"] = {"include_usage": True}
        options = {**self._options, **request.options}
        if not stream:
            options.pop("stream_options", None)
        if not tools:  # providers reject these options without tools
            options = {name: value for name, value in options.items() if name not in _TOOL_OPTIONS}
        elif not request.allow_tool_calls:
            options["tool_choice"] = "none"
        elif "tool_choice" in options:
            names = [tool["function"]["name"] for tool in arguments["tools"]]
            is_own = "tool_choice" not in request.options
            is_later = is_own and bool(request.messages) and isinstance(request.messages[-1], ToolMessage)
            options["tool_choice"] = acceptable_choice(options["tool_choice"], names, self.profile, is_later=is_later)
        return arguments | options

    def _messages(self, request: ChatRequest) -> list[dict[str, Any]]:
        return wire_messages(acceptable_history(request.messages, self.profile), self.profile)


def _coerce_tool(tool: object) -> Tool:
    if isinstance(tool, Tool):
        return tool
    if isinstance(tool, Mapping):
        return Tool.from_definition(tool)
    raise ConfigurationError(f"tools must be Tool objects or definitions, got {short_repr(tool)}; write Tool(...)")


def _validate_no_client_settings(options: Mapping[str, Any]) -> None:
    """Reject settings of the SDK's client, which are unknown to its requests."""
    if found := [name for name in _CLIENT_SETTINGS if name in options]:
        raise ConfigurationError(
            f"{found[0]!r} is a setting of the SDK's client; "
            f"write client=OpenAI({found[0]}=...), async_client=AsyncOpenAI({found[0]}=...)"
        )


def _convert_errors(model: str, *, reading: bool = False, max_retries: int = 0) -> AbstractContextManager[None]:
    from .errors import provider_errors

    return provider_errors(model, reading=reading, max_retries=max_retries)


def _validate_options(options: Mapping[str, Any]) -> None:
    if reserved := [name for name in _RESERVED_OPTIONS if name in options]:
        raise ConfigurationError(f"{reserved[0]!r} is not an option: it is part of the request itself")
