"""`RankedSearcher`: a searcher of one's own from a function that scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...errors import IndexingError
from ..reference import ToolReference
from ..response import ToolSearchResponse
from .catalog import Catalog, Category
from .respond import respond
from .scores import Scores

__all__ = ["RankedSearcher"]


class RankedSearcher:
    """Searches one set of tools by a function of yours that scores them; the rest of the contract it keeps itself.

    It answers blank queries and unknown categories with a reason, keeps categories apart, puts tools that a query names
    (in any casing, anywhere in it) before all others, orders, cuts, counts, and says how the answer was made.
    Immutable, and safe from many threads if `score` is.

    Args:
        tools: what is searched; names must be distinct.
        score: ``query -> {name: score}``, higher is better. A tool that is not in it, or whose score is not above 0,
            did not match. It is asked with queries that are not blank, of any length and content.
        search_type: what the answer says of who made it, usually the name of the index's class.

    Raises:
        DuplicateToolError: two tools have one name.

    Example:
        >>> class LengthIndex:
        ...     "Finds tools with a description of about the query's length."
        ...     def build(self, tools):
        ...         lengths = {tool.name: len(tool.description) for tool in tools}
        ...         def score(query):
        ...             return {name: 9 - abs(length - len(query)) for name, length in lengths.items()}
        ...         return RankedSearcher(tools, score, search_type="LengthIndex")
        >>> LengthIndex().build([ToolReference(name="ring", description="Ring.")]).search("bells").names
        ('ring',)
    """

    __slots__ = ("_catalog", "_positions", "_score", "_search_type")

    def __init__(
        self, tools: Sequence[ToolReference], score: Callable[[str], Mapping[str, float]], *, search_type: str
    ) -> None:
        self._catalog = Catalog(tools)
        self._positions = {tool.name: position for position, tool in enumerate(self._catalog.tools)}
        self._score = score
        self._search_type = search_type

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> ToolSearchResponse:
        """Return the tools that fit `query`, best first.

        Raises:
            IndexingError: the function scored a name that no tool has.
        """
        return respond(
            self._catalog,
            self._scores,
            search_type=self._search_type,
            query=query,
            max_results=max_results,
            category=category,
        )

    def _scores(self, query: str, _limit: int, _category: Category | None) -> Scores:
        scored = self._score(query)
        if unknown := [name for name in scored if name not in self._positions]:
            raise IndexingError(
                f"{self._search_type} scored {unknown[0]!r}, which is none of the tools it was built from"
            )
        return Scores(values={self._positions[name]: float(score) for name, score in scored.items() if score > 0})
