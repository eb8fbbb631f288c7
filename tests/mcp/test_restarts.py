"""Restarts of MCP servers that stopped or did not start."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("mcp")


from toolsearch.mcp import McpToolError, McpTools, Reconnect, StdioServer
from toolsearch.mcp.client.reconnect import Attempts
from toolsearch.testing import FakeClock

from .servers import SCRIPTS, by_name, eventually, plain

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


def test_next_call_restarts_a_stopped_server() -> None:
    with McpTools(plain("a", "crash", "get", "pid"), plain("b", "get")) as mcp:
        tools = by_name(mcp)
        with pytest.raises(McpToolError, match=r"Calling one of its tools starts it again\.$"):
            tools["a_crash"].call()
        assert tools["a_get"].call() == "a.get {}"
        os.kill(int(str(tools["a_pid"].call())), signal.SIGKILL)
        eventually(lambda: mcp.servers[0].state == "stopped")
        assert asyncio.run(tools["a_get"].acall()) == "a.get {}"
        assert list(by_name(mcp)) == list(tools)
        assert mcp.servers[0].error is None


def test_waits_between_restarts_grow() -> None:
    clock = FakeClock()
    with McpTools(plain("a", "crash", "get"), reconnect=Reconnect(first=10, longest=15), clock=clock) as mcp:
        tools = by_name(mcp)

        def crash() -> str:
            with pytest.raises(McpToolError) as caught:
                tools["crash"].call()
            return str(caught.value).rpartition(". ")[2]

        assert crash() == "Calling one of its tools starts it again."
        for wait in (10, 15, 15):
            assert crash() == f"It can be started again in {wait}.0 s."
            with pytest.raises(McpToolError, match=rf"Server 'a' is not running \(.* started again in {wait}\.0 s"):
                tools["get"].call()
            assert mcp.tools() == tuple(tools.values())
            clock.advance(wait)
        assert tools["get"].call() == "a.get {}"
        assert crash() == "Calling one of its tools starts it again."


def test_failed_start_is_retried_in_the_background(tmp_path: Path) -> None:
    late, clock = tmp_path / "late.py", FakeClock()
    servers = StdioServer("late", sys.executable, [str(late), "late", "new"]), plain("a", "get")
    with McpTools(*servers, prefix="never", on_error="skip", clock=clock) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["get"]
        late.write_text((SCRIPTS / "plain.py").read_text())
        assert [tool.name for tool in mcp.tools()] == ["get"]
        clock.advance(1)
        eventually(lambda: [tool.name for tool in mcp.tools()] == ["new", "get"])
        assert by_name(mcp)["new"].call() == "late.new {}"


def test_concurrent_calls_share_a_restart() -> None:
    with McpTools(plain("a", "crash", "pid")) as mcp:
        tools = by_name(mcp)
        with pytest.raises(McpToolError):
            tools["crash"].call()
        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(lambda _: tools["pid"].call(), range(4)))) == 1


@pytest.mark.parametrize(
    ("ends", "started", "wait"),
    [(1, True, 0), (1, False, 1), (2, True, 1), (2, False, 1), (4, True, 4), (9999, True, 60)],
)
def test_wait_is_bounded(ends: int, started: bool, wait: float) -> None:
    assert Reconnect().wait(ends, started=started) == wait


def test_start_cancels_the_wait() -> None:
    attempts = Attempts(Reconnect(first=60), FakeClock())
    attempts.ended(started=False)
    assert attempts.wait == 60
    attempts.started()
    assert attempts.wait == 0
    attempts.ended(started=True)
    assert attempts.wait == 60, "an end before any answer is counted with those before"
