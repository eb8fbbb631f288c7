"""The index contract suite, run for the built-in indexes and for custom ones."""

import re
from pathlib import Path

import pytest

from toolsearch.errors import IndexingError
from toolsearch.indexes import (
    Bm25ToolIndex,
    HybridToolIndex,
    RankedSearcher,
    RegexToolIndex,
    ToolIndex,
    ToolReference,
    VectorToolIndex,
)
from toolsearch.testing import ToolIndexSuite


class TestBm25Contract(ToolIndexSuite):
    """BM25."""

    def make_index(self) -> ToolIndex:
        return Bm25ToolIndex()


class TestBm25WithMinimumContract(ToolIndexSuite):
    """BM25 with a low minimum score."""

    def make_index(self) -> ToolIndex:
        return Bm25ToolIndex(min_score=0.05)


class TestRegexContract(ToolIndexSuite):
    """Patterns."""

    def make_index(self) -> ToolIndex:
        return RegexToolIndex()


class CustomIndex:
    """An index without scores."""

    def build(self, tools):
        searcher = Bm25ToolIndex().build(tools)

        class CustomSearcher:
            def search(self, query, *, max_results=5, category=None):
                return searcher.search(query, max_results=max_results, category=category)

        return CustomSearcher()


class TestHybridWithoutVectorsContract(ToolIndexSuite):
    """A hybrid without vectors and with a part that has no scores."""

    def make_index(self) -> ToolIndex:
        return HybridToolIndex([Bm25ToolIndex(), RegexToolIndex(), CustomIndex()])


def documented_index() -> type[ToolIndex]:
    """Return the example index of the documentation page."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "indexes.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    namespace: dict[str, object] = {}
    exec(next(block for block in blocks if "import Bm25ToolIndex" in block), namespace)
    exec(next(block for block in blocks if "class PrefixIndex" in block), namespace)
    return namespace["PrefixIndex"]


class TestDocumentedIndexContract(ToolIndexSuite):
    """The custom index of the documentation page."""

    def make_index(self) -> ToolIndex:
        return documented_index()()


class WithEmbedder(ToolIndexSuite):
    """An embedder without a model."""

    @pytest.fixture(autouse=True)
    def _embedder(self, word_embedder):
        pytest.importorskip("faiss")
        self.embedder = word_embedder()


class TestVectorContract(WithEmbedder):
    """Vectors."""

    def make_index(self) -> ToolIndex:
        return VectorToolIndex(self.embedder)


class TestHybridContract(WithEmbedder):
    """BM25 and vectors."""

    def make_index(self) -> ToolIndex:
        return HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(self.embedder)])


@pytest.mark.vector
class TestHybridWithModelContract(ToolIndexSuite):
    """BM25 and the default model, which has a similarity for every query."""

    @pytest.fixture(autouse=True)
    def _embedder(self, minilm):
        self.embedder = minilm

    def make_index(self) -> ToolIndex:
        return HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(self.embedder)])

    def test_tools_without_differences_are_all_found_in_order_of_name(self) -> None:
        """A model sees differences between "tool a" and "tool b", so only completeness is checked."""
        tools = [ToolReference(name=f"tool {letter}", description="Look something up.") for letter in "dbcae"]
        response = self.make_index().build(tools).search("look up", max_results=10)
        assert sorted(response.names) == sorted(tool.name for tool in tools)


def test_scoring_an_unknown_tool_is_an_indexing_error():
    searcher = RankedSearcher([ToolReference(name="a")], lambda query: {"b": 1.0}, search_type="MyIndex")
    with pytest.raises(IndexingError, match="MyIndex must return names of its tools, got 'b'"):
        searcher.search("anything")


def test_scores_of_zero_or_less_do_not_match():
    tools = [ToolReference(name=name) for name in ("none", "less", "some", "no_number")]
    scores = {"none": 0, "less": -1.0, "some": 0.5, "no_number": float("nan")}
    response = RankedSearcher(tools, lambda query: scores, search_type="MyIndex").search("anything")
    assert (response.names, response.total_matches) == (("some",), 1)


def test_a_custom_searcher_works_in_a_hybrid():
    class Custom:
        def build(self, tools):
            return RankedSearcher(tools, lambda query: {"send_mail": 1.0}, search_type="Custom")

    tools = [ToolReference(name="send_mail"), ToolReference(name="get_weather")]
    searcher = HybridToolIndex([Bm25ToolIndex(), Custom()]).build(tools)
    assert set(searcher.search("weather").names) == {"send_mail", "get_weather"}
