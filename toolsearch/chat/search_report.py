"""TODO."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SearchRecord", "ToolSearchReport"]


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
