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
        loaded: the tools disclosed in this turn, in order.
        avoided: tokens of definitions that plain tool calling would have sent in the same rounds.
        spent: tokens that only tool search sends: the definition of `tool_search` and the instructions in each round,
            searches and their results in each later round, and whole rounds in which the model did nothing but search.
        counter: what counted: the name of a tokenizer, or of an estimate.

    Example:
        >>> ToolSearchReport(avoided=900, spent=250).net
        650
    """

    searches: tuple[SearchRecord, ...] = ()
    loaded: tuple[str, ...] = ()
    avoided: int = 0
    spent: int = 0
    counter: str = ""

    @property
    def net(self) -> int:
        """Tokens saved in the whole turn; negative where tool search cost more than it avoided."""
        return self.avoided - self.spent


@dataclass(slots=True)
class SavingsLedger:
    """Adds up the rounds of one turn.

    Attributes:
        everything: tokens of the definitions of all tools the session may have.
        standing: tokens that tool search adds to every round: its own definition and the instructions.
    """

    everything: int
    standing: int
    avoided: int = 0
    spent: int = 0
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
            self.spent += self._input + output
        else:
            self.avoided += self.everything - self._sent
            self.spent += self.standing + self._overhead

    def report(self, searches: Sequence[SearchRecord], loaded: Sequence[str], counter: str) -> ToolSearchReport:
        """The turn's result."""
        return ToolSearchReport(
            searches=tuple(searches),
            loaded=tuple(loaded),
            avoided=self.avoided,
            spent=self.spent,
            counter=counter,
        )
