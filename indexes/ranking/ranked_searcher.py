"""`RankedSearcher`: a searcher made from a function that scores tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...errors import IndexingError
from ..reference import ToolReference
from ..response import ToolSearchResponse
from .catalog import Catalog, Category
from .scored_searcher import ScoredSearcher
from .scores import CANDIDATES, Scores

__all__ = ["RankedSearcher"]


class RankedSearcher:
    """Searcher of a custom index, made from a function that scores tools by name.

    It fulfils the rest of the searcher contract: it explains blank queries and unknown categories, filters by category,
    ranks tools that the query names (in any case, anywhere in the query) first, sorts, cuts, counts, and fills the
    metadata. It is immutable, and thread-safe if `score` is.

    Args:
        tools: The tools to search. Names must be distinct.
        score: A function ``query -> {name: score}``; higher is better. A tool that is absent or has a score of 0 or
            less does not match. Queries are not blank and can have any length and content.
        search_type: The class name of the index, for the response.

    Raises:
        DuplicateToolError: If two tools have the same name.

    Example:
        >>> class LengthIndex:
        ...     "Finds tools whose description is about as long as the query."
        ...     def build(self, tools):
        ...         lengths = {tool.name: len(tool.description) for tool in tools}
        ...         def score(query):
        ...             return {name: 9 - abs(length - len(query)) for name, length in lengths.items()}
        ...         return RankedSearcher(tools, score, search_type="LengthIndex")
        >>> LengthIndex().build([ToolReference(name="ring", description="Ring.")]).search("bells").names
        ('ring',)
    """

    def __init__(
        self, tools: Sequence[ToolReference], score: Callable[[str], Mapping[str, float]], *, search_type: str
    ) -> None:
        # Not a base class: a hybrid index would fuse scores of an unknown scale instead of ranks.
        self._searcher = _FunctionSearcher(Catalog(tools), score, search_type)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._searcher.tools)} tools>"

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> ToolSearchResponse:
        """Return the tools that match a query, best first.

        Raises:
            IndexingError: If `score` returns a name that none of the tools has.
        """
        return self._searcher.search(query, max_results=max_results, category=category)


class _FunctionSearcher(ScoredSearcher):
    def __init__(self, catalog: Catalog, score: Callable[[str], Mapping[str, float]], search_type: str) -> None:
        super().__init__(catalog, search_type)
        self._positions = {tool.name: position for position, tool in enumerate(catalog.tools)}
        self._score = score

    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        scored = self._score(query)
        if unknown := [name for name in scored if name not in self._positions]:
            raise IndexingError(
                f"the score function of {self._search_type} must return names of its tools, got {unknown[0]!r}"
            )
        return Scores(values={self._positions[name]: float(score) for name, score in scored.items() if score > 0})
