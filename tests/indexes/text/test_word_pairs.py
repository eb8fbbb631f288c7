"""What is found as it is written: words unstemmed, and pairs of neighbours."""

import pytest

from toolsearch.indexes import Bm25ToolIndex, ToolReference
from toolsearch.indexes.lexical.query import parse_query
from toolsearch.indexes.lexical.tool_terms import analyze_tool
from toolsearch.indexes.lexical.vocabulary import Vocabulary
from toolsearch.indexes.text.word_pairs import adjacent_words, pair_term


def best(query: str, **descriptions: str) -> str:
    """Return the first tool found among tools of these names and descriptions."""
    tools = [ToolReference(name=name, description=text) for name, text in descriptions.items()]
    return Bm25ToolIndex().build(tools).search(query).names[0]


@pytest.mark.parametrize("asked", ["posting", "posted"])
def test_of_equal_stems_the_word_as_written_comes_first(asked: str) -> None:
    """Both have the stem `post`, in texts of one length."""
    assert best(f"{asked} messages", alpha="The posted message", beta="The posting message")[:1] == (
        "b" if asked == "posting" else "a"
    )


def test_a_stem_is_found_though_no_tool_has_the_word() -> None:
    """What is written counts besides the stem, not in its place."""
    assert best("translations", alpha="Translate a text", beta="Summarise a text") == "alpha"


@pytest.mark.parametrize(("asked", "found"), [("pull request", "alpha"), ("request pull", "beta")])
def test_words_that_stand_together_count_as_a_pair(asked: str, found: str) -> None:
    """Both tools have both words."""
    assert best(asked, alpha="Open a pull request for review", beta="Review a request to pull open") == found


def test_function_words_do_not_part_neighbours() -> None:
    """They say nothing, in a tool or in a request."""
    assert adjacent_words(["list", "of", "the", "pods"]) == [("list", "pods")]
    assert best("comments on a pull", alpha="Lists pull comments", beta="Lists comments of a pull") == "beta"


def test_scripts_without_spaces_and_doubled_words_give_no_pairs() -> None:
    """Their terms are pairs of characters already."""
    assert adjacent_words(["天", "气", "天气"]) == []
    assert adjacent_words(["bora", "bora"]) == []
    assert adjacent_words(["погода", "города"]) == [("погода", "города")]


def test_a_pair_does_not_reach_over_clauses() -> None:
    """The last word of one has nothing to do with the first of the next."""
    tools = [ToolReference(name="mail", description="alpha beta gamma delta epsilon zeta")]
    parsed = parse_query("alpha beta gamma. delta epsilon zeta", Vocabulary([analyze_tool(tool) for tool in tools]))
    assert pair_term(("alpha", "beta")) in parsed.surface_weights
    assert pair_term(("gamma", "delta")) not in parsed.surface_weights
    assert [set(clause.surface_forms) for clause in parsed.clauses] == [
        {"alpha", "beta", "gamma", "alpha_beta", "beta_gamma"},
        {"delta", "epsilon", "zeta", "delta_epsilon", "epsilon_zeta"},
    ]


def test_only_words_some_tool_has_are_asked_as_written() -> None:
    """An unknown word is answered by guesses alone."""
    tools = [ToolReference(name="weather", description="Forecast of a city")]
    parsed = parse_query("wether forecasts citi", Vocabulary([analyze_tool(tool) for tool in tools]))
    assert set(parsed.surface_weights) == {"forecasts", "citi", pair_term(("forecasts", "citi"))}


def test_a_name_is_its_words_and_their_pairs() -> None:
    """In a tool and in a request, whichever way it is spelt."""
    terms = analyze_tool(ToolReference(name="pull_request", description="pull_request"))
    assert terms.surface_text.split() == ["pull", "request"] * 3 + ["pull_request"] * 2
    parsed = parse_query("pull_request", Vocabulary([terms]))
    assert set(parsed.surface_weights) == {"pull", "request", "pull_request"}
