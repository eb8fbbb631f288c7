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
    tools = [ToolReference(name=f"tool_{n:02}") for n in range(17)]
    size = TermsCache().get(tools[:1])[0].size
    cache = TermsCache(max_bytes=16 * size + 16)
    first = cache.get(tools[:16])[0]
    assert cache.get(tools[:1])[0] is first
    assert len(cache) == 16
    cache.get(tools[16:])
    assert cache.get(tools[:1])[0] is first
    assert len(cache) <= 16
    assert cache.bytes <= 16 * size + 16


def test_a_tool_that_is_too_large_is_not_cached() -> None:
    small, large = ToolReference(name="small"), ToolReference(name="large", description="a word " * 5_000)
    cache = TermsCache(max_bytes=100_000)
    kept = cache.get([small])[0]
    cache.get([large] * 50)
    assert len(cache) == 1
    assert cache.get([small])[0] is kept


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
