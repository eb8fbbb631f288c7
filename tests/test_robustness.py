"""Small cases in which lexical searches are known to fail."""

import importlib.util
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from toolsearch.errors import ConfigurationError, DuplicateToolError
from toolsearch.indexes import (
    Bm25ToolIndex,
    HybridToolIndex,
    RegexToolIndex,
    ToolIndex,
    ToolReference,
    VectorToolIndex,
)
from toolsearch.indexes.protocols import Embedder, ToolSearcher
from toolsearch.tools.tool_type import Tool

Make = Callable[[], ToolIndex]

needs_faiss = pytest.mark.skipif(
    importlib.util.find_spec("faiss") is None, reason="the extra `vector` is not installed"
)


def tool(name: str, description: str = "", **parameters: object) -> ToolReference:
    """Return a tool with the given properties of its schema."""
    return ToolReference(name=name, description=description, parameters={"type": "object", "properties": parameters})


TOOLS = (
    tool("get_weather", "Returns the current conditions for a city."),
    tool("sendEmail", "Writes a message to somebody."),
    tool("hōrei", "日本の法令を検索して一覧を返します。"),
    tool("avisar", "Envía una notificación al usuario."),
    tool(
        "refund", "Gives money back.", charge_id={"type": "string", "description": "Identifier of the Stripe payment"}
    ),
    tool("make_chart", "Draws numbers.", shape={"enum": ["scatter", "histogram"]}),
    tool("list_files", "Lists what a folder holds.", options={"properties": {"recursive": {"type": "boolean"}}}),
    tool("поиск", "Поиск документов в архиве."),
    tool("بحث", "البحث عن الفنادق والرحلات"),
    tool("ค้นหา", "ค้นหาเที่ยวบินและโรงแรม"),
)


@pytest.fixture(params=[Bm25ToolIndex, RegexToolIndex])
def make(request: pytest.FixtureRequest) -> Make:
    """Each lexical index."""
    made: Make = request.param
    return made


def embed_symbols(texts: Sequence[str]) -> list[list[float]]:
    """Return embeddings that count words and symbols."""
    rows = []
    for text in texts:
        row = [0.0] * 512
        for term in re.findall(r"\w+|[^\w\s]", text.casefold()):
            row[zlib.crc32(term.encode()) % 512] += 1.0
        rows.append(row)
    return rows


@pytest.fixture(
    params=[
        Bm25ToolIndex,
        RegexToolIndex,
        pytest.param(lambda: VectorToolIndex(embed_symbols), marks=needs_faiss),
        pytest.param(lambda: HybridToolIndex([Bm25ToolIndex(), VectorToolIndex(embed_symbols)]), marks=needs_faiss),
    ],
    ids=["Bm25ToolIndex", "RegexToolIndex", "VectorToolIndex", "HybridToolIndex"],
)
def make_any(request: pytest.FixtureRequest) -> Make:
    """Each index."""
    made: Make = request.param
    return made


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("weather", "get_weather"),
        ("email", "sendEmail"),
        ("weathers cities", "get_weather"),
        ("法令", "hōrei"),
        ("法令を調べて", "hōrei"),
        ("envia notificacion", "avisar"),
        ("ENVÍA NOTIFICACIONES", "avisar"),
        ("charge_id", "refund"),
        ("chargeId", "refund"),
        ("stripe", "refund"),
        ("histogram", "make_chart"),
        ("recursive", "list_files"),
        ("send_email", "sendEmail"),
        ("horei", "hōrei"),
        ("wether", "get_weather"),
        ("wheather", "get_weather"),
        ("weahter", "get_weather"),
        ("emial", "sendEmail"),
        ("histogarm", "make_chart"),
        ("документов", "поиск"),
        ("الفنادق", "بحث"),
        ("เที่ยวบิน", "ค้นหา"),
    ],
)
def test_query_finds_its_tool_first(make: Make, query: str, wanted: str) -> None:
    """Names, plurals, scripts, accents, parameters, values and misspellings."""
    names = make().build(TOOLS).search(query).names
    assert names[:1] == (wanted,), f"{query!r} found {names}"


