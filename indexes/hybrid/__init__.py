"""Hybrid index: fuses the results of several indexes."""

from .index import HybridToolIndex

__all__ = ["HybridToolIndex"]
