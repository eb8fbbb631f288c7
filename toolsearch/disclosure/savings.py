"""Tokens that tool search avoids and spends in a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..chat.search_report import SearchRecord, ToolSearchReport

__all__ = ["SavingsLedger"]


@dataclass(slots=True)
class SavingsLedger:
    """Sums of avoided and spent tokens over the rounds of one turn.

    Attributes:
        all_definitions: Tokens of the definitions of all tools that the session may have.
        fixed_overhead: Tokens that tool search adds to every round: its own definition and the instructions.
        tokens_avoided: Tokens of definitions that were not sent.
        tokens_spent: Tokens that only tool search sent.
    """

    all_definitions: int
    fixed_overhead: int
    tokens_avoided: int = 0
    tokens_spent: int = 0
    _definitions_sent: int = 0
    _input: int = 0
    _message_overhead: int = 0

    def add_request(self, *, definitions: int, messages: int, message_overhead: int) -> None:
        """Note the request of a round.

        Args:
            definitions: Tokens of the tool definitions in it, without `tool_search`.
            messages: Tokens of its messages.
            message_overhead: Tokens of the messages that only tool search put there.
        """
        self._definitions_sent = definitions
        self._message_overhead = message_overhead
        self._input = messages + definitions + self.fixed_overhead

    def add_response(self, *, only_searched: bool, output: int) -> None:
        """Count a round by its response.

        Args:
            only_searched: Whether plain tool calling would not have needed the round: all of it is spent then.
            output: Tokens of the response.
        """
        if only_searched:
            self.tokens_spent += self._input + output
        else:
            self.tokens_avoided += self.all_definitions - self._definitions_sent
            self.tokens_spent += self.fixed_overhead + self._message_overhead

    def report(self, searches: Sequence[SearchRecord], revealed: Sequence[str], counter: str) -> ToolSearchReport:
        """Return the report of the turn."""
        return ToolSearchReport(
            searches=tuple(searches),
            revealed=tuple(revealed),
            tokens_avoided=self.tokens_avoided,
            tokens_spent=self.tokens_spent,
            counter=counter,
        )
