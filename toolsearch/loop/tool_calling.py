"""`ToolCallingAdvisor`: the tool-calling loop."""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from inspect import iscoroutine, isgenerator
from typing import Any, TypeAlias, TypedDict, TypeVar, cast

from ..chat.errors import StructuredOutputError
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..errors import ConfigurationError
from ..messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage
from ..tools.predicates import evaluate_predicate, validate_predicate
from ..tools.tool import Tool
from .effects import AdvisorFlow, Effect, Perform, RunTools, ToolBatchResult
from .limits import CallCounter, ToolCallLimits
from .resolver import ToolResolver
from .state import LoopState

__all__ = ["LoopOptions", "ToolCallingAdvisor", "has_tool_calls"]

T = TypeVar("T")
Hook: TypeAlias = T | Generator[Effect, Any, T]
"""What a hook returns: the value itself, or a generator that yields effects and returns it."""


def has_tool_calls(response: ChatResponse) -> bool:
    """The default answer to "one more round?": the model asked for tools."""
    return bool(response.tool_calls)


class LoopOptions(TypedDict, total=False):
    """The arguments of `ToolCallingAdvisor` that its subclasses pass on; `order` aside."""

    limits: ToolCallLimits | None
    raise_on_error: bool | type[Exception] | tuple[type[Exception], ...]
    on_error: Callable[[ToolCall, Exception], str] | None
    should_continue: Callable[[ChatResponse], bool]
    send_history: bool | None
    resolver: ToolResolver | None
    resolve_fallback: bool


