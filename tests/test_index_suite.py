"""The contract of an index holds for the built-in ones."""

import pytest

from toolsearch.indexes import (
    Bm25ToolIndex,
    HybridToolIndex,
    RegexToolIndex,
    ToolIndex,
    ToolReference,
    VectorToolIndex,
)
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


class OwnIndex:
    """An index that only ranks, as one of a user's own does."""

    def build(self, tools):
        searcher = Bm25ToolIndex().build(tools)

        class OwnSearcher:
            def search(self, query, *, max_results=5, category=None):
                return searcher.search(query, max_results=max_results, category=category)

        return OwnSearcher()


class TestHybridOfWordsContract(ToolIndexSuite):
    """A hybrid without vectors, and with a part that has no scores."""

    def make_index(self) -> ToolIndex:
        return HybridToolIndex([Bm25ToolIndex(), RegexToolIndex(), OwnIndex()])


class WithEmbedder(ToolIndexSuite):
    """An embedder that needs no weights."""

    @pytest.fixture(autouse=True)
    def _embedder(self, word_embedder):
        pytest.importorskip("faiss")
        self.embedder = word_embedder()


class TestVectorContract(WithEmbedder):
    """Searching by meaning."""

    def make_index(self) -> ToolIndex:
        return VectorToolIndex(self.embedder)


class TestHybridContract(WithEmbedder):
    """Searching by words and meaning."""

    def make_index(self) -> ToolIndex:
        return HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(self.embedder)])


@pytest.mark.vector
class TestHybridWithARealModelContract(ToolIndexSuite):
    """The real embedder has something to say of every query."""

    @pytest.fixture(autouse=True)
    def _embedder(self, minilm):
        self.embedder = minilm

    def make_index(self) -> ToolIndex:
        return HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(self.embedder)])

    def test_tools_without_differences_are_all_found_in_order_of_name(self) -> None:
        """To a model "tool a" and "tool b" do differ; all are found."""
        tools = [ToolReference(name=f"tool {letter}", description="Look something up.") for letter in "dbcae"]
        response = self.make_index().build(tools).search("look up", max_results=10)
        assert sorted(response.names) == sorted(tool.name for tool in tools)
