"""What tool search saved in a turn: tokens avoided, tokens spent, and the net of both, which may be a loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["SavingsLedger", "SearchRecord", "ToolSearchReport"]


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """One search of the model: what it asked and what it was given.

    Args:
        query: the query as the model wrote it.
        hits: names of the tools it was told of, best first.
        category: the category it asked for, if any.

    Example:
        >>> SearchRecord("weather", ("get_weather",)).hits
        ('get_weather',)
    """

    query: str
    hits: tuple[str, ...] = ()
    category: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearchReport:
    """What tool search did in one turn, in tokens as `counter` counts them.

    Args:
        searches: the searches of the turn, in order.
        revealed: the tools disclosed in this turn, in order.
        tokens_avoided: tokens of definitions that plain tool calling would have sent in the same rounds.
        tokens_spent: tokens that only tool search sends: the definition of `tool_search` and the instructions in each round,
            searches and their results in each later round, and whole rounds in which the model did nothing but search.
        counter: what counted: the name of a tokenizer, or of an estimate.

    Example:
        >>> ToolSearchReport(tokens_avoided=900, tokens_spent=250).tokens_saved
        650
    """

    searches: tuple[SearchRecord, ...] = ()
    revealed: tuple[str, ...] = ()
    tokens_avoided: int = 0
    tokens_spent: int = 0
    counter: str = ""

    @property
    def tokens_saved(self) -> int:
        """Tokens saved in the whole turn; negative where tool search cost more than it avoided."""
        return self.tokens_avoided - self.tokens_spent


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
