"""`ToolIndexSuite`: the contract of an index as tests."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from ..indexes.protocols import ToolIndex, ToolSearcher
from ..indexes.reference import ToolReference
from ..indexes.response import ToolSearchResponse

__all__ = ["ToolIndexSuite"]

_ODD_QUERIES = (
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
    """Tests that any index passes. Subclass it with a name that starts with ``Test`` and override `make_index`.

    Example:
        >>> from toolsearch.indexes import RegexToolIndex
        >>> class TestMyIndex(ToolIndexSuite):
        ...     def make_index(self):
        ...         return RegexToolIndex()
        >>> TestMyIndex().test_a_tool_is_found_by_its_name()
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
    """The tools most tests search; their words differ, so that any sensible index tells them apart."""

    def make_index(self) -> ToolIndex:
        """Return a new index."""
        raise NotImplementedError("override make_index to return the index under test")

    def make_searcher(self) -> ToolSearcher:
        """Return a searcher over `tools`."""
        return self.make_index().build(self.tools)

    def test_it_has_the_methods_of_the_protocols(self) -> None:
        """Index and searcher can be passed where the protocols are expected."""
        index = self.make_index()
        assert isinstance(index, ToolIndex)
        assert isinstance(index.build(self.tools), ToolSearcher)

    def test_a_tool_is_found_by_its_name(self) -> None:
        """Every tool's own name, as written, finds it first."""
        searcher = self.make_searcher()
        for tool in self.tools:
            names = searcher.search(tool.name).names
            assert names[:1] == (tool.name,), f"the name {tool.name!r} found {names}"

    def test_a_name_is_found_in_any_casing_and_with_any_separators(self) -> None:
        """`get-weather`, `GetWeather` and `GET WEATHER` all name `get_weather`."""
        searcher = self.make_searcher()
        for query in ("get-weather", "GetWeather", "getWeather", "get.weather", "GET WEATHER", "GET_WEATHER"):
            names = searcher.search(query).names
            assert names[:1] == ("get_weather",), f"{query!r} found {names}"

    def test_a_name_inside_a_long_request_is_found_first(self) -> None:
        """An identifier in a request names a tool, however much else is said."""
        query = "Show what a folder holds, put a sentence into another language, but first use sendEmail now."
        names = self.make_searcher().search(query).names
        assert names[:1] == ("sendEmail",), f"found {names}"

    def test_a_tool_is_found_by_words_of_its_description(self) -> None:
        """Words that only one description holds find that tool first."""
        searcher = self.make_searcher()
        for query, wanted in (("temperature city", "get_weather"), ("folder disk", "list-files")):
            names = searcher.search(query).names
            assert names[:1] == (wanted,), f"{query!r} found {names}"

    def test_hits_carry_the_whole_description(self) -> None:
        """A hit's name and description are the tool's own, uncut."""
        known = {tool.name: tool.description for tool in self.tools}
        for tool in self.tools:
            for hit in self.make_searcher().search(tool.name, max_results=10).hits:
                assert hit.description == known[hit.name]

    def test_hits_are_distinct_tools_of_the_set_best_first(self) -> None:
        """No hit is invented or repeated, and scores fall."""
        searcher = self.make_searcher()
        for query in ("weather of a city", "message", "検索"):
            self._check(searcher.search(query, max_results=10), self.tools, 10)

    def test_searchers_do_not_see_each_other(self) -> None:
        """Two searchers of one index answer from their own tools only, and a later build changes nothing before it."""
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

    def test_a_set_without_tools_can_be_searched(self) -> None:
        """It finds nothing and says why."""
        response = self.make_index().build(()).search("weather")
        assert response.hits == ()
        assert response.total_matches == 0
        assert response.reason

    def test_one_tool_alone_is_found(self) -> None:
        """A set of one has no statistics to speak of; its tool is found nevertheless."""
        searcher = self.make_index().build(self.tools[:1])
        assert searcher.search("weather").names == ("get_weather",)

    def test_tools_that_hardly_differ_are_all_found(self) -> None:
        """None hides another, and ties go by name."""
        tools = [ToolReference(name=f"tool {letter}", description="Look something up.") for letter in "dbcae"]
        response = self.make_index().build(tools).search("look up", max_results=10)
        assert set(response.names) == {tool.name for tool in tools}
        self._check(response, tools, 10)

    def test_a_query_without_content_finds_nothing_and_says_so(self) -> None:
        """Blank queries are answered with a reason."""
        searcher = self.make_searcher()
        for query in ("", "   ", "\n\t"):
            response = searcher.search(query)
            assert response.hits == (), f"{query!r} found {response.names}"
            assert response.reason

    def test_max_results_bounds_the_hits(self) -> None:
        """Less than one gives none; more than there are gives what there is; the count of matches does not change."""
        searcher = self.make_searcher()
        everything = searcher.search("weather message folder sentence", max_results=10**9)
        self._check(everything, self.tools, 10**9)
        assert len(everything.hits) == everything.total_matches
        for limit in (-1, 0, 1, 2, 3):
            response = searcher.search("weather message folder sentence", max_results=limit)
            self._check(response, self.tools, limit)
            assert response.names == everything.names[: max(0, limit)]
            assert response.total_matches == everything.total_matches

    def test_a_category_narrows_the_search(self) -> None:
        """A source or a tag is a category, in any casing; others' tools are neither returned nor counted."""
        searcher = self.make_searcher()
        for category in ("meteo", "METEO", "outdoors", "Out-Doors"):
            response = searcher.search("weather message folder sentence", category=category)
            assert response.names == ("get_weather",), f"{category!r} gave {response.names}"
            assert response.total_matches == 1

    def test_a_category_narrows_a_search_by_name_too(self) -> None:
        """A named tool outside the category is not returned."""
        assert "sendEmail" not in self.make_searcher().search("sendEmail", category="meteo").names

    def test_an_unknown_category_is_answered_with_those_that_exist(self) -> None:
        """It is no error, and the reason names what could be asked for."""
        response = self.make_searcher().search("weather", category="no such thing")
        assert response.hits == ()
        for category in ("meteo", "mail", "disk", "outdoors", "language", "音楽"):
            assert category in response.reason

    def test_names_in_any_script_are_kept_as_they_are(self) -> None:
        """Also those that no index can encode."""
        names = ["天気", "погода", "الطقس", "Größe_berechnen", "ıİ", "🚀", "with blank", "lone_\ud800_surrogate", "ﬁle"]
        tools = [ToolReference(name=name, description=f"Number {number}.") for number, name in enumerate(names)]
        searcher = self.make_index().build(tools)
        for name in names:
            found = searcher.search(name).names
            assert found[:1] == (name,), f"{name!r} found {found!r}"

    def test_content_of_any_kind_can_be_indexed(self) -> None:
        """Odd texts, large ones and odd schemas neither fail nor hide the other tools."""
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

    def test_no_query_fails(self) -> None:
        """Operators, quotes, broken brackets, lone surrogates: a query is text, and an answer is well formed."""
        searcher = self.make_searcher()
        for query in _ODD_QUERIES:
            response = searcher.search(query)
            self._check(response, self.tools, 5)
            assert response.hits or response.reason, f"{query!r} found nothing and does not say why"

    def test_a_very_long_query_is_answered(self) -> None:
        """100 kB of text that ends in a request are a query like any other."""
        filler = "Lorem ipsum dolor sit amet consectetur. " * 2_500
        response = self.make_searcher().search(f"{filler} Now call get_weather please.")
        assert response.names[:1] == ("get_weather",)
        self._check(response, self.tools, 5)

    def test_the_answer_depends_on_the_set_not_on_its_order(self) -> None:
        """Builds of the same tools, in any order, answer alike."""
        index = self.make_index()
        expected = index.build(self.tools).search("weather message folder sentence", max_results=10)
        orders = (self.tools, tuple(reversed(self.tools)), (*self.tools[3:], *self.tools[:3]))
        for tools in orders:
            response = index.build(tools).search("weather message folder sentence", max_results=10)
            assert response.hits == expected.hits

    def test_the_tools_handed_over_may_change_afterwards(self) -> None:
        """A searcher keeps what it was built from, not the caller's list."""
        tools = list(self.tools)
        searcher = self.make_index().build(tools)
        tools.clear()
        assert searcher.search("get_weather").names[:1] == ("get_weather",)

    def test_many_threads_can_search_at_once(self) -> None:
        """Every thread gets the answer one alone would get."""
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

    def test_many_threads_can_build_at_once(self) -> None:
        """Builds of one index do not disturb each other."""
        index = self.make_index()
        expected = index.build(self.tools).search("weather of a city").hits
        with ThreadPoolExecutor(4) as pool:
            built = list(pool.map(lambda _: index.build(self.tools).search("weather of a city").hits, range(8)))
        assert all(hits == expected for hits in built)

    def test_the_response_tells_how_it_was_made(self) -> None:
        """Metadata hold the query as it was given and who answered."""
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
        assert ranks == sorted(ranks), "not in order of falling score, then name"
