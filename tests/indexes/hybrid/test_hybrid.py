"""Tests of the hybrid index: fusion, missing parts, and the reasons of responses."""

from __future__ import annotations

import gc
import importlib.util
import sys
import weakref

import pytest

from toolsearch.errors import ConfigurationError, DuplicateToolError, IndexingError, MissingExtraError
from toolsearch.indexes.bm25.index import Bm25ToolIndex
from toolsearch.indexes.hybrid.index import HybridToolIndex
from toolsearch.indexes.reference import ToolReference
from toolsearch.indexes.response import Match, ReasonCode, ToolHit, ToolSearchResponse
from toolsearch.indexes.vector.embedders import CallableEmbedder
from toolsearch.indexes.vector.index import VectorToolIndex

TOOLS = (
    ToolReference(name="get_weather", description="Forecast of rain and sun", source="meteo", tags=("outdoors",)),
    ToolReference(name="refund_payment", description="Return money to a customer", source="shop"),
    ToolReference(name="send_mail", description="Send a message to a person", source="office"),
    ToolReference(name="find_trail", description="Walks in the sun", tags=("outdoors",)),
)
SYNONYMS = {"cash": "money", "give": "return", "letter": "message"}


class Broken:
    """Index that fails to build while `error` is set."""

    def __init__(self) -> None:
        self.error: Exception | None = ConnectionError("embedding service is down")

    def build(self, tools):
        if self.error is not None:
            raise type(self.error)(*self.error.args)  # a new one: a traceback holds what it passed
        return Bm25ToolIndex().build(tools)


class Ranks:
    """Custom index that returns given names in order, without scores and categories."""

    def __init__(self, *names: str, reason: str = "", code: ReasonCode = "no_match") -> None:
        self.names = names
        self.reason = reason
        self.code: ReasonCode = code

    def build(self, tools):
        return self

    def search(self, query, *, max_results=5, category=None):
        assert category is None
        hits = tuple(ToolHit(name, matched=(Match(query, ("own",)),)) for name in self.names[:max_results])
        code = self.code if self.reason else None
        return ToolSearchResponse(hits=hits, total_matches=len(hits), reason=self.reason, reason_code=code)


@pytest.fixture
def meaning(word_embedder):
    """Return a vector index whose embedder knows a few synonyms."""
    pytest.importorskip("faiss")
    words = word_embedder()

    def embed(texts):
        return words.embed([" ".join(SYNONYMS.get(word, word) for word in text.lower().split()) for text in texts])

    return VectorToolIndex(CallableEmbedder(embed))


def test_words_and_meaning_both_find_tools(meaning):
    searcher = HybridToolIndex([Bm25ToolIndex(), meaning]).build(TOOLS)
    assert searcher.search("give cash").names == ("refund_payment",)
    assert searcher.search("forecast").names[0] == "get_weather"
    assert searcher.search("forecast").reason == ""


def test_hits_list_the_matches_of_each_part(meaning):
    response = HybridToolIndex([Bm25ToolIndex(), meaning]).build(TOOLS).search("send letter")
    assert response.hits[0].name == "send_mail"
    assert response.hits[0].matched == (Match("send", ("name", "description")), Match("send letter", ("meaning",)))
    assert response.metadata is not None
    assert response.metadata.search_type == "HybridToolIndex"


def test_named_tool_ranks_first(meaning):
    searcher = HybridToolIndex([Bm25ToolIndex(), meaning]).build(TOOLS)
    assert searcher.search("find_trail").names[0] == "find_trail"
    assert searcher.search("give cash back to the customer with find_trail").names[0] == "find_trail"


def test_search_within_a_category(meaning):
    crowd = [ToolReference(name=f"sun_{n}", description="rain and sun") for n in range(400)]
    searcher = HybridToolIndex([Bm25ToolIndex(), meaning]).build([*TOOLS, *crowd])
    response = searcher.search("rain and sun", category="Outdoors")
    assert response.names == ("get_weather", "find_trail")
    assert response.total_matches == 2
    assert searcher.search("sun", category="nowhere").reason_code == "unknown_category"


def test_unrelated_query_is_no_match(meaning):
    response = HybridToolIndex([Bm25ToolIndex(), meaning]).build(TOOLS).search("zebra")
    assert response.hits == ()
    assert response.reason_code == "no_match"


