"""The chat client: a model, its tools, and the advisors between the application and the model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, TypeVar, Unpack, cast, overload

from ..chat.model import ChatModel
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..errors import ConfigurationError
from ..loop.advisor import Advisor, sort_advisors
from ..loop.clock import Clock, SystemClock
from ..loop.drivers import adrive, drive
from ..loop.effects import ToolBatchResult
from ..loop.execution.listeners import find_listeners
from ..loop.tool_calling import ToolCallingAdvisor
from ..loop.turn import Turn
from ..messages import Message, SystemMessage, UserMessage
from ..observability.log import with_debug_log
from ..observability.observer import Observer
from ..output.advisor import with_structured_output
from ..text import short_repr
from ..text.logs import log_event
from ..tools.collect import ToolLike, ToolListing, expand_tools, name_tools
from ..tools.guard import ToolGuard
from ..tools.threads import ToolThreads
from ..tools.tool_type import Tool
from .arguments import (
    validate_flag,
    validate_given,
    validate_identifier,
    validate_mapping,
    validate_model,
    validate_names,
)
from .chain import build_chain, create_inner_memory, sort_client_advisors
from .messages_argument import MessageLike, coerce_messages
from .run_tools import BatchExecution
from .streams import AsyncChatStream, ChatStream

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["CallArguments", "CallOptions", "ChatClient"]

T = TypeVar("T")


logger = logging.getLogger(__name__)


class _Prepared(NamedTuple):
    """The request, the chain and the loop of one call. `tools` is set if listing the tools can block: it lists them."""

    request: ChatRequest
    advisors: tuple[Advisor, ...]
    tools: Callable[[], tuple[Tool, ...]] | None
    loop: Advisor
    guard: ToolGuard


class CallArguments(TypedDict, total=False):
    """The keyword arguments of `CallOptions` without `output_type`.

    Example:
        >>> arguments: CallArguments = {"messages": [{"role": "user", "content": "Hi"}]}
    """

    messages: Iterable[MessageLike]
    tools: Iterable[ToolLike] | ToolLike
    session_id: str | None
    tenant_id: str | None
    context: Mapping[str, Any] | None
    advisors: Iterable[Advisor]
    tool_calling: bool | None
    options: Mapping[str, Any] | None


class CallOptions(CallArguments, total=False):
    """The keyword arguments that every call of a client takes.

    Args:
        messages: The conversation so far, as message objects or as dicts: the form of `to_dict`, or that of OpenAI's
            chat completions. ``[*messages, *reply.messages]`` is the conversation afterwards.
        tools: Tools added to the client's for this call.
        session_id: The conversation that this call belongs to. What tool search revealed in it stays revealed, and a
            `MemoryAdvisor` stores its messages. Without a session id, the call leaves nothing behind.
        tenant_id: The tenant that the session belongs to. Equal session ids of two tenants are two sessions.
        context: Values for tools and advisors, merged over the client's context. The model never receives them.
        advisors: Advisors added to the client's for this call.
        tool_calling: Overrides the client's setting for this call.
        options: Options passed to the model by name, e.g. ``{"temperature": 0}``.
        output_type: The type of ``reply.output``: a pydantic model, a dataclass, a `TypedDict`, ``list[...]``,
            ``dict``, any other type that pydantic reads, a JSON Schema as a dict, or an `OutputConverter`.

    Example:
        >>> options: CallOptions = {"session_id": "ann", "options": {"temperature": 0}}
    """

    output_type: object


class ChatClient:
    """A client that sends prompts through a chain of advisors to a model and runs the tools that the model calls.

    `call`, `acall`, `stream` and `astream` take the same arguments and behave alike. One client can serve any number
    of calls at once.

    Args:
        model: The adapter for the provider.
        tools: Tools of every call: functions, `Tool`s, objects with ``@tool`` methods, providers such as `McpTools`,
            ``(definition, callable)`` pairs, and lists of these.
        advisors: Advisors of every call. If none of them is a tool advisor, a `ToolCallingAdvisor` is added.
        system: Instructions for calls whose messages do not have a system message.
        context: Values for tools and advisors. The context of a call is merged over it. The model never receives it.
        tool_calling: False leaves the tool-calling loop to the application. Responses then end with the model's
            tool calls.
        clock: The clock that advisors wait on; tests pass a fake one.
        observer: Receives every turn, round, tool call and search, e.g. an `OpenTelemetryObserver`.
        threads: The worker threads of sync tools, with limits per tenant and source. By default, all clients of the
            process share those of `ToolThreads()`.

    Raises:
        ConfigurationError: If an argument cannot work, or if two tools have the same name.

    Example:
        >>> from toolsearch.testing import ScriptedChatModel
        >>> client = ChatClient(ScriptedChatModel(["Hello!"]), system="Be brief.")
        >>> client.call("Hi").text
        'Hello!'
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        tools: Iterable[ToolLike] | ToolLike = (),
        advisors: Iterable[Advisor] = (),
        system: str | None = None,
        context: Mapping[str, Any] | None = None,
        tool_calling: bool = True,
        clock: Clock | None = None,
        observer: Observer | None = None,
        threads: ToolThreads | None = None,
    ) -> None:
        validate_model(model)
        validate_given(system, str, "system", "a string", 'system="..."')
        validate_mapping(context, "context", '{"user": "ann"}')
        validate_given(clock, Clock, "clock", "an object with the methods of Clock", "clock=SystemClock()")
        validate_given(observer, Observer, "observer", "an object with begin(operation)", "observer=LoggingObserver()")
        validate_given(threads, ToolThreads, "threads", "a ToolThreads", "threads=ToolThreads(64)")
        self.model = model
        self.advisors = sort_client_advisors(advisors)
        self.system = system
        self.context: Mapping[str, Any] = dict(context or {})
        validate_flag(tool_calling)
        self.tool_calling = tool_calling
        self.observer = observer
        self.threads = threads
        self._default_loop = ToolCallingAdvisor()  # one for all calls: it remembers what sessions were sent
        self._tools = expand_tools(tools)
        self._clock: Clock = clock or SystemClock()
        self._listing = ToolListing()
        named = name_tools(tool for tool in self._tools if isinstance(tool, Tool))  # reports a wrong name now
        self._log_start(named)

    def __repr__(self) -> str:
        advisors = ", ".join(type(advisor).__name__ for advisor in self.advisors)
        return f"{type(self).__name__}({self.model!r}, tools={len(self._tools)}, advisors=[{advisors}])"

    def _log_start(self, tools: Sequence[Tool]) -> None:
        """Log the active advisor and index, so that a setting without effect is noticed."""
        loop = build_chain(self.advisors, self._default_loop, tool_calling=True).loop
        active = loop.describe() if isinstance(loop, ToolCallingAdvisor) else {"advisor": type(loop).__name__}
        active = active if self.tool_calling else {"advisor": "none"}
        facts = {**active, "tools": len(tools), "providers": len(self._tools) - len(tools)}
        log_event(logger, logging.INFO, "client_ready", facts)

    @overload
    def call(
        self,
        prompt: str | UserMessage | None = None,
        *,
        output_type: type[T] | TypeAdapter[T],
        **arguments: Unpack[CallArguments],
    ) -> ChatResponse[T]: ...

    @overload
    def call(
        self, prompt: str | UserMessage | None = None, *, output_type: None = None, **arguments: Unpack[CallArguments]
    ) -> ChatResponse[None]: ...

    @overload
    def call(self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]) -> ChatResponse: ...

    def call(self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]) -> ChatResponse:
        """Run a turn, including its tool calls, and return the response.

        Args:
            prompt: The user's message. It is appended to `messages` if both are given.
            arguments: The keyword arguments in `CallOptions`.

        Raises:
            TypeError: If a keyword argument is unknown.
            ConfigurationError: If an argument cannot work.
            ProviderError: If the model's provider fails.
            StructuredOutputError: If no answer of the model fits `output_type`.

        The attribute `response` of the last two errors is the turn so far.
        """
        turn = self._turn(self._prepare(prompt, arguments), streaming=False)
        for _ in drive(turn):
            pass
        return cast("ChatResponse", turn.response)

    @overload
    async def acall(
        self,
        prompt: str | UserMessage | None = None,
        *,
        output_type: type[T] | TypeAdapter[T],
        **arguments: Unpack[CallArguments],
    ) -> ChatResponse[T]: ...

    @overload
    async def acall(
        self, prompt: str | UserMessage | None = None, *, output_type: None = None, **arguments: Unpack[CallArguments]
    ) -> ChatResponse[None]: ...

    @overload
    async def acall(
        self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]
    ) -> ChatResponse: ...

    async def acall(self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]) -> ChatResponse:
        """Run a turn like `call`, without blocking the event loop."""
        turn = self._turn(self._prepare(prompt, arguments), streaming=False)
        async with aclosing(adrive(turn)) as events:
            async for _ in events:
                pass
        return cast("ChatResponse", turn.response)

    @overload
    def stream(
        self,
        prompt: str | UserMessage | None = None,
        *,
        output_type: type[T] | TypeAdapter[T],
        **arguments: Unpack[CallArguments],
    ) -> ChatStream[T]: ...

    @overload
    def stream(
        self, prompt: str | UserMessage | None = None, *, output_type: None = None, **arguments: Unpack[CallArguments]
    ) -> ChatStream[None]: ...

    @overload
    def stream(self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]) -> ChatStream: ...

    def stream(self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]) -> ChatStream:
        """Run a turn like `call`, and return a stream of its text.

        The turn starts when the stream is first read. `ChatStream.events` also yields rounds and tool calls.
        """
        return ChatStream(self._turn(self._prepare(prompt, arguments), streaming=True))

    @overload
    def astream(
        self,
        prompt: str | UserMessage | None = None,
        *,
        output_type: type[T] | TypeAdapter[T],
        **arguments: Unpack[CallArguments],
    ) -> AsyncChatStream[T]: ...

    @overload
    def astream(
        self, prompt: str | UserMessage | None = None, *, output_type: None = None, **arguments: Unpack[CallArguments]
    ) -> AsyncChatStream[None]: ...

    @overload
    def astream(self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]) -> AsyncChatStream: ...

    def astream(self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]) -> AsyncChatStream:
        """Run a turn like `call`, and return an async stream: ``async for text in client.astream(...)``.

        This method is not a coroutine function: do not await it.
        """
        return AsyncChatStream(self._turn(self._prepare(prompt, arguments), streaming=True))

    def run_tools(self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]) -> ToolBatchResult:
        """Run the tool calls at the end of `messages`, for an application that drives the rounds itself.

        Limits, validation, errors and the tool filter work as in the loop. Calls that already have a result, e.g.
        because the user declined them, are skipped.

        Args:
            prompt: A user message to append to `messages`; usually left out.
            arguments: The keyword arguments in `CallOptions`. `messages` must end with an assistant message that has
                tool calls, and any results of them.

        Raises:
            TypeError: If a keyword argument is unknown.
            ConfigurationError: If an argument cannot work.
        """
        turn, execution = self._execution(self._prepare(prompt, arguments))
        for _ in drive(turn):
            pass
        return execution.batch

    async def arun_tools(
        self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]
    ) -> ToolBatchResult:
        """Run tool calls like `run_tools`, without blocking the event loop."""
        turn, execution = self._execution(self._prepare(prompt, arguments))
        async with aclosing(adrive(turn)) as events:
            async for _ in events:
                pass
        return execution.batch

    def _prepare(self, prompt: str | UserMessage | None, arguments: CallOptions) -> _Prepared:
        """Create the request and the chain of one call."""
        validate_names(arguments, CallOptions.__annotations__)
        tool_calling = arguments.get("tool_calling")
        if tool_calling is None:
            tool_calling = self.tool_calling
        validate_flag(tool_calling)
        validate_identifier(arguments.get("session_id"), "session_id")
        validate_identifier(arguments.get("tenant_id"), "tenant_id")
        validate_mapping(arguments.get("context"), "context", '{"user": "ann"}')
        validate_mapping(arguments.get("options"), "options", '{"temperature": 0}')
        advisors = (*self.advisors, *sort_advisors(arguments.get("advisors", ())))
        built = build_chain(advisors, self._default_loop, tool_calling=tool_calling)
        chain = with_structured_output(built.advisors, arguments.get("output_type"), self.model)
        tools = (*self._tools, *expand_tools(arguments.get("tools", ())))
        # Listing the tools of a provider, e.g. an MCP server, can block, so the driver does it.
        blocks = not all(isinstance(tool, Tool) for tool in tools)
        request = ChatRequest(
            messages=self._conversation(prompt, arguments.get("messages", ())),
            tools=() if blocks else self._listing.current(tools),
            options=arguments.get("options") or {},
            context={**self.context, **(arguments.get("context") or {})},
            session_id=arguments.get("session_id"),
            tenant_id=arguments.get("tenant_id"),
            memory=create_inner_memory(chain),
        )
        listing = partial(self._listing.current, tools) if blocks else None
        is_of_call = built.loop is not self._default_loop and built.loop not in self.advisors
        # An advisor that is made for each call does not know what the sessions of the client were sent.
        guard = built.guard.remembering(self._default_loop.guard.watch) if is_of_call else built.guard
        return _Prepared(request, chain, listing, built.loop, guard)

    def _execution(self, prepared: _Prepared) -> tuple[Turn, BatchExecution]:
        execution = BatchExecution(prepared.loop)
        turn = self._turn(prepared._replace(advisors=(execution,)), streaming=False)
        turn.listeners = find_listeners(prepared.advisors)
        return turn, execution

    def _turn(self, prepared: _Prepared, *, streaming: bool) -> Turn:
        request, advisors, tools, _, guard = prepared
        return Turn(
            self.model,
            request,
            advisors,
            tools,
            clock=self._clock,
            streaming=streaming,
            observer=with_debug_log(self.observer),
            threads=self.threads,
            guard=guard,
        )

    def _conversation(self, prompt: str | UserMessage | None, messages: Iterable[MessageLike]) -> tuple[Message, ...]:
        conversation = coerce_messages(messages)
        if prompt is not None:
            if not isinstance(prompt, str | UserMessage):
                raise ConfigurationError(
                    f"prompt must be a string or a UserMessage, got {short_repr(prompt)}; "
                    "write messages=[...] for dicts and conversations"
                )
            conversation.append(UserMessage(prompt) if isinstance(prompt, str) else prompt)
        if not conversation:
            raise ConfigurationError("nothing to send; pass a prompt, or messages=[...]")
        if self.system is not None and not any(isinstance(message, SystemMessage) for message in conversation):
            conversation.insert(0, SystemMessage(self.system))
        return tuple(conversation)
