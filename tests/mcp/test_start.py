"""Servers that start slowly or not at all, and arguments that are rejected."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")


from toolsearch.errors import ConfigurationError, MissingExtraError
from toolsearch.mcp import HttpServer, McpServerError, McpTools, StdioServer
from toolsearch.mcp.client import mcp_tools as mcp_tools_module

from .servers import SCRIPTS, eventually, plain, run_python, script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


@pytest.mark.parametrize("first_wait", [0, 0.1])
def test_first_wait_limits_the_first_turn(tmp_path: Path, first_wait: float) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    late = script("late", "rendezvous.py", str(fifo), "r", connect_timeout=300)
    with McpTools(late, plain("a", "get"), on_error="skip", first_wait=first_wait, prefix="never") as mcp:
        assert [tool.name for tool in mcp.tools()] == ["get"]
        assert [status.state for status in mcp.servers] == ["new", "ready"]
        fifo.open("w").close()  # the other end is closed at once, so nothing may be written
        eventually(lambda: [tool.name for tool in mcp.tools()] == ["tool_r", "get"])
        assert [status.state for status in mcp.servers] == ["ready", "ready"]


def test_close_ends_a_starting_server() -> None:
    mute = script("mute", "broken.py", "silent", connect_timeout=300)
    with McpTools(mute, plain("a", "get"), on_error="skip", first_wait=0) as mcp:
        assert [status.state for status in mcp.servers] == ["new", "ready"]
    assert [status.state for status in mcp.servers] == ["closed", "closed"]


def test_failed_start_closes_the_other_servers() -> None:
    mcp = McpTools(plain("good", "get"), script("bad", "broken.py", "dies"), StdioServer("none", "/no/such/command"))
    with pytest.raises(McpServerError) as caught:
        mcp.tools()
    message = str(caught.value)
    assert "MCP server 'bad' did not start" in message
    assert "NO_TOKEN: set the token" in message
    assert "MCP server 'none' did not start: [Errno 2] No such file or directory: '/no/such/command'" in message
    assert [status.state for status in mcp.servers] == ["closed", "failed", "failed"]


def test_failed_start_on_an_event_loop_leaves_no_process() -> None:
    with pytest.raises(McpServerError, match="did not start"):
        asyncio.run(McpTools(script("bad", "broken.py", "dies")).aconnect())


def test_connect_can_be_repeated_after_a_failure(tmp_path: Path) -> None:
    late = tmp_path / "late.py"
    mcp = McpTools(StdioServer("late", sys.executable, [str(late), "late", "get"]))
    with pytest.raises(McpServerError, match=r"can't open file"):
        mcp.connect()
    late.write_text((SCRIPTS / "plain.py").read_text())
    with mcp:
        assert [tool.name for tool in mcp.tools()] == ["get"]


def test_on_error_skip_keeps_the_error(caplog: pytest.LogCaptureFixture) -> None:
    with McpTools(script("bad", "broken.py", "dies"), plain("good", "get"), on_error="skip") as mcp:
        assert [tool.call() for tool in mcp.tools()] == ["good.get {}"]
        assert [status.state for status in mcp.servers] == ["failed", "ready"]
        assert "NO_TOKEN" in str(mcp.servers[0].error)
    assert "NO_TOKEN" in caplog.text


@pytest.mark.parametrize("handshake", ["auto", "legacy"])
def test_silent_server_times_out(handshake: Any) -> None:
    mcp = McpTools(script("mute", "broken.py", "silent", connect_timeout=0.5, handshake=handshake))
    with pytest.raises(McpServerError, match=r"no answer to the handshake within 0\.5 s"):
        mcp.connect()


def test_invalid_output_is_a_failed_start(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(McpServerError, match="MCP server 'noisy' did not start: exit code 0"):
        McpTools(script("noisy", "broken.py", "babbles")).connect()
    assert "JSONRPC" in caplog.text


def test_stderr_is_logged_on_one_line_and_not_shown_on_the_terminal(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with McpTools(script("bad", "broken.py", "dies"), on_error="skip") as mcp:
        assert "NO_TOKEN" in str(mcp.servers[0].error)
    assert capfd.readouterr().err == ""
    (record,) = (r.getMessage() for r in caplog.records if "mcp_server_not_started" in r.getMessage())
    assert "NO_TOKEN" in record
    assert "\n" not in record


def test_secrets_are_not_shown() -> None:
    stdio = StdioServer("a", "/no/such/command", ["--key", "SECRET"], env={"TOKEN": "SECRET"})
    http = HttpServer("b", "http://127.0.0.1:9/mcp", headers={"Authorization": "SECRET"})
    assert "SECRET" not in repr(http)
    assert "TOKEN" not in repr(stdio)
    with pytest.raises(McpServerError) as caught:
        McpTools(stdio).connect()
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: McpTools(plain("a"), plain("a")), "two MCP servers are named 'a'"),
        (lambda: McpTools(plain("a"), prefix="maybe"), "prefix must be"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: McpTools(plain("a"), on_error="ignore"), "on_error must be"),  # type: ignore[arg-type]
        (lambda: McpTools(plain("a"), first_wait=-1), "first_wait must be"),
        (lambda: StdioServer(" ", "x"), "name of an MCP server must be a non-empty string"),
        (lambda: StdioServer("a", "x", "--flag"), "sequence of strings"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: StdioServer("a", "x", timeout=0), "MCP server 'a': timeout must be"),
        (lambda: HttpServer("a", "example.org/mcp"), "http"),
        (lambda: HttpServer("a", 5), "url must start with http"),  # type: ignore[arg-type]
        (lambda: McpTools("uvx x"), r"must be StdioServer or HttpServer objects, got 'uvx x'; write McpTools\(a, b\)"),  # type: ignore[arg-type]
        (lambda: McpTools([plain("a")]), r"HttpServer objects, got \[StdioServer\(.*; write McpTools\(a, b\)"),  # type: ignore[arg-type]
        (lambda: McpTools(StdioServer), "HttpServer objects, got <class .*StdioServer'>; write"),  # type: ignore[arg-type]
        (
            lambda: StdioServer("git", ["uvx", "x"]),  # type: ignore[arg-type]
            r"command must be one string, .*got \['uvx', 'x'\]; write StdioServer\('git', 'uvx', \['x'\]\)",
        ),
        (lambda: StdioServer("git", "uvx x"), r"got 'uvx x'; write StdioServer\('git', 'uvx', \['x'\]\)"),
        (lambda: StdioServer("git", None), r"got None; write StdioServer\('git', 'uvx', \['mcp-server-git'\]\)"),  # type: ignore[arg-type]
        (lambda: StdioServer("a", "x", [1]), r"args\[0\] must be a string, got 1"),  # type: ignore[list-item]
        (lambda: StdioServer("a", "x", 5), "args must be a sequence of strings, got 5"),  # type: ignore[arg-type]
        (lambda: StdioServer("a", "x", env={"PORT": 80}), r"env\['PORT'\] must be a string, got int"),  # type: ignore[dict-item]
        (lambda: HttpServer("a", "http://x", headers={"N": 1}), r"headers\['N'\] must be a string, got int"),  # type: ignore[dict-item]
        (lambda: HttpServer("a", "http://x", headers="N: 1"), "headers must be a mapping of strings, got str; write"),  # type: ignore[arg-type]
        (lambda: StdioServer("a", "x", timeout="5"), "timeout must be more than 0 seconds, got '5'"),  # type: ignore[arg-type]
    ],
)
def test_invalid_arguments_are_rejected(make: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make()


def test_command_may_be_a_path_with_spaces(tmp_path: Path) -> None:
    command = tmp_path / "my server"
    command.touch()
    assert StdioServer("a", str(command)).command == str(command)


def test_missing_sdk_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_tools_module.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"toolsearch\[mcp\]"):
        McpTools(plain("a"))


def test_import_does_not_load_the_sdk() -> None:
    done = run_python(
        "import sys; from toolsearch.mcp import McpTools, StdioServer; McpTools(StdioServer('a', 'x'));"
        "print([m for m in ('mcp', 'mcp_types', 'anyio', 'httpx2') if m in sys.modules])"
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_no_servers_are_no_tools() -> None:
    """A list of servers from a configuration can be empty."""
    with McpTools() as mcp:
        assert mcp.tools() == ()
        assert mcp.servers == ()


WHO = """
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("who")

@server.tool()
def who(ctx: Context) -> str:
    return ctx.session.client_params.client_info.name

server.run()
"""


def test_servers_see_the_name_of_this_library() -> None:
    with McpTools(StdioServer("who", sys.executable, ["-c", WHO])) as mcp:
        assert "toolsearch" in str(mcp.tools()[0].call())
