"""Baselines of the benchmarks: rank_bm25, and nearest neighbors with numpy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtraError
from ...indexes.lexical.tool_terms import parameter_strings
from ...indexes.protocols import Embedder
from ...indexes.ranking.catalog import Catalog, Category
from ...indexes.ranking.scored_searcher import ScoredSearcher
from ...indexes.ranking.scores import CANDIDATES, Scores
from ...indexes.reference import ToolReference
from ...indexes.response import Match

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NumpyNearest", "NumpySearcher", "RankBm25", "plain_terms", "plain_text"]

_WORD = re.compile(r"\w+")


def plain_terms(text: str) -> list[str]:
    r"""Return the runs of ``\w`` in lowercase.

    Example:
        >>> plain_terms("Users' create_issue")
        ['users', 'create_issue']
    """
    return _WORD.findall(text.lower())


def plain_text(tool: ToolReference) -> str:
    """Return the text of a tool that is indexed: source, name, description and parameters."""
    return " ".join((tool.source or "", tool.name, tool.description, *parameter_strings(tool.parameters)))


class RankBm25:
    """Search with `rank_bm25.BM25Okapi` over `plain_terms`.

    Args:
        tools: The tools to index.

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
        """Return the names of the `k` best tools that share a word with the query, best first."""
        import numpy as np

        scores: NDArray[np.float64] = self._ranker.get_scores(plain_terms(query))
        best = np.argsort(-scores, kind="stable")[:k]
        return [self._names[at] for at in best.tolist() if scores[at] != 0]


class NumpyNearest:
    """Nearest neighbors by cosine similarity in numpy, without validation and without a search response.

    Args:
        names: Name of each row.
        rows: One embedding of length one per row.
    """

    def __init__(self, names: Sequence[str], rows: NDArray[np.float32]) -> None:
        self._names = list(names)
        self._rows = rows

    def search(self, row: NDArray[np.float32], k: int) -> list[tuple[str, float]]:
        """Return the names and similarities of the `k` nearest rows, nearest first."""
        import numpy as np

        cosines = self._rows @ (row / np.linalg.norm(row))
        if len(cosines) > k:
            best = np.argpartition(-cosines, k)[:k]
            best = best[np.argsort(-cosines[best], kind="stable")]
        else:
            best = np.argsort(-cosines, kind="stable")
        return [(self._names[at], float(cosines[at])) for at in best.tolist()]


class NumpySearcher(ScoredSearcher):
    """Search of a vector index in numpy, including validation of the embedding and the search response.

    Args:
        tools: The indexed tools.
        embedder: Embeds the queries.
        rows: One embedding of length one per tool.
    """

    min_candidates = 20  # as in the vector index

    def __init__(self, tools: Sequence[ToolReference], embedder: Embedder, rows: NDArray[np.float32]) -> None:
        super().__init__(Catalog(tools), type(self).__name__)
        self._embedder = embedder
        self._rows = rows

    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        """Return the similarities of the tools nearest to the query."""
        import numpy as np

        from ...indexes.vector.encode import unit_rows

        cosines = self._rows @ unit_rows(self._embedder, [query])[0]
        best = np.arange(len(cosines))
        if len(cosines) > limit:
            best = np.argpartition(-cosines, limit)[:limit]
        best = best[cosines[best] > 0]
        explanation = (Match(query, ("meaning",)),)
        return Scores(
            values=dict(zip(best.tolist(), cosines[best].tolist(), strict=True)),
            total=int(np.count_nonzero(cosines > 0)),
            explain=lambda _position: explanation,
        )
