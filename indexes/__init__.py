"""Indexes over tools. An index builds an immutable searcher from a list of tools.

Importing this package loads no search engine. Each index imports its engine when it is created or builds a searcher.
"""

from __future__ import annotations

from .bm25.index import Bm25ToolIndex
from .hybrid.index import HybridToolIndex
from .learning.example import ToolExample
from .learning.searcher import with_examples
from .protocols import (
    CachingEmbedder,
    DegradableSearcher,
    Embedder,
    MultilingualEmbedder,
    PrefixingEmbedder,
    ToolIndex,
    ToolSearcher,
)
from .ranking.ranked_searcher import RankedSearcher
from .reference import ToolReference
from .regex.index import RegexToolIndex
from .registry import resolve_index
from .response import Match, ReasonCode, SearchMetadata, ToolHit, ToolSearchResponse
from .vector.cache import EmbeddingCache
from .vector.embedders import CallableEmbedder, EmbedFunction
from .vector.index import VectorToolIndex
from .vector.sentence_transformer import SentenceTransformerEmbedder

__all__ = [
    "Bm25ToolIndex",
    "CachingEmbedder",
    "CallableEmbedder",
    "DegradableSearcher",
    "EmbedFunction",
    "Embedder",
    "EmbeddingCache",
    "HybridToolIndex",
    "Match",
    "MultilingualEmbedder",
    "PrefixingEmbedder",
    "RankedSearcher",
    "ReasonCode",
    "RegexToolIndex",
    "SearchMetadata",
    "SentenceTransformerEmbedder",
    "ToolExample",
    "ToolHit",
    "ToolIndex",
    "ToolReference",
    "ToolSearchResponse",
    "ToolSearcher",
    "VectorToolIndex",
    "resolve_index",
    "with_examples",
]
