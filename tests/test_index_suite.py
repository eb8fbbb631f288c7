"""The contract of an index holds for the built-in ones that need no extra."""

from toolsearch.indexes import Bm25ToolIndex, RegexToolIndex, ToolIndex
from toolsearch.testing import ToolIndexSuite


class TestBm25Contract(ToolIndexSuite):
    """Searching by words."""

    def make_index(self) -> ToolIndex:
        return Bm25ToolIndex()


class TestBm25WithMinimumContract(ToolIndexSuite):
    """A low minimum leaves the contract as it is."""

    def make_index(self) -> ToolIndex:
        return Bm25ToolIndex(min_score=0.05)


class TestRegexContract(ToolIndexSuite):
    """Searching by pattern."""

    def make_index(self) -> ToolIndex:
        return RegexToolIndex()
