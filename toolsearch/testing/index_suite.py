"""`ToolIndexSuite`: conformance tests for tool indexes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from ..indexes.protocols import ToolIndex, ToolSearcher
from ..indexes.reference import ToolReference
from ..indexes.response import ToolSearchResponse

__all__ = ["ToolIndexSuite"]

_UNUSUAL_QUERIES = (
    "what's the weather?",
    'say "hello',
    "(foo",
    "foo)",
    "[1 TO",
    "{a} b",
    "a AND",
    "NOT a OR",
    "name:weather^2 +must -not",
    "foo: bar",
    "http://example.com/a?b=c#d",
    "\\",
    "*",
    "?",
    "/regex/",
    "<5",
    "~",
    "\x00",
    "\ud800 weather \udfff",
    "🚀🌦️",
    "天気",
    "طقس",
    "สภาพอากาศ",
    "e\u0301".join("weather"),
    "\u200b\u00ad\ufeff",
    "a" * 5_000,
)


def _object(**parameters: str) -> dict[str, object]:
    properties = {name: {"type": "string", "description": text} for name, text in parameters.items()}
    return {"type": "object", "properties": properties}


class ToolIndexSuite:
    """Conformance tests for a `ToolIndex`.

    Subclass it under a name that starts with ``Test`` and override `make_index`. pytest collects the subclass.

    Example:
        >>> from toolsearch.indexes import RegexToolIndex
        >>> class TestMyIndex(ToolIndexSuite):
        ...     def make_index(self):
        ...         return RegexToolIndex()
        >>> TestMyIndex().test_finds_a_tool_by_its_name()
    """

    tools: Sequence[ToolReference] = (
        ToolReference(
            name="get_weather",
            description="Current weather and temperature of a city.",
            parameters=_object(city="Name of the city"),
            source="meteo",
            tags=("outdoors",),
        ),
        ToolReference(name="sendEmail", description="Write a message to somebody.\nSecond line, kept.", source="mail"),
        ToolReference(name="list-files", description="Show what a folder of the disk holds.", source="disk"),
        ToolReference(name="translate_text", description="Put a sentence into another language.", tags=("language",)),
        ToolReference(name="プレイリスト_検索", description="音楽のプレイリストを検索する", source="音楽"),
        ToolReference(name="bare"),
    )
    """The tools that most tests search. They share few words, so that any index can distinguish them."""

    def make_index(self) -> ToolIndex:
        """Return a new index; subclasses override this."""
        raise NotImplementedError("override make_index to return the index under test")

    def make_searcher(self) -> ToolSearcher:
        """Return a searcher over `tools`."""
        return self.make_index().build(self.tools)

    def test_implements_the_protocols(self) -> None:
        """The index is a `ToolIndex` and its searcher a `ToolSearcher`."""
        index = self.make_index()
        assert isinstance(index, ToolIndex)
        assert isinstance(index.build(self.tools), ToolSearcher)

    def test_finds_a_tool_by_its_name(self) -> None:
        """The name of a tool returns that tool first."""
        searcher = self.make_searcher()
        for tool in self.tools:
            names = searcher.search(tool.name).names
            assert names[:1] == (tool.name,), f"the name {tool.name!r} found {names}"

    def test_finds_a_name_in_any_case_and_with_any_separator(self) -> None:
        """`get-weather`, `GetWeather` and `GET WEATHER` find `get_weather`."""
        searcher = self.make_searcher()
        for query in ("get-weather", "GetWeather", "getWeather", "get.weather", "GET WEATHER", "GET_WEATHER"):
            names = searcher.search(query).names
            assert names[:1] == ("get_weather",), f"{query!r} found {names}"

    def test_finds_a_name_in_a_long_query_first(self) -> None:
        """A tool name in a query is the best match, even in a long query."""
        query = "Show what a folder holds, put a sentence into another language, but first use sendEmail now."
        names = self.make_searcher().search(query).names
        assert names[:1] == ("sendEmail",), f"found {names}"

    def test_finds_a_tool_by_its_description(self) -> None:
        """Words that occur in only one description return that tool first."""
        searcher = self.make_searcher()
        for query, wanted in (("temperature city", "get_weather"), ("folder disk", "list-files")):
            names = searcher.search(query).names
            assert names[:1] == (wanted,), f"{query!r} found {names}"

    def test_hits_have_the_full_description(self) -> None:
        """The name and description of a hit are those of the tool, uncut."""
        known = {tool.name: tool.description for tool in self.tools}
        for tool in self.tools:
            for hit in self.make_searcher().search(tool.name, max_results=10).hits:
                assert hit.description == known[hit.name]

    def test_hits_are_distinct_and_sorted_by_score(self) -> None:
        """Each hit is a tool of the set, no tool is repeated, and scores decrease."""
        searcher = self.make_searcher()
        for query in ("weather of a city", "message", "検索"):
            self._check(searcher.search(query, max_results=10), self.tools, 10)

    def test_searchers_are_independent(self) -> None:
        """Each searcher of an index returns its own tools only, and a later build does not change it."""
        index = self.make_index()
        one, other = index.build(self.tools[:2]), index.build(self.tools[2:])
        before = one.search("weather message folder sentence", max_results=10)
        assert set(before.names) <= {tool.name for tool in self.tools[:2]}
        assert set(other.search("weather message folder sentence", max_results=10).names) <= {
            tool.name for tool in self.tools[2:]
        }
        index.build(())
        after = one.search("weather message folder sentence", max_results=10)
        assert (after.hits, after.total_matches) == (before.hits, before.total_matches)

    def test_searches_an_empty_set(self) -> None:
        """It finds nothing and says why."""
        response = self.make_index().build(()).search("weather")
        assert response.hits == ()
        assert response.total_matches == 0
        assert response.reason

    def test_finds_a_single_tool(self) -> None:
        """A set of one tool has no useful statistics, but the tool is found."""
        searcher = self.make_index().build(self.tools[:1])
        assert searcher.search("weather").names == ("get_weather",)

    def test_finds_all_of_several_similar_tools(self) -> None:
        """All tools with equal descriptions are found, and ties are sorted by name."""
        tools = [ToolReference(name=f"tool {letter}", description="Look something up.") for letter in "dbcae"]
        response = self.make_index().build(tools).search("look up", max_results=10)
        assert set(response.names) == {tool.name for tool in tools}
        self._check(response, tools, 10)

    def test_blank_query_returns_a_reason(self) -> None:
        """A blank query returns no hits and a reason."""
        searcher = self.make_searcher()
        for query in ("", "   ", "\n\t"):
            response = searcher.search(query)
            assert response.hits == (), f"{query!r} found {response.names}"
            assert response.reason

    def test_max_results_limits_the_hits(self) -> None:
        """A limit below one returns no hits, and `total_matches` does not depend on the limit."""
        searcher = self.make_searcher()
        everything = searcher.search("weather message folder sentence", max_results=10**9)
        self._check(everything, self.tools, 10**9)
        assert len(everything.hits) == everything.total_matches
        for limit in (-1, 0, 1, 2, 3):
            response = searcher.search("weather message folder sentence", max_results=limit)
            self._check(response, self.tools, limit)
            assert response.names == everything.names[: max(0, limit)]
            assert response.total_matches == everything.total_matches

    def test_category_filters_the_hits(self) -> None:
        """A category is a source or tag in any case; other tools are neither returned nor counted."""
        searcher = self.make_searcher()
        for category in ("meteo", "METEO", "outdoors", "Out-Doors"):
            response = searcher.search("weather message folder sentence", category=category)
            assert response.names == ("get_weather",), f"{category!r} gave {response.names}"
            assert response.total_matches == 1

    def test_category_filters_a_search_by_name(self) -> None:
        """A tool outside the category is not returned even if the query is its name."""
        assert "sendEmail" not in self.make_searcher().search("sendEmail", category="meteo").names

    def test_unknown_category_returns_the_known_ones(self) -> None:
        """An unknown category is not an error, and the reason lists the known categories."""
        response = self.make_searcher().search("weather", category="no such thing")
        assert response.hits == ()
        for category in ("meteo", "mail", "disk", "outdoors", "language", "音楽"):
            assert category in response.reason

    def test_finds_names_in_any_script(self) -> None:
        """Names in any script are found unchanged, even those that UTF-8 cannot encode."""
        names = ["天気", "погода", "الطقس", "Größe_berechnen", "ıİ", "🚀", "with blank", "lone_\ud800_surrogate", "ﬁle"]
        tools = [ToolReference(name=name, description=f"Number {number}.") for number, name in enumerate(names)]
        searcher = self.make_index().build(tools)
        for name in names:
            found = searcher.search(name).names
            assert found[:1] == (name,), f"{name!r} found {found!r}"

    def test_indexes_unusual_content(self) -> None:
        """Unusual or large texts and schemas do not fail and do not hide other tools."""
        schema: dict[str, object] = {
            "type": "object",
            "properties": {"a": True, "b": None, "c": {"enum": [1, None, "x"]}},
        }
        odd = [
            ToolReference(name="surrogate", description="\ud800 \udfff", search_text="\ud800", tags=("\ud800",)),
            ToolReference(name="control", description="\x00\x1f\u200b\u202e"),
            ToolReference(name="large", description="long story " * 10_000),
            ToolReference(name="data", description="QUJD" * 10_000),
            ToolReference(name="schema", parameters=schema),
            ToolReference(name="no_schema", parameters={}),
        ]
        searcher = self.make_index().build([*odd, *self.tools])
        assert searcher.search("get_weather").names[:1] == ("get_weather",)
        assert searcher.search("control").names[:1] == ("control",)

    def test_accepts_any_query(self) -> None:
        """Operators, quotes, unbalanced brackets and lone surrogates in a query are text."""
        searcher = self.make_searcher()
        for query in _UNUSUAL_QUERIES:
            response = searcher.search(query)
            self._check(response, self.tools, 5)
            assert response.hits or response.reason, f"{query!r} found nothing and gave no reason"

    def test_accepts_a_very_long_query(self) -> None:
        """A tool name at the end of 100 kB of text is found."""
        filler = "Lorem ipsum dolor sit amet consectetur. " * 2_500
        response = self.make_searcher().search(f"{filler} Now call get_weather please.")
        assert response.names[:1] == ("get_weather",)
        self._check(response, self.tools, 5)

    def test_hits_do_not_depend_on_the_order_of_tools(self) -> None:
        """Builds of the same tools in different orders return the same hits."""
        index = self.make_index()
        expected = index.build(self.tools).search("weather message folder sentence", max_results=10)
        orders = (self.tools, tuple(reversed(self.tools)), (*self.tools[3:], *self.tools[:3]))
        for tools in orders:
            response = index.build(tools).search("weather message folder sentence", max_results=10)
            assert response.hits == expected.hits

    def test_keeps_a_copy_of_the_tool_list(self) -> None:
        """A later change of the caller's list does not change the searcher."""
        tools = list(self.tools)
        searcher = self.make_index().build(tools)
        tools.clear()
        assert searcher.search("get_weather").names[:1] == ("get_weather",)

    def test_concurrent_searches_return_equal_hits(self) -> None:
        """Concurrent searches return the hits of a single search."""
        searcher = self.make_searcher()
        queries = ("weather", "send a message", "folder", "検索", "get_weather", "sentence language")
        expected = {query: searcher.search(query).hits for query in queries}
        start = Barrier(8)

        def search(worker: int) -> list[str]:
            start.wait()
            turns = [queries[(worker + turn) % len(queries)] for turn in range(30)]
            return [query for query in turns if searcher.search(query).hits != expected[query]]

        with ThreadPoolExecutor(8) as pool:
            wrong = [query for found in pool.map(search, range(8)) for query in found]
        assert not wrong

    def test_concurrent_builds_are_independent(self) -> None:
        """Concurrent builds of one index return correct searchers."""
        index = self.make_index()
        expected = index.build(self.tools).search("weather of a city").hits
        with ThreadPoolExecutor(4) as pool:
            built = list(pool.map(lambda _: index.build(self.tools).search("weather of a city").hits, range(8)))
        assert all(hits == expected for hits in built)

    def test_response_has_metadata(self) -> None:
        """The metadata contain the unchanged query and the search type."""
        response = self.make_searcher().search(" weather? ")
        assert response.metadata is not None
        assert response.metadata.query == " weather? "
        assert response.metadata.search_type

    @staticmethod
    def _check(response: ToolSearchResponse, tools: Sequence[ToolReference], limit: int) -> None:
        names = response.names
        assert len(names) <= max(0, limit)
        assert len(set(names)) == len(names), f"repeated: {names}"
        assert set(names) <= {tool.name for tool in tools}, f"unknown: {names}"
        assert response.total_matches >= len(names)
        ranks = [(-hit.score, hit.name) for hit in response.hits]
        assert ranks == sorted(ranks), "hits are not sorted by decreasing score and name"
