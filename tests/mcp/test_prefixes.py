"""Names of the tools of several MCP servers."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytest.importorskip("mcp")

from hypothesis import given
from hypothesis import strategies as st

from toolsearch.errors import DuplicateToolError
from toolsearch.mcp import McpTools, StdioServer
from toolsearch.mcp.client.prefixes import public_names

from .servers import by_name, plain

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


def test_colliding_names_are_prefixed() -> None:
    with McpTools(plain("git", "search", "log"), plain("web", "search")) as mcp:
        tools = by_name(mcp)
        assert list(tools) == ["git_search", "log", "web_search"]
        assert tools["git_search"].call({"q": 1}) == 'git.search {"q": 1}'
        assert tools["web_search"].call() == "web.search {}"
        assert [tool.name for tool in mcp.refresh()] == list(tools)


def test_prefix_always_prefixes_all() -> None:
    with McpTools(plain("git", "log"), prefix="always") as mcp:
        assert [tool.name for tool in mcp.tools()] == ["git_log"]


@pytest.mark.parametrize(("prefix", "expected"), [("collision", ["get"]), ("always", ["b_get"])])
def test_prefix_always_is_stable_without_a_server(prefix: Any, expected: list[str]) -> None:
    down = StdioServer("a", "/no/such/command")
    with McpTools(plain("a", "get"), plain("b", "get"), prefix=prefix) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["a_get", "b_get"]
    with McpTools(down, plain("b", "get"), prefix=prefix, on_error="skip") as mcp:
        assert [tool.name for tool in mcp.tools()] == expected


def test_prefix_never_raises_on_a_collision() -> None:
    with pytest.raises(DuplicateToolError, match="'a' and 'b' both have a tool named 'search'"):
        McpTools(plain("b", "search"), plain("a", "search"), prefix="never").connect()


listings = st.dictionaries(
    st.sampled_from(["a", "b", "a_b", "b_c", "é"]),
    st.lists(st.sampled_from(["c", "b_c", "a_b_c", "b", "a_c", "b_b_c"]), unique=True),
)


@given(listings, st.sampled_from(["collision", "always"]))
def test_names_are_unique_and_do_not_depend_on_order(listed: dict[str, list[str]], prefix: Any) -> None:
    names = public_names(listed, prefix)
    assert set(names) == {(server, tool) for server, tools in listed.items() for tool in tools}
    assert len(set(names.values())) == len(names)
    assert names == public_names({s: listed[s][::-1] for s in reversed(listed)}, prefix)


@given(listings)
def test_only_colliding_names_are_changed(listed: dict[str, list[str]]) -> None:
    names = public_names(listed, "collision")
    kept = [tool for (_, tool), name in names.items() if name == tool]
    assert len(set(kept)) == len(kept)
    if len({tool for tools in listed.values() for tool in tools}) == sum(map(len, listed.values())):
        assert len(kept) == len(names)
