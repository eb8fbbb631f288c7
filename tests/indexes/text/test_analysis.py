"""Text analysis: terms, identifiers and name keys."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.indexes.text import analysis
from toolsearch.indexes.text.analysis import MAX_TERM_LENGTH, MAX_WORD_LENGTH, compound_term, terms, word_terms, words
from toolsearch.indexes.text.folding import fold
from toolsearch.indexes.text.identifiers import accented_key, identifier_key, identifiers_in
from toolsearch.text import replace_surrogates

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=60)
WORD = st.from_regex(r"[a-z]{1,20}", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("create_issue", ["creat", "issu"]),
        ("list-files/by.date:now", ["list", "file", "by", "date", "now"]),
        ("sendEmail", ["sendemail", "send", "email"]),
        ("getHTTPServerById", ["gethttpserverbyid", "get", "http", "server", "by", "id"]),
        ("userIDs", ["userid", "user", "id"]),
        ("S3Bucket", ["s3bucket", "s3", "bucket"]),
        ("OAuth2", ["oauth2", "o", "auth2", "auth"]),
        ("base64 utf8", ["base64", "base", "utf8", "utf"]),
        ("the user's file", ["the", "user", "file"]),
        ("what’s", ["what"]),
        ("GitHub", ["github", "git", "hub"]),
        ("cities", ["citi"]),
        ("2024-01-31", ["2024", "01", "31"]),
        ("", []),
        ("... !?", []),
        ("🚀", []),
    ],
)
def test_strings_are_split_and_stemmed(text: str, expected: list[str]) -> None:
    """Separators, camelCase, digits, the possessive and English endings."""
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Envía una notificación", "envia una notificacion"),
        ("ﬁle", "file"),
        ("ＡＰＩ", "api"),
        ("e\u0301te\u0301", "été"),
        ("STRASSE", "Straße"),
        ("ISTANBUL", "istanbul"),
        ("İSTANBUL", "istanbul"),
        ("ıstanbul", "Istanbul"),
        ("Δοκιμή", "δοκιμη"),
        ("ΟΔΟΣ", "οδός"),
        ("مُحَمَّد", "محمد"),
        ("soft\u00adware", "software"),
        ("Ørsted Łódź", "orsted lodz"),
    ],
)
def test_spelling_variants_give_the_same_terms(one: str, other: str) -> None:
    """Compatibility forms, accents, Turkish i, final sigma, vowel signs, soft hyphens."""
    assert terms(one) == terms(other)


@pytest.mark.parametrize("word", ["مُحَمَّد", "हिन्दी", "שָׁלוֹם", "தமிழ்", "Привет", "йод"])
def test_marks_do_not_split_a_word(word: str) -> None:
    """Vowel signs and viramas belong to the letter before them."""
    assert len(terms(word)) == 1


def test_accents_are_folded_for_latin_and_greek_only() -> None:
    assert fold("й") == "й"
    assert fold("é") == "e"


def test_ideographs_give_characters_and_pairs() -> None:
    """A word is found within a sentence without blanks."""
    assert terms("法令検索") == ["法", "令", "検", "索", "法令", "令検", "検索"]
    assert set(terms("法令")) <= set(terms("法令を調べて"))


def test_thai_gives_pairs_with_their_marks() -> None:
    """A word is found within a sentence, and a vowel sign stays with its consonant."""
    assert set(terms("ที่นี่")) <= set(terms("อยู่ที่นี่แล้ว"))
    assert not any(unicodedata.category(term[0]).startswith("M") for term in terms("ที่นี่"))


def test_words_are_split_where_the_script_changes() -> None:
    assert "github" in terms("在GitHub上搜索")
    assert "api" in terms("查询API文档")


def test_too_long_words_are_dropped() -> None:
    """The words around a pasted key or image stay."""
    assert terms(f"open {'x' * (MAX_WORD_LENGTH + 1)} now") == ["open", "now"]
    assert terms("x" * MAX_WORD_LENGTH) == ["x" * MAX_TERM_LENGTH]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("create_issue", "createissu"), ("createIssue", "createissu"), ("Create-Issue", "createissu"), ("fetch", None)],
)
def test_compound_term_of_a_name(name: str, expected: str | None) -> None:
    """Case and separators do not matter."""
    assert compound_term(name) == expected


@given(ANYTHING)
def test_any_string_can_be_analyzed(text: str) -> None:
    """Terms can be encoded, contain no blanks and have a bounded length."""
    for term in terms(text):
        term.encode("utf-8")
        assert term
        assert not re.search(r"\s", term)
        assert len(unicodedata.normalize("NFC", term)) <= MAX_TERM_LENGTH * 4


@given(ANYTHING, ANYTHING)
def test_lines_are_analyzed_independently(one: str, other: str) -> None:
    assert terms(f"{one}\n{other}") == terms(one) + terms(other)


@given(ANYTHING)
def test_nfkc_does_not_change_the_terms(text: str) -> None:
    clean = replace_surrogates(text)
    assert terms(unicodedata.normalize("NFKC", clean)) == terms(clean)


@given(st.lists(WORD, min_size=1, max_size=5))
def test_separators_do_not_change_the_terms(parts: list[str]) -> None:
    expected = terms(" ".join(parts))
    for separator in "_-./:":
        assert terms(separator.join(parts)) == expected


@given(WORD)
def test_case_does_not_change_the_terms(word: str) -> None:
    assert terms(word.upper()) == terms(word.capitalize()) == terms(word)


@given(ANYTHING)
def test_cached_terms_equal_computed_terms(text: str) -> None:
    for word in words(text):
        analysis._word_terms.pop(word, None)
        assert word_terms(word) == word_terms(word)


def test_the_word_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "_MAX_CACHED_WORDS", 50)
    monkeypatch.setattr(analysis, "_word_terms", {})
    terms(" ".join(f"word{number}" for number in range(500)))
    assert len(analysis._word_terms) <= 50


def test_identifiers_are_found_in_prose() -> None:
    """Punctuation around an identifier is not a part of it."""
    text = 'First call `fetch`, then (createIssue) and "github.create-issue"; finally list_files. Thanks, Anna!'
    assert identifiers_in(text) == ["fetch", "createIssue", "github.create-issue", "list_files"]
    assert identifiers_in("Please show me the weather in Amsterdam today.") == []


@given(ANYTHING)
def test_keys_of_any_string_are_stable(text: str) -> None:
    """The key of a key is the key."""
    identifiers_in(text)
    for key_of in (identifier_key, accented_key):
        assert key_of(key_of(text)) == key_of(text)
    assert identifier_key(accented_key(text)) == identifier_key(text)


def test_keys_ignore_case_and_separators() -> None:
    """Names without letters have different keys."""
    spellings = ("getWeather", "get_weather", "GET-WEATHER", "get weather")
    assert {identifier_key(name) for name in spellings} == {"getweather"}
    assert identifier_key("🚀") != identifier_key("🌦")


def test_keys_ignore_accents() -> None:
    assert {identifier_key(name) for name in ("Ünicode", "unicode", "U\u0308NICODE", "ÚNI_CODE")} == {"unicode"}
    assert identifier_key("Größe") == identifier_key("GROSSE") == "grosse"
    assert identifier_key("καφές") == identifier_key("ΚΑΦΕΣ")
    assert (accented_key("Größe"), accented_key("groesse")) == ("grösse", "groesse")
    assert identifier_key("がく") != identifier_key("かく")  # another word, not an accent


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("wea\u200bther", ["weather"]),
        ("\u200bget_\u200bUser\u200b", ["get", "User"]),
        ("a \u200b b", ["a", "b"]),
        ("ไป\u200bเที่ยว", ["ไป", "เที่ยว"]),
        ("ไป\u200bgo", ["ไป", "go"]),
        ("天气\u200b预报", ["天气", "预报"]),
        ("пого\u200bда", ["погода"]),
    ],
)
def test_zero_width_spaces_separate_words_only_in_scripts_without_spaces(text: str, parts: list[str]) -> None:
    """In other scripts they mark a possible line break."""
    assert words(text) == parts


def test_abbreviations_give_no_terms() -> None:
    """Their letters would match a parameter named "e"."""
    assert terms("a place (e.g. a park), i.e., outdoors; E.g. there") == terms("a place a park outdoors there")
    assert terms("the letter e. Good") == terms("the letter e good")
