"""Calls that fail because of an error, a timeout or a server that stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp")


from toolsearch import ChatClient
from toolsearch.mcp import McpToolError, McpTools, Reconnect, StdioServer
from toolsearch.testing import FakeClock, ScriptedChatModel

from .servers import SCRIPTS, Fifo, by_name, plain, script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


def test_server_stays_usable_after_a_timeout() -> None:
    with McpTools(plain("a", "get", "hang", timeout=0.2)) as mcp:
        with pytest.raises(McpToolError, match=r"Tool 'hang' of server 'a' did not answer within 0\.2 s"):
            by_name(mcp)["hang"].call()
        assert by_name(mcp)["get"].call() == "a.get {}"


def test_protocol_error_has_the_message_of_the_server() -> None:
    with (
        McpTools(plain("a", "refuse")) as mcp,
        pytest.raises(McpToolError, match="Server 'a' refused the call of 'refuse': I would rather not"),
    ):
        by_name(mcp)["refuse"].call()


def test_crash_affects_only_the_tools_of_its_server() -> None:
    with McpTools(plain("a", "crash", "get"), plain("b", "other"), prefix="never", reconnect=None) as mcp:
        tools = by_name(mcp)
        with pytest.raises(McpToolError) as crash:
            tools["crash"].call()
        assert str(crash.value) == (
            "Server 'a' stopped while it ran 'crash' (exit code 3). The call may or may not have taken effect. "
            "Its tools cannot be used now."
        )
        with pytest.raises(McpToolError) as gone:
            tools["get"].call()
        assert str(gone.value) == "Server 'a' is not running (exit code 3). Its tools cannot be used now."
        assert tools["other"].call() == "b.other {}"
        assert list(by_name(mcp)) == ["crash", "get", "other"]
        stopped = mcp.servers[0]
        assert stopped.state == "stopped"
        assert stopped.error is not None
        assert stopped.error == ("MCP server 'a' stopped: exit code 3; its stderr ends with:\na: about to crash")
        mcp.refresh()
        assert tools["get"].call() == "a.get {}"
        assert mcp.servers[0].error is None


def test_killed_server_is_reported_with_its_signal() -> None:
    with McpTools(plain("a", "pid", "get"), reconnect=None) as mcp:
        tools = by_name(mcp)
        os.kill(int(str(tools["pid"].call())), signal.SIGKILL)
        with pytest.raises(McpToolError, match=r"Server 'a' (stopped|is not running)"):
            tools["get"].call()
        with pytest.raises(McpToolError, match=r"Server 'a' is not running \(killed by signal 9\)\. "):
            asyncio.run(tools["get"].acall())
        assert mcp.servers[0].error == "MCP server 'a' stopped: killed by signal 9"


def test_stderr_is_not_shown_to_the_model(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "toolsearch.mcp")
    model = ScriptedChatModel([[("crash", {})], [("get", {})], "It is gone."])
    with McpTools(plain("a", "crash", "get"), reconnect=None) as mcp:
        reply = ChatClient(model, tools=[mcp]).call("Go.")
    assert "about to crash" not in str(reply.messages)
    assert [(r.levelname, r.getMessage()) for r in caplog.records if r.name == "toolsearch.mcp"] == [
        ("WARNING", "toolsearch.mcp_server_stopped server=a reason='exit code 3'"),
        ("DEBUG", "toolsearch.mcp_server_stderr server=a stderr='a: about to crash'"),
    ]


def test_failed_start_does_not_show_stderr_to_the_model(tmp_path: Path) -> None:
    late, clock = tmp_path / "late.py", FakeClock()
    late.write_text((SCRIPTS / "plain.py").read_text())
    server = StdioServer("late", sys.executable, [str(late), "late", "crash"])
    with McpTools(server, reconnect=Reconnect(first=60), clock=clock) as mcp:
        (crash,) = mcp.tools()
        late.write_text("raise SystemExit('NO_TOKEN')")
        with pytest.raises(McpToolError):
            crash.call()
        with pytest.raises(McpToolError) as caught:
            crash.call()
        assert str(caught.value) == (
            "Server 'late' is not running (exit code 1). Its tools cannot be used now. "
            "It can be started again in 60.0 s."
        )
        assert str(mcp.servers[0].error).endswith("its stderr ends with:\nNO_TOKEN")


def test_timed_out_call_is_cancelled_in_the_server(fifo: Fifo) -> None:
    with McpTools(script("kit5", "kit.py", timeout=0.5), plain("b", "get"), prefix="never") as mcp:
        tools = by_name(mcp)
        with pytest.raises(McpToolError, match=r"did not answer within 0\.5 s\. The call was cancelled"):
            tools["wait"].call({"fifo": fifo.name})
        assert [fifo.line(), fifo.line()] == ["started", "cancelled"]
        assert tools["echo"].call({"text": "still there"}) == "still there"
        assert tools["get"].call() == "b.get {}"
