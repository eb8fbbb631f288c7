"""`ChatClient`: a model, its tools and the advisors between them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple, TypedDict, Unpack, cast

from ..chat.model import ChatModel
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..errors import ConfigurationError
from ..loop.advisor import Advisor
from ..loop.clock import Clock, SystemClock
from ..loop.drivers import adrive, drive
from ..loop.effects import ToolBatchResult
from ..loop.tool_calling import ToolCallingAdvisor
from ..loop.turn import Turn
from ..messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from ..observability.observer import Observer
from ..output.advisor import with_structured_output
from ..tools.collect import ToolLike, ToolProvider, expand_tools, name_tools, resolve_tools
from ..tools.tool import Tool
from .chain import chain_of, client_advisors, inner_memory
from .run_tools import CallExecution
from .streams import AsyncChatStream, ChatStream

__all__ = ["CallOptions", "ChatClient"]

_MESSAGES = (SystemMessage, UserMessage, AssistantMessage, ToolMessage)


_LOG = logging.getLogger(__name__)


class _Prepared(NamedTuple):
    """What one call starts from; `tools` asks for the request's tools where that may take time."""

    request: ChatRequest
    advisors: tuple[Advisor, ...]
    tools: Callable[[], tuple[Tool, ...]] | None


class CallOptions(TypedDict, total=False):
    """The keyword arguments that every call of a client takes.

    Args:
        messages: The conversation so far. ``[*messages, *reply.messages]`` is the conversation afterwards.
        tools: Tools added to the client's for this call.
        session_id: The conversation that this call belongs to. What tool search revealed in it stays revealed, and a
            `MemoryAdvisor` stores its messages. Without a session id, the call leaves nothing behind.
        tenant_id: The tenant that the session belongs to. Equal session ids of two tenants are two sessions.
        context: Values for tools and advisors, merged over the client's context. The model never receives them.
        output_type: The type of ``reply.output``: a pydantic model, a dataclass, a `TypedDict`, ``list[...]``,
            ``dict``, any other type that pydantic reads, or an `OutputConverter`.
        advisors: Advisors added to the client's for this call.
        tool_calling: Overrides the client's setting for this call.
        options: Options passed to the model by name, e.g. ``{"temperature": 0}``.

    Example:
        >>> options: CallOptions = {"session_id": "ann", "options": {"temperature": 0}}
    """

    messages: Sequence[Message]
    tools: Iterable[ToolLike] | ToolLike
    session_id: str | None
    tenant_id: str | None
    context: Mapping[str, Any] | None
    output_type: object
    advisors: Iterable[Advisor]
    tool_calling: bool | None
    options: Mapping[str, Any] | None


