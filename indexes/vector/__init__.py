"""Vector index: search by the similarity of embeddings, embedders, and a cache of embeddings."""

from .cache import EmbeddingCache
from .embedders import CallableEmbedder, EmbedFunction
from .index import VectorToolIndex
from .sentence_transformer import DEFAULT_MODEL, SentenceTransformerEmbedder

__all__ = [
    "DEFAULT_MODEL",
    "CallableEmbedder",
    "EmbedFunction",
    "EmbeddingCache",
    "SentenceTransformerEmbedder",
    "VectorToolIndex",
]
