"""What the words of a request count: quotations, synonyms, words that most tools have."""

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
def test_quotations_are_told_from_apostrophes(text: str, found: list[str]) -> None:
    """Whatever their marks."""
    assert quoted_values(text) == found
    assert not quoted_values(remove_quoted(text))


@given(st.text("a '\"“”‘’«»「」\n", max_size=60))
def test_a_text_without_its_quotations_holds_no_other_letters(text: str) -> None:
    """Nothing is lost besides them."""
    rest = remove_quoted(text)
    assert rest.count("a") + sum(value.count("a") for value in quoted_values(text)) == text.count("a")


def test_marks_alone_take_no_time_to_speak_of() -> None:
    """The pattern is linear: this would take minutes were it not."""
    for mark in "“‘«「":
        assert quoted_values(f" {mark}a" * 30_000) == []
    for mark in "'\"":
        assert len(quoted_values(f" {mark}a" * 30_000)) == 0


@INDEXES
def test_the_words_of_a_title_do_not_hide_the_work(make: type) -> None:
    """A quoted value is about anything."""
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
def test_a_verb_is_answered_by_another_for_the_same_work(make: type, query: str, name: str) -> None:
    """And the explanation says for which word of the query."""
    tools = [
        ToolReference(name=name)
        for name in ("delete_user", "list_user", "buy_item", "update_profile", "see_profile", "retrieve_balance")
    ]
    hit = make().build(tools).search(query).hits[0]
    assert hit.name == name
    assert f"{query.split()[0]} (" in hit.matched[-1].term


def test_the_word_itself_goes_before_its_synonym() -> None:
    """Among tools alike but for it."""
    tools = [ToolReference(name=f"{verb}_user") for verb in ("delete", "drop", "erase", "remove")]
    for verb in ("delete", "drop", "erase", "remove"):
        assert Bm25ToolIndex().build(tools).search(f"{verb} user").names[0] == f"{verb}_user"


def test_synonyms_are_mutual_and_never_the_word_itself() -> None:
    """Whichever is said, the other is found."""
    for term in ("delet", "creat", "updat", "buy", "list", "order"):
        assert synonyms_of(term)
        assert term not in synonyms_of(term)
        assert all(term in synonyms_of(other) for other in synonyms_of(term))
    assert synonyms_of("weather") == {}


def test_words_that_most_tools_have_are_left_out_of_long_requests_among_many() -> None:
    """They cost most and tell nothing; short requests and small sets keep them."""
    words = [f"word{chr(97 + n)}" for n in range(20)]
    tools = [ToolReference(name=f"{words[n % 20]}_{n}", description="Record of the account.") for n in range(400)]
    known = Vocabulary([analyze_tool(tool) for tool in tools])
    assert "account" not in parse_query(" ".join([*words, "account"]), known).weights
    assert "account" in parse_query("account worda", known).weights
    few = Vocabulary([analyze_tool(tool) for tool in tools[:300]])
    assert "account" in parse_query(" ".join([*words, "account"]), few).weights


def test_a_word_written_together_later_counts_in_full() -> None:
    """Only the guess that two words are one counts half."""
    known = Vocabulary([analyze_tool(ToolReference(name=name)) for name in ("login", "list_users", "get_time")])
    assert parse_query("log in", known).weights == {"login": 0.5}
    assert parse_query("log in, and then use the login page", known).weights["login"] == 1.0