def test_empty_response_has_the_reason_of_a_part(word_embedder):
    pytest.importorskip("faiss")
    parts = [Bm25ToolIndex(), VectorToolIndex(word_embedder(), min_similarity=0.99)]
    assert HybridToolIndex(parts).build(TOOLS).search("zebra").reason_code == "below_minimum"


def test_weak_match_by_words_is_confirmed_by_meaning(meaning):
    query = "sun give cash giraffe"
    assert HybridToolIndex([Bm25ToolIndex()]).build(TOOLS).search(query).reason_code == "weak_match"
    assert HybridToolIndex([Bm25ToolIndex(), meaning]).build(TOOLS).search(query).reason_code is None


def test_weak_match_by_words_and_by_meaning(meaning):
    query = "sun alpha beta gamma delta epsilon zeta eta theta"
    response = HybridToolIndex([Bm25ToolIndex(), meaning]).build(TOOLS).search(query)
    assert set(response.names[:2]) == {"find_trail", "get_weather"}
    assert response.reason_code == "weak_match"
    assert response.reason == "No tool stands out: these are only the nearest of 4 tools, and perhaps none fits."


def test_ranking_part_decides_on_weak_matches():
    query = "sun zebra giraffe elephant"
    own = Ranks("get_weather")
    assert HybridToolIndex([Bm25ToolIndex(), own]).build(TOOLS).search(query).reason_code is None
    doubtful = Ranks("get_weather", reason="Hardly.", code="weak_match")
    response = HybridToolIndex([Bm25ToolIndex(), doubtful]).build(TOOLS).search(query)
    assert (response.names[0], response.reason_code) == ("get_weather", "weak_match")
    assert HybridToolIndex([doubtful]).build(TOOLS).search(query).reason == "Hardly."


def test_single_part_keeps_its_ranking():
    alone, wrapped = Bm25ToolIndex().build(TOOLS), HybridToolIndex([Bm25ToolIndex()]).build(TOOLS)
    for query in ("sun", "send a message", "money for the customer in the sun"):
        assert wrapped.search(query).names == alone.search(query).names
        assert wrapped.search(query).total_matches == alone.search(query).total_matches


def test_order_of_tools_does_not_matter(meaning):
    searchers = [HybridToolIndex([Bm25ToolIndex(), meaning]).build(tools) for tools in (TOOLS, TOOLS[::-1])]
    for query in ("sun", "give cash", "message for a customer"):
        first, second = (searcher.search(query).hits for searcher in searchers)
        assert first == second


def test_hybrid_as_a_part(meaning):
    inner = HybridToolIndex([Bm25ToolIndex(), meaning])
    assert HybridToolIndex([inner]).build(TOOLS).search("give cash").names == ("refund_payment",)


def test_custom_index_is_fused_by_rank(meaning):
    own = Ranks("find_trail", "unknown_tool", "send_mail")
    response = HybridToolIndex([Bm25ToolIndex(), own]).build(TOOLS).search("weather")
    assert sorted(response.names) == ["find_trail", "get_weather", "send_mail"]
    assert response.names.index("find_trail") < response.names.index("send_mail")
    assert response.hits[-1].matched == (Match("weather", ("own",)),)
    agreed = HybridToolIndex([Bm25ToolIndex(), meaning, Ranks("find_trail", "get_weather")]).build(TOOLS)
    assert agreed.search("rain forecast").names[0] == "get_weather"


def test_ranks_are_filtered_by_category():
    own = Ranks("send_mail", "find_trail")
    assert HybridToolIndex([own]).build(TOOLS).search("anything", category="outdoors").names == ("find_trail",)


def test_reason_of_a_custom_index():
    response = HybridToolIndex([Ranks(reason="Say it in French.")]).build(TOOLS).search("anything")
    assert (response.reason_code, response.reason) == ("no_match", "Say it in French.")


def test_part_that_cannot_be_built_is_left_out(caplog):
    broken = Broken()
    index = HybridToolIndex([Bm25ToolIndex(), broken])
    searcher = index.build(TOOLS)
    assert searcher.degraded == ("Broken",)
    response = searcher.search("weather")
    assert response.names == ("get_weather",)
    assert response.reason_code == "degraded"
    assert "Broken" in response.reason
    assert "embedding service is down" in caplog.text
    broken.error = None
    complete = index.build(TOOLS)
    assert complete.degraded == ()
    assert complete.search("weather").reason == ""


