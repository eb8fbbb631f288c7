"""Protocols of indexes, searchers and embedders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from .reference import ToolReference
from .response import ToolSearchResponse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "CachingEmbedder",
    "DegradableSearcher",
    "Embedder",
    "MultilingualEmbedder",
    "PrefixingEmbedder",
    "ToolIndex",
    "ToolSearcher",
]


@runtime_checkable
class ToolSearcher(Protocol):
    """Searches one set of tools. Immutable, thread-safe and synchronous."""

    def search(self, query: str, *, max_results: int = 5, category: str | None = None) -> ToolSearchResponse:
        """Return the tools that match a query, best first.

        The content of the query never causes an error; the response explains why it is empty.

        Args:
            query: Words, an identifier, or a pattern if the index supports patterns.
            max_results: The maximum number of hits. Less than 1 returns none.
            category: A source or tag that the tools must have, or None for all tools.
        """
        ...


@runtime_checkable
class ToolIndex(Protocol):
    """Builds searchers. A custom index implements this one method."""

    def build(self, tools: Sequence[ToolReference]) -> ToolSearcher:
        """Return a searcher over exactly these tools.

        Args:
            tools: The tools, each with a different name.

        Raises:
            IndexingError: If the tools cannot be indexed.
        """
        ...


@runtime_checkable
class DegradableSearcher(Protocol):
    """Optional part of a `ToolSearcher`: a report of the parts that could not be built.

    A session does not share a degraded searcher and builds it again at the next use.

    Attributes:
        degraded: The names of the missing parts; empty if the searcher is complete.
    """

    @property
    def degraded(self) -> tuple[str, ...]:
        """The names of the missing parts."""
        ...


class Embedder(Protocol):
    """Turns strings into vectors.

    Besides the texts of tools, an index embeds sixteen short texts once, to tell weak matches from good ones.
    An embedder can also implement `PrefixingEmbedder`, `MultilingualEmbedder` and `CachingEmbedder`.

    Attributes:
        id: The model and its version. Embeddings are cached under it.
    """

    @property
    def id(self) -> str:
        """The model and its version."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a float32 array of shape (n, d), one row for each text.

        Rows can have any length; the index normalizes them.
        """
        ...


@runtime_checkable
class PrefixingEmbedder(Protocol):
    """Optional part of an `Embedder`: prefixes that its model was trained with.

    Attributes:
        query_prefix: A string to put before each query, e.g. ``"query: "``; "" for none.
        passage_prefix: A string to put before the text of each tool, e.g. ``"passage: "``; "" for none.
    """

    query_prefix: str
    passage_prefix: str


@runtime_checkable
class MultilingualEmbedder(Protocol):
    """Optional part of an `Embedder`: the languages of its model.

    Attributes:
        multilingual: Whether the model knows languages other than English. A hybrid index gives such a model full
            weight for queries in other scripts.
    """

    multilingual: bool


@runtime_checkable
class CachingEmbedder(Protocol):
    """Optional part of an `Embedder`: a folder for its embeddings.

    Attributes:
        cache_dir: The folder in which an index keeps the embeddings of tools between runs, or None for memory only.
    """

    cache_dir: str | os.PathLike[str] | None