def test_nonsense_has_no_match(make: Make) -> None:
    """Unknown words return no tool rather than a wrong one."""
    response = make().build(TOOLS).search("xyzzy plugh")
    assert response.hits == ()
    assert response.reason_code == "no_match"


def test_known_word_is_not_corrected(make: Make) -> None:
    """A word that occurs in a tool is not replaced by a similar one."""
    tools = [tool("a", "Draws a chart."), tool("b", "Draws a charm.")]
    assert make().build(tools).search("charm").names == ("b",)


def test_name_in_a_long_query_is_first(make: Make) -> None:
    """A tool name is the best match even if all other words match other tools."""
    rivals = [tool(f"report_{n}", "Write the weekly report about sales and send it to the team.") for n in range(50)]
    query = "Write the weekly report about sales, send it to the team, and use zz_top_up for what is left." * 20
    assert make().build([*rivals, tool("zz_top_up", "Adds credit.")]).search(query).names[0] == "zz_top_up"


def test_shared_prefix_is_ignored(make: Make) -> None:
    """A prefix of every name, such as `github_`, does not hide the word that differs."""
    tools = [tool(f"github_{what}", f"GitHub: {what}.") for what in ("issues", "commits", "branches", "releases")]
    searcher = make().build(tools)
    assert searcher.search("github commits").names[0] == "github_commits"
    assert searcher.search("commits").names == ("github_commits",)
    assert searcher.search("github", max_results=10).total_matches == 4


def test_words_match_whole_words(make: Make) -> None:
    """`me` does not match `comment`, and `cat` does not match `category`."""
    searcher = make().build([tool("add_comment", "Adds a comment."), tool("list_category", "Lists a category.")])
    assert searcher.search("cat").hits == ()
    assert searcher.search("me").hits == ()


def test_single_tool_is_found(make: Make) -> None:
    """A word of the only tool counts, although every tool contains it."""
    assert make().build([tool("get_time", "Tells the time.")]).search("time").names == ("get_time",)


def test_equal_tools_are_sorted_by_name(make: Make) -> None:
    """Tools with equal scores are sorted by name and all count as matches."""
    tools = [tool(f"copy{n:03}", "Looks up an order.") for n in range(300)]
    response = make().build(tools[::-1]).search("order")
    assert response.names == tuple(f"copy{n:03}" for n in range(5))
    assert response.total_matches == 300


def test_function_words_are_searched_if_alone(make: Make) -> None:
    """Function words count if the query contains nothing else."""
    searcher = make().build([tool("who_am_i", "Tells the account."), tool("get_time", "Tells the hour.")])
    assert searcher.search("who am I").names[:1] == ("who_am_i",)
    assert searcher.search("what are you").hits == ()


def test_pasted_key_is_ignored(make: Make) -> None:
    """Words of 40 or more characters are ignored."""
    searcher = make().build([*TOOLS, tool("data", "QUJDREVG" * 20)])
    assert searcher.search(f"weather {'QUJDREVG' * 20}").names == ("get_weather",)


def test_symbols_are_ignored(make: Make) -> None:
    """Emoji, arrows and direction marks beside words are ignored."""
    searcher = make().build(TOOLS)
    assert searcher.search("🌦️ weather → 🚀").names[:1] == ("get_weather",)
    assert searcher.search("\u202bالفنادق\u202c").names[:1] == ("بحث",)
    assert searcher.search("🌦️").reason


def test_search_text_is_searched_and_not_returned(make: Make) -> None:
    """`search_text` is for matching only."""
    tools = [*TOOLS, ToolReference(name="outlook", description="Messages.", search_text="inbox mailbox")]
    hit = make().build(tools).search("inbox").hits[0]
    assert (hit.name, hit.description) == ("outlook", "Messages.")
    assert hit.matched[0].fields == ("search_text",)


