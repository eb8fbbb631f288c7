"""Learning from use: earlier requests and the tools that served them, as one more part of a ranking."""

from .example import ToolExample
from .searcher import with_examples

__all__ = ["ToolExample", "with_examples"]
