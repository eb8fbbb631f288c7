"""The BM25 index: ranking, clauses, the minimum score and building."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearch.errors import ConfigurationError, IndexingError
from toolsearch.indexes import Bm25ToolIndex, ToolReference

WORD = st.sampled_from(["weather", "city", "email", "send", "list", "file", "issue", "create", "chart", "table"])


def reference(name: str, description: str = "", **more: str) -> ToolReference:
    """Return a tool with a name and a description."""
    return ToolReference(name=name, description=description, search_text=more.get("search_text", ""))


def test_name_words_outrank_description_words() -> None:
    tools = [reference("alpha_beta", "gamma delta"), reference("gamma_delta", "alpha beta")]
    assert Bm25ToolIndex().build(tools).search("gamma").names == ("gamma_delta", "alpha_beta")


def test_rare_words_outrank_common_words() -> None:
    tools = [reference(f"list_{thing}", "List them.") for thing in ("users", "files", "events", "pods")]
    tools.append(reference("show", "Show an invoice."))
    assert Bm25ToolIndex().build(tools).search("list invoice").names[0] == "show"


def test_each_clause_finds_its_tool() -> None:
    """A request for two things finds a tool for each, even if one clause has many more words."""
    tools = [
        reference(f"weather_{n}", "Weather forecast with wind, rain and temperature for a city") for n in range(10)
    ]
    tools.append(reference("send_email", "Sends a message"))
    query = "Tell me the weather forecast with wind, rain and temperature for my city, and then email it to Anna."
    assert "send_email" in Bm25ToolIndex().build(tools).search(query, max_results=3).names


def test_clause_order_does_not_change_the_tools_found() -> None:
    tools = [reference("get_weather", "Weather of a city"), reference("send_email", "Sends a message")]
    searcher = Bm25ToolIndex().build(tools)
    one = searcher.search("look up the weather there. send an email to him")
    other = searcher.search("send an email to him. look up the weather there")
    assert set(one.names) == set(other.names) == {"get_weather", "send_email"}


def test_min_score_drops_weaker_tools() -> None:
    """The minimum is a share of the query, so it means the same in every catalog."""
    tools = [reference("get_weather", "Weather of a city"), reference("get_time", "Time in a city")]
    tools += [reference(f"other_{n}", f"Thing {n}") for n in range(30)]
    strict = Bm25ToolIndex(min_score=0.9).build(tools)
    assert strict.search("weather city").names == ("get_weather",)
    assert strict.search("weather city").total_matches == 1
    assert strict.search("weather city").reason == ""
    assert Bm25ToolIndex().build(tools).search("weather city").total_matches == 2


def test_below_minimum_is_reported() -> None:
    """The reason differs from that of a query without any match."""
    searcher = Bm25ToolIndex(min_score=0.9).build([reference("get_weather", "Weather of a city")])
    response = searcher.search("weather quux flurb")
    assert response.hits == ()
    assert (response.total_matches, response.reason_code) == (0, "below_minimum")
    assert "90%" in response.reason
    assert searcher.search("quux flurb").reason_code == "no_match"


def test_min_score_applies_to_single_clauses() -> None:
    """A tool that matches one of several clauses is not below the minimum."""
    tools = [reference("get_weather", "Weather of a city"), reference("send_email", "Sends a message to somebody")]
    searcher = Bm25ToolIndex(min_score=0.8).build(tools)
    assert set(searcher.search("Weather of the city. Send somebody a message.").names) == {"get_weather", "send_email"}


def test_a_named_tool_is_never_below_the_minimum() -> None:
    searcher = Bm25ToolIndex(min_score=1.0).build([reference("get_weather", "Weather of a city")])
    assert searcher.search("quux flurb get_weather").names == ("get_weather",)


@pytest.mark.parametrize("share", [-0.1, 1.1, 7.0, float("nan")])
def test_min_score_must_be_between_0_and_1(share: float) -> None:
    with pytest.raises(ConfigurationError, match="between 0 and 1"):
        Bm25ToolIndex(min_score=share)


def test_building_leaves_no_threads() -> None:
    """A tantivy writer would keep six threads. The system may need a moment to end them."""
    tasks = Path("/proc/self/task")
    if not tasks.exists():
        pytest.skip("counts threads where /proc lists them")
    tools = [reference("get_weather", "Weather of a city")]
    before = len(list(tasks.iterdir()))
    kept = [Bm25ToolIndex().build(tools) for _ in range(5)]
    deadline = time.monotonic() + 10
    while len(list(tasks.iterdir())) > before and time.monotonic() < deadline:
        pass
    assert len(list(tasks.iterdir())) <= before
    assert kept[0].search("weather").names == ("get_weather",)


def test_engine_errors_become_indexing_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine error is the cause."""
    from toolsearch.indexes.bm25 import tantivy_engine as engine

    monkeypatch.setattr(engine, "_MIN_HEAP_BYTES", 1)
    monkeypatch.setattr(engine, "_HEAP_BYTES_PER_TOOL", 1)
    with pytest.raises(IndexingError, match="could not be indexed") as caught:
        Bm25ToolIndex().build([reference("get_weather")])
    assert isinstance(caught.value.__cause__, ValueError)


def test_all_matches_are_counted_and_can_be_returned() -> None:
    tools = [reference(f"tool_{n:04}", "Finds an order.") for n in range(1_000)]
    searcher = Bm25ToolIndex().build(tools)
    assert searcher.search("order").total_matches == 1_000
    everything = searcher.search("order", max_results=2_000)
    assert everything.names == tuple(tool.name for tool in tools)


@settings(max_examples=40)
@given(
    st.lists(st.lists(WORD, min_size=1, max_size=4), min_size=1, max_size=12), st.lists(WORD, min_size=1, max_size=5)
)
def test_tools_that_share_a_content_word_are_found(descriptions: list[list[str]], query: list[str]) -> None:
    """No other tool is found."""
    tools = [reference(f"t{n}", " ".join(words)) for n, words in enumerate(descriptions)]
    response = Bm25ToolIndex().build(tools).search(" ".join(query), max_results=100)
    expected = {f"t{n}" for n, words in enumerate(descriptions) if set(words) & set(query)}
    assert set(response.names) == expected
    assert response.total_matches == len(expected)
