"""Terms of tools and their cache."""

from toolsearch.indexes import Bm25ToolIndex, ToolReference
from toolsearch.indexes.lexical.tool_terms import TermsCache, parameter_strings, shared_terms_cache


def test_equal_tools_are_analyzed_once() -> None:
    tools = [ToolReference(name=f"shared_{n}", description="Some words for the cache.") for n in range(3)]
    Bm25ToolIndex().build(tools)
    again = shared_terms_cache.get(
        [ToolReference(name=f"shared_{n}", description="Some words for the cache.") for n in range(3)]
    )
    assert all(one is other for one, other in zip(again, shared_terms_cache.get(tools), strict=True))


def test_the_cache_keeps_the_most_recently_used_tools() -> None:
    cache = TermsCache(size=2)
    one, two, three = (ToolReference(name=f"tool_{n}") for n in range(3))
    first = cache.get([one])[0]
    cache.get([two])
    assert cache.get([one])[0] is first
    cache.get([three])
    assert len(cache) == 2
    assert cache.get([one])[0] is first
    assert [terms.name for terms in cache.get([one, two, three])] == [("tool", "0"), ("tool", "1"), ("tool", "2")]
    assert len(cache) == 2


def test_parameter_strings_come_from_all_parts_of_a_schema() -> None:
    """Names, descriptions and values in objects, lists, alternatives and definitions."""
    schema = {
        "description": "not a parameter's",
        "properties": {
            "when": {"anyOf": [{"type": "string", "description": "a date"}, {"type": "null"}]},
            "rows": {"type": "array", "items": {"properties": {"cell": {"enum": ["left", 3, None, "right"]}}}},
            "mode": {"const": "fast"},
        },
        "$defs": {"Place": {"properties": {"town": {"description": "its name"}}}},
    }
    found = parameter_strings(schema)
    assert sorted(found) == sorted(
        ["when", "a date", "rows", "cell", "left", "right", "mode", "fast", "town", "its name"]
    )
    assert parameter_strings(None) == []