def test_source_and_tags_are_searched(make: Make) -> None:
    """A query may contain the source or a tag."""
    tools = [
        *TOOLS,
        ToolReference(name="list_items", description="Lists.", source="pagerduty"),
        ToolReference(name="add_item", tags=("groceries",)),
    ]
    searcher = make().build(tools)
    assert searcher.search("pagerduty items").names[:1] == ("list_items",)
    assert searcher.search("groceries").names == ("add_item",)


def test_weak_match_names_the_unknown_words(make: Make) -> None:
    """The reason of a weak match lists the words that no hit contains."""
    tools = (*TOOLS, tool("weather_alarm", "Warns."))
    response = make().build(tools).search("reticulate seventeen splines of the weather")
    assert set(response.names) == {"get_weather", "weather_alarm"}
    assert response.reason_code == "weak_match"
    for word in ("reticulate", "seventeen", "splines"):
        assert word in response.reason


def test_unknown_values_do_not_make_a_match_weak(make: Make) -> None:
    """Paths, ids and proper names in a query do not make a match weak."""
    for query in ("histogram of acme/shop#12", "stripe ch_3Nabc123", "weather in Reykjavik and Tromsø"):
        assert make().build(TOOLS).search(query).reason == ""


def test_few_words_of_a_long_query_are_enough(make: Make) -> None:
    """A few telling words are enough, although most of the query is unknown."""
    query = (
        "Hello, my username is JaneSmith; tell Bartholomew Higginbotham the stripe refund 77-AX has a scatter chart."
    )
    response = make().build(TOOLS).search(query)
    assert set(response.names) >= {"refund", "make_chart"}
    assert response.reason == ""


@pytest.mark.parametrize("query", ["the", "The of A", "is there any for the", "to the ..."])
def test_function_words_are_a_weak_match(make_any: Make, query: str) -> None:
    """Every description contains function words, so they do not distinguish tools."""
    response = make_any().build(TOOLS).search(query)
    assert response.hits
    assert response.reason_code == "weak_match"
    assert response.reason == 'The query contains only words like "the", which do not say what the tool should do.'


@pytest.mark.parametrize("name", ["the", "what_is", "🎉", "get"])
def test_tool_name_is_not_a_weak_match(make_any: Make, name: str) -> None:
    """A query that is a tool name is not weak, whatever the name."""
    response = make_any().build([*TOOLS, tool(name, "Throws a party.")]).search(name)
    assert response.names[0] == name
    assert (response.reason, response.reason_code) == ("", None)


@pytest.mark.parametrize("query", ["🎉", "?!", "... —", "👍🏽👍🏽"])
def test_query_without_words_has_a_reason(make_any: Make, query: str) -> None:
    """Indexes by words return nothing; indexes by embeddings return weak matches."""
    response = make_any().build([*TOOLS, tool("party", "🎉 ... ?! 👍")]).search(query)
    if response.hits:
        assert response.reason_code == "weak_match"
        assert make_any not in (Bm25ToolIndex, RegexToolIndex) or "matches" in response.reason
    else:
        assert response.reason_code in ("empty_query", "no_match", "invalid_pattern")
    assert response.reason


def test_nonsense_is_at_most_a_weak_match(make_any: Make) -> None:
    """Every index returns nothing or a weak match."""
    response = make_any().build(TOOLS).search("asdkjh qwpoeiru")
    assert response.reason_code in ("no_match", "weak_match")


FORGE = tuple(
    ToolReference(name=name, description=description, source="forge")
    for name, description in {
        "create_issue": "Creates an issue in a repository.",
        "list_issues": "Lists the issues of a repository, open or closed.",
        "create_pull_request": "Opens a pull request from one branch to another.",
        "merge_pull_request": "Merges a pull request.",
        "create_branch": "Creates a branch in a repository.",
        "search_code": "Searches for code across repositories.",
        "get_file_contents": "Returns a file of a repository.",
        "list_commits": "Lists the commits of a branch.",
        "fork_repository": "Forks a repository to your account.",
        "run_workflow": "Starts a workflow of the continuous integration.",
    }.items()
)


