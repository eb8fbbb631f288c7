"""`ToolSearchAdvisor`: the tool-calling loop, with tools disclosed as the model finds them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeAlias, Unpack

from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..chat.tokens import EstimateTokenCounter, TokenCounter
from ..errors import ConfigurationError
from ..eviction import EvictionStrategy
from ..indexes.protocols import ToolIndex
from ..loop.effects import Effect, Perform
from ..loop.state import LoopState
from ..loop.tool_calling import LoopOptions, ToolCallingAdvisor
from ..messages import Message, SystemMessage, UserMessage
from ..tools.predicates import evaluate_predicate, validate_predicate
from ..tools.tool import Tool
from .advisor_turn import SearchTurn
from .catalog import Catalog, CatalogCache
from .disclosure import Disclosure, DisclosureSettings
from .history import disclosed_in
from .pins import Pin, Pins
from .search_tool import DEFAULT_INSTRUCTIONS
from .sessions.session_index import SessionToolIndex

__all__ = ["ToolFilter", "ToolSearchAdvisor"]

ToolFilter: TypeAlias = Callable[[Tool, Mapping[str, Any]], bool]


class ToolSearchAdvisor(ToolCallingAdvisor):
    """Takes the place of `ToolCallingAdvisor`: the model is sent `tool_search` first, and then what it finds.

    Args:
        index: an index, or the name of one: ``"regex"``, ``"bm25"``, ``"vector"``, ``"hybrid"`` or a plug-in's.
        max_results: how many tools a search returns unless the model asks for another number.
        max_results_limit: the most it may ask for; more is clamped.
        instructions: appended once to the system message; empty appends nothing.
        keep_revealed: keep all tools found in a session; False keeps those of the latest round with a search.
        pinned: tools that are always sent: a list of names, globs (``"core_*"``), sources (``"source:github"``),
            `Tool`s and tools' functions; or one predicate, ``tool -> bool``.
        tool_filter: ``(tool, context) -> bool``: what a session may have. A refused tool is never indexed, found, shown
            or run, and is asked about again before it is disclosed or run.
        eviction: which sessions to forget; by default the least recently used above 1,000.
        session_key: the session of a request; by default tenant and session id. None makes a session of one turn.
        reveal_all_below: send all tools, without searching, while their definitions have fewer tokens than this.
        reveal_upfront: disclose this many tools that fit the user's words before the model is first asked; none that only
            match weakly.
        max_revealed: keep at most this many tools disclosed; the least recently used leave, never those of this turn.
        max_searches: searches per turn; None is unlimited.
        run_unrevealed: run a call of a tool that was not disclosed yet, instead of loading it and asking again.
        token_counter: counts for `reveal_all_below` and `reply.tool_search`; by default a built-in estimate.
        order: its place in the chain.
        options: those of `ToolCallingAdvisor`: `limits`, `raise_on_error`, `on_error`, `should_continue`, `history`, ...

    Raises:
        ConfigurationError: for an argument that cannot work.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> def get_weather(city: str) -> str:
        ...     "Current weather in a city."
        ...     return "sunny"
        >>> steps = [[("tool_search", {"query": "weather"})], [("get_weather", {"city": "Delft"})], "It is sunny."]
        >>> model = ScriptedChatModel(steps)
        >>> client = ChatClient(model, tools=[get_weather], advisors=[ToolSearchAdvisor("regex")])
        >>> client.call("Weather in Delft?", session_id="ann").text
        'It is sunny.'
        >>> [[tool.name for tool in request.tools] for request in model.requests]
        [['tool_search'], ['tool_search', 'get_weather'], ['tool_search', 'get_weather']]
    """

    def __init__(
        self,
        index: ToolIndex | str = "bm25",
        *,
        max_results: int = 5,
        max_results_limit: int = 10,
        instructions: str = DEFAULT_INSTRUCTIONS,
        keep_revealed: bool = True,
        pinned: Iterable[Pin] | Callable[[Tool], bool] = (),
        tool_filter: ToolFilter | None = None,
        eviction: EvictionStrategy | None = None,
        session_key: Callable[[ChatRequest], Hashable | None] | None = None,
        reveal_all_below: int | None = None,
        reveal_upfront: int = 0,
        max_revealed: int | None = None,
        max_searches: int | None = 10,
        run_unrevealed: bool = False,
        token_counter: TokenCounter | None = None,
        order: int = 300,
        **options: Unpack[LoopOptions],
    ) -> None:
        _check_options(options)
        super().__init__(order=order, **options)
        settings = DisclosureSettings(
            max_results=max_results,
            max_results_limit=max_results_limit,
            keep_revealed=keep_revealed,
            reveal_all_below=reveal_all_below,
            reveal_upfront=reveal_upfront,
            max_revealed=max_revealed,
            max_searches=max_searches,
            run_unrevealed=run_unrevealed,
        )
        if not isinstance(instructions, str):
            raise ConfigurationError("instructions must be a string; an empty one appends nothing")
        if tool_filter is not None:
            validate_predicate(tool_filter, "tool_filter", "tool", "context")
        if session_key is not None:
            validate_predicate(session_key, "session_key", "request")
        counts = isinstance(token_counter, TokenCounter) and not isinstance(token_counter, type)
        if token_counter is not None and not counts:
            raise ConfigurationError(f"a token counter has `name` and `count(text)`; {token_counter!r} has not")
        self.disclosure = Disclosure(SessionToolIndex(index, eviction), settings)
        self.instructions = instructions
        self.tool_filter = tool_filter
        self._pins = Pins(pinned)
        self._session_key = session_key or _tenant_and_session
        self._counter = token_counter or EstimateTokenCounter()
        self._catalogs = CatalogCache(self._counter)
        # Both are the application's and may take their time.
        self.before_call_blocks = tool_filter is not None or token_counter is not None

    def describe(self) -> dict[str, str]:
        """What is active, for the log."""
        return {**super().describe(), "index": self.disclosure.sessions.index_type}

    def restore(self, session_id: str, names: Iterable[str], *, tenant_id: str | None = None) -> None:
        """Disclose `names` to a session again, e.g. after its conversation was compacted.

        Names that its tools do not have, or that the filter refuses, stay hidden.
        """
        if isinstance(names, str):
            raise ConfigurationError(f"restore takes a list of names: restore({session_id!r}, [{names!r}])")
        self.disclosure.restore(self._key(session_id, tenant_id), names)

    def evict(self, session_id: str, *, tenant_id: str | None = None) -> None:
        """Forget a session now: its index, unless shared, and what it discovered."""
        self.disclosure.sessions.clear(self._key(session_id, tenant_id))

    def may_run(self, tool: Tool, request: ChatRequest) -> bool:
        """Whether the filter admits the tool."""
        return self.tool_filter is None or evaluate_predicate(self.tool_filter(tool, request.context), "tool_filter")

    def initialize_loop(self, state: LoopState, request: ChatRequest) -> Generator[Effect, Any, ChatRequest]:
        """Open the session's turn, index its tools if they are new, and add the instructions."""
        turn: SearchTurn = yield Perform(partial(self._open, request, state.earlier))
        state.resources.callback(turn.disclosure.close)
        state.extra[_TURN] = turn
        state.intercept = lambda call: None if call.name in state.resolved else turn.intercept(call)
        if turn.search_tool is not None and self.instructions:
            return request.replace(messages=_instructed(request.messages, self.instructions))
        return request

    def before_call(self, state: LoopState, request: ChatRequest) -> ChatRequest:
        """Send the search tool, pinned tools, and discovered ones in order of discovery."""
        turn: SearchTurn = state.extra[_TURN]
        declared = turn.declare(state.conversation(request))
        if self.disclosure.settings.run_unrevealed:
            state.executable = turn.executable
        return request.replace(tools=declared)

    def after_call(self, state: LoopState, response: ChatResponse) -> ChatResponse:
        """Count what the round cost."""
        turn: SearchTurn = state.extra[_TURN]
        turn.answered(response)
        return response

    def finalize_loop(self, state: LoopState, response: ChatResponse) -> ChatResponse:
        """Report what tool search did."""
        turn: SearchTurn = state.extra[_TURN]
        return response.replace(tool_search=turn.report())

    def _open(self, request: ChatRequest, earlier: Sequence[Message]) -> SearchTurn:
        """Begin the turn; blocking, as it may build an index."""
        admitted = tuple(tool for tool in request.tools if self._may_run(tool, request))
        catalog = self._catalogs.get(admitted)
        admits = partial(self._admits, catalog, request)
        last = request.messages[-1] if request.messages else None
        conversation = (*earlier, *request.messages)
        disclosure = self.disclosure.open(
            self._session_key(request),
            catalog.references,
            pinned=self._pins.among(catalog),
            admits=admits,
            history=disclosed_in(conversation, catalog.tools, latest_only=not self.disclosure.settings.keep_revealed),
            tokens=catalog.total,
            text=last.text if isinstance(last, UserMessage) else "",
        )
        return SearchTurn(disclosure, catalog, self._counter, self.instructions)

    def _admits(self, catalog: Catalog, request: ChatRequest, name: str) -> bool:
        return self._may_run(catalog.tools[name], request)

    def _key(self, session_id: str, tenant_id: str | None) -> Hashable:
        key = self._session_key(ChatRequest(messages=(), session_id=session_id, tenant_id=tenant_id))
        if key is None:
            raise ConfigurationError("session_key gives no session for this id: there is nothing to restore or evict")
        return key


_TURN = "toolsearch.loop.turn"


def _check_options(options: LoopOptions) -> None:
    known = LoopOptions.__annotations__.keys()
    for name in options.keys() - known:
        own = inspect.signature(ToolSearchAdvisor.__init__).parameters.keys() - {"self", "options"}
        close = get_close_matches(name, {*known, *own}, 1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        raise ConfigurationError(f"ToolSearchAdvisor has no option {name!r}{meant}")


def _tenant_and_session(request: ChatRequest) -> Hashable | None:
    return None if request.session_id is None else (request.tenant_id, request.session_id)


def _instructed(messages: Sequence[Message], instructions: str) -> tuple[Message, ...]:
    """The messages with `instructions` at the end of the first system message, once however often it is done."""
    for position, message in enumerate(messages):
        if isinstance(message, SystemMessage):
            if instructions in message.text:
                return tuple(messages)
            text = f"{message.text}\n\n{instructions}" if message.text else instructions
            return (*messages[:position], SystemMessage(text), *messages[position + 1 :])
    return (SystemMessage(instructions), *messages)
