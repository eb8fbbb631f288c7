"""Validation of arguments and schemas: errors name the argument or the tool."""

from __future__ import annotations

import datetime
import importlib.util
import re
from collections.abc import Callable
from typing import Any

import pytest

from toolsearch import ConfigurationError, Tool
from toolsearch.disclosure import SessionToolIndex, ToolSearchRequest, ToolSet
from toolsearch.indexes import (
    Bm25ToolIndex,
    HybridToolIndex,
    RankedSearcher,
    RegexToolIndex,
    ToolReference,
    ToolSearcher,
    VectorToolIndex,
)
from toolsearch.indexes.canonical_json import MAX_JSON_DEPTH, canonical_json

needs_faiss = pytest.mark.skipif(
    importlib.util.find_spec("faiss") is None, reason="the extra `vector` is not installed"
)

TOOLS = (ToolReference(name="get_weather", description="Weather of a city."), ToolReference(name="mail", source="x"))


def lengths(texts: list[str]) -> list[list[float]]:
    return [[1.0, float(len(text))] for text in texts]


class Ranked:
    def build(self, tools: Any) -> RankedSearcher:
        return RankedSearcher(tools, lambda query: dict.fromkeys((tool.name for tool in tools), 1.0), search_type="R")


@pytest.fixture(
    params=[
        Bm25ToolIndex,
        RegexToolIndex,
        pytest.param(lambda: VectorToolIndex(lengths), marks=needs_faiss),
        pytest.param(lambda: HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(lengths)]), marks=needs_faiss),
        Ranked,
    ],
    ids=["bm25", "regex", "vector", "hybrid", "ranked"],
)
def searcher(request: pytest.FixtureRequest) -> ToolSearcher:
    made: ToolSearcher = request.param().build(TOOLS)
    return made


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"max_results": None}, "max_results must be an integer, got None"),
        ({"max_results": "3"}, "max_results must be an integer, got '3'"),
        ({"max_results": 1.5}, "max_results must be an integer, got 1.5"),
        ({"max_results": True}, "max_results must be an integer, got True"),
        ({"query": None}, "query must be a string, got None"),
        ({"query": 5}, "query must be a string, got 5"),
        ({"query": b"x"}, "query must be a string, got b'x'"),
        ({"category": 5}, "category must be a source or tag, or None for all tools, got 5"),
    ],
    ids=str,
)
def test_a_search_names_the_wrong_argument(searcher: ToolSearcher, arguments: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        searcher.search(**{"query": "weather", **arguments})


def test_max_results_can_be_a_numpy_integer(searcher: ToolSearcher) -> None:
    numpy = pytest.importorskip("numpy")
    assert len(searcher.search("weather", max_results=numpy.int64(1)).hits) == 1


@pytest.mark.parametrize("tools", [TOOLS, ()], ids=["two tools", "no tools"])
def test_a_session_search_names_the_wrong_argument(tools: tuple[ToolReference, ...]) -> None:
    """The arguments are checked even if there is nothing to search."""
    sessions = SessionToolIndex(Bm25ToolIndex())
    sessions.index("ann", tools)
    with pytest.raises(ConfigurationError, match="category must be a source or tag"):
        sessions.search(ToolSearchRequest(session_id="ann", query="weather", category=5))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["x", "0.5", float("nan"), float("inf"), True, -2, 2, [0.5]], ids=str)
def test_minimums_must_be_numbers_in_their_range(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="min_score must be a fraction between 0 and 1, or None, got "):
        Bm25ToolIndex(min_score=value)
    with pytest.raises(ConfigurationError, match="min_similarity must be a cosine from -1 to 1, or None, got "):
        VectorToolIndex(lengths, min_similarity=value)


# ---------------------------------------------------------------------- schemas


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels - 1):
        schema = {"not": schema}
    return schema


CIRCULAR: dict[str, Any] = {"type": "object"}
CIRCULAR["properties"] = {"again": CIRCULAR}

BAD: list[tuple[dict[str, Any], str]] = [
    (CIRCULAR, "it contains itself"),
    (nested(MAX_JSON_DEPTH + 1), "it is nested more than 500 levels deep"),
    (nested(5_000), "it is nested more than 500 levels deep"),
    ({"properties": {"a": {"default": b"x"}}}, "/properties/a/default is b'x', which is not a JSON value"),
    ({"properties": {"a": {"enum": ["b", {"c"}]}}}, "/properties/a/enum/1 is {'c'}, which is not a JSON value"),
    ({"default": float("nan")}, "/default is nan, which is not a JSON value"),
    ({"default": datetime.date(2020, 1, 1)}, "/default is datetime.date(2020, 1, 1), which is not a JSON value"),
    ({"properties": {1: {}, "b": {}}}, "/properties has the key 1, which is not a string"),
    ({"properties": {b"a": {}}}, "/properties has the key b'a', which is not a string"),
]


@pytest.mark.parametrize("make", [lambda **given: Tool(**given), ToolReference], ids=["Tool", "ToolReference"])
@pytest.mark.parametrize(("schema", "said"), BAD, ids=[said for _, said in BAD])
def test_a_schema_that_is_not_json_is_refused_with_the_tool_name(
    make: Callable[..., Any], schema: dict[str, Any], said: str
) -> None:
    """The error is raised when the tool is made, so that an index of many tools does not fail because of one."""
    with pytest.raises(ConfigurationError, match=rf"'odd_one'.* must be a JSON Schema.*JSON: {re.escape(said)}$"):
        make(name="odd_one", parameters=schema)


def test_a_schema_of_the_maximum_depth_works() -> None:
    deep = Tool("deep", "Rain.", nested(MAX_JSON_DEPTH), lambda: "").reference
    assert ToolSet([deep]) == ToolSet([ToolReference(name="deep", description="Rain.", parameters=deep.parameters)])
    assert Bm25ToolIndex().build([deep, *TOOLS]).search("rain").names == ("deep",)


def test_key_order_does_not_change_canonical_json() -> None:
    assert canonical_json({"b": [1, {"d": None, "c": "é"}], "a": 0.5}) == '{"a":0.5,"b":[1,{"c":"é","d":null}]}'
