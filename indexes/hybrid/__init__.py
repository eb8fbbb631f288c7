"""`HybridToolIndex`."""

from .index import HybridToolIndex

__all__ = ["HybridToolIndex"]