def test_only_missing_parts_are_built_again():
    class Counted(Ranks):
        builds = 0

        def build(self, tools):
            Counted.builds += 1
            return self

    broken = Broken()
    index = HybridToolIndex([Counted("send_mail"), broken])
    first = index.build(TOOLS)
    broken.error = None
    complete = index.build(TOOLS[::-1])
    assert (first.degraded, complete.degraded) == (("Broken",), ())
    assert Counted.builds == 1
    assert sorted(complete.search("weather").names) == ["get_weather", "send_mail"]


def test_backoff_after_a_slow_build_failure():
    now = [100.0]

    class Slow(Broken):
        tries = 0

        def build(self, tools):
            Slow.tries += 1
            now[0] += 3
            return super().build(tools)

    slow = Slow()
    index = HybridToolIndex([Bm25ToolIndex(), slow], clock=lambda: now[0])
    searcher = index.build(TOOLS)
    slow.error = None
    now[0] += 29
    assert index.build(TOOLS) is searcher
    assert index.build(TOOLS[:2]).degraded == ()  # another set is not affected
    assert Slow.tries == 2
    now[0] += 1
    assert index.build(TOOLS).degraded == ()


def test_unused_degraded_searcher_is_freed():
    broken = Broken()
    index = HybridToolIndex([Bm25ToolIndex(), broken])
    held = weakref.ref(index.build(TOOLS))
    gc.collect()
    assert held() is None
    broken.error = None
    assert index.build(TOOLS).degraded == ()


def test_degraded_parts_of_a_nested_hybrid():
    broken = Broken()
    index = HybridToolIndex([HybridToolIndex([Bm25ToolIndex(), broken]), Bm25ToolIndex()])
    searcher = index.build(TOOLS)
    assert searcher.degraded == ("Broken",)
    broken.error = None
    assert index.build(TOOLS).degraded == ()


def test_part_that_fails_in_a_search_is_used_in_the_next(word_embedder, caplog):
    pytest.importorskip("faiss")
    words, down = word_embedder(), []

    def embed(texts):
        if down:
            raise TimeoutError("too slow")
        return words.embed(texts)

    searcher = HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(embed)]).build(TOOLS)
    down.append(True)
    response = searcher.search("weather")
    assert response.names == ("get_weather",)
    assert response.reason_code == "degraded"
    assert "VectorToolIndex" in response.reason
    assert "error_type=IndexingError cause=TimeoutError" in caplog.text
    assert "too slow" not in caplog.text  # a text that can quote the query
    assert searcher.degraded == ()
    down.clear()
    assert searcher.search("weather").reason == ""


def test_reason_of_a_weak_match_with_a_missing_part():
    response = HybridToolIndex([Bm25ToolIndex(), Broken()]).build(TOOLS).search("sun zebra giraffe elephant")
    assert response.reason_code == "weak_match"
    assert "zebra" in response.reason
    assert "Broken" in response.reason


def test_reason_of_no_match_with_a_missing_part():
    response = HybridToolIndex([Bm25ToolIndex(), Broken()]).build(TOOLS).search("qwxz")
    assert response.reason_code == "no_match"
    assert "Broken" in response.reason


def test_hybrid_fails_only_if_all_parts_fail(word_embedder):
    with pytest.raises(IndexingError, match="embedding service is down") as caught:
        HybridToolIndex([Broken(), Broken()]).build(TOOLS)
    assert isinstance(caught.value.__cause__, ConnectionError)
    pytest.importorskip("faiss")
    rows = {1: [[float("nan")]], 4: [[1.0]] * 4}
    searcher = HybridToolIndex([VectorToolIndex(lambda texts: rows[len(texts)])]).build(TOOLS)
    with pytest.raises(IndexingError, match="NaN"):
        searcher.search("weather")


class Unprovided(MissingExtraError):
    """Missing extra that `Broken` can create from its arguments."""

    def __init__(self, *_: object) -> None:
        super().__init__("vector", "It")


@pytest.mark.parametrize("error", [ConfigurationError("wrong"), Unprovided()])
def test_permanent_errors_are_raised(error):
    broken = Broken()
    broken.error = error
    with pytest.raises(type(error)):
        HybridToolIndex([Bm25ToolIndex(), broken]).build(TOOLS)


def test_duplicate_names_are_rejected():
    with pytest.raises(DuplicateToolError):
        HybridToolIndex([Bm25ToolIndex()]).build([TOOLS[0], TOOLS[0]])


@pytest.mark.parametrize("parts", [[], ["bm25"], [Bm25ToolIndex], [None]])
def test_invalid_parts_are_rejected(parts):
    with pytest.raises(ConfigurationError):
        HybridToolIndex(parts)