@pytest.fixture(
    scope="module",
    params=[(index, size) for index in ("vector", "hybrid") for size in (1, 3, 10)],
    ids=lambda param: f"{param[0]}-{param[1]} tools",
)
def forge(request: pytest.FixtureRequest, minilm: Embedder) -> ToolSearcher:
    """A searcher by embeddings over one, three or ten similar tools."""
    kind, size = request.param
    vector = VectorToolIndex(minilm)
    index = vector if kind == "vector" else HybridToolIndex([Bm25ToolIndex(), vector])
    return index.build(FORGE[:size])


@pytest.mark.vector
@pytest.mark.parametrize(
    "query", ["asdkjh qwpoeiru", "flurbo grontish malep", "knit a sweater", "water the tomatoes", "🎉", "the of and"]
)
def test_unrelated_query_is_weak_by_embedding(forge: ToolSearcher, query: str) -> None:
    """Weak matches are returned with their hits."""
    response = forge.search(query)
    assert response.reason_code in ("weak_match", "no_match", "empty_query")
    assert bool(response.hits) == (response.reason_code == "weak_match")


@pytest.mark.vector
@pytest.mark.parametrize("query", ["report a bug", "open a new issue about the login page", "create_issue"])
def test_related_query_is_not_weak_by_embedding(forge: ToolSearcher, query: str) -> None:
    """A good match is not weak, for a single tool and for several similar ones."""
    response = forge.search(query)
    assert "create_issue" in response.names
    assert response.reason == ""


def test_good_match_has_no_reason(make: Make) -> None:
    response = make().build(TOOLS).search("send a message")
    assert response.names[0] == "sendEmail"
    assert (response.reason, response.reason_code) == ("", None)


def test_hits_list_matched_words_and_fields(make: Make) -> None:
    """Hits list the matched words of the query with their fields."""
    hit = make().build(TOOLS).search("weathers for cities").hits[0]
    assert {(match.term, match.fields) for match in hit.matched} == {
        ("weathers", ("name",)),
        ("cities", ("description",)),
    }


def test_schema_is_read_up_to_a_limit(make: Make) -> None:
    """Schemas are read to a limited depth and number of parameters."""
    deep: dict[str, object] = {"description": "bottom"}
    for _ in range(200):
        deep = {"properties": {"level": deep}}
    wide = {"properties": {f"w{n}": {"description": "wide"} for n in range(20_000)}}
    searcher = make().build([ToolReference(name="deep", parameters=deep), ToolReference(name="wide", parameters=wide)])
    assert searcher.search("level").names == ("deep",)
    assert searcher.search("bottom").hits == ()
    assert searcher.search("wide").names == ("wide",)


