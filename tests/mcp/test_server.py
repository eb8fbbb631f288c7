"""`McpServer` in real processes, over stdio and HTTP, with the clients of this library and of the SDK."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from toolsearch import ChatClient, Media, Tool
from toolsearch.errors import ConfigurationError, DuplicateToolError, MissingExtraError
from toolsearch.mcp import (
    HttpServer,
    McpServer,
    McpToolError,
    McpTools,
    Reconnect,
    StdioServer,
    report_progress,
    serve_mcp,
)
from toolsearch.mcp.server import server as serve_module
from toolsearch.testing import ScriptedChatModel

SCRIPTS = Path(__file__).parents[1] / "mcp_servers"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


def served(**options: Any) -> StdioServer:
    return StdioServer("served", sys.executable, [str(SCRIPTS / "served.py")], **options)


def by_name(mcp: McpTools) -> dict[str, Tool]:
    return {tool.name: tool for tool in mcp.tools()}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(port: int, script: str = "served.py", *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a script as an HTTP server on `port`; the block starts when the server listens."""
    command = [sys.executable, str(SCRIPTS / script), *arguments, str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "running on" in line:
                break
        drain = threading.Thread(target=process.stderr.read)
        drain.start()
        try:
            yield process
        finally:
            process.kill()
            drain.join()


@pytest.fixture(scope="module", params=["stdio", "stdio, old protocol", "http", "http, old protocol"])
def mcp(request: pytest.FixtureRequest) -> Iterator[McpTools]:
    """`McpTools` over `McpServer`, for each transport and protocol."""
    handshake: Any = "legacy" if "old" in request.param else "auto"
    progress: list[Any] = []
    if request.param.startswith("stdio"):
        with McpTools(served(handshake=handshake), on_progress=lambda *step: progress.append(step)) as tools:
            tools.progress = progress  # type: ignore[attr-defined]  # wrong on purpose
            yield tools
    else:
        with running(port := free_port()):
            server = HttpServer("served", f"http://127.0.0.1:{port}/mcp", handshake=handshake)
            with McpTools(server, on_progress=lambda *step: progress.append(step)) as tools:
                tools.progress = progress  # type: ignore[attr-defined]  # wrong on purpose
                yield tools


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("greet", {"name": "Zoë 法"}, "hello Zoë 法"),
        ("weather", {"city": "Delft"}, '{"city":"Delft","degrees":21}'),
        ("picture", {}, ["a caption", Media("image/png", b"png bytes")]),
        ("files", {}, ["a.png: https://x.test/a.png", Media("audio/wav", b"wav"), Media("application/pdf", b"pdf")]),
        ("nothing", {}, "Done"),
    ],
)
def test_results_reach_the_client(mcp: McpTools, tool: str, arguments: dict[str, Any], expected: object) -> None:
    assert by_name(mcp)[tool].call(arguments) == expected


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("fail", {"why": "no luck"}, r"^RuntimeError: no luck$"),
        ("greet", {"nam": "x"}, r"^Invalid arguments for greet:\n- 'name': required, but missing"),
        ("greet", {"name": "x", "times": "many"}, "'times'"),
    ],
)
def test_errors_say_what_to_change(mcp: McpTools, tool: str, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(McpToolError, match=words):
        by_name(mcp)[tool].call(arguments)


def test_definitions_equal_those_for_models(mcp: McpTools) -> None:
    greet = by_name(mcp)["greet"]
    assert greet.description == "Say hello."
    assert greet.parameters == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "whom to greet."},
            "times": {"type": "integer", "default": 1},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert (mcp.servers[0].title, mcp.servers[0].version) == ("served", "7")


def test_read_only_annotations_come_from_the_predicate(mcp: McpTools) -> None:
    assert {tool.name for tool in mcp.tools() if tool.concurrent} == {"greet", "alone"}


