"""What an index is: a pure builder of immutable searchers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from .reference import ToolReference
from .response import ToolSearchResponse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Embedder", "ToolIndex", "ToolSearcher"]


@runtime_checkable
class ToolSearcher(Protocol):
    """Searches one set of tools. Immutable, safe from many threads at once, synchronous."""

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> ToolSearchResponse:
        """Return the tools that fit `query`, best first; never raises for what a query contains.

        Args:
            query: words, an identifier, or (where the index says so) a pattern.
            max_results: at most this many hits; less than 1 gives none.
            category: only tools with this source or tag.
        """
        ...


@runtime_checkable
class ToolIndex(Protocol):
    """Builds searchers. Implement this one method to plug in your own search."""

    def build(self, tools: Sequence[ToolReference]) -> ToolSearcher:
        """Return a searcher over exactly `tools`, whose names are distinct.

        Raises:
            IndexingError: if the set cannot be indexed.
        """
        ...


class Embedder(Protocol):
    """Turns texts into vectors.

    Besides the tools it is given sixteen short texts, once, by which a weak match is told from a good one.

    An embedder may also have these attributes: `query_prefix` and `passage_prefix` (put before a query, and before the
    text of a tool), `multilingual` (True if it knows other languages than English; a hybrid then trusts it with them),
    and `cache_dir` (a folder in which an index keeps the embeddings of tools).
    """

    @property
    def id(self) -> str:
        """Model and version; embeddings are cached under it. A plain attribute will do."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an (n, d) array of float32, one row a text, of any length (rows are normalised by the caller)."""
        ...
