"""What the indexes are compared with: the plain ways to search, as one would write them in ten lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtraError
from ...indexes.lexical.tool_terms import parameter_strings
from ...indexes.protocols import Embedder
from ...indexes.ranking.catalog import Catalog, Category
from ...indexes.ranking.respond import respond
from ...indexes.ranking.scores import Scores
from ...indexes.reference import ToolReference
from ...indexes.response import Match, ToolSearchResponse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NumpyNearest", "NumpySearcher", "RankBm25", "plain_terms", "plain_text"]

_WORD = re.compile(r"\w+")
_KEPT = 20


def plain_terms(text: str) -> list[str]:
    r"""Return the runs of ``\w`` in small letters.

    Example:
        >>> plain_terms("Users' create_issue")
        ['users', 'create_issue']
    """
    return _WORD.findall(text.lower())


def plain_text(tool: ToolReference) -> str:
    """Return all that is indexed of a tool: source, name, description, and what its schema says of the parameters."""
    return " ".join((tool.source or "", tool.name, tool.description, *parameter_strings(tool.parameters)))


class RankBm25:
    """`rank_bm25.BM25Okapi` over `plain_terms`.

    Raises:
        MissingExtraError: rank-bm25 is not installed.
    """

    def __init__(self, tools: Sequence[ToolReference]) -> None:
        try:
            from rank_bm25 import BM25Okapi
        except ImportError as error:
            raise MissingExtraError("bench", "The comparison with rank_bm25") from error
        self._names = [tool.name for tool in tools]
        self._ranker: Any = BM25Okapi([plain_terms(plain_text(tool)) for tool in tools])

    def search(self, query: str, k: int) -> list[str]:
        """Return the names of the `k` best, without those that share no word with the query."""
        import numpy as np

        scores: NDArray[np.float64] = self._ranker.get_scores(plain_terms(query))
        best = np.argsort(-scores, kind="stable")[:k]
        return [self._names[at] for at in best.tolist() if scores[at] != 0]


class NumpyNearest:
    """The nearest rows by cosine, in numpy alone, and nothing around it; `rows` are of length one."""

    def __init__(self, names: Sequence[str], rows: NDArray[np.float32]) -> None:
        self._names = list(names)
        self._rows = rows

    def search(self, row: NDArray[np.float32], k: int) -> list[tuple[str, float]]:
        """Return the names and cosines of the `k` best, best first."""
        import numpy as np

        cosines = self._rows @ (row / np.linalg.norm(row))
        if len(cosines) > k:
            best = np.argpartition(-cosines, k)[:k]
            best = best[np.argsort(-cosines[best], kind="stable")]
        else:
            best = np.argsort(-cosines, kind="stable")
        return [(self._names[at], float(cosines[at])) for at in best.tolist()]


class NumpySearcher:
    """The same search as a vector index does, checks of the query's embedding and response included, by numpy."""

    def __init__(self, tools: Sequence[ToolReference], embedder: Embedder, rows: NDArray[np.float32]) -> None:
        self._catalog = Catalog(tools)
        self._embedder = embedder
        self._rows = rows

    def search(self, query: str, max_results: int = 5) -> ToolSearchResponse:
        """Return the tools nearest to the query."""
        return respond(
            self._catalog,
            self._scores,
            search_type="NumpySearcher",
            query=query,
            max_results=max_results,
            category=None,
        )

    def _scores(self, query: str, limit: int, category: Category | None) -> Scores:
        import numpy as np

        from ...indexes.vector.encode import unit_rows

        cosines = self._rows @ unit_rows(self._embedder, [query])[0]
        every = np.arange(len(cosines))
        best = every if len(cosines) <= _KEPT else np.argpartition(-cosines, _KEPT)[:_KEPT]
        best = best[cosines[best] > 0]
        explanation = (Match(query, ("meaning",)),)
        return Scores(
            values=dict(zip(best.tolist(), cosines[best].tolist(), strict=True)),
            total=int(np.count_nonzero(cosines > 0)),
            explain=lambda _position: explanation,
        )