def test_tools_get_the_context_of_the_server(mcp: McpTools) -> None:
    assert '"tenant": "acme"' in str(by_name(mcp)["context"].call())
    assert '"call": true' in str(by_name(mcp)["context"].call())


def test_progress_reports_from_threads_and_the_event_loop(mcp: McpTools) -> None:
    progress: list[Any] = mcp.progress  # type: ignore[attr-defined]  # wrong on purpose
    progress.clear()
    assert by_name(mcp)["slow_count"].call({"steps": 3}) == "toolsearch-worker"  # a worker thread
    assert by_name(mcp)["count"].call({"steps": 2}) == "counted"
    assert progress == [
        *(("served", "slow_count", step, 3, f"step {step}") for step in (1, 2, 3)),
        *(("served", "count", step, 2, None) for step in (1, 2)),
    ]


def test_calls_of_a_nonconcurrent_tool_do_not_overlap(mcp: McpTools) -> None:
    async def use() -> list[object]:
        alone = by_name(mcp)["alone"]
        return await asyncio.gather(*(alone.acall() for _ in range(4)))

    assert asyncio.run(use()) == ["1"] * 4


def test_cancellation_reaches_the_tool(mcp: McpTools, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    async def use() -> list[str]:
        call = asyncio.create_task(by_name(mcp)["wait"].acall({"fifo": str(fifo)}))
        with await asyncio.to_thread(fifo.open) as lines:
            started = await asyncio.to_thread(lines.readline)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            return [started, await asyncio.to_thread(lines.readline)]

    assert asyncio.run(use()) == ["started\n", "cancelled\n"]


def test_clients_are_notified_of_changed_tools(mcp: McpTools) -> None:
    tools = by_name(mcp)
    assert "fresh" not in tools
    tools["grow"].call()
    wait_until(mcp, "fresh", there=True)
    assert by_name(mcp)["fresh"].call() == "fresh"
    tools["shrink"].call()
    wait_until(mcp, "fresh", there=False)


def wait_until(mcp: McpTools, name: str, *, there: bool) -> None:
    """Wait for a tool to appear or disappear; the notification may come after the result of the call."""
    pause = threading.Event()
    for _ in range(2000):
        if (name in by_name(mcp)) == there:
            return
        pause.wait(0.01)
    raise AssertionError(f"{name} did not appear or disappear")


def test_removed_tool_is_an_unknown_tool(mcp: McpTools) -> None:
    tools = by_name(mcp)
    tools["grow"].call()
    wait_until(mcp, "fresh", there=True)
    fresh = by_name(mcp)["fresh"]
    tools["shrink"].call()
    with pytest.raises(McpToolError, match="There is no tool 'fresh'"):
        fresh.call()


def test_model_calls_served_tools(mcp: McpTools, ask: Any) -> None:
    model = ScriptedChatModel([[("weather", {"city": "Gouda"}), ("greet", {"name": "Ann"})], "Done."])
    assert ask(ChatClient(model, tools=[mcp]), "Go.").response.text == "Done."
    assert [message.text for message in model.requests[1].messages[-2:]] == [
        '{"city":"Gouda","degrees":21}',
        "hello Ann",
    ]


# ---------------------------------------------------------------------- the wire


def speak(process: subprocess.Popen[bytes], *messages: bytes) -> bytes:
    """Write messages and return the answer to the last one."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"\n".join(messages) + b"\n")
    process.stdin.flush()
    ready, _, _ = select.select([process.stdout], [], [], 20)
    assert ready
    return process.stdout.readline()


def test_print_goes_to_stderr_and_metadata_is_not_sent() -> None:
    initialize = (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    )
    with subprocess.Popen(
        [sys.executable, str(SCRIPTS / "served.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        hello = speak(process, initialize)
        assert b'"listChanged":true' in hello
        assert b'"instructions":"Ask nicely."' in hello
        listed = speak(
            process,
            b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
            b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}',
        )
        assert b"_meta" not in listed
        assert b"served.py" not in listed
        result = speak(
            process,
            b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"greet","arguments":{"name":"x"}}}',
        )
        assert b'"text":"hello x"' in result
        assert b"_meta" not in result
        rest, printed = process.communicate(timeout=30)
        assert rest == b""
        assert b"this must not reach the client" in printed
        assert process.returncode == 0


def test_sdk_client_over_http() -> None:
    from mcp import Client

    async def use(url: str) -> None:
        async with Client(url) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"greet", "weather", "grow"} <= names
            result = await client.call_tool("picture", {})
            assert [block.type for block in result.content] == ["text", "image"]
            unknown = await client.call_tool("gret", {})
            assert unknown.is_error
            assert "Did you mean 'greet'" in unknown.content[0].text

    with running(port := free_port()):
        asyncio.run(use(f"http://127.0.0.1:{port}/mcp"))


def test_tools_changed_works_from_a_thread() -> None:
    from mcp import Client

    class Provider:
        extra: tuple[Tool, ...] = ()

        def tools(self) -> tuple[Tool, ...]:
            return self.extra

    async def use() -> list[str]:
        provider = Provider()
        server = McpServer(provider)
        async with Client(server._sdk_server()) as client, client.listen(tools_list_changed=True) as changes:
            assert (await client.list_tools()).tools == []
            provider.extra = (Tool("new", fn=lambda: "n"),)
            await asyncio.to_thread(server.tools_changed)
            async for _ in changes:
                break
            return [tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools]

    assert asyncio.run(use()) == ["new"]


def test_server_continues_after_a_provider_fails() -> None:
    from mcp import Client, MCPError

    async def use() -> None:
        server = McpServer(McpTools(StdioServer("none", "/no/such/command")))
        async with Client(server._sdk_server()) as client:
            text = "A server that provides tools cannot be used now."
            with pytest.raises(MCPError, match=f"^The tools cannot be listed. {text}$"):
                await client.list_tools()
            result = await client.call_tool("x", {})
            assert (result.is_error, result.content[0].text) == (True, text)

    asyncio.run(use())


# ---------------------------------------------------------------------- HTTP servers that restart


@pytest.mark.parametrize(("script", "handshake"), [("served.py", "auto"), ("kit.py", "legacy")])
def test_killed_http_server_is_reached_again(handshake: Any, script: str, tmp_path: Path) -> None:
    fifo, port = tmp_path / "fifo", free_port()
    os.mkfifo(fifo)
    tool, arguments, expected = {
        "served.py": ("greet", {"name": "x"}, "hello x"),
        "kit.py": ("echo", {"text": "x"}, "x"),
    }[script]
    name = ("kit",) if script == "kit.py" else ()
    server = HttpServer("web", f"http://127.0.0.1:{port}/mcp", handshake=handshake)
    # The first start fails, so an end without an answer would cause a wait.
    with McpTools(server, on_error="skip", reconnect=Reconnect(first=0)) as mcp:
        with running(port, script, *name) as process:
            mcp.refresh()
            tools = by_name(mcp)

            def kill() -> None:
                with fifo.open() as lines:
                    lines.readline()
                process.send_signal(signal.SIGKILL)

            killer = threading.Thread(target=kill)
            killer.start()
            with pytest.raises(McpToolError, match=r"gave no answer to the call of 'wait'.*may or may not"):
                tools["wait"].call({"fifo": str(fifo)})
            killer.join()
        with running(port, script, *name):
            assert tools[tool].call(arguments) == expected
            assert [t.name for t in mcp.tools()] == list(tools)


def test_lost_session_is_reopened_without_an_error() -> None:
    port = free_port()
    with McpTools(HttpServer("web", f"http://127.0.0.1:{port}/mcp", handshake="legacy"), on_error="skip") as mcp:
        with running(port):
            mcp.refresh()
            greet = by_name(mcp)["greet"]
            assert greet.call({"name": "x"}) == "hello x"
        with running(port):
            assert greet.call({"name": "y"}) == "hello y"
            assert mcp.servers[0].state == "ready"


# ---------------------------------------------------------------------- gateway


@pytest.fixture(params=["stdio", "stdio, old protocol", "http", "http, old protocol"])
def users(request: pytest.FixtureRequest) -> Iterator[list[HttpServer | StdioServer]]:
    """The servers of the users of a gateway: one over stdio, two over HTTP."""
    handshake: Any = "legacy" if "old" in request.param else "auto"
    if request.param.startswith("stdio"):
        yield [StdioServer("gateway", sys.executable, [str(SCRIPTS / "gateway.py")], handshake=handshake)]
    else:
        with running(port := free_port(), "gateway.py"):
            url = f"http://127.0.0.1:{port}/mcp"
            yield [HttpServer("gateway", url, {"x-user": user}, handshake=handshake) for user in ("ann", "bob")]


def test_gateway_sessions_are_isolated(users: list[Any]) -> None:
    with McpTools(users[0]) as ann, McpTools(users[-1]) as bob:
        assert list(by_name(ann)) == ["tool_search", "whoami"] == list(by_name(bob))
        found = str(by_name(ann)["tool_search"].call({"query": "weather"}))
        assert "- get_weather: Current weather in a city." in found
        wait_until(ann, "get_weather", there=True)
        assert list(by_name(ann))[:3] == ["tool_search", "whoami", "get_weather"]
        assert by_name(ann)["get_weather"].call({"city": "Delft"}) == "rain in Delft"
        assert by_name(ann)["whoami"].call() == "the gateway"
        assert list(by_name(bob)) == ["tool_search", "whoami"]
        with pytest.raises(McpToolError, match="'query': required"):
            by_name(bob)["tool_search"].call()


def test_gateway_without_sessions_lists_all_tools() -> None:
    with (
        running(port := free_port(), "gateway.py"),
        McpTools(HttpServer("gateway", f"http://127.0.0.1:{port}/mcp")) as mcp,
    ):
        names = list(by_name(mcp))
        assert len(names) == 43
        assert "tool_search" not in names
        assert by_name(mcp)["send_mail"].call({"to": "ann"}) == "sent to ann"


def test_gateway_reveals_a_tool_that_is_called_unrevealed() -> None:
    from mcp import Client

    async def use() -> list[tuple[bool, str]]:
        def add(a: int) -> int:
            "Add one."
            return a + 1

        server = McpServer([add, Tool("other")], tool_search="regex")
        async with Client(server._sdk_server()) as client:
            calls = [("add", {"a": 1}), ("add", {"a": 1}), ("ad", {})]
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
            names = [tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools]
            assert names == ["tool_search", "add"]
            return [(result.is_error, result.content[0].text) for result in results]

    loaded, called, unknown = asyncio.run(use())
    assert not loaded[0]
    assert "was not in your tool list and has not been run" in loaded[1]
    assert called == (False, "2")
    assert unknown[0]
    assert "Did you mean 'add'" in unknown[1]


# ---------------------------------------------------------------------- configuration


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: McpServer([1]), "does not have tools"),
        (lambda: McpServer([], name=" "), "name must be a non-empty string"),
        (lambda: serve_mcp([], transport="carrier pigeon"), "transport must be"),  # type: ignore[arg-type]
    ],
)
def test_invalid_arguments_are_rejected(make: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make()


def test_duplicate_names_are_rejected() -> None:
    with pytest.raises(DuplicateToolError, match="two tools have the name 'a'"):
        McpServer([Tool("a"), Tool("a")])


def test_missing_sdk_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_module.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"toolsearch\[mcp\]"):
        McpServer([])


def test_progress_outside_a_call_does_nothing() -> None:
    report_progress(1, 2, "no one asked")
