"""Indexes over tools: an index builds an immutable searcher from the tools it is given.

Importing this package loads no engine; each index loads its own when it is made or builds.
"""

from __future__ import annotations

from .bm25.index import Bm25ToolIndex
from .hybrid.index import HybridToolIndex
from .protocols import Embedder, ToolIndex, ToolSearcher
from .ranking.ranked_searcher import RankedSearcher
from .reference import ToolReference
from .regex.index import RegexToolIndex
from .registry import resolve_index
from .response import Match, SearchMetadata, ToolHit, ToolSearchResponse
from .vector.cache import EmbeddingCache
from .vector.embedders import CallableEmbedder, SentenceTransformerEmbedder
from .vector.index import VectorToolIndex

__all__ = [
    "Bm25ToolIndex",
    "CallableEmbedder",
    "Embedder",
    "EmbeddingCache",
    "HybridToolIndex",
    "Match",
    "RankedSearcher",
    "RegexToolIndex",
    "SearchMetadata",
    "SentenceTransformerEmbedder",
    "ToolHit",
    "ToolIndex",
    "ToolReference",
    "ToolSearchResponse",
    "ToolSearcher",
    "VectorToolIndex",
    "resolve_index",
]
