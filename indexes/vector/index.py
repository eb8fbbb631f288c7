"""`VectorToolIndex`: finds tools by meaning."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import ConfigurationError, IndexingError
from ...text import clip
from ..checks import coerce_number_between
from ..lexical.empty_queries import explain_empty_query
from ..protocols import Embedder
from ..ranking.catalog import Catalog, Category
from ..ranking.fusion import best_of, meaning_weight
from ..ranking.scored_searcher import ScoredSearcher
from ..ranking.scores import CANDIDATES, Dense, Note, Scores
from ..reference import ToolReference
from ..response import Match
from ..text.clauses import CLAUSE_WEIGHT
from .backoff import Backoff
from .cache import EmbeddingCache
from .calibration import Background, embed_background, least_distinction
from .embedders import DEFAULT_MODEL, EmbedFunction, as_embedder
from .encode import LONG_ALONE, LONG_FUSED, embed_query, embed_tools, require_vector_extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["VectorToolIndex"]

_SHOWN = 80
_LEAST_COSINE = 0.01
_UNKNOWN = "The embedder knows nothing of this query; try other words."


class VectorToolIndex:
    """Finds tools by the cosine between the embeddings of the query and of the tool's source, name and description.

    It finds a tool by words its author did not use ("give back cash" finds a refund), in the languages its embedder
    knows. All tools are compared, exactly, on one thread. What is embedded once is remembered by this index, so a set
    that differs in one tool embeds one text; `cache_dir` keeps it between runs. The model is loaded when first needed.
    Make one index and use it everywhere: each has a model of its own. A request of thirty words or more is compared
    clause by clause too, so that it finds a tool for each of its intents. Where nothing stands out the nearest are
    given as a weak match; to tell, the first build embeds sixteen texts besides the tools'.

    Args:
        embedder: a model's name, the path of its folder, an object with `id` and `embed(texts)`, or a function from a
            list of texts to rows of numbers.
        min_similarity: tools whose cosine is lower are not found; None asks for a cosine above 0. Of a long request
            it is a mean, three fifths of which are the clause that fits best.
        cache: where embeddings are remembered; share one between indexes, or pass another size.
        cache_dir: short for ``cache=EmbeddingCache(cache_dir)``; by default the embedder's `cache_dir`, if it has one.

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
            raise ConfigurationError("pass cache or cache_dir, not both; EmbeddingCache(folder) is both in one")
        self.embedder = as_embedder(embedder)
        self._minimum = coerce_number_between("min_similarity", min_similarity, -1, 1, "a cosine from -1 to 1")
        folder = getattr(self.embedder, "cache_dir", None) if cache_dir is None else cache_dir
        self._cache = EmbeddingCache(folder) if cache is None else cache
        self._backoff = Backoff()
        if self._cache.folder is not None and not getattr(self.embedder, "lasting", True):
            raise ConfigurationError(
                "a function's embeddings can be kept on disk only under an id; "
                "wrap it: CallableEmbedder(function, id='model-version')"
            )

    def build(self, tools: Sequence[ToolReference]) -> VectorToolSearcher:
        """Return a searcher over `tools`, embedding those texts that are not remembered.

        Raises:
            MissingExtraError: numpy, faiss, or for a named model sentence-transformers is not installed.
            IndexingError: the embedder failed, or its answer cannot be used.
            DuplicateToolError: two tools have one name.
        """
        require_vector_extra()
        catalog = Catalog(tools)
        rows = embed_tools(self.embedder, catalog.tools, self._cache) if catalog.tools else None
        background = (
            None if rows is None else embed_background(self.embedder, self._cache, rows.shape[1], self._backoff)
        )
        return VectorToolSearcher(catalog, self.embedder, rows, self._minimum, background)


