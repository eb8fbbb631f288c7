"""Tool lists of MCP servers: contents, invalid tools and changes."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

pytest.importorskip("mcp")


from toolsearch.mcp import McpTools

from .servers import by_name, plain, script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


def test_tools_have_the_definitions_of_the_server(kit: McpTools) -> None:
    tools = by_name(kit)
    assert tools["echo"].description == "Say it again."
    assert tools["echo"].source == "kit"
    assert tools["echo"].parameters["required"] == ["text"]
    assert "Sum of two" in tools["add"].search_text
    assert {name for name, tool in tools.items() if tool.concurrent} == {"echo", "wait", "meet"}


def test_status_has_name_version_and_tool_count(kit: McpTools) -> None:
    (status,) = kit.servers
    assert (status.name, status.state, status.title, status.version) == ("kit", "ready", "kit", "1.2.3")
    assert status.tools == len(kit.tools())
    assert status.error is None


def test_refresh_keeps_unchanged_tool_objects(kit: McpTools) -> None:
    before = kit.tools()
    assert all(a is b for a, b in zip(before, kit.refresh(), strict=True))


def test_all_pages_are_listed() -> None:
    with McpTools(script("paged", "paged.py")) as mcp:
        assert [tool.name for tool in mcp.tools()] == [f"tool_{n}" for n in range(25)]
        assert mcp.tools()[24].call() == "tool_24"


def test_filter_gets_server_and_tool() -> None:
    with McpTools(
        plain("a", "get", "drop"), plain("b", "drop"), filter=lambda server, tool: (server, tool.name) != ("a", "drop")
    ) as mcp:
        assert [(tool.source, tool.name) for tool in mcp.tools()] == [("a", "a_get"), ("b", "b_drop")]
        assert [status.tools for status in mcp.servers] == [1, 1]


def test_tool_with_an_invalid_name_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with McpTools(plain("a", "get", "odd")) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["get", "odd"]
        assert mcp.servers[0].tools == 2
    (record,) = (r for r in caplog.records if r.getMessage().startswith("toolsearch.mcp_tool_left_out server=a tool="))
    assert (record.__dict__["server"], record.__dict__["tool"]) == ("a", " ")


def test_invalid_tools_are_left_out_or_repaired(caplog: pytest.LogCaptureFixture) -> None:
    """The SDK alone would reject the whole list, and the server with it."""
    with McpTools(script("odd", "odd_tools.py")) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["fine", "without_type", "odd_output"]
        assert by_name(mcp)["without_type"].parameters == {"type": "object", "properties": {"a": {"type": "string"}}}
        assert [tool.name for tool in mcp.refresh()] == ["fine", "without_type", "odd_output"]
    left_out = {
        record.__dict__["tool"]: record.__dict__["error"]
        for record in caplog.records
        if record.getMessage().startswith("toolsearch.mcp_tool_left_out server=odd ")
    }
    (cut,) = (name for name in left_out if name.startswith("x\\nx\\n"))
    names = ("list", "odd_properties", "without_schema", "not_a_number", "odd_key", "", "text")
    assert left_out.keys() == {cut, *names}
    assert left_out["list"] == left_out[cut] == "inputSchema.type: Input should be 'object'"
    assert left_out["not_a_number"].endswith("/default is nan, which is not a JSON value")
    assert not any("\n" in message or len(message) > 300 for message in caplog.messages)


def test_protocol_2026_allows_any_output_schema(caplog: pytest.LogCaptureFixture) -> None:
    """A valid schema stays unchanged, even if other tools of the list are invalid."""
    from mcp_types.version import LATEST_PROTOCOL_VERSION

    with McpTools(script("odd", "odd_tools.py", LATEST_PROTOCOL_VERSION)) as mcp:
        tools = by_name(mcp)
        assert list(tools) == [
            *("fine", "without_type", "odd_output", "odd_key"),
            *("array", "either", "referred", "no_schema", "refused"),
        ]
        for name in ("array", "either", "referred", "no_schema"):
            assert tools[name].call() == "[1, 2]", name
        assert tools["refused"].call() == "[1, 2]"  # the call has had its effect
    assert sum("mcp_tool_left_out server=odd" in message for message in caplog.messages) == 7


@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("odd", [[], [{"name": "odd"}], ["odd"]], ids=["alone", "beside a tool", "beside a string"])
@pytest.mark.parametrize(
    ("given", "before", "since"),
    [
        ({"type": "object"}, {"type": "object"}, {"type": "object"}),
        ({"anyOf": [{}]}, {"type": "object", "anyOf": [{}]}, {"anyOf": [{}]}),
        ({"type": "array"}, None, {"type": "array"}),
        ([], None, None),
        (True, None, None),
    ],
    ids=str,
)
def test_output_schema_is_repaired_only_if_invalid(
    version: str | None, odd: list[Any], given: Any, before: Any, since: Any
) -> None:
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCResponse

    from toolsearch.mcp.client.session.tool_list_filter import drop_invalid_tools

    tool = {"name": "a", "inputSchema": {"type": "object"}, "outputSchema": given}
    response = JSONRPCResponse(jsonrpc="2.0", id=1, result={"tools": [tool, *odd]})
    asyncio.run(drop_invalid_tools("a", SessionMessage(response), version))
    wanted = since if version == "2026-07-28" else before
    (kept,) = response.result["tools"]
    assert kept.pop("outputSchema", None) == wanted
    assert kept == {"name": "a", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize(
    ("handshake", "way", "noticed"),
    [
        ("auto", "notify", True),
        ("auto", "session", False),
        ("legacy", "notify", False),
        ("legacy", "session", True),
    ],
)
def test_changes_are_noticed_as_the_protocol_specifies(handshake: Any, way: str, noticed: bool) -> None:
    """The expectations are those of docs/how-to/mcp.md; correct the page when they change."""
    with McpTools(script("changing", "changing.py", way, handshake=handshake)) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["grow"]
        assert mcp.tools()[0].call() == "grown"
        assert ([tool.name for tool in mcp.tools()] == ["grow", "fresh"]) is noticed
        assert [tool.name for tool in mcp.refresh()] == ["grow", "fresh"]
        assert by_name(mcp)["fresh"].call() == "fresh"
