"""Indexes over tools: an index builds an immutable searcher from the tools it is given.

Importing this package loads no engine; each index loads its own when it is made or builds.
"""

from __future__ import annotations

from .bm25 import Bm25ToolIndex
from .embedders import CallableEmbedder, SentenceTransformerEmbedder
from .embedding_cache import EmbeddingCache
from .hybrid import HybridToolIndex
from .protocols import Embedder, ToolIndex, ToolSearcher
from .ranked import RankedSearcher
from .reference import ToolReference
from .regex import RegexToolIndex
from .registry import resolve_index
from .response import Match, SearchMetadata, ToolHit, ToolSearchResponse
from .vector import VectorToolIndex

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
