"""`VectorToolIndex`: search by meaning.

The searcher computes the products of a query with all tools by `fvec_inner_products_ny`, the kernel under faiss's
`index.search`. It needs all scores, not only the best: to count the matches, to filter by category, and to fuse. With
384 dimensions on one thread, in microseconds (all scores of one query; `index.search` returns the best 20 or all):

======  =========  ===========  ===========  ==================  =================
tools   kernel     search, 20   search, all  kernel, 8 queries   search, 8, 20
======  =========  ===========  ===========  ==================  =================
30      2          5            5            14                  14
300     6          11           18           51                  57
4,000   246        268          700          2,065               1,995
30,000  1,942      1,915        6,197        16,171              16,792
======  =========  ===========  ===========  ==================  =================

`index.search` can also start OpenMP threads, which is slow on a busy machine. A matrix product takes less time for
8 queries with 4,000 tools (1,109), but does not give equal tools exactly equal scores.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import ConfigurationError, IndexingError
from ...text import clip
from ..checks import coerce_number_between
from ..lexical.empty_queries import explain_empty_query
from ..protocols import CachingEmbedder, Embedder, MultilingualEmbedder, ToolSearcher
from ..ranking.catalog import Catalog, Category
from ..ranking.fusion import meaning_weight, select_best
from ..ranking.scored_searcher import ScoredSearcher
from ..ranking.scores import CANDIDATES, Dense, Note, Scores
from ..reference import ToolReference
from ..response import Match
from ..text.clauses import CLAUSE_WEIGHT
from .backoff import Backoff
from .cache import EmbeddingCache
from .calibration import Calibration, calibrate, min_distinction
from .embedders import CallableEmbedder, EmbedFunction, coerce_embedder
from .encode import (
    MIN_WORDS_FOR_CLAUSES,
    MIN_WORDS_FOR_CLAUSES_FUSED,
    embed_query,
    embed_tools,
    require_vector_extra,
)
from .sentence_transformer import DEFAULT_MODEL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["VectorToolIndex"]

_MAX_TERM_CHARACTERS = 80
_MIN_CLAUSE_COSINE = 0.01
_UNKNOWN_QUERY = "The embedder finds nothing in this query; try other words."


class VectorToolIndex:
    """Index that finds tools by the cosine similarity of the query's embedding and the tool's.

    The embedding of a tool covers its source, name, description, search text and tags. The index finds a tool by words
    that its author did not use ("give back cash" finds a refund), in the languages that the embedder knows. Search is
    exact and single-threaded.

    The index remembers embeddings, so a set that differs in one tool embeds one text. `cache_dir` keeps them between
    runs. The model is loaded at first use. Share one index: each index loads its own model.

    A request of 30 words or more is also compared clause by clause, to find a tool for each of its intents. If no tool
    stands out, the nearest ones are returned as a weak match. To tell, the first build also embeds sixteen fixed texts.

    Args:
        embedder: The name of a model, the path of its folder, an `Embedder`, or a function from a list of strings to
            an array of shape (n, d).
        min_similarity: The minimum cosine of a match, from -1 to 1. None requires a cosine above 0. For a long request
            it applies to a mean in which the best clause has a weight of 60%.
        cache: The cache of embeddings. Pass one to share it between indexes or to change its size.
        cache_dir: Short for ``cache=EmbeddingCache(cache_dir)``. The default is the `cache_dir` of the embedder, if it
            has one.

    Raises:
        ConfigurationError: If an argument is invalid, both `cache` and `cache_dir` are given, or a function without an
            id is to be cached on disk.
        AsyncCallableError: If the embedder is async.

    Example:
        >>> def letters(texts):  # a toy; the default is a real model
        ...     return [[text.lower().count(c) + 0.01 for c in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
        >>> searcher = VectorToolIndex(letters).build([ToolReference(name="zoom"), ToolReference(name="bail")])
        >>> searcher.search("mooz", max_results=1).names
        ('zoom',)
    """

    def __init__(
        self,
        embedder: str | os.PathLike[str] | Embedder | EmbedFunction = DEFAULT_MODEL,
        *,
        min_similarity: float | None = None,
        cache: EmbeddingCache | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        if cache is not None and cache_dir is not None:
            raise ConfigurationError("pass cache or cache_dir, not both; use cache=EmbeddingCache(cache_dir)")
        self.embedder = coerce_embedder(embedder)
        self._min_similarity = coerce_number_between("min_similarity", min_similarity, -1, 1, "a cosine from -1 to 1")
        if cache_dir is None and isinstance(self.embedder, CachingEmbedder):
            cache_dir = self.embedder.cache_dir
        self._cache = EmbeddingCache(cache_dir) if cache is None else cache
        self._backoff = Backoff()
        if self._cache.folder is not None and isinstance(self.embedder, CallableEmbedder) and not self.embedder.has_id:
            raise ConfigurationError(
                "embeddings of a function can be cached on disk only under an id; "
                "use CallableEmbedder(function, id='model-version')"
            )

    def build(self, tools: Sequence[ToolReference]) -> ToolSearcher:
        """Return a searcher over exactly `tools`. Texts in the cache are not embedded again.

        Raises:
            MissingExtraError: If numpy, faiss, or (for a named model) sentence-transformers is not installed.
            IndexingError: If the embedder fails or returns an unusable result.
            DuplicateToolError: If two tools have the same name.
        """
        require_vector_extra()
        catalog = Catalog(tools)
        rows = embed_tools(self.embedder, catalog.tools, self._cache) if catalog.tools else None
        calibration = None if rows is None else calibrate(self.embedder, self._cache, rows.shape[1], self._backoff)
        return VectorToolSearcher(catalog, self.embedder, rows, self._min_similarity, calibration)


class VectorToolSearcher(ScoredSearcher):
    """Searcher that `VectorToolIndex` builds. Immutable, and thread-safe if the embedder is.

    Args:
        catalog: The tools to search.
        embedder: The embedder of queries.
        rows: The embeddings of the tools, of shape (tools, d) and length 1, or None if there are no tools.
        min_similarity: The minimum cosine of a match, or None for a cosine above 0.
        calibration: The calibration of the embedder, or None to report no weak matches.
    """

    min_candidates = 20  # leaves room for tools that the query names

    def __init__(
        self,
        catalog: Catalog,
        embedder: Embedder,
        rows: NDArray[np.float32] | None,
        min_similarity: float | None,
        calibration: Calibration | None,
    ) -> None:
        super().__init__(catalog, "VectorToolIndex")
        self._calibration = calibration
        self._embedder = embedder
        self._min_similarity = min_similarity
        self._multilingual = isinstance(embedder, MultilingualEmbedder) and embedder.multilingual
        self._rows = None if rows is None else _UnitRows(rows)

    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        """Return the cosine of each tool with the query, to be fused with other scores. Calls the embedder once.

        Raises:
            IndexingError: If the embedder fails.
        """
        return self._scores(query, limit, category, MIN_WORDS_FOR_CLAUSES_FUSED)

    def standalone_scores(self, query: str, *, limit: int, category: Category | None) -> Scores:
        """Return the cosine of each tool with the query, for a search by meaning alone."""
        return self._scores(query, limit, category, MIN_WORDS_FOR_CLAUSES)

    def _scores(self, query: str, limit: int, category: Category | None, min_words_for_clauses: int) -> Scores:
        import numpy as np

        if self._rows is None:
            return Scores()
        rows = embed_query(self._embedder, query, self._rows.width, min_words_for_clauses=min_words_for_clauses)
        if rows is None:
            return Scores(note=Note("no_match", _UNKNOWN_QUERY), doubt=lambda _: _UNKNOWN_QUERY)
        whole, *clause_cosines = map(self._rows.products, rows)
        cosines = _pool_clauses(whole, clause_cosines) if clause_cosines else whole
        matched = cosines > 0 if self._min_similarity is None else cosines >= self._min_similarity
        in_category = matched
        if category is not None:
            mask = np.zeros(len(cosines), dtype=np.bool_)
            mask[list(category.positions)] = True
            in_category = matched & mask
        best = select_best(cosines, in_category, limit)
        term = query.strip()
        population = len(cosines) if category is None else len(category.positions)
        explanation = (Match(clip(term, _MAX_TERM_CHARACTERS), ("meaning",)),)
        return Scores(
            values=dict(zip(best, cosines[best].tolist(), strict=True)),
            total=int(np.count_nonzero(in_category)),
            explain=lambda position: explanation if matched[position] else (),
            doubt=lambda positions: self._doubt(query, rows, (whole, *clause_cosines), positions, population),
            note=None if best else self._below_minimum(cosines, category),
            dense=Dense(cosines, matched),
            weight=meaning_weight(query, multilingual=self._multilingual),
        )

    def _doubt(
        self,
        query: str,
        rows: NDArray[np.float32],
        cosines: Sequence[NDArray[np.float32]],
        positions: Sequence[int],
        population: int,
    ) -> str:
        """Return a sentence if no tool stands out among `population` tools, for the request or a clause, else ""."""
        doubt = explain_empty_query(query)
        if doubt or self._calibration is None:
            return doubt
        threshold = min_distinction(population)
        for row, row_cosines in zip(rows, cosines, strict=True):
            best = float(max(map(row_cosines.item, positions), default=0.0))
            if self._calibration.distinction(best, row) >= threshold:
                return ""
        if population == 1:
            return "This is the only tool, and it may not fit."
        return f"No tool stands out: these are only the nearest of {population} tools, and perhaps none fits."

    def _below_minimum(self, cosines: NDArray[np.float32], category: Category | None) -> Note | None:
        if self._min_similarity is None:
            return None
        nearest = cosines.max() if category is None else cosines[list(category.positions)].max()
        return Note(
            "below_minimum",
            f"The nearest tool has a similarity of {nearest:.2f}; the minimum is {self._min_similarity:.2f}.",
        )


def _pool_clauses(whole: NDArray[np.float32], clause_cosines: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the weighted mean of the cosine with the request and the highest cosine with a clause.

    The clause has the larger weight. The square root lets a weaker clause compete and keeps an empty one from winning,
    as in the search by words.
    """
    import numpy as np

    clauses = np.stack(clause_cosines)
    highest = np.maximum(clauses.max(axis=1, keepdims=True), _MIN_CLAUSE_COSINE)
    best = (clauses * np.sqrt(highest.max() / highest)).max(axis=0)
    pooled: NDArray[np.float32] = (whole + np.float32(CLAUSE_WEIGHT) * best) / np.float32(1 + CLAUSE_WEIGHT)
    return pooled


class _UnitRows:
    """Rows of length 1 in a flat faiss index, with the products of a query with all rows.

    The products use the kernel under `index.search`; the module docstring says why. Equal rows have equal products,
    which a BLAS does not promise.
    """

    __slots__ = ("_faiss", "_index", "_start", "width")

    def __init__(self, rows: NDArray[np.float32]) -> None:
        faiss: Any = importlib.import_module("faiss")  # its type stubs lack the kernel
        self.width = rows.shape[1]
        try:
            index = faiss.IndexFlatIP(self.width)
            index.add(rows)
            self._start = index.get_xb()
        except Exception as error:
            raise IndexingError(f"faiss could not index {len(rows)} embeddings: {error}") from error
        self._faiss = faiss
        self._index = index

    def products(self, row: NDArray[np.float32]) -> NDArray[np.float32]:
        import numpy as np

        faiss, count = self._faiss, self._index.ntotal
        products = np.empty(count, dtype=np.float32)
        faiss.fvec_inner_products_ny(faiss.swig_ptr(products), faiss.swig_ptr(row), self._start, self.width, count)
        return products
