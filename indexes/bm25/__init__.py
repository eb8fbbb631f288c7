"""BM25 index: search by words."""

from .index import Bm25ToolIndex

__all__ = ["Bm25ToolIndex"]
