"""Weights of query terms: quotations, synonyms, corrections, common words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.indexes import Bm25ToolIndex, RegexToolIndex, ToolReference
from toolsearch.indexes.lexical.query import parse_query
from toolsearch.indexes.lexical.tool_terms import analyze_tool
from toolsearch.indexes.lexical.vocabulary import Vocabulary
from toolsearch.indexes.text.quotes import quoted_values, remove_quoted
from toolsearch.indexes.text.synonyms import synonyms_of

INDEXES = pytest.mark.parametrize("make", [Bm25ToolIndex, RegexToolIndex])


def vocabulary(*tools: ToolReference) -> Vocabulary:
    """Return the vocabulary of several tools."""
    return Vocabulary([analyze_tool(tool) for tool in tools])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Post 'Hello, world' now", ["Hello, world"]),
        ('title "Fix login"', ["Fix login"]),
        ("“Fix login” and ‘later’", ["Fix login", "later"]),
        ("新建「会议」会议", ["会议"]),
        ('a 5" or 6" screen', []),
        ("«Bonjour» à tous", ["Bonjour"]),
        ("Titel „Wetter heute“ und »Hallo«", ["Wetter heute", "Hallo"]),
        ("读《红楼梦》", ["红楼梦"]),
        ('separator "," and char ";" please', []),
        ('say "" and "Well, done." now', ["Well, done."]),
        ("the user's files and the users' mail", []),
        ("don't stop, it's Bob's", []),
        ("rock 'n' roll", []),
        ("'unclosed", []),
        ("", []),
    ],
)
def test_quotations_are_distinguished_from_apostrophes(text: str, found: list[str]) -> None:
    assert quoted_values(text) == found
    assert not quoted_values(remove_quoted(text))


@given(st.text("a '\"“”‘’«»「」\n", max_size=60))
def test_removing_quotations_loses_nothing_else(text: str) -> None:
    rest = remove_quoted(text)
    assert rest.count("a") + sum(value.count("a") for value in quoted_values(text)) == text.count("a")


def test_unclosed_quotation_marks_take_linear_time() -> None:
    """A quadratic pattern would take minutes."""
    for mark in "“‘«「":
        assert quoted_values(f" {mark}a" * 30_000) == []
    for mark in "'\"":
        assert len(quoted_values(f" {mark}a" * 30_000)) == 0


@INDEXES
def test_quoted_words_have_less_weight(make: type) -> None:
    tools = [
        ToolReference(name="open_ticket", description="Opens a ticket."),
        ToolReference(name="weather", description="Weather forecast of Paris."),
        *(ToolReference(name=f"other_{n}", description="Something else.") for n in range(9)),
    ]
    searcher = make().build(tools)
    assert searcher.search("open a new ticket titled 'weather forecast Paris'").names[0] == "open_ticket"
    assert searcher.search("'weather forecast Paris'").names[0] == "weather"


@INDEXES
@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("remove a user", "delete_user"),
        ("purchase the thing", "buy_item"),
        ("modify the profile", "update_profile"),
        ("fetching the balance", "retrieve_balance"),
    ],
)
def test_synonyms_of_verbs_are_found(make: type, query: str, name: str) -> None:
    """The match shows the word of the query."""
    tools = [
        ToolReference(name=name)
        for name in ("delete_user", "list_user", "buy_item", "update_profile", "see_profile", "retrieve_balance")
    ]
    hit = make().build(tools).search(query).hits[0]
    assert hit.name == name
    assert f"{query.split()[0]} (" in hit.matched[-1].term


def test_a_word_outranks_its_synonyms() -> None:
    tools = [ToolReference(name=f"{verb}_user") for verb in ("delete", "drop", "erase", "remove")]
    for verb in ("delete", "drop", "erase", "remove"):
        assert Bm25ToolIndex().build(tools).search(f"{verb} user").names[0] == f"{verb}_user"


def test_synonyms_are_mutual() -> None:
    for term in ("delet", "creat", "updat", "buy", "list", "order"):
        assert synonyms_of(term)
        assert term not in synonyms_of(term)
        assert all(term in synonyms_of(other) for other in synonyms_of(term))
    assert synonyms_of("weather") == {}


def test_common_words_are_dropped_from_long_requests() -> None:
    """Only in large catalogs; short requests keep them."""
    words = [f"word{chr(97 + n)}" for n in range(20)]
    tools = [ToolReference(name=f"{words[n % 20]}_{n}", description="Record of the account.") for n in range(400)]
    known = Vocabulary([analyze_tool(tool) for tool in tools])
    assert "account" not in parse_query(" ".join([*words, "account"]), known).weights
    assert "account" in parse_query("account worda", known).weights
    few = Vocabulary([analyze_tool(tool) for tool in tools[:300]])
    assert "account" in parse_query(" ".join([*words, "account"]), few).weights


def test_a_compound_in_the_query_has_full_weight() -> None:
    """A compound that is guessed from two words has half weight."""
    known = Vocabulary([analyze_tool(ToolReference(name=name)) for name in ("login", "list_users", "get_time")])
    assert parse_query("log in", known).weights == {"login": 0.5}
    assert parse_query("log in, and then use the login page", known).weights["login"] == 1.0


def test_unknown_words_are_corrected() -> None:
    """One edit, swapped letters, or a long common prefix."""
    known = vocabulary(ToolReference(name="weather notification configure"))
    assert known.spelling.close_to("wether") == {"weather": "weather"}
    assert known.spelling.close_to("ewather") == {"weather": "weather"}
    assert list(known.spelling.close_to("config")) == ["configur"]
    assert known.spelling.close_to("leather") == {}
    assert known.spelling.close_to("win") == {}


def test_matched_share_is_weighted_by_rarity() -> None:
    """An unknown word weighs as much as the rarest known one."""
    known = vocabulary(*(ToolReference(name=f"list_{n}") for n in "abcdefgh"), ToolReference(name="invoice"))
    parsed = parse_query("list invoice", known)
    assert parsed.matched_share(["invoic"]) > 0.8
    assert parsed.matched_share(["list", "invoic"]) == pytest.approx(1.0)
    assert parsed.matched_share([]) == 0.0
    assert parse_query("zzzz invoice", known).matched_share(["invoic"]) == pytest.approx(0.4, abs=0.1)
