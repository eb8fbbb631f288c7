"""Stemming of English and of other languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.indexes import Bm25ToolIndex, ToolReference
from toolsearch.indexes.text.stemming import stem


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("issue", "issues"),
        ("city", "cities"),
        ("person", "people"),
        ("mouse", "mice"),
        ("child", "children"),
        ("index", "indices"),
        ("analysis", "analyses"),
        ("alias", "aliases"),
        ("status", "statuses"),
        ("knife", "knives"),
        ("search", "searching"),
        ("run", "running"),
        ("задача", "задачами"),
        ("καιροσ", "καιρου"),
        ("مدينة", "المدينة"),
    ],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    """Regular and irregular plurals, and endings in other languages."""
    assert stem(one) == stem(other)


@pytest.mark.parametrize("word", ["s3", "a", "me", "1234", "日本", "weather2go", "ש", "שלום"])
def test_words_without_known_endings_stay(word: str) -> None:
    """Numbers, short words, identifiers, other scripts."""
    assert stem(word) == word


@given(st.text(st.characters(codec="utf-8"), max_size=12))
def test_any_string_has_a_stable_stem(text: str) -> None:
    assert stem(text) == stem(text)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("елка", "make"),
        ("отчеты", "make"),
        ("погода", "get"),
        ("города", "get"),
        ("فندق", "find"),
        ("مدينه", "find"),
        ("ημερολόγιο", "list"),
        ("rechnung", "bill"),
        ("Donaudampfschifffahrtsgesellschaftskapitänsmütze", "buy"),
    ],
)
def test_tools_are_found_by_inflected_words(query: str, name: str) -> None:
    """Cases, articles, optional dots, long compounds."""
    tools = [
        ToolReference(name="make", description="Создать ёлку и отчёт"),
        ToolReference(name="get", description="Получить погоду в городе"),
        ToolReference(name="find", description="البحث عن الفنادق في المدينة"),
        ToolReference(name="list", description="Λίστα ημερολογίων του χρήστη"),
        ToolReference(name="bill", description="Rechnungen erstellen"),
        ToolReference(name="buy", description="Donaudampfschifffahrtsgesellschaftskapitänsmütze kaufen"),
    ]
    assert Bm25ToolIndex().build(tools).search(query).names == (name,)
