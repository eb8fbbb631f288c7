"""The tool-calling loop with progressive disclosure: tools are revealed as the model finds them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, Unpack

from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..chat.tokens import EstimateTokenCounter, TokenCounter
from ..chat.turn_memory import TurnMemoryProvider
from ..errors import ConfigurationError
from ..eviction import EvictionStrategy
from ..indexes.protocols import ToolIndex
from ..loop.effects import Effect, Perform
from ..loop.state import LoopState
from ..loop.tool_calling import LoopOptions, ToolCallingAdvisor
from ..messages import Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from ..text import short_repr
from ..tools.predicates import validate_predicate
from ..tools.results.truncation import until_truncated
from ..tools.tool_type import Tool
from .advisor_turn import AdvisorTurn
from .catalog import ToolCatalogCache
from .disclosure import Disclosure
from .pins import Pin, PinnedTools
from .sentences import DEFAULT_INSTRUCTIONS, SEARCH_TOOL
from .sessions.session_index import SessionToolIndex
from .settings import DisclosureOptions, DisclosureSettings

__all__ = ["SearchOptions", "ToolSearchAdvisor"]

_TURN = "toolsearch.disclosure.turn"
_INDEX_OPTIONS = {
    "embedder": "VectorToolIndex",
    "min_score": "Bm25ToolIndex",
    "min_similarity": "VectorToolIndex",
    "parts": "HybridToolIndex",
}


class SearchOptions(DisclosureOptions, LoopOptions, total=False):
    """The keyword arguments of `ToolSearchAdvisor` that it shares with `DisclosureSettings` and `ToolCallingAdvisor`.

    Example:
        >>> options: SearchOptions = {"max_results": 3, "raise_on_error": True}
    """


class ToolSearchAdvisor(ToolCallingAdvisor):
    """The tool-calling loop with tool search: the model starts with `tool_search`, and sees what it finds.

    It takes the place of `ToolCallingAdvisor`.

    Args:
        index: An index, or the name of one: ``"regex"``, ``"bm25"``, ``"vector"``, ``"hybrid"`` or a plug-in's.
        instructions: Text that is appended once to the system message. An empty string appends nothing.
        pinned: Tools that are sent in every round: a list of names, globs (``"core_*"``), identities
            (``"github::get_issue"``), sources (``"source:github"``), `Tool`s and functions, or one predicate
            ``tool -> bool``.
        eviction: The strategy that evicts sessions. By default, the least recently used above 1,000 are evicted.
        session_key: The session of a request, by default its tenant and session id. None means a session of one turn.
        token_counter: Counts tokens for `reveal_all_below` and `reply.tool_search`. By default, a built-in estimate.
        order: The position in the chain. Advisors with a higher order see every round.
        options: The fields of `DisclosureSettings` (`max_results`, `keep_revealed`, `max_searches`, ...) and the
            arguments of `ToolCallingAdvisor` (`tool_filter`, `limits`, `on_error`, ...).

    Raises:
        ConfigurationError: If an argument cannot work.

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
        instructions: str = DEFAULT_INSTRUCTIONS,
        pinned: Iterable[Pin] | Callable[[Tool], bool] = (),
        eviction: EvictionStrategy | None = None,
        session_key: Callable[[ChatRequest], Hashable | None] | None = None,
        token_counter: TokenCounter | None = None,
        order: int = 300,
        **options: Unpack[SearchOptions],
    ) -> None:
        _validate_options(options)
        given: dict[str, Any] = dict(options)
        settings = DisclosureSettings(
            **{name: given.pop(name) for name in DisclosureOptions.__annotations__ if name in given}
        )
        super().__init__(order=order, **given)
        if not isinstance(instructions, str):
            raise ConfigurationError("instructions must be a string; an empty one appends nothing")
        if session_key is not None:
            validate_predicate(session_key, "session_key", "request", returns="session id or None")
        counts = isinstance(token_counter, TokenCounter) and not isinstance(token_counter, type)
        if token_counter is not None and not counts:
            raise ConfigurationError(f"token_counter must have `name` and `count(text)`, got {token_counter!r}")
        self.disclosure = Disclosure(SessionToolIndex(index, eviction), settings)
        self.instructions = instructions
        self._pins = PinnedTools(pinned)
        self._session_key = session_key or _tenant_and_session
        self._counter = token_counter or EstimateTokenCounter()
        self._catalogs = ToolCatalogCache(self._counter)
        # The filter and the counter belong to the application and can be slow.
        self._begin_round_is_slow = self.guard.filters or token_counter is not None

    def describe(self) -> dict[str, str]:
        """Return the active advisor and index, for the log."""
        return {**super().describe(), "index": self.disclosure.sessions.index_type}

    def restore(self, session_id: str, names: Iterable[str], *, tenant_id: str | None = None) -> None:
        """Reveal `names` to a session again, e.g. after its conversation was compacted.

        A name stays hidden if no tool of the session has it, or if the filter rejects the tool.
        """
        if isinstance(names, str):
            raise ConfigurationError(f"names must be a list: restore({session_id!r}, [{names!r}])")
        self.disclosure.restore(self._key(session_id, tenant_id), names)

    def evict(self, session_id: str, *, tenant_id: str | None = None) -> None:
        """Evict a session now: its index, unless others share it, the tools revealed to it, and rests of results."""
        self.disclosure.sessions.evict(self._key(session_id, tenant_id))
        self.forget_results(session_id, tenant_id=tenant_id)
        request = ChatRequest(messages=(), session_id=session_id, tenant_id=tenant_id)
        self.guard.watch.forget((tenant_id, self.session_of(request)))

    def initialize_loop(self, state: LoopState, request: ChatRequest) -> Generator[Effect, Any, ChatRequest]:
        """Open the session's turn, index its tools if they are new, and add the instructions."""
        turn: AdvisorTurn = yield Perform(partial(self._open, request, state))
        state.resources.push(partial(_end_turn, turn, _is_stored(state)))
        state.extra[_TURN] = turn
        if turn.search_tool is not None:
            state.own_tools[SEARCH_TOOL] = turn.search_tool
        state.intercept = partial(_intercept, state, turn)
        if turn.search_tool is not None and self.instructions:
            return request.replace(messages=_add_instructions(request.messages, self.instructions))
        return request

    def initialize_batch(
        self, state: LoopState, request: ChatRequest, calls: Sequence[ToolCall]
    ) -> Generator[Effect, Any, None]:
        """Open the session's turn if a call searches. The next request sends what it finds."""
        if any(call.name == SEARCH_TOOL for call in calls):
            turn: AdvisorTurn = yield Perform(partial(self._open, request, state))
            state.resources.push(partial(_end_turn, turn, False))
            state.executable = turn.executable

    def before_call(self, state: LoopState, request: ChatRequest) -> Generator[Effect, Any, ChatRequest]:
        """Send the search tool, pinned tools and revealed tools, in the order in which they were revealed."""
        turn: AdvisorTurn = state.extra[_TURN]
        begin = partial(turn.begin_round, state.conversation(request))
        declared = (yield Perform(begin)) if self._begin_round_is_slow else begin()
        if self.disclosure.settings.run_unrevealed:
            state.executable = turn.executable
        return request.replace(tools=declared)

    def after_call(self, state: LoopState, response: ChatResponse) -> ChatResponse:
        """Count what the round cost. Note in the first answer what the conversation does not show."""
        turn: AdvisorTurn = state.extra[_TURN]
        turn.end_round(response)
        return turn.mark(response) if state.round == 1 else response

    def finalize_loop(self, state: LoopState, response: ChatResponse) -> ChatResponse:
        """Report what tool search did, and note in the last message which tools are revealed, if that changed."""
        turn: AdvisorTurn = state.extra[_TURN]
        # Memory outside the loop only stores the last message.
        return turn.mark(response, is_alone=state.memory is None).replace(tool_search=turn.report())

    def _open(self, request: ChatRequest, state: LoopState) -> AdvisorTurn:
        """Begin the turn. Building an index can block."""
        catalog = self._catalogs.get(tuple(request.tools))
        last = request.messages[-1] if request.messages else None
        conversation = (*state.earlier, *request.messages)
        disclosure = self.disclosure.open(
            self._session_key(request),
            catalog.references,
            pinned=self._pins.names_in(catalog),
            allows=lambda name: state.guard.admits(catalog.tools[name]),
            conversation=conversation,
            withheld={tool.identity for tool in state.request.tools} - {tool.identity for tool in request.tools},
            tokens=catalog.total_tokens,
            text=last.text if isinstance(last, UserMessage) else "",
            continues=not isinstance(last, UserMessage),
            fingerprint=lambda name: catalog.tools[name].fingerprint,
        )
        return AdvisorTurn(disclosure, catalog, self._counter, self.instructions)

    def session_of(self, request: ChatRequest) -> Hashable | None:
        """Return the session of a request, by `session_key` if one was given."""
        return super().session_of(request) if self._session_key is _tenant_and_session else self._session_key(request)

    def tools_before_read_tool(self, state: LoopState, request: ChatRequest) -> frozenset[str] | None:
        """Return the names of the tools that were revealed when a result was first cut."""
        turn: AdvisorTurn | None = state.extra.get(_TURN)
        if turn is None or turn.search_tool is None:
            return None
        conversation = until_truncated((*state.earlier, *state.request.messages))
        if conversation:  # of a turn in another process
            return turn.disclosure.names_after(conversation)
        return frozenset(tool.name for tool in request.tools)

    def _key(self, session_id: str, tenant_id: str | None) -> Hashable:
        key = self._session_key(ChatRequest(messages=(), session_id=session_id, tenant_id=tenant_id))
        if key is None:
            raise ConfigurationError(
                "session_key returns no session for this id, so nothing can be restored or evicted"
            )
        return key


