"""`Bm25ToolIndex`."""

from .index import Bm25ToolIndex

__all__ = ["Bm25ToolIndex"]