class VectorToolSearcher(ScoredSearcher):
    """Searches one set of tools by meaning; made by `VectorToolIndex`. Immutable."""

    min_candidates = 20

    def __init__(
        self,
        catalog: Catalog,
        embedder: Embedder,
        rows: NDArray[np.float32] | None,
        minimum: float | None,
        background: Background | None,
    ) -> None:
        super().__init__(catalog, "VectorToolIndex")
        self._background = background
        self._embedder = embedder
        self._minimum = minimum
        self._multilingual = bool(getattr(embedder, "multilingual", False))
        self._rows = None if rows is None else _UnitRows(rows)

    def scores(self, query: str, *, limit: int = CANDIDATES, category: Category | None = None) -> Scores:
        """Return the cosine of every tool with the query, asking the embedder once; to be fused with other scores.

        Raises:
            IndexingError: the embedder failed.
        """
        return self._scores(query, limit, category, LONG_FUSED)

    def standalone_scores(self, query: str, *, limit: int, category: Category | None) -> Scores:
        return self._scores(query, limit, category, LONG_ALONE)

    def _scores(self, query: str, limit: int, category: Category | None, long: int) -> Scores:
        import numpy as np

        if self._rows is None:
            return Scores()
        rows = embed_query(self._embedder, query, self._rows.width, long=long)
        if rows is None:
            return Scores(note=Note("no_match", _UNKNOWN), doubt=lambda _: _UNKNOWN)
        whole, *of_clauses = map(self._rows.products, rows)
        cosines = _pooled(whole, of_clauses) if of_clauses else whole
        matched = cosines > 0 if self._minimum is None else cosines >= self._minimum
        admitted = matched
        if category is not None:
            inside = np.zeros(len(cosines), dtype=np.bool_)
            inside[list(category.positions)] = True
            admitted = matched & inside
        best = best_of(cosines, admitted, limit)
        term = query.strip()
        population = len(cosines) if category is None else len(category.positions)
        explanation = (Match(clip(term, _SHOWN), ("meaning",)),)
        return Scores(
            values=dict(zip(best, cosines[best].tolist(), strict=True)),
            total=int(np.count_nonzero(admitted)),
            explain=lambda position: explanation if matched[position] else (),
            doubt=lambda positions: self._doubt(query, rows, (whole, *of_clauses), positions, population),
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
        """Return a sentence if none of these tools stands out from `population` for the request or a clause, or ""."""
        doubt = explain_empty_query(query)
        if doubt or self._background is None:
            return doubt
        least = least_distinction(population)
        for row, of_row in zip(rows, cosines, strict=True):
            best = float(max(map(of_row.item, positions), default=0.0))
            if self._background.distinction(best, row) >= least:
                return ""
        if population == 1:
            return "This is the only tool there is, and perhaps it does not fit."
        return f"Nothing here stands out: these are only the nearest of {population} tools, and perhaps none fits."

    def _below_minimum(self, cosines: NDArray[np.float32], category: Category | None) -> Note | None:
        if self._minimum is None:
            return None
        nearest = cosines.max() if category is None else cosines[list(category.positions)].max()
        return Note(
            "below_minimum",
            f"The nearest tool has a similarity of {nearest:.2f}; the minimum is {self._minimum:.2f}.",
        )


def _pooled(whole: NDArray[np.float32], of_clauses: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the mean of the cosine with a request and of the highest with one of its clauses.

    As with words (`Bm25Searcher`), the clause counts for more, and a root lets a weaker clause win a place without
    letting an empty one win outright.
    """
    import numpy as np

    clauses = np.stack(of_clauses)
    highest = np.maximum(clauses.max(axis=1, keepdims=True), _LEAST_COSINE)
    best = (clauses * np.sqrt(highest.max() / highest)).max(axis=0)
    pooled: NDArray[np.float32] = (whole + np.float32(CLAUSE_WEIGHT) * best) / np.float32(1 + CLAUSE_WEIGHT)
    return pooled


class _UnitRows:
    """Rows of length one in a flat faiss index, and the product of a row with all of them.

    The product is the kernel behind `index.search`. It uses no threads, where `search` may take OpenMP's and pay
    dearly on a busy machine (`omp_set_num_threads` holds for the calling thread only); it gives all scores, which
    fusing needs; and equal rows get equal products, which a BLAS does not promise.
    """

    __slots__ = ("_faiss", "_index", "_start", "width")

    def __init__(self, rows: NDArray[np.float32]) -> None:
        faiss: Any = importlib.import_module("faiss")  # the kernel is not in its type stubs
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