def _validate_options(options: Mapping[str, object]) -> None:
    known = SearchOptions.__annotations__.keys()
    for name in sorted(options.keys() - known):
        if name in _INDEX_OPTIONS:
            raise ConfigurationError(
                f"ToolSearchAdvisor has no option {name!r}; it belongs to the index: "
                f"ToolSearchAdvisor({_INDEX_OPTIONS[name]}({name}={short_repr(options[name])}))"
            )
        own = inspect.signature(ToolSearchAdvisor.__init__).parameters.keys() - {"self", "options"}
        close = get_close_matches(name, {*known, *own}, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ConfigurationError(f"ToolSearchAdvisor has no option {name!r}{hint}")


def _is_stored(state: LoopState) -> bool:
    """Return whether memory stores the conversation, inside the loop or outside of it."""
    record = state.request.record
    owners = () if record is None else tuple(record.notes)
    return state.memory is not None or any(isinstance(owner, TurnMemoryProvider) for owner in owners)


def _end_turn(turn: AdvisorTurn, is_stored: bool, error: type[BaseException] | None, *_: object) -> None:
    """Close the turn. If it failed and memory stores the conversation, other processes never see what it revealed."""
    if error is None:
        turn.disclosure.keep()
    elif is_stored:
        turn.disclosure.roll_back()
    turn.disclosure.close()


def _intercept(state: LoopState, turn: AdvisorTurn, call: ToolCall) -> ToolMessage | None:
    """Answer a call that must not run, or return None. Tools of the resolver and of the loop are not searched for."""
    is_own = call.name in state.own_tools and call.name != SEARCH_TOOL
    return None if is_own or call.name in state.resolved else turn.intercept(call)


def _tenant_and_session(request: ChatRequest) -> Hashable | None:
    return None if request.session_id is None else (request.tenant_id, request.session_id)


def _add_instructions(messages: Sequence[Message], instructions: str) -> tuple[Message, ...]:
    """Append `instructions` to the first system message, unless it already contains them."""
    for position, message in enumerate(messages):
        if isinstance(message, SystemMessage):
            if instructions in message.text:
                return tuple(messages)
            text = f"{message.text}\n\n{instructions}" if message.text else instructions
            return (*messages[:position], SystemMessage(text), *messages[position + 1 :])
    return (SystemMessage(instructions), *messages)