class ChatClient:
    """Sends prompts through a chain of advisors to a model, in four ways that behave alike.

    Args:
        model: what talks to the provider.
        tools: available in every call: functions, `Tool`s, objects with ``@tool`` methods, providers such as
            `McpTools`, ``(definition, callable)`` pairs, and lists of these.
        advisors: steps of every call. With no tool advisor among them a `ToolCallingAdvisor` is added.
        system: instructions for calls whose messages bring no system message of their own.
        context: values for tools; merged under each call's own context, never sent to the model.
        tool_calling: False leaves the loop to you: responses then end with the tool calls the model asks for.
        clock: what waits and tells the time; a fake one in tests.
        observer: is told of every turn, round, tool call and search, e.g. an `OpenTelemetryObserver`.

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
    ) -> None:
        missing = [name for name in ("call", "acall", "stream", "astream") if not callable(getattr(model, name, None))]
        if isinstance(model, type) or missing:
            raise ConfigurationError(f"{model!r} is not a chat model: it lacks {', '.join(missing) or 'an instance'}")
        self.model = model
        self.advisors = client_advisors(advisors)
        self.system = system
        self.context: Mapping[str, Any] = dict(_mapping(context, "context", "{'user': 'ann'}"))
        self.tool_calling = _flag(tool_calling)
        self.observer = observer
        self._tools = expand_tools(tools)
        if clock is not None and not isinstance(clock, Clock):
            raise ConfigurationError(
                f"a clock has monotonic(), sleep(seconds) and sleep_async(seconds); {clock!r} has not"
            )
        self._clock: Clock = clock or SystemClock()
        self._named: tuple[tuple[Tool, ...], tuple[Tool, ...]] = ((), ())
        listed = name_tools(tool for tool in self._tools if isinstance(tool, Tool))  # a wrong name is an error here
        self._log_start(listed)

    def _log_start(self, tools: Sequence[Tool]) -> None:
        """Say which advisor and index are active: a setting that did not take effect shows here."""
        loops = [advisor for advisor in self.advisors if isinstance(advisor, ToolCallingAdvisor)]
        active = loops[0].describe() if loops else {"advisor": "ToolCallingAdvisor" if self.tool_calling else "none"}
        facts = {**active, "tools": len(tools), "providers": len(self._tools) - len(tools)}
        text = " ".join(f"{name}={value}" for name, value in facts.items())
        _LOG.info("toolsearch.client_ready %s", text, extra=facts)

    def call(self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]) -> ChatResponse:
        """Run a turn and return its response; tools run on the way.

        Args:
            prompt: What the user says. It is appended to `messages` if both are given.
            arguments: See `CallOptions`.

        Raises:
            TypeError: If an argument does not exist.
            ConfigurationError: If an argument cannot work.
            ProviderError: If the model's provider fails.
            StructuredOutputError: If no answer of the model fits `output_type`.
        """
        turn = self._turn(self._prepare(prompt, arguments), streaming=False)
        for _ in drive(turn):
            pass
        return cast("ChatResponse", turn.response)

    async def acall(self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]) -> ChatResponse:
        """Run a turn like `call`, without blocking the event loop."""
        turn = self._turn(self._prepare(prompt, arguments), streaming=False)
        async with aclosing(adrive(turn)) as events:
            async for _ in events:
                pass
        return cast("ChatResponse", turn.response)

    def stream(self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]) -> ChatStream:
        """Run a turn like `call`, and stream its text. `ChatStream.events` also yields rounds and tool calls."""
        return ChatStream(self._turn(self._prepare(prompt, arguments), streaming=True))

    def astream(self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]) -> AsyncChatStream:
        """Run a turn like `call`, and return an async stream: ``async for text in client.astream(...)``.

        This method is not a coroutine function: do not await it.
        """
        return AsyncChatStream(self._turn(self._prepare(prompt, arguments), streaming=True))

    def run_tools(self, prompt: str | UserMessage | None = None, **arguments: Unpack[CallOptions]) -> ToolBatchResult:
        """Run the tool calls at the end of `messages`, for an application that drives the rounds itself.

        Calls that already have a result, such as those that a user declined, are skipped. Limits, validation, errors
        and the tool filter work as in the loop.
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
        """Make the request and the chain of one call."""
        _validate_arguments(arguments)
        tool_calling = arguments.get("tool_calling")
        found = (*self._tools, *expand_tools(arguments.get("tools", ())))
        calls_tools = self.tool_calling if tool_calling is None else _flag(tool_calling)
        chain = chain_of((*self.advisors, *arguments.get("advisors", ())), tool_calling=calls_tools)
        chain = with_structured_output(chain, arguments.get("output_type"), self.model)
        # A provider may take time to list its tools, so a driver asks it.
        waits = not all(isinstance(tool, Tool) for tool in found)
        request = ChatRequest(
            messages=self._conversation(prompt, arguments.get("messages", ())),
            tools=() if waits else self._named_tools(found),
            options=_mapping(arguments.get("options"), "options", "{'temperature': 0}"),
            context={**self.context, **_mapping(arguments.get("context"), "context", "{'user': 'ann'}")},
            session_id=_identifier(arguments.get("session_id"), "session_id"),
            tenant_id=_identifier(arguments.get("tenant_id"), "tenant_id"),
            memory=inner_memory(chain),
        )
        return _Prepared(request, chain, partial(self._named_tools, found) if waits else None)

    def _execution(self, prepared: _Prepared) -> tuple[Turn, CallExecution]:
        loops = (one for one in (*prepared.advisors, *self.advisors) if isinstance(one, ToolCallingAdvisor))
        execution = CallExecution(next(loops, None) or ToolCallingAdvisor())
        return self._turn(prepared._replace(advisors=(execution,)), streaming=False), execution

    def _turn(self, prepared: _Prepared, *, streaming: bool) -> Turn:
        return Turn(self.model, *prepared, clock=self._clock, streaming=streaming, observer=self.observer)

    def _conversation(self, prompt: str | UserMessage | None, messages: Sequence[Message]) -> tuple[Message, ...]:
        if isinstance(messages, _MESSAGES):
            raise ConfigurationError(f"messages= takes a list: messages=[{type(messages).__name__}(...)]")
        conversation = list(messages)
        if not all(isinstance(message, _MESSAGES) for message in conversation):
            raise ConfigurationError(
                "messages= takes SystemMessage, UserMessage, AssistantMessage and ToolMessage objects"
            )
        if prompt is not None:
            if not isinstance(prompt, str | UserMessage):
                raise ConfigurationError(f"a prompt is a str or a UserMessage, not {type(prompt).__name__}")
            conversation.append(UserMessage(prompt) if isinstance(prompt, str) else prompt)
        if not conversation:
            raise ConfigurationError("nothing to send: give a prompt, or messages=[...]")
        if self.system is not None and not any(isinstance(message, SystemMessage) for message in conversation):
            conversation.insert(0, SystemMessage(self.system))
        return tuple(conversation)

    def _named_tools(self, found: Sequence[Tool | ToolProvider]) -> tuple[Tool, ...]:
        """The tools of a call under the names that the model sees; checked anew only if they changed."""
        tools = resolve_tools(found)
        seen, named = self._named
        if tools != seen:  # tools compare by identity
            named = name_tools(tools)
            self._named = (tools, named)
        return named


def _mapping(value: Mapping[str, Any] | None, name: str, example: str) -> Mapping[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise ConfigurationError(f"{name} must be a mapping, e.g. {name}={example}, got {value!r}")
    return value or {}


def _flag(tool_calling: bool) -> bool:
    if not isinstance(tool_calling, bool):
        raise ConfigurationError(f"tool_calling must be True or False, not {tool_calling!r}")
    return tool_calling


def _validate_arguments(arguments: CallOptions) -> None:
    """Reject unknown arguments: a typo, or an option of the model outside `options`."""
    for name in arguments.keys() - CallOptions.__annotations__.keys():
        close = get_close_matches(name, CallOptions.__annotations__, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"pass options of the model as options={{{name!r}: ...}}"
        raise TypeError(f"unexpected keyword argument {name!r}; {hint}")


def _identifier(value: str | None, name: str) -> str | None:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise ConfigurationError(
            f"{name} must be a non-empty string, not {value!r}; leave it out for a turn on its own"
        )
    return value
