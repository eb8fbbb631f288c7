"""Reports of what tool search did in one turn."""

from __future__ import annotations

from dataclasses import dataclass

from ..serialization import Serializable

__all__ = ["SearchRecord", "ToolSearchReport"]


@dataclass(frozen=True, slots=True)
class SearchRecord(Serializable):
    """One search of the model and its hits.

    Args:
        query: The query as the model wrote it.
        hits: Names of the tools in the search result, best first.
        category: The category that the model chose, or None.

    Example:
        >>> SearchRecord("weather", ("get_weather",)).hits
        ('get_weather',)
    """

    query: str
    hits: tuple[str, ...] = ()
    category: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolSearchReport(Serializable):
    """Effects of tool search in one turn; token counts are by `counter`.

    Args:
        searches: The searches of the turn, in order.
        revealed: The tools revealed in this turn, in order.
        tokens_avoided: Tokens of tool definitions that plain tool calling would have sent in the same rounds.
        tokens_spent: Tokens that only tool search sends: the definition of `tool_search` and the instructions in
            each round, searches and their results in each later round, and rounds in which the model only searched.
        counter: The name of the tokenizer or estimate that counted.

    Example:
        >>> ToolSearchReport(tokens_avoided=900, tokens_spent=250).tokens_saved
        650
    """

    searches: tuple[SearchRecord, ...] = ()
    revealed: tuple[str, ...] = ()
    tokens_avoided: int = 0
    tokens_spent: int = 0
    counter: str = ""

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(tokens_saved={self.tokens_saved}, tokens_avoided={self.tokens_avoided}, "
            f"tokens_spent={self.tokens_spent}, searches={len(self.searches)}, revealed={list(self.revealed)})"
        )

    @property
    def tokens_saved(self) -> int:
        """Tokens saved in the whole turn; negative if tool search cost more than it avoided."""
        return self.tokens_avoided - self.tokens_spent
