"""`VectorToolIndex`."""

from .index import VectorToolIndex

__all__ = ["VectorToolIndex"]
