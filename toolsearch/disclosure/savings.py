"""What tool search saved in a turn: tokens avoided, tokens spent, and the net of both, which may be a loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..chat.search_report import SearchRecord, ToolSearchReport

__all__ = [
    "SavingsLedger",
]


@dataclass(slots=True)
class SavingsLedger:
    """Adds up the rounds of one turn.

    Attributes:
        everything: tokens of the definitions of all tools the session may have.
        standing: tokens that tool search adds to every round: its own definition and the instructions.
    """

    everything: int
    standing: int
    tokens_avoided: int = 0
    tokens_spent: int = 0
    _sent: int = 0
    _input: int = 0
    _overhead: int = 0

    def round(self, *, definitions: int, messages: int, overhead: int) -> None:
        """A request goes out.

        Args:
            definitions: tokens of the tool definitions in it, without `tool_search`.
            messages: tokens of its messages.
            overhead: those of the messages that only tool search put there.
        """
        self._sent = definitions
        self._overhead = overhead
        self._input = messages + definitions + self.standing

    def answered(self, *, only_searched: bool, output: int) -> None:
        """The response is in; `only_searched` says that plain tool calling would not have needed the round."""
        if only_searched:
            self.tokens_spent += self._input + output
        else:
            self.tokens_avoided += self.everything - self._sent
            self.tokens_spent += self.standing + self._overhead

    def report(self, searches: Sequence[SearchRecord], revealed: Sequence[str], counter: str) -> ToolSearchReport:
        """The turn's result."""
        return ToolSearchReport(
            searches=tuple(searches),
            revealed=tuple(revealed),
            tokens_avoided=self.tokens_avoided,
            tokens_spent=self.tokens_spent,
            counter=counter,
        )
