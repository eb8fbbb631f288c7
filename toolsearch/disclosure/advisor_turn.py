"""What `ToolSearchAdvisor` keeps: the tools of a request as a catalog, and the state of one turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from threading import Lock

from cachetools import LRUCache

from ..chat.requests import ChatResponse
from ..chat.tokens import TokenCounter
from ..messages import Message, ToolCall, ToolMessage
from ..tools.tool import Tool
from .history import MessageTokens
from .savings import SavingsLedger, ToolSearchReport
from .search_tool import SEARCH_TOOL, is_load_answer, search_tool_parameters
from .sessions.tool_set import ToolSet
from .turn import DisclosureTurn

__all__ = ["Catalog", "CatalogCache", "SearchTurn", "bound_search_tool"]

_CATALOGS = 64


class Catalog:
    """The tools that a session may have: by name, as a set to index, and in tokens.

    Attributes:
        tools: by the name the model sees, in the order given.
        references: the same as a `ToolSet`.
    """

    def __init__(self, tools: Sequence[Tool], counter: TokenCounter) -> None:
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}
        self.references = ToolSet(tool.reference for tool in tools)
        self._counter = counter
        self._tokens: dict[str, int] = {}

    def tokens(self, name: str) -> int:
        """Tokens of one definition."""
        if name not in self._tokens:
            self._tokens[name] = definition_tokens(self.tools[name], self._counter)
        return self._tokens[name]

    @property
    def total(self) -> int:
        """Tokens of all definitions."""
        return sum(map(self.tokens, self.tools))


class CatalogCache:
    """Keeps the catalogs of recent requests: a client's tools are the same objects at each call, and hashed once."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._recent: LRUCache[tuple[Tool, ...], Catalog] = LRUCache(_CATALOGS)
        self._lock = Lock()

    def get(self, tools: tuple[Tool, ...]) -> Catalog:
        """Return the catalog of exactly these tools."""
        with self._lock:
            catalog = self._recent.get(tools)
        if catalog is None:
            catalog = Catalog(tools, self._counter)
            with self._lock:
                self._recent[tools] = catalog
        return catalog


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


def definition_tokens(tool: Tool, counter: TokenCounter) -> int:
    """Tokens of a tool's definition, in the compact JSON that providers are sent."""
    definition = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    wire = {"type": "function", "function": definition}
    return counter.count(json.dumps(wire, ensure_ascii=False, separators=(",", ":")))


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
