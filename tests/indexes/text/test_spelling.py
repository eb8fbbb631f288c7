"""Spelling correction."""

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
    """Return the spelling correction for words that are their own stems."""
    return Spelling(words, [])


@pytest.mark.parametrize("make", [Bm25ToolIndex, RegexToolIndex])
@pytest.mark.parametrize(
    ("name", "typos"),
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
def test_misspelt_words_find_their_tool(make: type, name: str, typos: str) -> None:
    """A letter omitted, doubled, moved or, in longer words, substituted, also combined with an ending."""
    searcher = make().build(TOOLS)
    assert {typo: searcher.search(typo).names[:1] for typo in typos.split()} == dict.fromkeys(typos.split(), (name,))


def test_typos_are_found_in_words_and_in_stems() -> None:
    """The stem of "table" is "tabl", two edits from "tabel"."""
    spelling = Spelling(["tabl", "issu"], ["table issue issue_table"])
    assert spelling.close_to("tabel", "tabel") == {"tabl": "table"}
    assert spelling.close_to("isu", "isues") == {"issu": "issue"}


@pytest.mark.parametrize("other", ["docs", "dog", "do", "logs", "cats", "dogma"])
def test_short_words_are_not_corrected_by_substitution(other: str) -> None:
    assert known("docs", "logo", "cat").close_to("dogs", "dogs") == {}
    assert not is_one_edit_apart("dogs", other) or other == "dogma"


def test_only_words_are_corrected() -> None:
    """Numbers, identifiers and scripts without spaces are not."""
    spelling = known("abc1234", "搜索工具", "weather")
    assert spelling.close_to("abc1235", "abc1235") == {}
    assert spelling.close_to("搜索工貝", "搜索工貝") == {}
    assert spelling.close_to("", "") == {}


def test_corrections_are_limited_and_deterministic() -> None:
    """At most eight, nearest in length first, then in order."""
    words = [f"stor{a}{b}" for a in string.ascii_lowercase for b in "ab"]
    guesses = known(*words).close_to("stor", "stor")
    assert list(guesses) == sorted(words)[:8]
    assert known(*reversed(words)).close_to("stor", "stor") == guesses


@given(st.lists(WORDS, max_size=12), WORDS)
def test_every_typo_is_found(words: list[str], asked: str) -> None:
    """The result equals that of comparing every known word."""
    found = set(Spelling(words, []).close_to(asked, asked))
    singular = asked[:-1] if asked.endswith("s") else asked

    def is_typo(word: str, of: str) -> bool:
        jumbled = len(of) >= 5 and sorted(of) == sorted(word) and (of[0], of[-1]) == (word[0], word[-1])
        return len(word) > 2 and len(of) > 3 and of[0] in word[:2] and (is_one_edit_apart(of, word) or jumbled)

    expected = {word for word in words if is_typo(word, asked) or is_typo(word, singular)}
    assert len(found) == 8 or expected <= found
    for word in found - expected:
        assert asked.startswith(word) or word.startswith(asked)
        assert len(word) > 2
        assert min(len(word), len(asked)) >= 0.6 * max(len(word), len(asked))


@given(st.text("abc", min_size=5, max_size=8), st.data())
def test_any_single_edit_is_recognized(word: str, data: st.DataObject) -> None:
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
def test_one_edit_agrees_with_enumeration(one: str, other: str) -> None:
    """A substitution counts as an edit in words of at least five letters."""
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
def test_compound_words_match_their_parts(make: type, query: str, name: str) -> None:
    names = ("getYouTubeTranscript", "createGitLabIssue", "MySQLQuery", "eBayList", "spreadsheet_add", "login", "get_x")
    assert make().build([ToolReference(name=name) for name in names]).search(query).names[:1] == (name,)


def test_matches_show_corrections_and_synonyms() -> None:
    hit = (
        Bm25ToolIndex()
        .build([ToolReference(name="delete_user"), ToolReference(name="x")])
        .search("remove usre")
        .hits[0]
    )
    assert hit.matched == (Match("usre (user)", ("name",)), Match("remove (delete)", ("name",)))
