"""Regex index: search by regular expression, glob or words."""

from .index import RegexToolIndex

__all__ = ["RegexToolIndex"]
