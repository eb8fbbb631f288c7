"""Tests of models that cannot be loaded: permanent errors are raised, and temporary ones are retried later."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("huggingface_hub", reason="the extra `vector` is not installed")
pytest.importorskip("faiss", reason="the extra `vector` is not installed")

import numpy as np
from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

from toolsearch.errors import ConfigurationError, IndexingError
from toolsearch.indexes import (
    Bm25ToolIndex,
    HybridToolIndex,
    SentenceTransformerEmbedder,
    ToolReference,
    VectorToolIndex,
)
from toolsearch.indexes.vector import sentence_transformer as module
from toolsearch.testing import FakeClock

Load = Callable[[bool], Any]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Replace sentence-transformers: `load` determines the result of loading, and `calls` lists the attempts."""
    state = SimpleNamespace(calls=[], load=None, online=True)

    def load(name: str, *, device: str, revision: str | None, local_files_only: bool) -> Any:
        state.calls.append("cache" if local_files_only else "hub")
        return state.load(local_files_only)

    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = load  # type: ignore[attr-defined]  # all that is used of it
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    monkeypatch.setattr(module, "is_hub_reachable", lambda: state.online)
    monkeypatch.setattr(module, "is_offline", lambda: False)
    return state


def refused(kind: type[Exception]) -> Load:
    """Return a loader that fails as the library does for an error of the hub."""
    answer = kind.__new__(kind)
    answer.args = ("404 Client Error. (Request ID: 1)\nRepository Not Found",)

    def load(local: bool) -> Any:
        if local:
            raise OSError("not in the cache")
        try:
            raise answer
        except OSError as error:
            raise OSError("no such model, or something else") from error

    return load


def slow(clock: FakeClock, seconds: float, error: Exception) -> Load:
    def load(_local: bool) -> Any:
        clock.advance(seconds)
        raise error

    return load


@pytest.mark.parametrize("kind", [RepositoryNotFoundError, RevisionNotFoundError])
def test_unknown_model_is_a_configuration_error(tries: SimpleNamespace, kind: type[Exception]) -> None:
    """A hybrid index raises it, too, instead of continuing without the part."""
    tries.load = refused(kind)
    hybrid = HybridToolIndex([Bm25ToolIndex(), VectorToolIndex("org/modle")])
    with pytest.raises(ConfigurationError, match=r"no accessible model 'org/modle' \(404 Client Error.*check the name"):
        hybrid.build([ToolReference(name="a")])
    assert tries.calls == ["cache", "hub"]


@pytest.mark.parametrize("name", ["models/mini/v2", "my model", "C:\\models\\mini", "größe/x", "a" * 97])
def test_invalid_name_is_reported_as_a_missing_folder(tries: SimpleNamespace, name: str) -> None:
    with pytest.raises(ConfigurationError, match="no such folder, and not a valid name on the hub"):
        SentenceTransformerEmbedder(name).embed(["a"])
    assert tries.calls == []


def test_folder_without_a_model_is_a_configuration_error(tries: SimpleNamespace, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="the folder has no JSON configuration"):
        HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(tmp_path)]).build([ToolReference(name="a")])
    assert tries.calls == []


def test_hybrid_backs_off_while_the_hub_is_unreachable(
    tries: SimpleNamespace, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """The backoff applies to all sets of tools, since they share the model."""
    tries.online = False
    tries.load = slow(clock, 5, OSError("not in the cache"))
    embedder = SentenceTransformerEmbedder("org/model", clock=clock)
    hybrid = HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(embedder)], clock=clock)
    for number in range(5):
        searcher = hybrid.build([ToolReference(name="get_weather", description=f"Variant {number}.")])
        assert searcher.degraded == ("VectorToolIndex",)
        assert searcher.search("weather").names == ("get_weather",)
    assert tries.calls == ["cache"]
    assert len(caplog.messages) == 5
    assert all("the model 'org/model' could not be loaded: not in the cache" in message for message in caplog.messages)

    clock.advance(49)
    with pytest.raises(IndexingError, match="'org/model' could not be loaded: not in the cache"):
        embedder.embed(["a"])
    assert tries.calls == ["cache"]

    clock.advance(1)
    tries.load = lambda _local: SimpleNamespace(
        max_seq_length=None, encode=lambda texts, **_: np.ones((len(texts), 2), np.float32)
    )
    assert hybrid.build([ToolReference(name="get_weather")]).degraded == ()
    assert embedder.embed(["a"]).shape == (1, 2)
    assert tries.calls == ["cache", "cache"]


def test_quick_failure_is_retried_at_once(tries: SimpleNamespace, clock: FakeClock) -> None:
    tries.load = slow(clock, 0, OSError("busy"))
    embedder = SentenceTransformerEmbedder("org/model", clock=clock)
    for _ in range(2):
        with pytest.raises(IndexingError, match="busy"):
            embedder.embed(["a"])
    assert tries.calls == ["cache", "hub"] * 2


def test_maximum_wait_is_five_minutes(tries: SimpleNamespace, clock: FakeClock) -> None:
    tries.load = slow(clock, 100, OSError("timeout"))
    embedder = SentenceTransformerEmbedder("org/model", clock=clock)
    for seconds, calls in ((0, 2), (299, 2), (1, 4)):
        clock.advance(seconds)
        with pytest.raises(IndexingError, match="timeout"):
            embedder.embed(["a"])
        assert len(tries.calls) == calls
