"""By what an index tells a weak match from a good one, whatever the embedder's scale."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import pytest

from toolsearch.indexes.reference import ToolReference
from toolsearch.indexes.vector.cache import EmbeddingCache
from toolsearch.indexes.vector.calibration import BACKGROUND_TEXTS, embed_background, least_distinction
from toolsearch.indexes.vector.embedders import CallableEmbedder
from toolsearch.indexes.vector.index import VectorToolIndex

np = pytest.importorskip("numpy")
pytest.importorskip("faiss")

TOOLS = (
    ToolReference(name="get_weather", description="Forecast of rain and sun", source="meteo"),
    ToolReference(name="refund_payment", description="Return money to a customer", source="shop"),
    ToolReference(name="send_mail", description="Send a message to a person", source="office"),
)


def narrowed(embed: Callable[[Sequence[str]], object], share: float) -> Callable[[Sequence[str]], object]:
    """Return an embedder for which all texts have `share` in common: a cosine c becomes share + (1 - share) * c."""

    def embedded(texts: Sequence[str]) -> object:
        rows = np.asarray(embed(texts))
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return np.hstack([rows * (1 - share) ** 0.5, np.full((len(rows), 1), share**0.5)])

    return embedded


@pytest.mark.parametrize("share", [0.0, 0.5, 0.8, 0.95])
def test_the_judgement_does_not_depend_on_the_scale_of_the_embedder(share, word_embedder):
    searcher = VectorToolIndex(narrowed(word_embedder().embed, share)).build(TOOLS)
    assert searcher.search("zebra quagga person okapi gnu gazelle").reason_code == "weak_match"
    for query in ("a message for a person", "rain and sun", "money"):
        assert searcher.search(query).reason == ""


def test_an_embedder_for_which_all_is_alike_is_not_judged_by():
    def ones(texts):
        return np.ones((len(texts), 2))

    assert embed_background(CallableEmbedder(ones), EmbeddingCache(), 2) is None
    assert VectorToolIndex(ones).build(TOOLS).search("zebra").reason == ""


def test_the_background_is_embedded_once_for_an_embedder(word_embedder):
    embedder = word_embedder()
    index = VectorToolIndex(embedder)
    assert index.build([]).search("x").reason_code == "nothing_indexed"
    assert embedder.backgrounds == 0
    for tools in (TOOLS, TOOLS[:1]):
        index.build(tools).search("money")
    assert embedder.backgrounds == 1


def test_a_folder_spares_the_next_process_the_background(word_embedder, tmp_path):
    reasons = []
    for expected in (1, 0):
        embedder = word_embedder()
        searcher = VectorToolIndex(embedder, cache_dir=tmp_path).build(TOOLS)
        reasons.append(searcher.search("zebra quagga person okapi gnu gazelle").reason)
        assert embedder.backgrounds == expected
    assert reasons[0] == reasons[1] != ""


def test_a_background_that_cannot_be_embedded_costs_the_judgement_only(word_embedder, caplog):
    words = word_embedder()

    def embed(texts):
        if len(texts) == len(BACKGROUND_TEXTS):
            raise ConnectionError("too many requests")
        return words.embed(texts)

    with caplog.at_level(logging.WARNING):
        searcher = VectorToolIndex(embed).build(TOOLS)
    assert "too many requests" in caplog.text
    assert searcher.search("person zebra quagga okapi gnu gazelle").names == ("send_mail",)
    assert searcher.search("person zebra quagga okapi gnu gazelle").reason == ""


def test_texts_in_which_an_embedder_finds_nothing_are_no_failure():
    """One that counts the words of its own field knows none of the background."""

    def embed(texts):
        return [[float(word in text.lower()) for word in ("weather", "refund", "mail")] for text in texts]

    searcher = VectorToolIndex(embed).build(TOOLS)
    assert searcher.search("mail").names == ("send_mail",)
    assert searcher.search("mail").reason == ""


def test_a_background_of_another_width_is_embedded_anew(word_embedder):
    """As when a model has changed and its tools are embedded, but not yet the background."""
    cache = EmbeddingCache()
    embed_background(word_embedder(width=8), cache, 8)
    embedder = word_embedder(width=16)
    background = embed_background(embedder, cache, 16)
    assert (embedder.backgrounds, background is not None) == (1, True)
    assert embed_background(embedder, EmbeddingCache(), 32) is None


def test_more_tools_must_stand_out_further():
    bars = [least_distinction(tools) for tools in (0, 1, 10, 1_000, 100_000)]
    assert bars == sorted(bars)
    assert 0 < bars[0] == bars[1] < bars[-1] < 0.5


def test_a_category_counts_as_if_there_were_no_other_tools(word_embedder):
    searcher = VectorToolIndex(word_embedder()).build(TOOLS)
    response = searcher.search("zebra quagga person okapi gnu gazelle", category="office")
    assert response.names == ("send_mail",)
    assert response.reason == "This is the only tool there is, and perhaps it does not fit."


def test_a_long_request_is_weak_only_if_each_of_its_clauses_is(word_embedder):
    searcher = VectorToolIndex(word_embedder(width=4096)).build(TOOLS)
    animals = ". ".join(" ".join(f"animal{number}{letter}" for letter in "abcdefgh") for number in range(8))
    assert searcher.search(f"{animals}. Zebra gazelle quagga okapi gnu person.").reason_code == "weak_match"
    assert searcher.search(f"{animals}. Send a message to a person.").reason == ""
