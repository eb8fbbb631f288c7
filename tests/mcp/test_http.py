"""MCP servers over streamable HTTP."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

pytest.importorskip("mcp")


from toolsearch.mcp import HttpServer, McpServerError, McpToolError, McpTools, Reconnect
from toolsearch.testing import FakeClock

from .servers import by_name, free_port, over_http

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


@pytest.fixture
def http_url() -> Iterator[str]:
    port = free_port()
    with over_http("kit.py", "kit", str(port)):
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.mark.parametrize("handshake", ["auto", "legacy"])
def test_streamable_http_server(http_url: str, handshake: Any) -> None:
    with McpTools(HttpServer("web", http_url, headers={"X-Test": "1"}, handshake=handshake)) as mcp:
        assert by_name(mcp)["echo"].call({"text": "over http"}) == "over http"
        assert mcp.servers[0].version == "1.2.3"
        assert asyncio.run(by_name(mcp)["add"].acall({"a": 1, "b": 2})) == {"sum": 3}


def test_unreachable_http_server_raises() -> None:
    with pytest.raises(McpServerError, match=r"MCP server 'web' did not start: .*127\.0\.0\.1:9"):
        McpTools(HttpServer("web", "http://127.0.0.1:9/mcp")).connect()


@pytest.mark.parametrize("reconnect", [Reconnect(first=60), None])
def test_lost_session_is_replaced(reconnect: Reconnect | None) -> None:
    port = free_port()
    server = HttpServer("web", f"http://127.0.0.1:{port}/mcp", handshake="legacy")
    with McpTools(server, on_error="skip", reconnect=reconnect) as mcp:
        assert mcp.tools() == ()
        with over_http("forgetful.py", str(port)):
            mcp.refresh()
            tools = by_name(mcp)
            assert [tools[name].call() for name in ("forget", "get", "forget", "get")] == [
                "session 1", "session 2", "session 2", "session 3"
            ]  # fmt: skip


def test_http_server_is_reached_again_after_a_wait() -> None:
    port, clock = free_port(), FakeClock()
    server = HttpServer("web", f"http://127.0.0.1:{port}/mcp?key=SECRET", handshake="legacy")
    with over_http("forgetful.py", str(port)):
        mcp = McpTools(server, clock=clock).connect()
    with closing(mcp):
        get = by_name(mcp)["get"]
        with pytest.raises(McpToolError, match=r"taken effect\. Calling one of its tools connects to it again\.$"):
            get.call()
        with pytest.raises(McpToolError) as caught:
            get.call()
        assert str(caught.value) == (
            "Server 'web' is not connected (it could not be reached). Its tools cannot be used now. "
            "It can be reached again in 1.0 s."
        )
        clock.advance(1)
        with over_http("forgetful.py", str(port)):
            assert get.call() == "session 1"
