"""The tool-calling loop: runs the tools that the model calls and asks it again, until it answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Generator, Hashable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict

from ..chat.limits import ReachedLimit
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..chat.tool_choice import is_forced
from ..chat.usage_limits import UsageLimits
from ..errors import ConfigurationError
from ..messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage
from ..text import short_repr
from ..tools.argument_types import validate_type
from ..tools.guard import DefinitionRule, ToolFilter, ToolGuard
from ..tools.names import READ_TOOL, RESERVED_NAMES, called_name
from ..tools.predicates import evaluate_predicate, validate_predicate
from ..tools.results.limits import RESULT_MEDIA_BYTES, RESULT_TOKENS, ResultLimits
from ..tools.results.store import RESULT_STORE, ResultStore
from ..tools.tool_type import Tool
from .call_counter import CallCounter
from .effects import AdvisorFlow, Effect, Perform, RunTools, ToolBatchResult
from .execution.long_results import add_read_tool, open_results
from .guarding import filter_tools, gate_of, note_sent, withhold_changed_tools
from .hooks import Hook, run_hook
from .limits import ToolCallLimits
from .resolver import ToolResolver, validate_resolver
from .state import LoopState

__all__ = ["LoopOptions", "ToolCallingAdvisor", "has_tool_calls"]


def has_tool_calls(response: ChatResponse) -> bool:
    """Return whether the model called tools. This is the default of `should_continue`."""
    return bool(response.tool_calls)


class LoopOptions(TypedDict, total=False):
    """Keyword arguments of `ToolCallingAdvisor` that subclasses pass on, without `order`.

    Example:
        >>> options: LoopOptions = {"raise_on_error": True}
        >>> ToolCallingAdvisor(**options).raise_on_error
        True
    """

    tool_filter: ToolFilter | None
    on_definition_changed: DefinitionRule
    limits: ToolCallLimits | None
    raise_on_error: bool | type[Exception] | Collection[type[Exception]]
    on_error: Callable[[ToolCall, Exception], str] | None
    should_continue: Callable[[ChatResponse], bool]
    send_history: bool | None
    resolver: ToolResolver | None
    resolve_fallback: bool
    max_result_tokens: float | None
    max_result_media_bytes: float | None
    result_store: ResultStore | None
    usage_limits: UsageLimits | None


class ToolCallingAdvisor:
    """The tool-calling loop: runs the tools that the model calls and asks it again, until it answers.

    Subclasses override the hooks `initialize_loop`, `before_call`, `after_call`, `before_tool`, `next_instructions` and
    `finalize_loop`. A hook is a plain method, or a generator that yields effects (such as `Perform` for code that may
    block) and returns the value.

    Args:
        order: Position in the chain. Advisors with a higher order are inside the loop and run in every round.
        tool_filter: ``(tool, context) -> bool``: the tools that a session may have. The context has the tenant, the
            session and the application's values. A rejected tool is never indexed, found, shown or run, with or
            without tool search, in the loop or in `ChatClient.run_tools`. The filter is asked again before a tool is
            sent and before it runs. If it raises, or returns anything but True or False, the tool is rejected, and an
            error is logged. It may block.
        on_definition_changed: What becomes of a tool whose own name, description, parameters, annotations or output
            schema differ from what the session was sent before: ``"reveal"``, ``"withhold"``, or a function that
            receives a `DefinitionChange` and returns one of the two. It may block. If it raises, or returns anything
            else, the tool is withheld: it cannot be found, seen or run until it is defined as before. Each change is
            logged as a warning, and a stream has the event `ToolDefinitionChanged`. The process remembers what its
            latest 10,000 sessions were sent. After a restart, or without a session, only the tools of a source are
            compared, with what the conversation shows: tools that a search revealed or that ran.
        limits: Limits on the tool calls of one turn.
        raise_on_error: False answers the exception of a tool to the model. True raises it. Exception types raise
            exceptions of these types.
        on_error: ``(call, error) -> str``, the text that answers an exception that is not raised. It may raise too. It
            must not block. By default, the text is the type and message of the exception.
        should_continue: ``response -> bool``, whether to run tools and ask again. By default, whether the response has
            tool calls.
        send_history: Whether each round sends the whole turn so far. False sends only the new messages, for an inner
            advisor that keeps the conversation. None decides by the chain: False if a `MemoryAdvisor` is inside the
            loop and the call has a session.
        resolver: Lookup for tools that are not in the request. Used only with `resolve_fallback=True`.
        resolve_fallback: Whether tools that only `resolver` knows may run. Off by default, because the model can then
            call everything that the resolver knows.
        max_result_tokens: Estimated tokens after which the text of a tool result is cut. The model can read the rest
            with the tool `read_tool_result`, which is added to its tools when a result is cut. None sets no limit.
        max_result_media_bytes: Bytes of media above which media of a tool result are left out. None sets no limit.
        result_store: Keeps the rests of long results. Pass one object to advisors that share sessions. By default,
            each advisor has its own part of a store that the process bounds.
        usage_limits: Budgets of tokens and cost for turns and sessions.

    Raises:
        ConfigurationError: If an argument cannot work.

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

    is_tool_loop = True

    def __init__(
        self,
        *,
        order: int = 300,
        tool_filter: ToolFilter | None = None,
        on_definition_changed: DefinitionRule = "reveal",
        limits: ToolCallLimits | None = None,
        raise_on_error: bool | type[Exception] | Collection[type[Exception]] = False,
        on_error: Callable[[ToolCall, Exception], str] | None = None,
        should_continue: Callable[[ChatResponse], bool] = has_tool_calls,
        send_history: bool | None = None,
        resolver: ToolResolver | None = None,
        resolve_fallback: bool = False,
        max_result_tokens: float | None = RESULT_TOKENS,
        max_result_media_bytes: float | None = RESULT_MEDIA_BYTES,
        result_store: ResultStore | None = None,
        usage_limits: UsageLimits | None = None,
    ) -> None:
        validate_predicate(should_continue, "should_continue", "response")
        if limits is not None:
            validate_type(limits, ToolCallLimits, "limits", "a ToolCallLimits", "limits=ToolCallLimits(per_tool=10)")
        if on_error is not None:
            validate_predicate(on_error, "on_error", "call", "error", returns="str")
        if resolver is not None:
            validate_resolver(resolver)
        if resolve_fallback and resolver is None:
            raise ConfigurationError("resolve_fallback=True needs a resolver; pass resolver=...")
        if usage_limits is not None:
            validate_type(
                usage_limits,
                UsageLimits,
                "usage_limits",
                "a UsageLimits",
                "usage_limits=UsageLimits(turn_tokens=100_000)",
            )
        self.order = order
        self.result_limits = ResultLimits(max_tokens=max_result_tokens, max_media_bytes=max_result_media_bytes)
        self.usage_limits = usage_limits
        if result_store is not None:
            validate_type(result_store, ResultStore, "result_store", "a ResultStore", "result_store=ResultStore()")
        self.result_store = result_store or RESULT_STORE
        self._results_owner = object() if result_store is None else None
        self.guard = ToolGuard(tool_filter, on_definition_changed)
        self.limits = limits or ToolCallLimits()
        self.raise_on_error = _coerce_error_types(raise_on_error)
        self.on_error = on_error
        self.should_continue = should_continue
        self.send_history = send_history
        self._resolver = resolver if resolve_fallback else None

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value}" for name, value in self.describe().items() if name != "advisor")
        return f"{type(self).__name__}({facts})"

    def describe(self) -> dict[str, str]:
        """Return what is active, for the log."""
        return {"advisor": type(self).__name__}

    def initialize_loop(self, state: LoopState, request: ChatRequest) -> Hook[ChatRequest]:
        """Return the request of the first round. Called once a turn, before the first round."""
        return request

    def before_call(self, state: LoopState, request: ChatRequest) -> Hook[ChatRequest]:
        """Return the request to send. Called before each round; changes apply to this round only."""
        return request

    def after_call(self, state: LoopState, response: ChatResponse) -> Hook[ChatResponse]:
        """Return the response of a round. Called after each round with the model's complete response."""
        return response

    def before_tool(self, state: LoopState, request: ChatRequest, call: ToolCall) -> Hook[str | None]:
        """Return None to run a call, or a string that answers it instead.

        Called before each tool runs, also in `ChatClient.run_tools`. To ask a person, yield ``Perform(ask)`` and use
        its result. ``state.tool_for(call)`` is the tool, with its source and identity.
        """
        return None

    def next_instructions(
        self, state: LoopState, request: ChatRequest, response: ChatResponse, batch: ToolBatchResult
    ) -> Hook[ChatRequest]:
        """Return the request of the next round. Called after each round whose tools ran, except the last one."""
        sent = request.messages
        kept = sent if state.send_history else [message for message in sent if isinstance(message, SystemMessage)]
        return request.replace(messages=(*kept, response.message, *batch.messages))

    def finalize_loop(self, state: LoopState, response: ChatResponse) -> Hook[ChatResponse]:
        """Return the response of the turn. Called once a turn, also after a direct result and after a limit."""
        return response

    def execute(self, request: ChatRequest, calls: Sequence[ToolCall]) -> Generator[Effect, Any, ToolBatchResult]:
        """Execute calls outside of the loop, for applications that drive the rounds themselves.

        Args:
            request: The request of the round. Those of its tools that the filter admits can run. Its messages since
                the last user message count toward the limits.
            calls: The calls to execute.
        """
        with ExitStack() as resources:
            state = self._create_state(request, resources)
            if state.session is not None:  # without a session, nobody could read a rest
                self._open_results(state, request.messages)
            allowed = yield from filter_tools(state, request)
            allowed = yield from withhold_changed_tools(state.guard, allowed, state.earlier)
            allowed = yield from add_read_tool(state, allowed, self.tools_before_read_tool)
            calls = _name_calls(calls, {tool.name for tool in allowed.tools})
            yield from self.initialize_batch(state, allowed, calls)
            return (yield from self._run_tools(state, allowed, calls, CallCounter(self.limits, request.messages)))

    def initialize_batch(
        self, state: LoopState, request: ChatRequest, calls: Sequence[ToolCall]
    ) -> Generator[Effect, Any, None]:
        """Prepare for a batch outside of the loop. The default does nothing."""
        yield from ()

    def send_once(self, request: ChatRequest) -> AdvisorFlow:
        """Send one request within the budgets, for applications that drive the rounds themselves."""
        with ExitStack() as resources:
            state = self._create_state(request, resources)
            if state.budget is not None and (limit := state.budget.reached()) is not None:
                return end_by_limit(limit)
            if state.session is not None:
                self._open_results(state, request.messages)
            outgoing = yield from filter_tools(state, request)
            outgoing = yield from withhold_changed_tools(state.guard, outgoing, state.earlier)
            outgoing = yield from add_read_tool(state, outgoing, self.tools_before_read_tool)
            note_sent(state, outgoing)
            response: ChatResponse = yield outgoing
            if state.budget is not None:
                state.budget.count(outgoing, response)
            return response

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Run the loop."""
        with ExitStack() as resources:
            state = self._create_state(request, resources)
            counter = CallCounter(self.limits, request.messages)
            memory, record = request.memory, request.record
            if memory is not None and (yield from memory.open(request.session_id, request.tenant_id, record)):
                state.memory = memory
            state.send_history = state.memory is None if self.send_history is None else self.send_history
            self._open_results(state, (*state.earlier, *request.messages))
            request = yield from filter_tools(state, request)
            request = yield from withhold_changed_tools(state.guard, request, state.earlier)
            request = yield from run_hook(self.initialize_loop(state, request), ChatRequest, "initialize_loop")
            while True:
                sent = len(state.produced)
                if state.memory is not None:
                    state.memory.next_round(request.messages)
                if state.budget is not None and (budget := state.budget.reached()) is not None:
                    response = end_by_limit(budget)
                    state.produced.append(response.message)
                    break
                state.round += 1
                outgoing = yield from self._prepare_round(state, request, counter)
                response = _with_known_names(state, outgoing, (yield outgoing))
                if state.budget is not None:
                    state.budget.count(outgoing, response)
                response = yield from run_hook(self.after_call(state, response), ChatResponse, "after_call")
                state.usage += response.usage
                state.produced.append(response.message)
                if not evaluate_predicate(self.should_continue(response), "should_continue"):
                    break
                batch = yield from self._run_tools(state, outgoing, response.tool_calls, counter)
                state.produced.extend(batch.messages)
                if batch.limit is not None or batch.return_direct:
                    response = _end_without_model(response, batch)
                    state.produced.append(response.message)
                    break
                following = self.next_instructions(state, request, response, batch)
                request = yield from run_hook(following, ChatRequest, "next_instructions")
            response = response.replace(messages=tuple(state.produced), usage=state.usage)
            response = yield from run_hook(self.finalize_loop(state, response), ChatResponse, "finalize_loop")
            if state.memory is not None:
                yield from state.memory.close(response.messages[sent:] or (response.message,))
            return response

    def session_of(self, request: ChatRequest) -> Hashable | None:
        """Return the session of a request within its tenant, or None. The rests of long results belong to it."""
        return request.session_id

    def _create_state(self, request: ChatRequest, resources: ExitStack) -> LoopState:
        session = self.session_of(request)
        gate = gate_of(request)
        rule = self.guard if gate is None else gate.guard  # with the memory of the client, for an advisor of one call
        guard = rule.open(request.tool_context(), None if session is None else (request.tenant_id, session))
        state = LoopState(request, guard, resources, session=session)
        if gate is not None:
            gate.follow(guard, state.own_tools)
        if self.usage_limits is not None:
            state.budget = self.usage_limits.open(request, session)
            resources.callback(state.budget.settle)
        return state

    def forget_results(self, session_id: str, *, tenant_id: str | None = None) -> None:
        """Forget the rests of long results of a session. Its next turn begins without `read_tool_result`."""
        session = self.session_of(ChatRequest(messages=(), session_id=session_id, tenant_id=tenant_id))
        self.result_store.discard((tenant_id, (self._results_owner, session)))

    def _open_results(self, state: LoopState, conversation: Sequence[Message]) -> None:
        session = None if state.session is None else (self._results_owner, state.session)
        open_results(state, self.result_limits, self.result_store, session, conversation)

    def tools_before_read_tool(self, state: LoopState, request: ChatRequest) -> frozenset[str] | None:
        """Return the names of the tools before `read_tool_result`. None puts it at the end.

        Called when a session first needs the tool. Later tools of the session follow after it. It may block.
        """
        return None

    def _prepare_round(
        self, state: LoopState, request: ChatRequest, counter: CallCounter
    ) -> Generator[Effect, Any, ChatRequest]:
        outgoing = yield from run_hook(self.before_call(state, request), ChatRequest, "before_call")
        outgoing = yield from filter_tools(state, outgoing)
        outgoing = yield from add_read_tool(state, outgoing, self.tools_before_read_tool)
        note_sent(state, outgoing)
        if state.round > 1 and is_forced(outgoing.options.get("tool_choice")):
            # A model that must call a tool in every round can never answer.
            outgoing = outgoing.replace(options={**outgoing.options, "tool_choice": "auto"})
        return outgoing.replace(allow_tool_calls=False) if counter.exhausted else outgoing

    def _run_tools(
        self, state: LoopState, outgoing: ChatRequest, calls: Sequence[ToolCall], counter: CallCounter
    ) -> Generator[Effect, Any, ToolBatchResult]:
        """Run the calls that may run and answer the others."""
        tools = {tool.name: tool for tool in outgoing.tools} if state.executable is None else dict(state.executable)
        if self._resolver is not None:
            state.resolved = yield Perform(partial(_resolve, self._resolver, state.request, calls))
            tools = {**state.resolved, **tools}
        if READ_TOOL in state.own_tools:
            tools[READ_TOOL] = state.own_tools[READ_TOOL]
        state.runnable = tools
        called = {call.name for call in calls} & tools.keys()
        answers, limit = counter.begin_round(calls, {name: tools[name].identity for name in called})
        unknown: frozenset[int] = frozenset()
        if state.intercept is not None:
            # It can be slow: to find the closest names among thousands, or to ask a person.
            found: dict[int, ToolMessage] = yield Perform(
                partial(_intercept_calls, state.intercept, calls, set(answers))
            )
            answers |= found
            # An interceptor answers a tool that exists by revealing it.
            unknown = frozenset(position for position, answer in found.items() if not answer.revealed)
        for position, call in enumerate(calls):
            if position not in answers and call.name in tools:
                answer = yield from run_hook(self.before_tool(state, outgoing, call), (str, type(None)), "before_tool")
                if answer is not None:
                    answers[position] = ToolMessage.rejected(call, answer)
        batch: ToolBatchResult = yield RunTools(
            calls=tuple(calls),
            tools=tools,
            request=outgoing,
            answers=answers,
            unknown=unknown,
            raise_on_error=self.raise_on_error,
            on_error=self.on_error,
            message=_latest_answer(state),
            results=state.results or self.result_limits,
        )
        counter.end_round(batch.messages)
        return batch if limit is None else replace(batch, limit=limit)


def _with_known_names(state: LoopState, outgoing: ChatRequest, response: ChatResponse) -> ChatResponse:
    """Return a response whose calls have the names that the tools of this round have."""
    calls = response.tool_calls
    if not calls:
        return response
    named = _name_calls(calls, {*(tool.name for tool in outgoing.tools), *(state.executable or ())})
    if named == calls:
        return response
    last = response.message
    message = replace(last, tool_calls=named)
    return response.replace(messages=tuple(message if one is last else one for one in response.messages))


def _name_calls(calls: Sequence[ToolCall], known: Container[str]) -> tuple[ToolCall, ...]:
    return tuple(
        call if (name := called_name(call.name, known)) == call.name else replace(call, name=name) for call in calls
    )


def _resolve(resolver: ToolResolver, request: ChatRequest, calls: Sequence[ToolCall]) -> dict[str, Tool]:
    """Return the called tools that only the resolver knows. The tools of the request win, sent or not."""
    offered = {*(tool.name for tool in request.tools), *RESERVED_NAMES}
    found = {call.name: resolver.resolve(call.name) for call in calls if call.name not in offered}
    return {name: tool for name, tool in found.items() if tool is not None}


def _coerce_error_types(
    value: bool | type[Exception] | Collection[type[Exception]],
) -> bool | tuple[type[Exception], ...]:
    if isinstance(value, bool):
        return value
    types: tuple[Any, ...] = tuple(value) if isinstance(value, Collection) else (value,)
    if not all(isinstance(one, type) and issubclass(one, Exception) for one in types):
        raise ConfigurationError(
            "raise_on_error must be True, False, an exception type or a list of these types, "
            f"got {short_repr(value)}; write raise_on_error=ValueError"
        )
    return types


def _intercept_calls(
    intercept: Callable[[ToolCall], ToolMessage | None], calls: Sequence[ToolCall], answered: Container[int]
) -> dict[int, ToolMessage]:
    """Return the answers to calls that are answered before they run, by position."""
    found = {position: intercept(call) for position, call in enumerate(calls) if position not in answered}
    return {position: answer for position, answer in found.items() if answer is not None}


def _latest_answer(state: LoopState) -> AssistantMessage | None:
    last = state.produced[-1] if state.produced else None
    return last if isinstance(last, AssistantMessage) else None


def end_by_limit(limit: ReachedLimit, finish_reason: str = "usage_limit") -> ChatResponse:
    """Return the response of a turn that a limit ends."""
    return ChatResponse.from_text(f"The turn ended: {limit}.", finish_reason=finish_reason, limit=limit)


def _end_without_model(response: ChatResponse, batch: ToolBatchResult) -> ChatResponse:
    """Return the response of a turn that ends without asking the model again."""
    if batch.limit is not None:
        return end_by_limit(batch.limit, "tool_call_limit").replace(raw=response.raw)
    text = "\n".join(message.text for message in batch.messages)
    return ChatResponse.from_text(text, finish_reason="return_direct", raw=response.raw)