def test_schema_fields_that_are_searched(make: Make) -> None:
    """Names, descriptions and allowed values of parameters are searched, and titles that differ from names."""
    schema = {
        "title": "rootword",
        "description": "aboutword",
        "required": ["nameWord"],
        "properties": {
            "nameWord": {"title": "Titleword Of It", "default": "defaultword", "examples": ["exampleword"]},
            "kind": {
                "title": "Kind",
                "enum": ["enumword", 5],
                "description": "describingword",
                "pattern": "patternword",
            },
            "fixed": {"const": "constword"},
            "list": {"items": {"properties": {"innerword": {"type": "string", "format": "formatword"}}}},
        },
    }
    searcher = make().build([ToolReference(name="any", parameters=schema), ToolReference(name="kind")])
    found = ("nameWord", "titleword", "enumword", "describingword", "constword", "innerword")
    left_out = ("rootword", "aboutword", "defaultword", "exampleword", "patternword", "formatword", "string")
    assert [word for word in found if searcher.search(word).names != ("any",)] == []
    assert [word for word in left_out if searcher.search(word).names] == []


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([Tool("ping", "Ping.")], r"got Tool: Tool\('ping'\); pass tool.reference"),
        (Tool("ping", "Ping."), r"a list of ToolReference objects, got Tool: .*; pass tool.reference"),
        (["ping"], "got str: 'ping'$"),
        ([TOOLS[0], None], "got NoneType: None$"),
        (None, "got NoneType: None$"),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "index",
    [
        Bm25ToolIndex,
        RegexToolIndex,
        pytest.param(VectorToolIndex, marks=needs_faiss),
        lambda: HybridToolIndex([Bm25ToolIndex()]),
    ],
    ids=["Bm25ToolIndex", "RegexToolIndex", "VectorToolIndex", "HybridToolIndex"],
)
def test_build_rejects_objects_that_are_not_references(index: Make, tools: Any, said: str) -> None:
    """The error says what to pass instead of tools."""
    with pytest.raises(ConfigurationError, match=said):
        index().build(tools)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": 5}, "name must be a non-empty string, got 5"),
        ({"name": ""}, "name must be a non-empty string, got ''"),
        ({"name": "a", "description": None}, "ToolReference 'a': description must be a string, got None"),
        ({"name": "a", "search_text": 5}, "ToolReference 'a': search_text must be a string, got 5"),
        ({"name": "a", "source": 5}, "ToolReference 'a': source must be a string or None, got 5"),
        ({"name": "a", "parameters": "x"}, "ToolReference 'a': parameters must be a JSON Schema"),
        ({"name": "a", "tags": "mail"}, "ToolReference 'a': tags must be a list of strings, got 'mail'"),
        ({"name": "a", "tags": None}, "a list of strings, got None"),
        ({"name": "a", "tags": [5]}, r"a list of strings, got \[5\]"),
    ],
    ids=str,
)
def test_reference_error_names_the_field(fields: dict[str, Any], said: str) -> None:
    """An invalid field is reported when the reference is created."""
    with pytest.raises(ConfigurationError, match=said):
        ToolReference(**fields)


def test_duplicate_names_are_rejected(make: Make) -> None:
    """Tool names of an index must be unique."""
    with pytest.raises(DuplicateToolError, match="'get_weather'"):
        make().build([*TOOLS, tool("get_weather")])


def test_exact_accents_are_preferred(make: Make) -> None:
    """Accents are ignored in names and categories, but the exact spelling is first."""
    names = ("Ünicode", "unicode", "Unicode_list", "résumé", "resume")
    searcher = make().build([ToolReference(name=name, tags=("Ünicode",)) for name in names])
    assert searcher.search("unicode", category="unicode").names[:2] == ("unicode", "Ünicode")
    assert searcher.search("Ünicode", category="UNICODE").names[:2] == ("Ünicode", "unicode")
    assert searcher.search("ÜNICODE").names[:2] == ("Ünicode", "unicode")
    assert searcher.search("Re\u0301sume\u0301").names == ("résumé", "resume")
    assert searcher.search("RESUME").names == ("resume", "résumé")
    with pytest.raises(DuplicateToolError, match="'résumé'"):
        make().build([tool("résumé"), tool("resume"), tool("résumé")])


def test_category_counts_only_its_tools(make: Make) -> None:
    """`total_matches` counts the tools of the category, even if better matches are outside it."""
    tools = [ToolReference(name=f"issue_{n:03}", description="Issue.", source="tracker") for n in range(400)]
    notes = [f"note_{n}" for n in range(3)]
    tools += [ToolReference(name=name, description="Notes on an issue.", source="Note-Book") for name in notes]
    response = make().build(tools).search("issue", category="notebook")
    assert response.names == tuple(notes)
    assert response.total_matches == 3