class ToolCallingAdvisor:
    """Runs the tools a model asks for and asks it again, until it answers.

    Args:
        order: its place in the chain; advisors with a higher order see every round.
        limits: on the calls of one turn.
        raise_on_error: False answers a tool's exception to the model, True raises it, exception types raise those.
        on_error: called with the call and a tool's exception that is not raised; returns what to tell the model, or
            raises. It runs between two rounds, so it should not wait for anything. By default, type and text.
        should_continue: whether a response calls for running tools; by default, whether it holds tool calls.
        send_history: False sends each round only what is new since the last one, for an advisor further in that keeps the
            conversation; None decides by the chain: False where a `MemoryAdvisor` is further in and has a session.
        resolver: knows tools that are in no request.
        resolve_fallback: run tools that only `resolver` knows; off, since all it knows becomes callable.

    Subclasses override the hooks `initialize_loop`, `before_call`, `after_call`, `before_tool`, `next_instructions` and
    `finalize_loop`. Each is a plain method, or a generator that yields effects and returns the value.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> def add(a: int, b: int) -> int:
        ...     "Add two numbers."
        ...     return a + b
        >>> model = ScriptedChatModel([[("add", {"a": 1, "b": 2})], "It is 3."])
        >>> client = ChatClient(model, tools=[add], advisors=[ToolCallingAdvisor(limits=ToolCallLimits(total=5))])
        >>> client.call("1 + 2?").text
        'It is 3.'
    """

    def __init__(
        self,
        *,
        order: int = 300,
        limits: ToolCallLimits | None = None,
        raise_on_error: bool | type[Exception] | tuple[type[Exception], ...] = False,
        on_error: Callable[[ToolCall, Exception], str] | None = None,
        should_continue: Callable[[ChatResponse], bool] = has_tool_calls,
        send_history: bool | None = None,
        resolver: ToolResolver | None = None,
        resolve_fallback: bool = False,
    ) -> None:
        validate_predicate(should_continue, "should_continue", "response")
        if on_error is not None and not callable(on_error):
            raise ConfigurationError("on_error must be a callable: (call, error) -> text for the model")
        self.order = order
        self.limits = limits or ToolCallLimits()
        if isinstance(raise_on_error, type):
            raise_on_error = (raise_on_error,)
        if not isinstance(raise_on_error, Iterable | bool):
            raise ConfigurationError(f"raise_on_error is a bool, or exception types, not {raise_on_error!r}")
        if not isinstance(raise_on_error, bool) and not all(_is_error_type(kind) for kind in raise_on_error):
            raise ConfigurationError(f"raise_on_error is a bool, or exception types, not {raise_on_error!r}")
        self.raise_on_error = raise_on_error if isinstance(raise_on_error, bool) else tuple(raise_on_error)
        self.on_error = on_error
        self.should_continue = should_continue
        self.send_history = send_history
        if resolver is not None and (isinstance(resolver, type) or not isinstance(resolver, ToolResolver)):
            raise ConfigurationError(f"a resolver has a method resolve(name) -> Tool | None; {resolver!r} has not")
        if resolve_fallback and resolver is None:
            raise ConfigurationError("resolve_fallback=True needs a resolver")
        self._resolver = resolver if resolve_fallback else None

    def describe(self) -> dict[str, str]:
        """What is active, for the log."""
        return {"advisor": type(self).__name__}

    def initialize_loop(self, state: LoopState, request: ChatRequest) -> Hook[ChatRequest]:
        """Once a turn, before the first round; returns the request to start from."""
        return request

    def before_call(self, state: LoopState, request: ChatRequest) -> Hook[ChatRequest]:
        """Before each round; returns the request to send. Changes are for this round only."""
        return request

    def after_call(self, state: LoopState, response: ChatResponse) -> Hook[ChatResponse]:
        """After each round, with the model's response, the aggregate when streaming."""
        return response

    def before_tool(self, state: LoopState, request: ChatRequest, call: ToolCall) -> Hook[str | None]:
        """Before each tool that is about to run, also in `ChatClient.run_tools`: None runs it, a text answers the call.

        To ask somebody, yield ``Perform(ask)`` and go by what comes back.
        """
        return None

    def next_instructions(
        self, state: LoopState, request: ChatRequest, response: ChatResponse, batch: ToolBatchResult
    ) -> Hook[ChatRequest]:
        """After each round whose tools have run and which is not the last; returns the request to go on with."""
        sent = request.messages
        kept = sent if state.send_history else [message for message in sent if isinstance(message, SystemMessage)]
        return request.replace(messages=(*kept, response.message, *batch.messages))

    def finalize_loop(self, state: LoopState, response: ChatResponse) -> Hook[ChatResponse]:
        """Once a turn, with the final response, also after return-direct and limits."""
        return response

    def may_run(self, tool: Tool, request: ChatRequest) -> bool:
        """Whether a tool that is not part of the request, or is run outside of the loop, may run for it."""
        return True

    def _may_run(self, tool: Tool, request: ChatRequest) -> bool:
        return evaluate_predicate(self.may_run(tool, request), f"{type(self).__name__}.may_run")

    def execute(self, request: ChatRequest, calls: Sequence[ToolCall]) -> Generator[Effect, Any, ToolBatchResult]:
        """Execute calls outside of the loop, for callers that drive the rounds themselves.

        The request's tools may run, as far as `may_run` allows; its messages since the last user message count towards
        the limits.
        """
        with ExitStack() as resources:
            allowed = request.replace(tools=[tool for tool in request.tools if self._may_run(tool, request)])
            counter = CallCounter(self.limits, request.messages)
            batch, _ = yield from self._run_tools(LoopState(request, resources), allowed, calls, counter)
            return batch

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Run the loop."""
        with ExitStack() as resources:
            state = LoopState(request, resources)
            counter = CallCounter(self.limits, request.messages)
            if request.memory is not None and (yield from request.memory.open(request.session_id, request.tenant_id)):
                state.memory = request.memory
            state.send_history = state.memory is None if self.send_history is None else self.send_history
            request = yield from _hook(self.initialize_loop(state, request), ChatRequest, "initialize_loop")
            while True:
                state.round += 1
                sent = len(state.produced)
                if state.memory is not None:
                    state.memory.next_round(request.messages)
                outgoing = yield from _hook(self.before_call(state, request), ChatRequest, "before_call")
                try:
                    response = yield outgoing
                except StructuredOutputError as error:
                    error.response = _whole(state, error.response)
                    raise
                response = yield from _hook(self.after_call(state, response), ChatResponse, "after_call")
                state.usage += response.usage
                state.produced.append(response.message)
                if not evaluate_predicate(self.should_continue(response), "should_continue"):
                    break
                batch, breach = yield from self._run_tools(state, outgoing, response.tool_calls, counter)
                state.produced.extend(batch.messages)
                if breach or batch.return_direct:
                    response = _ended(response, batch, breach)
                    state.produced.append(response.message)
                    break
                following = self.next_instructions(state, request, response, batch)
                request = yield from _hook(following, ChatRequest, "next_instructions")
            response = response.replace(messages=tuple(state.produced), usage=state.usage)
            response = yield from _hook(self.finalize_loop(state, response), ChatResponse, "finalize_loop")
            if state.memory is not None:
                yield from state.memory.close(response.messages[sent:] or (response.message,))
            return response

    def _run_tools(
        self, state: LoopState, outgoing: ChatRequest, calls: Sequence[ToolCall], counter: CallCounter
    ) -> Generator[Effect, Any, tuple[ToolBatchResult, str]]:
        """Run what may run, answer the rest; return the whole batch and the breach that ends the turn, if any."""
        answers: dict[int, ToolMessage] = {}
        breach = ""
        counter.next_round()
        for position, call in enumerate(calls):
            refusal = counter.admit(call)
            if breach or refusal:
                text = refusal.text if refusal else "Not run: the turn ended."
                answers[position] = ToolMessage(call.id, call.name, text, is_error=True)
                if refusal and refusal.ends:
                    breach = breach or refusal.text
        tools = {tool.name: tool for tool in outgoing.tools} if state.executable is None else state.executable
        if self._resolver is not None:
            state.resolved = yield Perform(partial(self._resolve, self._resolver, state.request, calls))
            tools = {**state.resolved, **tools}
        if state.intercept is not None:
            # It may take time: to find the names nearest to a wrong one among thousands, or to ask somebody.
            answers |= yield Perform(partial(_intercepted, state.intercept, calls, set(answers)))
        for position, call in enumerate(calls):
            if position not in answers and call.name in tools:
                answer = yield from _hook(self.before_tool(state, outgoing, call), (str, type(None)), "before_tool")
                if answer is not None:
                    answers[position] = ToolMessage(call.id, call.name, answer, is_error=True)
        batch: ToolBatchResult = yield RunTools(
            calls=tuple(calls),
            tools=tools,
            request=outgoing,
            answers=answers,
            raise_on_error=self.raise_on_error,
            on_error=self.on_error,
        )
        return batch, breach

    def _resolve(self, resolver: ToolResolver, request: ChatRequest, calls: Sequence[ToolCall]) -> dict[str, Tool]:
        """The tools of calls that only the resolver knows; those of the request come first, sent or not."""
        offered = {tool.name for tool in request.tools}
        found = {call.name: resolver.resolve(call.name) for call in calls if call.name not in offered}
        return {name: tool for name, tool in found.items() if tool is not None and self._may_run(tool, request)}


def _intercepted(
    intercept: Callable[[ToolCall], ToolMessage | None], calls: Sequence[ToolCall], settled: Container[int]
) -> dict[int, ToolMessage]:
    """The calls that are answered before they run, by position."""
    found = {position: intercept(call) for position, call in enumerate(calls) if position not in settled}
    return {position: answer for position, answer in found.items() if answer is not None}


def _whole(state: LoopState, last: ChatResponse) -> ChatResponse:
    """The turn so far with its last response."""
    return last.replace(messages=(*state.produced, last.message), usage=state.usage + last.usage)


def _ended(response: ChatResponse, batch: ToolBatchResult, breach: str) -> ChatResponse:
    """The response of a turn that ends without asking the model again."""
    text = breach or "\n".join(message.text for message in batch.messages)
    return ChatResponse(
        messages=(AssistantMessage(text),),
        finish_reason="tool_call_limit" if breach else "return_direct",
        raw=response.raw,
    )


def _is_error_type(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Exception)


def _hook(value: Any, kind: type[T] | tuple[type[T], ...], name: str) -> Generator[Effect, Any, T]:
    result = (yield from cast("Generator[Effect, Any, Any]", value)) if isgenerator(value) else value
    if iscoroutine(result):
        result.close()
        raise ConfigurationError(f"the hook {name} is async; yield Perform(async_function) from it instead")
    if not isinstance(result, kind):
        kinds = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise ConfigurationError(f"the hook {name} must return a {kinds}, not {type(result).__name__}")
    return result
