"""The state that `ToolSearchAdvisor` keeps for one turn."""

from __future__ import annotations

from collections.abc import Sequence

from ..chat.responses import ChatResponse
from ..chat.search_report import ToolSearchReport
from ..chat.tokens import TokenCounter
from ..messages import Message, ToolCall, ToolMessage
from ..tools.revealing import RevealingText
from ..tools.tool_type import Tool
from .catalog import ToolCatalog, definition_tokens
from .history import MessageTokens
from .savings import SavingsLedger
from .search_tool import SEARCH_TOOL, bind_search_tool
from .turn import DisclosureTurn

__all__ = ["AdvisorTurn", "answer_call"]


class AdvisorTurn:
    """One turn of the advisor: the session's turn, the search tool bound to it, and what searching costs.

    Attributes:
        disclosure: The turn of the session.
        search_tool: The search tool, or None if there is nothing to search.
    """

    def __init__(
        self, disclosure: DisclosureTurn, catalog: ToolCatalog, counter: TokenCounter, instructions: str
    ) -> None:
        self.disclosure = disclosure
        self.search_tool = bind_search_tool(disclosure) if disclosure.offers_search else None
        self._catalog = catalog
        self._counter = counter
        self._messages = MessageTokens(counter)
        self._sent: dict[str, Tool] = {}
        overhead = 0
        if self.search_tool is not None:
            overhead = definition_tokens(self.search_tool, counter) + counter.count(instructions)
        self._ledger = SavingsLedger(all_definitions=catalog.total_tokens, fixed_overhead=overhead)

    def begin_round(self, messages: Sequence[Message]) -> tuple[Tool, ...]:
        """Begin a round and return the tools to send with `messages`."""
        names = self.disclosure.begin_round()
        self._sent = {name: self._catalog.tools[name] for name in names}
        total, overhead = self._messages.count(messages)
        definitions = sum(map(self._catalog.tokens, names))
        self._ledger.add_request(definitions=definitions, messages=total, message_overhead=overhead)
        search = (self.search_tool,) if self.search_tool is not None else ()
        return (*search, *self._sent.values())

    @property
    def executable(self) -> dict[str, Tool]:
        """The search tool and every tool that the session may have; `answer_call` decides call by call."""
        search = {SEARCH_TOOL: self.search_tool} if self.search_tool is not None else {}
        return {**search, **self._catalog.tools}

    def intercept(self, call: ToolCall) -> ToolMessage | None:
        """Answer a call that must not run, or return None."""
        return answer_call(self.disclosure, call)

    def end_round(self, response: ChatResponse) -> None:
        """Count a round by what the model did in it."""
        calls = response.tool_calls
        only_searched = bool(calls) and all(self._is_search_overhead(call.name) for call in calls)
        output, _ = self._messages.count([response.message])
        self._ledger.add_response(only_searched=only_searched, output=output)

    def mark(self, response: ChatResponse, *, is_alone: bool = False) -> ChatResponse:
        """Add to the last message what other processes have to know and the conversation does not show yet."""
        last = response.message
        marked = self.disclosure.mark(last, is_alone=is_alone)
        if marked is last:
            return response
        messages = [marked if message is last else message for message in response.messages]
        return response.replace(messages=messages or [marked])

    def report(self) -> ToolSearchReport:
        """Return what tool search did in this turn."""
        return self._ledger.report(self.disclosure.searches, self.disclosure.revealed, self._counter.name)

    def _is_search_overhead(self, name: str) -> bool:
        """Return whether a call would not have needed a round of its own without tool search."""
        return name == SEARCH_TOOL or (name in self._catalog.tools and name not in self._sent)


def answer_call(turn: DisclosureTurn, call: ToolCall) -> ToolMessage | None:
    """Return the result of a call that must not run in `turn`, or None for one that runs."""
    answer = turn.call(call.name)
    if answer is None:
        return None
    if isinstance(answer, RevealingText):
        return ToolMessage(call.id, call.name, str(answer), ran=False, revealed=answer.revealed, tools=answer.tools)
    return ToolMessage.rejected(call, answer)
