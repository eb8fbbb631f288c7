"""What `ToolSearchAdvisor` keeps: the tools of a request as a catalog, and the state of one turn."""

from __future__ import annotations

from collections.abc import Sequence

from ..chat.responses import ChatResponse
from ..chat.search_report import ToolSearchReport
from ..chat.tokens import TokenCounter
from ..messages import Message, ToolCall, ToolMessage
from ..tools.tool import Tool
from .catalog import Catalog, definition_tokens
from .history import MessageTokens
from .savings import SavingsLedger
from .search_tool import SEARCH_TOOL, is_load_answer, search_tool_parameters
from .turn import DisclosureTurn

__all__ = ["SearchTurn", "bound_search_tool"]


class SearchTurn:
    """One turn of the advisor: the search tool bound to the session, what is declared, and what it costs.

    Attributes:
        disclosure: the session's turn.
        search_tool: the tool that searches; None where there is nothing to search.
    """

    def __init__(self, disclosure: DisclosureTurn, catalog: Catalog, counter: TokenCounter, instructions: str) -> None:
        self.disclosure = disclosure
        self.search_tool = bound_search_tool(disclosure) if disclosure.offers_search else None
        self._catalog = catalog
        self._counter = counter
        self._messages = MessageTokens(counter)
        self._declared: dict[str, Tool] = {}
        standing = 0
        if self.search_tool is not None:
            standing = definition_tokens(self.search_tool, counter) + counter.count(instructions)
        self._ledger = SavingsLedger(everything=catalog.total, standing=standing)

    def declare(self, messages: Sequence[Message]) -> tuple[Tool, ...]:
        """The tools to send with `messages` in the round that begins."""
        names = self.disclosure.declare()
        self._declared = {name: self._catalog.tools[name] for name in names}
        total, overhead = self._messages.count(messages)
        definitions = sum(map(self._catalog.tokens, names))
        self._ledger.round(definitions=definitions, messages=total, overhead=overhead)
        search = (self.search_tool,) if self.search_tool is not None else ()
        return (*search, *self._declared.values())

    @property
    def executable(self) -> dict[str, Tool]:
        """Every tool the session may have, and the search tool; what may run is decided call by call."""
        search = {SEARCH_TOOL: self.search_tool} if self.search_tool is not None else {}
        return {**search, **self._catalog.tools}

    def intercept(self, call: ToolCall) -> ToolMessage | None:
        """Answer a call that must not run, or return None."""
        answer = self.disclosure.call(call.name)
        if answer is None:
            return None
        return ToolMessage(call.id, call.name, answer, is_error=not is_load_answer(call.name, answer))

    def answered(self, response: ChatResponse) -> None:
        """Count a round by what the model did in it."""
        calls = response.tool_calls
        only_searched = bool(calls) and all(self._needs_no_round_without_search(call.name) for call in calls)
        output, _ = self._messages.count([response.message])
        self._ledger.answered(only_searched=only_searched, output=output)

    def report(self) -> ToolSearchReport:
        """What tool search did in this turn."""
        return self._ledger.report(self.disclosure.searches, self.disclosure.revealed, self._counter.name)

    def _needs_no_round_without_search(self, name: str) -> bool:
        return name == SEARCH_TOOL or (name in self._catalog.tools and name not in self._declared)


def bound_search_tool(turn: DisclosureTurn) -> Tool:
    """The tool that searches in `turn`."""
    settings = turn.settings

    def search(query: str, max_results: float | None = None, category: str | None = None) -> str:
        wanted = None if max_results is None else int(max_results)
        return turn.search(query, wanted, category or None)

    return Tool(
        SEARCH_TOOL,
        turn.offer.description,
        search_tool_parameters(
            max_results=settings.max_results, limit=settings.max_results_limit, categories=turn.offer.categories
        ),
        search,
        source=SEARCH_TOOL,
        concurrent=False,  # parallel searches disclose in the order of their calls
    )
