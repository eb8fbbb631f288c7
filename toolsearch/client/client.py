"""`ChatClient`: a model, its tools and the advisors between them."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from difflib import get_close_matches
from functools import lru_cache, partial, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from ..chat.model import ChatModel
from ..chat.requests import ChatRequest, ChatResponse
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

__all__ = ["ChatClient"]

_MESSAGES = (SystemMessage, UserMessage, AssistantMessage, ToolMessage)


_LOG = logging.getLogger(__name__)
_ARGUMENTS = ("advisors", "context", "messages", "prompt", "response_type", "session_id", "tenant", "tool_calling")


class _Prepared(NamedTuple):
    """What one call starts from; `tools` asks for the request's tools where that may take time."""

    request: ChatRequest
    advisors: tuple[Advisor, ...]
    tools: Callable[[], tuple[Tool, ...]] | None


P = ParamSpec("P")
R = TypeVar("R")


def _called_with(
    prepare: Callable[Concatenate[ChatClient, P], _Prepared],
) -> Callable[[Callable[[ChatClient, _Prepared], R]], Callable[Concatenate[ChatClient, P], R]]:
    """Give a method the arguments of `prepare`, so that the four ways to call have one signature, in one place."""

    def decorate(method: Callable[[ChatClient, _Prepared], R]) -> Callable[Concatenate[ChatClient, P], R]:
        @wraps(method)
        def with_arguments(self: ChatClient, /, *args: P.args, **kwargs: P.kwargs) -> R:
            return method(self, prepare(self, *args, **kwargs))

        signature, returns = inspect.signature(prepare), inspect.signature(method).return_annotation
        with_arguments.__signature__ = signature.replace(return_annotation=returns)  # type: ignore[attr-defined]  # help() reads it
        _, _, arguments = (prepare.__doc__ or "").partition("        Args:")
        with_arguments.__doc__ = f"{method.__doc__}\n\n        Args:{arguments}"
        return with_arguments

    return decorate


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
        self.context: Mapping[str, Any] = dict(_mapping(context))
        self.tool_calling = _flag(tool_calling)
        self.observer = observer
        self._tools = expand_tools(tools)
        if clock is not None and not isinstance(clock, Clock):
            raise ConfigurationError(f"a clock has monotonic(), sleep(seconds) and asleep(seconds); {clock!r} has not")
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

    def _prepare(
        self,
        /,
        prompt: str | UserMessage | None = None,
        *,
        messages: Sequence[Message] = (),
        tools: Iterable[ToolLike] | ToolLike = (),
        session_id: str | None = None,
        tenant: str | None = None,
        context: Mapping[str, Any] | None = None,
        response_type: object = None,
        advisors: Iterable[Advisor] = (),
        tool_calling: bool | None = None,
        **model_options: Any,
    ) -> _Prepared:
        """Make the request and the chain of one call. These are the arguments of all four ways to call.

        Args:
            prompt: what the user says; appended to `messages` if both are given.
            messages: the conversation so far. ``[*messages, *reply.messages]`` is the conversation afterwards.
            tools: added to the client's for this call.
            session_id: whose conversation this is: what tool search found for it stays found, and a `MemoryAdvisor`
                keeps it. None leaves nothing.
            tenant: keeps sessions of one id but of several customers apart.
            context: values for tools, merged over the client's; never sent to the model.
            response_type: what ``reply.value`` is to be: a pydantic model, a dataclass, a `TypedDict`, ``list[...]``,
                ``dict``, any type pydantic reads, or an `OutputConverter`; see `StructuredOutputAdvisor`.
            advisors: added to the client's for this call.
            tool_calling: overrides the client's setting for this call.
            model_options: passed to the model by name, e.g. ``temperature=0``.

        Raises:
            ConfigurationError: for arguments that cannot work.
            ProviderError: if the model's provider fails.
            StructuredOutputError: if no answer fits `response_type`.
        """
        _check_options(model_options)
        found = (*self._tools, *expand_tools(tools))
        calls_tools = self.tool_calling if tool_calling is None else _flag(tool_calling)
        chain = chain_of((*self.advisors, *advisors), tool_calling=calls_tools)
        chain = with_structured_output(chain, response_type, self.model)
        waits = not all(isinstance(tool, Tool) for tool in found)  # a provider may take its time: let a driver ask it
        request = ChatRequest(
            messages=self._conversation(prompt, messages),
            tools=() if waits else self._named_tools(found),
            options=model_options,
            context={**self.context, **_mapping(context)},
            session_id=_identifier(session_id, "session_id"),
            tenant=_identifier(tenant, "tenant"),
            memory=inner_memory(chain),
        )
        return _Prepared(request, chain, partial(self._named_tools, found) if waits else None)

    @_called_with(_prepare)
    def call(self, prepared: _Prepared) -> ChatResponse:
        """Return the answer to a prompt or a conversation; tools run on the way."""
        turn = self._turn(prepared, streaming=False)
        for _ in drive(turn):
            pass
        return cast("ChatResponse", turn.response)

    @_called_with(_prepare)
    async def acall(self, prepared: _Prepared) -> ChatResponse:
        """Return the answer without holding the event loop."""
        turn = self._turn(prepared, streaming=False)
        async with aclosing(adrive(turn)) as events:
            async for _ in events:
                pass
        return cast("ChatResponse", turn.response)

    @_called_with(_prepare)
    def stream(self, prepared: _Prepared) -> ChatStream:
        """Return the answer as a stream of text; `ChatStream.events` tells of rounds and tool calls too."""
        return ChatStream(self._turn(prepared, streaming=True))

    @_called_with(_prepare)
    def astream(self, prepared: _Prepared) -> AsyncChatStream:
        """Return the answer as an async stream; not a coroutine: ``async for text in client.astream(...)``."""
        return AsyncChatStream(self._turn(prepared, streaming=True))

    @_called_with(_prepare)
    def run_tools(self, prepared: _Prepared) -> ToolBatchResult:
        """Execute the tool calls that `messages` end with, for callers that drive the rounds themselves.

        Calls that have a result there already, such as those a user declined, are left out. Limits, arguments, errors
        and the filter of tool search are as in the loop.
        """
        turn, execution = self._execution(prepared)
        for _ in drive(turn):
            pass
        return execution.batch

    @_called_with(_prepare)
    async def arun_tools(self, prepared: _Prepared) -> ToolBatchResult:
        """Execute the tool calls that `messages` end with, without holding the event loop."""
        turn, execution = self._execution(prepared)
        async with aclosing(adrive(turn)) as events:
            async for _ in events:
                pass
        return execution.batch

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


def _mapping(context: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if context is not None and not isinstance(context, Mapping):
        raise ConfigurationError(f"context must be a mapping, e.g. context={{'user': 'ann'}}, not {context!r}")
    return context or {}


def _flag(tool_calling: bool) -> bool:
    if not isinstance(tool_calling, bool):
        raise ConfigurationError(f"tool_calling must be True or False, not {tool_calling!r}")
    return tool_calling


def _check_options(options: Mapping[str, Any]) -> None:
    """Every other name is an option of the model; one that is nearly an argument of ours is a slip."""
    for name in options:
        if meant := _nearly(name):
            raise ConfigurationError(f"there is no argument {name!r}; did you mean {meant!r}?")


@lru_cache(256)  # the same few options come with every call
def _nearly(name: str) -> str | None:
    """The argument of ours that a name is nearly."""
    return next(iter(get_close_matches(name, _ARGUMENTS, 1, cutoff=0.85)), None)


def _identifier(value: str | None, name: str) -> str | None:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise ConfigurationError(
            f"{name} must be a non-empty string, not {value!r}; leave it out for a turn on its own"
        )
    return value
