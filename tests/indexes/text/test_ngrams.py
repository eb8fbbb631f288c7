"""Missing words rebuilt from n-grams."""

import pytest

from toolsearch.indexes import ToolReference
from toolsearch.indexes.lexical.query import parse_query
from toolsearch.indexes.lexical.tool_terms import analyze_tool
from toolsearch.indexes.lexical.vocabulary import Vocabulary
from toolsearch.indexes.text.analysis import terms
from toolsearch.indexes.text.ngrams import missing_spans


@pytest.mark.parametrize(
    ("word", "found", "said"),
    [
        ("天气预报", "", {"天气预报"}),
        ("天气预报", "天气", {"预报"}),
        ("天气预报", "预报", {"天气"}),
        ("天气预报", "天气 预报", {""}),  # the pair in between is not a word
        ("我要天气预报", "天气", {"我要", "预报"}),
        ("天天向上", "", {"天天向上"}),
        ("ค้นหา", "", {"ค้นหา"}),
        ("หาค้น", "หาค", {"ค้น"}),
        ("날씨를", "날씨", {"를"}),
        ("好", "", {"好"}),
    ],
)
def test_missing_parts_of_a_word_are_whole_spans(word: str, found: str, said: set[str]) -> None:
    known = set(terms(found))
    assert set(missing_spans(terms(word), {term for term in terms(word) if term not in known}).values()) == said


def test_only_adjacent_ngrams_are_joined() -> None:
    assert missing_spans(["ab", "bc", "xa", "ab"], {"ab", "xa"})["xa"] == "xab"
    assert missing_spans(["ab", "bc"], {"ab"}) == {"ab": "a"}
    assert missing_spans(["ab", "bc"], set()) == {}


@pytest.mark.parametrize(
    ("query", "missing"),
    [
        ("帮忙预订火车票 zebra 天气", {"帮忙预订火车票", "zebra"}),
        ("天气如何 订酒店", {"如何", "订酒店"}),
        ("สวัสดีครับ 天气", {"สวัสดีครับ"}),
        ("查询天气", set()),
        ("Zebra天气 big酒店", {"zebra", "big", "酒店"}),
    ],
)
def test_missing_words_of_a_query_are_whole(query: str, missing: set[str]) -> None:
    documents = [analyze_tool(ToolReference(name="forecast", description="查询天气"))]
    parsed = parse_query(query, Vocabulary(documents))
    assert set(parsed.missing(set(documents[0].description))) == missing
