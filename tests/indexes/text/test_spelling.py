"""Unknown words: which known ones they may stand for."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.indexes import Bm25ToolIndex, Match, RegexToolIndex, ToolReference
from toolsearch.indexes.text.spelling import Spelling, is_one_edit_apart

WORDS = st.text("abc", min_size=2, max_size=7)

TOOLS = (
    ToolReference(name="send_mail", description="Writes to somebody."),
    ToolReference(name="read_file", description="Reads from a disk."),
    ToolReference(name="get_user", description="Profile of somebody."),
    ToolReference(name="github_create_issue", description="Opens a ticket."),
    ToolReference(name="create_invoice", description="Bills a customer."),
    ToolReference(name="make_table", description="Rows and columns."),
    ToolReference(name="stock_price", description="What a share is worth."),
    ToolReference(name="поиск", description="Поиск документов в архиве."),
)


def known(*words: str) -> Spelling:
    """Return the spelling of words that are their own stems."""
    return Spelling(words, [])


@pytest.mark.parametrize("make", [Bm25ToolIndex, RegexToolIndex])
@pytest.mark.parametrize(
    ("name", "slips"),
    [
        ("send_mail", "mial mali maill amil mails"),
        ("read_file", "fiel fille flie fiile files"),
        ("get_user", "usre uesr usser suer users"),
        ("github_create_issue", "isue isssue isseu iusse isues issus ssue github-create-isue"),
        ("create_invoice", "invioce invoce invoicee invice"),
        ("make_table", "tabel tble tbale tabls tablle"),
        ("stock_price", "pirce prcie pric prise proce"),
        ("поиск", "докуметов докумнетов"),
    ],
)
def test_a_misspelt_word_finds_its_tool(make: type, name: str, slips: str) -> None:
    """A letter left out, doubled, moved or, in longer words, changed; endings may hide it."""
    searcher = make().build(TOOLS)
    assert {slip: searcher.search(slip).names[:1] for slip in slips.split()} == dict.fromkeys(slips.split(), (name,))


def test_a_slip_is_seen_in_the_word_as_it_is_written_and_in_its_stem() -> None:
    """Porter makes `tabl` of a table: two edits from `tabel`."""
    spelling = Spelling(["tabl", "issu"], ["table issue issue_table"])
    assert spelling.close_to("tabel", "tabel") == {"tabl": "table"}
    assert spelling.close_to("isu", "isues") == {"issu": "issue"}


@pytest.mark.parametrize("other", ["docs", "dog", "do", "logs", "cats", "dogma"])
def test_short_words_are_not_bent_into_others(other: str) -> None:
    """Four letters with another one are another word."""
    assert known("docs", "logo", "cat").close_to("dogs", "dogs") == {}
    assert not is_one_edit_apart("dogs", other) or other == "dogma"


def test_what_is_no_word_is_not_guessed_at() -> None:
    """Numbers, identifiers and scripts without spaces stand for themselves."""
    spelling = known("abc1234", "搜索工具", "weather")
    assert spelling.close_to("abc1235", "abc1235") == {}
    assert spelling.close_to("搜索工貝", "搜索工貝") == {}
    assert spelling.close_to("", "") == {}


def test_guesses_are_few_and_always_the_same() -> None:
    """At most eight, nearest in length first, then in order."""
    words = [f"stor{a}{b}" for a in string.ascii_lowercase for b in "ab"]
    guesses = known(*words).close_to("stor", "stor")
    assert list(guesses) == sorted(words)[:8]
    assert known(*reversed(words)).close_to("stor", "stor") == guesses


@given(st.lists(WORDS, max_size=12), WORDS)
def test_every_slip_is_found(words: list[str], asked: str) -> None:
    """Compared with looking at every known word."""
    found = set(Spelling(words, []).close_to(asked, asked))
    singular = asked[:-1] if asked.endswith("s") else asked

    def is_slip(word: str, of: str) -> bool:
        jumbled = len(of) >= 5 and sorted(of) == sorted(word) and (of[0], of[-1]) == (word[0], word[-1])
        return len(word) > 2 and len(of) > 3 and of[0] in word[:2] and (is_one_edit_apart(of, word) or jumbled)

    expected = {word for word in words if is_slip(word, asked) or is_slip(word, singular)}
    assert len(found) == 8 or expected <= found
    for word in found - expected:
        assert asked.startswith(word) or word.startswith(asked)
        assert len(word) > 2
        assert min(len(word), len(asked)) >= 0.6 * max(len(word), len(asked))


@given(st.text("abc", min_size=5, max_size=8), st.data())
def test_one_edit_is_seen(word: str, data: st.DataObject) -> None:
    """Whatever single edit was made, wherever, and in both directions."""
    at = data.draw(st.integers(0, len(word) - 1))
    edited = data.draw(
        st.sampled_from(
            [
                word[:at] + "x" + word[at:],
                word[:at] + "x" + word[at + 1 :],
                word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
            ]
        )
    )
    assert is_one_edit_apart(word, edited) == is_one_edit_apart(edited, word) == (word != edited)


@given(st.text("ab", max_size=7), st.text("ab", max_size=7))
def test_one_edit_is_what_a_naive_search_says(one: str, other: str) -> None:
    """Compared with trying every edit; another letter is one from five letters on."""
    letters = "ab"
    edits = {one[:i] + one[i + 1 :] for i in range(len(one))}
    edits |= {one[:i] + c + one[i:] for i in range(len(one) + 1) for c in letters}
    edits |= {one[:i] + one[i + 1] + one[i] + one[i + 2 :] for i in range(len(one) - 1)}
    if len(one) >= 5:
        edits |= {one[:i] + c + one[i + 1 :] for i in range(len(one)) for c in letters}
    expected = other in edits - {one} and min(len(one), len(other)) >= 4
    assert is_one_edit_apart(one, other) == expected


@pytest.mark.parametrize("make", [Bm25ToolIndex, RegexToolIndex])
@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("youtube", "getYouTubeTranscript"),
        ("gitlab", "createGitLabIssue"),
        ("mysql", "MySQLQuery"),
        ("ebay", "eBayList"),
        ("spread sheet", "spreadsheet_add"),
        ("please log in", "login"),
    ],
)
def test_words_are_found_together_and_apart(make: type, query: str, name: str) -> None:
    """What one writes as a word the other writes as two."""
    names = ("getYouTubeTranscript", "createGitLabIssue", "MySQLQuery", "eBayList", "spreadsheet_add", "login", "get_x")
    assert make().build([ToolReference(name=name) for name in names]).search(query).names[:1] == (name,)


def test_an_explanation_says_what_was_found_for_a_word() -> None:
    """A misspelt word, a synonym: the tool has another."""
    hit = (
        Bm25ToolIndex()
        .build([ToolReference(name="delete_user"), ToolReference(name="x")])
        .search("remove usre")
        .hits[0]
    )
    assert hit.matched == (Match("usre (user)", ("name",)), Match("remove (delete)", ("name",)))
