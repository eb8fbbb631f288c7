"""Names of the tools of several MCP servers."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

pytest.importorskip("mcp")

from hypothesis import given
from hypothesis import strategies as st

from toolsearch.errors import ConfigurationError
from toolsearch.mcp import McpTools, StdioServer
from toolsearch.mcp.client.prefixes import PublicNames
from toolsearch.tools.names import RESERVED_NAMES, is_wire_name

from .servers import by_name, plain

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


def test_tools_of_several_servers_are_prefixed() -> None:
    with McpTools(plain("git", "search", "log"), plain("web", "search")) as mcp:
        tools = by_name(mcp)
        assert list(tools) == ["git_search", "git_log", "web_search"]
        assert tools["git_search"].call({"q": 1}) == 'git.search {"q": 1}'
        assert tools["web_search"].call() == "web.search {}"
        assert [tool.original_name for tool in tools.values()] == ["search", "log", "search"]
        assert [tool.identity for tool in tools.values()] == ["git::search", "git::log", "web::search"]
        assert [tool.name for tool in mcp.refresh()] == list(tools)


@pytest.mark.parametrize(("prefix", "expected"), [("auto", "log"), ("always", "git_log"), ("never", "log")])
def test_tools_of_one_server(prefix: Any, expected: str) -> None:
    with McpTools(plain("git", "log"), prefix=prefix) as mcp:
        assert [(tool.name, tool.identity) for tool in mcp.tools()] == [(expected, "git::log")]


@pytest.mark.parametrize("prefix", ["auto", "always"])
def test_names_do_not_depend_on_a_server_that_is_away(prefix: Any) -> None:
    down = StdioServer("a", "/no/such/command")
    with McpTools(plain("a", "get"), plain("b", "get"), prefix=prefix) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["a_get", "b_get"]
    with McpTools(down, plain("b", "get"), prefix=prefix, on_error="skip") as mcp:
        assert [tool.name for tool in mcp.tools()] == ["b_get"]


def test_without_prefixes_the_first_server_keeps_a_name(caplog: pytest.LogCaptureFixture) -> None:
    with McpTools(plain("b", "search", "x"), plain("a", "search", "y"), prefix="never") as mcp:
        assert [tool.identity for tool in mcp.tools()] == ["b::search", "b::x", "a::y"]
        mcp.refresh()
    (warning,) = (message for message in caplog.messages if "left_out" in message)
    assert warning.startswith("toolsearch.mcp_tool_left_out server=a tool=search error=")


def test_the_former_rule_is_refused_with_advice() -> None:
    with pytest.raises(ConfigurationError, match='write prefix="auto"'):
        McpTools(plain("a", "get"), prefix="collision")  # type: ignore[arg-type]


def test_two_servers_with_one_prefix_are_refused() -> None:
    taken = PublicNames(["my server"], "always").of("my server", "x").removesuffix("_x")
    with pytest.raises(ConfigurationError, match="have the same prefix"):
        PublicNames(["my server", taken], "auto")


def test_the_prefix_stays_in_front_of_a_replaced_name() -> None:
    names = PublicNames(["meteo", "fun"], "auto")
    assert re.fullmatch(r"meteo_[0-9a-f]{8}_weather_get", names.of("meteo", "weather.get"))
    assert re.fullmatch(r"meteo_[0-9a-f]{8}_x{49}", names.of("meteo", "x" * 80))
    assert re.fullmatch(r"tool_[0-9a-f]{8}_search", PublicNames(["tool", "b"], "auto").of("tool", "search"))


SERVERS = st.sampled_from(["a", "b", "a_b", "b_c", "a_b_c", "a_", "_", "tool", "é", "e", "my server", "s" * 41]) | (
    st.text(min_size=1, max_size=70)
)
OWN = st.sampled_from(["c", "b_c", "a_b_c", "b", "a_c", "_c", "search", "weather.get", "weather_get", "x" * 70]) | (
    st.text(max_size=80)
)


@st.composite
def hostile_names(draw: st.DrawFn, servers: list[str]) -> str:
    """Draw a name that another server's tool has, or would have after a change."""
    names = PublicNames(servers, "auto")
    name = names.of(draw(st.sampled_from(servers)), draw(OWN))
    cut = name.find("_") + 1
    return draw(st.sampled_from([name, name[cut:], name[:cut], f"{name}_x"]))


@st.composite
def configurations(draw: st.DrawFn) -> tuple[list[str], dict[str, list[str]]]:
    servers = draw(st.lists(SERVERS, min_size=2, max_size=5, unique=True))
    own = OWN | hostile_names(servers)
    return servers, {server: draw(st.lists(own, unique=True, max_size=5)) for server in servers}


@given(configurations(), st.data())
def test_names_are_valid_unique_and_depend_on_the_configuration_alone(
    configuration: tuple[list[str], dict[str, list[str]]], data: st.DataObject
) -> None:
    servers, listed = configuration
    names = PublicNames(servers, "auto")
    given_names = {(server, tool): names.of(server, tool) for server in servers for tool in listed[server]}
    assert len(set(given_names.values())) == len(given_names)
    assert all(map(is_wire_name, given_names.values()))
    assert not RESERVED_NAMES & set(given_names.values())
    again = PublicNames(data.draw(st.permutations(servers)), "always")
    assert given_names == {key: again.of(*key) for key in given_names}


@given(configurations())
def test_a_name_tells_its_server(configuration: tuple[list[str], dict[str, list[str]]]) -> None:
    """No server can list a tool under a name that begins with a longer prefix of another one."""
    servers, listed = configuration
    names = PublicNames(servers, "auto")
    prefixes = {names.of(server, "x").removesuffix("_x"): server for server in servers}
    for server in servers:
        for tool in listed[server]:
            name = names.of(server, tool)
            owner = max((prefix for prefix in prefixes if name.startswith(f"{prefix}_")), key=len)
            assert prefixes[owner] == server


def test_a_function_chooses_prefixes() -> None:
    names = PublicNames(["github", "files"], lambda server: server[:2])
    assert [names.of("github", "get"), names.of("files", "get")] == ["gi_get", "fi_get"]


@pytest.mark.parametrize("prefix", ["same", "", "a b", "x" * 41, None])
def test_prefixes_of_a_function_are_validated(prefix: Any) -> None:
    with pytest.raises(ConfigurationError, match="prefix"):
        PublicNames(["a", "b"], lambda server: prefix)
