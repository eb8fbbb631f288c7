"""Surface forms and pairs of adjacent words."""

import pytest

from toolsearch.indexes import Bm25ToolIndex, ToolReference
from toolsearch.indexes.lexical.query import parse_query
from toolsearch.indexes.lexical.tool_terms import analyze_tool
from toolsearch.indexes.lexical.vocabulary import Vocabulary
from toolsearch.indexes.text.word_pairs import adjacent_words, pair_term


def best(query: str, **descriptions: str) -> str:
    """Return the best of several tools, given by name and description."""
    tools = [ToolReference(name=name, description=text) for name, text in descriptions.items()]
    return Bm25ToolIndex().build(tools).search(query).names[0]


@pytest.mark.parametrize("asked", ["posting", "posted"])
def test_surface_forms_rank_tools_with_equal_stems(asked: str) -> None:
    assert best(f"{asked} messages", alpha="The posted message", beta="The posting message")[:1] == (
        "b" if asked == "posting" else "a"
    )


def test_stems_match_without_the_surface_form() -> None:
    assert best("translations", alpha="Translate a text", beta="Summarise a text") == "alpha"


@pytest.mark.parametrize(("asked", "found"), [("pull request", "alpha"), ("request pull", "beta")])
def test_adjacent_words_rank_higher(asked: str, found: str) -> None:
    assert best(asked, alpha="Open a pull request for review", beta="Review a request to pull open") == found


def test_function_words_between_words_are_ignored() -> None:
    assert adjacent_words(["list", "of", "the", "pods"]) == [("list", "pods")]
    assert best("comments on a pull", alpha="Lists pull comments", beta="Lists comments of a pull") == "beta"


def test_unspaced_scripts_and_repeated_words_give_no_pairs() -> None:
    assert adjacent_words(["天", "气", "天气"]) == []
    assert adjacent_words(["bora", "bora"]) == []
    assert adjacent_words(["погода", "города"]) == [("погода", "города")]


def test_pairs_do_not_span_clauses() -> None:
    tools = [ToolReference(name="mail", description="alpha beta gamma delta epsilon zeta")]
    parsed = parse_query("alpha beta gamma. delta epsilon zeta", Vocabulary([analyze_tool(tool) for tool in tools]))
    assert pair_term(("alpha", "beta")) in parsed.surface_weights
    assert pair_term(("gamma", "delta")) not in parsed.surface_weights
    assert [set(clause.surface_forms) for clause in parsed.clauses] == [
        {"alpha", "beta", "gamma", "alpha_beta", "beta_gamma"},
        {"delta", "epsilon", "zeta", "delta_epsilon", "epsilon_zeta"},
    ]


def test_surface_weights_contain_known_words_only() -> None:
    """An unknown word only gives guesses."""
    tools = [ToolReference(name="weather", description="Forecast of a city")]
    parsed = parse_query("wether forecasts citi", Vocabulary([analyze_tool(tool) for tool in tools]))
    assert set(parsed.surface_weights) == {"forecasts", "citi", pair_term(("forecasts", "citi"))}


def test_a_name_gives_words_and_pairs() -> None:
    terms = analyze_tool(ToolReference(name="pull_request", description="pull_request"))
    assert terms.surface_text.split() == ["pull", "request"] * 3 + ["pull_request"] * 2
    parsed = parse_query("pull_request", Vocabulary([terms]))
    assert set(parsed.surface_weights) == {"pull", "request", "pull_request"}
