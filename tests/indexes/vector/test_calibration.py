"""Tests of the calibration that tells weak matches from good ones on the scale of each embedder."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import pytest

from toolsearch.indexes.reference import ToolReference
from toolsearch.indexes.vector.cache import EmbeddingCache
from toolsearch.indexes.vector.calibration import CALIBRATION_TEXTS, calibrate, min_distinction
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
def test_weak_matches_do_not_depend_on_the_scale_of_the_embedder(share, word_embedder):
    searcher = VectorToolIndex(narrowed(word_embedder().embed, share)).build(TOOLS)
    assert searcher.search("zebra quagga person okapi gnu gazelle").reason_code == "weak_match"
    for query in ("a message for a person", "rain and sun", "money"):
        assert searcher.search(query).reason == ""


def test_constant_embedder_is_not_calibrated():
    def ones(texts):
        return np.ones((len(texts), 2))

    assert calibrate(CallableEmbedder(ones), EmbeddingCache(), 2) is None
    assert VectorToolIndex(ones).build(TOOLS).search("zebra").reason == ""


def test_calibration_is_embedded_once_per_embedder(word_embedder):
    embedder = word_embedder()
    index = VectorToolIndex(embedder)
    assert index.build([]).search("x").reason_code == "nothing_indexed"
    assert embedder.backgrounds == 0
    for tools in (TOOLS, TOOLS[:1]):
        index.build(tools).search("money")
    assert embedder.backgrounds == 1


def test_calibration_is_cached_in_the_folder(word_embedder, tmp_path):
    reasons = []
    for expected in (1, 0):
        embedder = word_embedder()
        searcher = VectorToolIndex(embedder, cache_dir=tmp_path).build(TOOLS)
        reasons.append(searcher.search("zebra quagga person okapi gnu gazelle").reason)
        assert embedder.backgrounds == expected
    assert reasons[0] == reasons[1] != ""


def test_failed_calibration_only_disables_weak_matches(word_embedder, caplog):
    words = word_embedder()

    def embed(texts):
        if len(texts) == len(CALIBRATION_TEXTS):
            raise ConnectionError("too many requests")
        return words.embed(texts)

    with caplog.at_level(logging.WARNING):
        searcher = VectorToolIndex(embed).build(TOOLS)
    assert "too many requests" in caplog.text
    assert searcher.search("person zebra quagga okapi gnu gazelle").names == ("send_mail",)
    assert searcher.search("person zebra quagga okapi gnu gazelle").reason == ""


def test_zero_embeddings_of_the_calibration_texts_are_allowed():
    """An embedder that counts the words of one field knows none of the calibration texts."""

    def embed(texts):
        return [[float(word in text.lower()) for word in ("weather", "refund", "mail")] for text in texts]

    searcher = VectorToolIndex(embed).build(TOOLS)
    assert searcher.search("mail").names == ("send_mail",)
    assert searcher.search("mail").reason == ""


def test_calibration_of_another_width_is_repeated(word_embedder):
    """This occurs after a change of the model, when its tools are embedded before the calibration texts."""
    cache = EmbeddingCache()
    calibrate(word_embedder(width=8), cache, 8)
    embedder = word_embedder(width=16)
    background = calibrate(embedder, cache, 16)
    assert (embedder.backgrounds, background is not None) == (1, True)
    assert calibrate(embedder, EmbeddingCache(), 32) is None


def test_min_distinction_grows_with_the_number_of_tools():
    bars = [min_distinction(tools) for tools in (0, 1, 10, 1_000, 100_000)]
    assert bars == sorted(bars)
    assert 0 < bars[0] == bars[1] < bars[-1] < 0.5


def test_weak_match_within_a_category(word_embedder):
    searcher = VectorToolIndex(word_embedder()).build(TOOLS)
    response = searcher.search("zebra quagga person okapi gnu gazelle", category="office")
    assert response.names == ("send_mail",)
    assert response.reason == "This is the only tool, and it may not fit."


def test_long_request_is_weak_only_if_every_clause_is(word_embedder):
    searcher = VectorToolIndex(word_embedder(width=4096)).build(TOOLS)
    animals = ". ".join(" ".join(f"animal{number}{letter}" for letter in "abcdefgh") for number in range(8))
    assert searcher.search(f"{animals}. Zebra gazelle quagga okapi gnu person.").reason_code == "weak_match"
    assert searcher.search(f"{animals}. Send a message to a person.").reason == ""
