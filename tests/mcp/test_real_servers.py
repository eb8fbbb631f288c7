"""MCP servers of other authors, from PyPI and npm, as processes.

Servers from PyPI are installed in `.venv-servers` by ``make servers``, the one from npm and Node.js in `.venv-foreign`
by ``make foreign``. Tests of missing servers are skipped.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from toolsearch import ChatClient, ToolSearchAdvisor
from toolsearch.mcp import HttpServer, McpToolError, McpTools, StdioServer
from toolsearch.messages import Media, ToolMessage
from toolsearch.testing import ScriptedChatModel
from toolsearch.tools.tool_type import Tool

from .servers import NODE_MODULES, node

ROOT = Path(__file__).parents[2]
PYPI = Path(os.environ.get("TOOLSEARCH_SERVERS_ENV", ROOT / ".venv-servers")) / "bin"
EVERYTHING = NODE_MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"

pytestmark = [pytest.mark.servers]


def from_pypi(name: str, command: str, *arguments: str) -> StdioServer:
    if not (PYPI / command).exists():
        pytest.skip(f"{command} is not in {PYPI.parent.name}; `make servers` installs it")
    return StdioServer(name, str(PYPI / command), arguments)


def everything(mode: str = "stdio") -> list[str]:
    executable = node()
    if executable is None or not EVERYTHING.exists():
        pytest.skip("the reference server is not installed; `make foreign` installs it")
    return [executable, str(EVERYTHING), mode]


def reference_server(**options: Any) -> StdioServer:
    command, *arguments = everything()
    return StdioServer("everything", command, arguments, **options)


def by_name(mcp: McpTools) -> dict[str, Tool]:
    return {tool.name: tool for tool in mcp.tools()}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "a.txt").write_text("one\n")
    subprocess.run([*git, "add", "a.txt"], check=True)
    subprocess.run([*git, "commit", "-qm", "The first commit"], check=True)
    return tmp_path


def test_model_searches_and_calls_python_servers(ask: Any, repository: Path) -> None:
    servers = from_pypi("time", "mcp-server-time"), from_pypi("git", "mcp-server-git")
    model = ScriptedChatModel(
        [
            [("tool_search", {"query": "commit history"}), ("tool_search", {"query": "convert time between zones"})],
            [
                ("git_log", {"repo_path": str(repository)}),
                ("convert_time", {"source_timezone": "Asia/Tokyo", "time": "09:00", "target_timezone": "UTC"}),
                ("git_log", {"repo_path": str(repository / "nowhere")}),
            ],
            "Done.",
        ]
    )
    with McpTools(*servers) as mcp:
        client = ChatClient(model, tools=[mcp], advisors=[ToolSearchAdvisor("bm25")])
        assert ask(client, "What was done, and when?").response.text == "Done."
    log, time, nowhere = [m for m in model.requests[-1].messages if isinstance(m, ToolMessage)][-3:]
    assert "The first commit" in log.text
    assert "T00:00:00" in time.text
    assert nowhere.is_error


def test_reference_server_results_and_progress() -> None:
    progress: list[tuple[Any, ...]] = []
    with McpTools(reference_server(), on_progress=lambda *step: progress.append(step)) as mcp:
        tools = by_name(mcp)
        assert tools["echo"].call({"message": "hé"}) == "Echo: hé"
        assert "3" in str(tools["get-sum"].call({"a": 1, "b": 2}))
        caption, image = tools["get-tiny-image"].call()
        assert "image" in caption
        assert isinstance(image, Media)
        assert image.data.startswith(b"\x89PNG")
        assert '"temperature"' in str(tools["get-structured-content"].call({"location": "Chicago"}))
        assert "demo://" in str(tools["get-resource-links"].call({"count": 2}))
        tools["trigger-long-running-operation"].call({"duration": 0.2, "steps": 2})
    assert [step[:4] for step in progress] == [
        ("everything", "trigger-long-running-operation", done, 2) for done in (1, 2)
    ]


def test_reference_server_adds_a_tool_after_the_handshake(caplog: pytest.LogCaptureFixture) -> None:
    """The tool can only run as a task, so it is left out."""
    added = threading.Event()
    with McpTools(reference_server(), on_tools_changed=lambda name: added.set()) as mcp:
        before = {tool.name for tool in mcp.tools()}
        assert added.wait(20)
        assert {tool.name for tool in mcp.tools()} >= before
    assert "tool=simulate-research-query error='it can only run as a task" in caplog.text


def test_model_calls_the_reference_server(ask: Any) -> None:
    model = ScriptedChatModel([[("get-tiny-image", {}), ("get-sum", {"a": 20, "b": 22})], "Forty-two."])
    with McpTools(reference_server()) as mcp:
        assert ask(ChatClient(model, tools=[mcp]), "Go.").response.text == "Forty-two."
    image, total = (m for m in model.requests[-1].messages if isinstance(m, ToolMessage))
    assert image.media[0].mime_type == "image/png"
    assert "42" in total.text


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the process in /proc")
def test_killed_reference_server_is_restarted() -> None:
    def kill(*_: object) -> None:
        for pid in {p for tasks in Path("/proc/self/task").glob("*/children") for p in tasks.read_text().split()}:
            if str(EVERYTHING).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(int(pid), signal.SIGKILL)

    clock = from_pypi("time", "mcp-server-time")
    with McpTools(reference_server(), clock, on_progress=kill) as mcp:
        tools = by_name(mcp)
        with pytest.raises(McpToolError, match="Server 'everything' stopped while it ran"):
            tools["trigger-long-running-operation"].call({"duration": 300, "steps": 3000})
        assert "UTC" in str(tools["get_current_time"].call({"timezone": "UTC"}))
        assert tools["echo"].call({"message": "back"}) == "Echo: back"


@contextmanager
def over_http(port: int) -> Iterator[None]:
    command = everything("streamableHttp")
    environment = {**os.environ, "PORT": str(port)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "listening on port" in line:
                break
        drain = threading.Thread(target=process.stderr.read)
        drain.start()
        try:
            yield
        finally:
            process.kill()
            drain.join()


def test_reference_server_over_http_is_reached_after_a_restart() -> None:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with McpTools(HttpServer("everything", f"http://127.0.0.1:{port}/mcp"), on_error="skip") as mcp:
        with over_http(port):
            mcp.refresh()
            echo = by_name(mcp)["echo"]
            assert echo.call({"message": "x"}) == "Echo: x"
        with over_http(port):
            assert echo.call({"message": "y"}) == "Echo: y"