@pytest.mark.parametrize("parts", ["bm25", Bm25ToolIndex(), Bm25ToolIndex, 5])
def test_parts_that_are_not_a_list_are_rejected_with_a_hint(parts):
    with pytest.raises(
        ConfigurationError, match=r"parts must be a list of indexes, got .*; write HybridToolIndex\(\[Bm25ToolIndex"
    ):
        HybridToolIndex(parts)


def test_default_parts_depend_on_the_extra(monkeypatch):
    installed = all(importlib.util.find_spec(name) for name in ("numpy", "faiss", "sentence_transformers"))
    expected = ["Bm25ToolIndex", "VectorToolIndex"] if installed else ["Bm25ToolIndex"]
    assert [type(part).__name__ for part in HybridToolIndex().parts] == expected
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert [type(part).__name__ for part in HybridToolIndex().parts] == ["Bm25ToolIndex"]


def test_reasons_without_tools_or_words(meaning):
    index = HybridToolIndex([Bm25ToolIndex(), meaning])
    assert index.build([]).search("weather").reason_code == "nothing_indexed"
    assert index.build(TOOLS).search(" ").reason_code == "empty_query"
    assert index.build(TOOLS).search("weather", max_results=0).hits == ()


@pytest.mark.parametrize("query", ["\ud800", "x" * 200_000, "天气", "a\x00b", "(((", "?!"])
def test_no_query_raises(query, meaning):
    response = HybridToolIndex([Bm25ToolIndex(), meaning]).build(TOOLS).search(query)
    assert response.hits or response.reason


@pytest.mark.vector
def test_minilm_finds_tools_by_meaning(minilm):
    searcher = HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(minilm)]).build(TOOLS)
    response = searcher.search("give back cash")
    assert response.names[0] == "refund_payment"
    assert response.reason == ""
    assert searcher.search("postal letter to a colleague").names[0] == "send_mail"


@pytest.mark.vector
def test_other_script_is_ranked_by_words(minilm):
    tools = [*TOOLS, ToolReference(name="tianqi", description="查询城市天气")]
    searcher = HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(minilm)]).build(tools)
    assert searcher.search("天气").names[0] == "tianqi"


def test_unknown_words_reduce_the_weight_of_words(monkeypatch):
    """One word that matches by chance does not outweigh the meaning of a request in another language."""
    pytest.importorskip("faiss")
    cosines = {"hotel": 1.0, "die casting": 0.7, "weather": 0.0, "mail": 0.0, "music": 0.0}
    request = "Suche bitte passende Zimmer und vergleiche die Preise"

    def embed(texts):
        known = [cosines.get(text.partition(":")[0], 1.0) for text in texts]
        return [[cosine, (1 - cosine**2) ** 0.5] for cosine in known]

    cosines.update({f"other {number}": 0.0 for number in range(100)})
    tools = [ToolReference(name=name.replace(" ", "_")) for name in cosines]
    parts = [Bm25ToolIndex(), VectorToolIndex(CallableEmbedder(embed, id="german", multilingual=True))]
    searcher = HybridToolIndex(parts).build(tools)
    assert searcher.search(request).names[:2] == ("hotel", "die_casting")
    monkeypatch.setattr("toolsearch.indexes.bm25.index._FULL_WEIGHT_SHARE", 1e-9)
    assert searcher.search(request).names[:2] == ("die_casting", "hotel")


@pytest.mark.vector
@pytest.mark.parametrize("fillers", [1, 2, 3, 5, 8])
def test_rare_word_outweighs_similarity_in_a_small_catalog(minilm, fillers) -> None:
    """A deviation over few tools amplifies noise, which must not hide a match in the parameters."""
    shade = {"enum": ["crimson", "turquoise"]}
    iban = {"type": "string", "description": "bank account to debit"}
    schema = {"type": "object", "properties": {"ibanNumber": iban, "shade": shade}}
    others = (
        "play_music",
        "book_flight",
        "list_files",
        "get_weather",
        "translate",
        "turn_on_light",
        "add_event",
        "wait",
    )
    tools = [
        ToolReference(name="submit", description="Submit the form", parameters=schema),
        *(ToolReference(name=name, description=name.replace("_", " ")) for name in others[:fillers]),
    ]
    searcher = HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(minilm)]).build(tools)
    for query in ("turquoise", "bank account", "iban number"):
        assert searcher.search(query, max_results=1).names == ("submit",)
