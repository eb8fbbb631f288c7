"""`RegexToolIndex`."""

from .index import RegexToolIndex

__all__ = ["RegexToolIndex"]
