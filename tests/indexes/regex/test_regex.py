"""The regex index: patterns, globs and words."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.indexes import Match, RegexToolIndex, ToolReference, ToolSearcher
from toolsearch.indexes.regex.pattern import MAX_PATTERN_LENGTH, glob_to_pattern, query_kind, strip_delimiters

TOOLS = (
    ToolReference(name="get_user_data", description="Reads a profile."),
    ToolReference(name="get_order_data", description="Reads an order."),
    ToolReference(name="acme_get_user_data_v2", description="Reads a profile, newer."),
    ToolReference(name="github_create_issue", description="Opens an issue."),
    ToolReference(name="github_list_issues", description="Lists what is open."),
    ToolReference(name="weather", description="Current weather; colour of the sky. See get_user_data for more."),
    ToolReference(name="größe", description="Maße in Zentimetern"),
)


@pytest.fixture(scope="module")
def searcher() -> ToolSearcher:
    return RegexToolIndex().build(TOOLS)


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("get_.*_data", "pattern"),
        ("^get_", "pattern"),
        (r"\w+_issue", "pattern"),
        ("(create|list)_issue", "pattern"),
        ("(?i)weather", "pattern"),
        ("list|create issues", "pattern"),
        ("get_[a-z]+", "pattern"),
        ("x{2}", "pattern"),
        ("get_*_data", "glob"),
        ("github_*", "glob"),
        ("*", "glob"),
        ("get_??er_*", "glob"),
        ("colou?r", "maybe_pattern"),
        ("issue$", "maybe_pattern"),
        ("a+b", "maybe_pattern"),
        ("(unclosed", "maybe_pattern"),
        ("[a-z", "maybe_pattern"),
        ("what's the weather? (today)", "words"),
        ("weather?", "words"),
        ("(today)", "words"),
        ('"quoted"', "words"),
        ("C++", "words"),
        ("node.js", "dotted"),
        ("get.user", "dotted"),
        ("and more...", "words"),
        ("e.g.", "words"),
        ("get_?ser", "maybe_pattern"),
        ("list files, folders; and more...", "words"),
        ("how much is $5 in € [roughly]", "words"),
        ("2 * 3 + 4", "words"),
        ("**bold** text", "words"),
        ("get_user_data", "words"),
        ("pasted .* code " * 100, "words"),
    ],
)
def test_query_kind(query: str, kind: str) -> None:
    """Stray punctuation does not make a pattern."""
    assert query_kind(query) == kind


@pytest.mark.parametrize("query", ["get_.*_data", "get_*_data", "GET_.*_DATA", "^get_.+_data$|get_.*_data"])
def test_patterns_rank_whole_names_then_name_parts_then_descriptions(searcher: ToolSearcher, query: str) -> None:
    """Equal scores are in order of name."""
    assert searcher.search(query).names == ("get_order_data", "get_user_data", "acme_get_user_data_v2", "weather")


def test_anchors_match_the_name_or_the_description(searcher: ToolSearcher) -> None:
    assert searcher.search("^get_.*").names == ("get_order_data", "get_user_data")
    assert searcher.search(r"^opens\b").names == ("github_create_issue",)


def test_a_glob_star_does_not_match_blanks(searcher: ToolSearcher) -> None:
    assert searcher.search("github_*").names == ("github_create_issue", "github_list_issues")
    assert searcher.search("current*sky").hits == ()
    assert searcher.search("*", max_results=50).total_matches == len(TOOLS)


def test_matches_name_the_pattern_and_the_field(searcher: ToolSearcher) -> None:
    hits = {hit.name: hit.matched for hit in searcher.search("get_user_.*").hits}
    assert hits["get_user_data"] == (Match("get_user_.*", ("name",)),)
    assert hits["weather"] == (Match("get_user_.*", ("description",)),)


def test_case_is_ignored_in_any_script(searcher: ToolSearcher) -> None:
    """Composed and decomposed letters are equal."""
    assert searcher.search("GRÖ.*").names == ("größe",)
    assert searcher.search("gro\u0308.*").names == ("größe",)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(unclosed", "missing )"),
        ("[a-z", "missing ]"),
        ("foo(", "missing )"),
        ("get_(a|b", "missing )"),
        ("?", "no argument"),
        (r"get_(?=user)", "Look-ahead"),
        (r"(?<!x)get_.*", "Look-ahead and look-behind"),
        (r"(a)\1.*", "Back-references"),
        (r"a++b", "Possessive"),
        (r"a{1001}", "Repeat less"),
        (r"(\w{1,500}x){2}", "repeats too much"),
        (r"get_.*\Z", r"Write \z"),
        ("(" * 2_000, "2000 characters"),
    ],
)
def test_an_unusable_pattern_is_explained(searcher: ToolSearcher, pattern: str, said: str) -> None:
    """The reason says what to write instead."""
    response = searcher.search(pattern)
    assert response.hits == ()
    assert response.reason_code == "invalid_pattern"
    assert said in response.reason
    assert len(response.reason) < 400


def test_nothing_is_printed_about_a_bad_pattern(searcher: ToolSearcher, capfd: pytest.CaptureFixture[str]) -> None:
    """By default re2 writes to standard error."""
    searcher.search("(unclosed")
    assert capfd.readouterr() == ("", "")


def test_a_possible_pattern_without_match_is_searched_as_words(searcher: ToolSearcher) -> None:
    assert searcher.search("weather+sky").names[:1] == ("weather",)
    assert searcher.search("colou?r").names == ("weather",)


def test_a_pattern_without_match_is_named(searcher: ToolSearcher) -> None:
    response = searcher.search("set_.*_data")
    assert response.reason_code == "no_match"
    assert "'set_.*_data'" in response.reason


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("get_?ser_data", ("get_user_data", "acme_get_user_data_v2", "weather")),
        ("get_??er_data", ("get_user_data", "acme_get_user_data_v2", "weather")),
        ("colou?r", ("weather",)),  # as a pattern
        ("??eather", ("weather",)),
    ],
)
def test_a_question_mark_is_read_as_pattern_and_glob(
    searcher: ToolSearcher, query: str, names: tuple[str, ...]
) -> None:
    assert searcher.search(query).names == names


def test_dotted_queries_match_as_pattern_and_words() -> None:
    """Tools that match the pattern come first."""
    searcher = RegexToolIndex().build(
        [
            ToolReference(name="read_file", description="Reads."),
            ToolReference(name="a_user_list"),
            ToolReference(name="get-user_list", description="Users."),
        ]
    )
    found = searcher.search("get.user")
    assert found.names == ("get-user_list", "a_user_list")
    assert found.hits[0].matched[0] == Match("get.user", ("name",))
    assert searcher.search("f.le").names == ("read_file",)
    assert searcher.search("user.get").names == ("get-user_list", "a_user_list")


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("/get_.*/", "get_.*"),
        (" /Get_.*_Data/gi ", "Get_.*_Data"),
        ("`get_*_data`", "get_*_data"),
        ('"get_.*"', "get_.*"),
        ("r'get_.*'", "get_.*"),
        ("/get.user/", "get.user"),
        ("/users/", "/users/"),
        ('"send a mail"', '"send a mail"'),
        ("/get_.*", "/get_.*"),
        ("//", "//"),
        ("/a/b/" + "i" * 5_000, "/a/b/" + "i" * 5_000),
    ],
)
def test_delimiters_are_stripped(query: str, read: str) -> None:
    assert strip_delimiters(query) == read


def test_delimiters_do_not_change_the_result(searcher: ToolSearcher) -> None:
    assert (
        searcher.search("/^get_.*/i").names == searcher.search("^get_.*").names == ("get_order_data", "get_user_data")
    )


@pytest.mark.parametrize("query", ["|", "()", ".*", "x*|", "*", "$", r"\w"])
def test_a_pattern_that_matches_every_tool_is_weak(searcher: ToolSearcher, query: str) -> None:
    found = searcher.search(query)
    assert (len(found.hits), found.total_matches, found.reason_code) == (5, 7, "weak_match")
    assert found.reason.startswith(f"{query!r} matches all 7 tools, so their order means little; ")


def test_a_specific_pattern_that_matches_all_shown_tools_is_not_weak(searcher: ToolSearcher) -> None:
    assert RegexToolIndex().build(TOOLS[:2]).search("get_.*").reason == ""
    assert RegexToolIndex().build(TOOLS[:2]).search("get_.*|").reason_code == "weak_match"
    assert RegexToolIndex().build(TOOLS[:1]).search(".*").reason == ""
    assert searcher.search("get_.*").reason == ""


def test_patterns_respect_the_category() -> None:
    tools = [ToolReference(name=f"get_{n}", source="even" if n % 2 == 0 else "odd") for n in range(6)]
    response = RegexToolIndex().build(tools).search("get_.*", category="odd")
    assert response.names == ("get_1", "get_3", "get_5")
    assert response.total_matches == 3


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(\w+\s?)*!$", r"(a|a)*b", r"(.*)(.*)(.*)(.*)x=y", r"(x+x+)+y"])
def test_no_pattern_takes_exponential_time(pattern: str) -> None:
    """A backtracking engine would never finish."""
    tools = [ToolReference(name="victim", description="a" * 4_000 + " plain words " * 300)]
    searcher = RegexToolIndex().build(tools)
    started = time.process_time()
    searcher.search(pattern)
    assert time.process_time() - started < 20  # a backtracking engine takes years, RE2 takes milliseconds


def test_a_pattern_that_exceeds_the_timeout_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolsearch.indexes.regex import index as regex

    monkeypatch.setattr(regex, "_SEARCH_TIMEOUT_SECONDS", -1.0)
    response = RegexToolIndex().build(TOOLS).search("get_.*")
    assert response.reason_code == "invalid_pattern"
    assert "takes too long" in response.reason


def test_words_rank_by_share_of_the_query() -> None:
    """The share counts more than the field."""
    tools = [
        ToolReference(name="report", description="Numbers."),
        ToolReference(name="export", description="Writes the weekly report as a table."),
        ToolReference(name="import", description="Reads a table."),
    ]
    assert RegexToolIndex().build(tools).search("weekly report table").names[0] == "export"


def test_glob_to_pattern_escapes_other_characters() -> None:
    assert glob_to_pattern("a.b*c") == r"a\.b\S*c"
    assert glob_to_pattern("***") == r"\S*"


@given(st.one_of(st.text(max_size=40), st.text("ab()[]{}*+?.|^$\\-,0123:<=!P ", max_size=30)))
def test_every_query_gets_hits_or_a_reason(query: str) -> None:
    response = RegexToolIndex().build(TOOLS).search(query)
    assert response.hits or response.reason
    assert {hit.name for hit in response.hits} <= {tool.name for tool in TOOLS}


def test_patterns_have_a_maximum_length() -> None:
    searcher = RegexToolIndex().build(TOOLS)
    assert searcher.search("get_.*".ljust(MAX_PATTERN_LENGTH, "a")).reason_code == "no_match"
    assert searcher.search("get_.*".ljust(MAX_PATTERN_LENGTH + 1, "a")).reason_code == "invalid_pattern"
