"""Servers of other frameworks as processes: each framework, transport and protocol against each scenario.

``make foreign`` installs the frameworks into `.venv-foreign`. Tests of missing ones are skipped.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import pytest

pytest.importorskip("mcp")

from toolsearch import ChatClient
from toolsearch.mcp import HttpServer, McpToolError, McpTools, ServerStatus, StdioServer
from toolsearch.messages import Media, ToolMessage
from toolsearch.testing import ScriptedChatModel
from toolsearch.tools.tool_type import Tool

from .servers import FOREIGN, NODE_MODULES, SCRIPTS, Fifo, eventually, free_port, node

PYTHON_SCRIPT = SCRIPTS / "foreign" / "python_server.py"
TYPESCRIPT_SCRIPT = SCRIPTS / "foreign" / "typescript_server.cjs"

pytestmark = [pytest.mark.servers]

# The environment and the argument of the script.
PYTHON_FRAMEWORKS = {
    "sdk1": ("sdk1", "sdk1"),
    "sdk2": ("sdk2", "sdk2"),
    "fastmcp3": ("sdk1", "fastmcp"),
    "fastmcp4": ("sdk2", "fastmcp"),
}
FRAMEWORKS = (*PYTHON_FRAMEWORKS, "typescript")
# It speaks the protocol of 2026 and, as FastMCP 4, which is built on it, the older one.
MODERN = "sdk2"


class Way(NamedTuple):
    """One framework, reached over one transport with one protocol."""

    framework: str
    transport: str
    handshake: str

    @property
    def name(self) -> str:
        return "-".join(self)


WAYS = [
    Way(framework, transport, handshake)
    for framework in FRAMEWORKS
    for transport in ("stdio", "http", "sse")
    for handshake in (("auto", "legacy") if framework == MODERN and transport != "sse" else ("auto",))
]


def missing(framework: str) -> str | None:
    """Return why the servers of a framework cannot be started."""
    if framework in PYTHON_FRAMEWORKS:
        there = (FOREIGN / PYTHON_FRAMEWORKS[framework][0] / "bin" / "python").exists()
    else:
        there = node() is not None and (NODE_MODULES / "@modelcontextprotocol" / "sdk").exists()
    return None if there else f"{framework} is not in {FOREIGN.name}; `make foreign` installs it"


def command(framework: str) -> list[str]:
    if framework == "typescript":
        return [str(node()), str(TYPESCRIPT_SCRIPT)]
    environment, argument = PYTHON_FRAMEWORKS[framework]
    return [str(FOREIGN / environment / "bin" / "python"), str(PYTHON_SCRIPT), argument]


@contextmanager
def over_http(framework: str, port: int) -> Iterator[threading.Event]:
    """Start a server; the event says that it listens."""
    listening = threading.Event()
    environment = {**os.environ, "NODE_PATH": str(NODE_MODULES), "NO_COLOR": "1"}
    with subprocess.Popen(
        [*command(framework), str(port)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None

        def read(lines: Any = process.stderr) -> None:
            for line in lines:
                if "running on" in line.lower():
                    listening.set()
            listening.set()

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield listening
        finally:
            process.kill()
            reader.join()


def definition(way: Way, port: int) -> StdioServer | HttpServer:
    options: dict[str, Any] = {"handshake": way.handshake}
    if way.transport == "stdio":
        executable, *arguments = command(way.framework)
        return StdioServer(way.name, executable, arguments, env={"NODE_PATH": str(NODE_MODULES)}, **options)
    if way.transport == "sse":
        return HttpServer(way.name, f"http://127.0.0.1:{port}/sse", transport="sse", **options)
    return HttpServer(way.name, f"http://127.0.0.1:{port}/mcp", **options)


class Servers(NamedTuple):
    """All servers of the module, started at the same time."""

    tools: Callable[[], dict[tuple[str, str], Tool]]
    status: Callable[[], dict[str, ServerStatus]]
    progress: list[tuple[Any, ...]]
    changed: list[str]
    provider: McpTools


@pytest.fixture(scope="module")
def mcp() -> Iterator[Servers]:
    present = [framework for framework in FRAMEWORKS if missing(framework) is None]
    with ExitStack() as stack:
        ports = {framework: free_port() for framework in present}
        # All start at the same time.
        for listening in [stack.enter_context(over_http(framework, port)) for framework, port in ports.items()]:
            assert listening.wait(60)
        servers = [definition(way, ports[way.framework]) for way in WAYS if way.framework in present]
        progress: list[tuple[Any, ...]] = []
        changed: list[str] = []
        provider = stack.enter_context(
            McpTools(
                *servers,
                prefix="always",
                on_error="skip",
                first_wait=60,
                on_progress=lambda *step: progress.append(step),
                on_tools_changed=changed.append,
            )
        )
        yield Servers(
            lambda: {(tool.source, tool.original_name): tool for tool in provider.tools()},
            lambda: {status.name: status for status in provider.servers},
            progress,
            changed,
            provider,
        )


class Reached(NamedTuple):
    """One server of the module."""

    way: Way
    servers: Servers

    def tool(self, name: str) -> Tool:
        return self.servers.tools()[self.way.name, name]

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.tool(tool).call(arguments)

    @property
    def status(self) -> ServerStatus:
        return self.servers.status()[self.way.name]


@pytest.fixture(params=WAYS, ids=lambda way: way.name)
def reached(request: pytest.FixtureRequest, mcp: Servers) -> Reached:
    way: Way = request.param
    if (reason := missing(way.framework)) is not None:
        pytest.skip(reason)
    return Reached(way, mcp)


OWN = {"echo", "weather", "picture", "documents", "nothing", "large", "explode", "refuse", "count", "wait", "grow"}


def test_server_is_ready_with_all_its_tools(reached: Reached) -> None:
    """Several list their tools in pages."""
    assert (reached.status.state, reached.status.error) == ("ready", None)
    assert {name for server, name in reached.servers.tools() if server == reached.way.name} >= OWN
    assert reached.status.instructions == "Ask for the weather before you paint."


def test_title_annotations_and_schemas_are_kept(reached: Reached) -> None:
    echo, weather = reached.tool("echo"), reached.tool("weather")
    assert (echo.description, echo.search_text, echo.concurrent) == ("Return the text.", "Say it again", True)
    assert echo.annotations is not None
    assert (echo.annotations["readOnlyHint"], echo.annotations["openWorldHint"]) == (True, False)
    assert echo.parameters["required"] == ["text"]
    assert weather.output_schema is not None
    assert set(weather.output_schema["properties"]) == {"city", "celsius"}
    assert weather.concurrent is False


@pytest.mark.parametrize("said", ["", "hé", "日本語 🎉 \u202e", '{"a": 1}', "two\nlines\r\n\x00", " " * 9])
def test_text_arrives_unchanged(said: str, reached: Reached) -> None:
    assert (reached.call("echo", text=said) or "") == said


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
def test_half_an_emoji_is_replaced(transport: str, mcp: Servers) -> None:
    """JavaScript cuts strings between the two halves of a character."""
    if (reason := missing("typescript")) is not None:
        pytest.skip(reason)
    assert mcp.tools()[Way("typescript", transport, "auto").name, "half"].call() == "cut \ufffd"


def test_structured_content_arrives_once(reached: Reached) -> None:
    import json

    got = reached.call("weather", city="Zürich")
    assert (json.loads(got) if isinstance(got, str) else got) == {"city": "Zürich", "celsius": 21.5}


def test_media_arrive_decoded(reached: Reached) -> None:
    caption, image, audio = reached.call("picture")
    assert caption == "a caption"
    assert (image.mime_type, image.data) == ("image/png", b"\x89PNG\r\n\x1a\n rest")
    assert (audio.mime_type, audio.data) == ("audio/wav", b"RIFF")


def test_resources_and_links_arrive(reached: Reached) -> None:
    text, image = reached.call("documents")
    assert text == "inside\nc: file:///c.txt"
    assert isinstance(image, Media)
    assert image.mime_type == "image/png"


def test_no_result_is_none(reached: Reached) -> None:
    assert reached.call("nothing") is None


def test_large_result_arrives(reached: Reached) -> None:
    """The SDK's client reads events of at most 1,048,576 bytes."""
    assert reached.call("large", size=600_000) == "ü" * 600_000


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("refuse", {"why": "out of paint"}, "out of paint"),
        ("explode", {}, "explode"),  # the newest SDK hides the text of exceptions
        ("echo", {"text": 5.5}, "text"),
    ],
)
def test_errors_are_told(tool: str, arguments: Any, told: str, reached: Reached) -> None:
    run = reached.tool(tool)
    assert run.fn is not None
    with pytest.raises(McpToolError) as caught:
        run.fn(**arguments)  # without our own validation
    assert told in str(caught.value)
    assert reached.status.state == "ready"


def test_progress_is_reported(reached: Reached) -> None:
    before = len(reached.servers.progress)
    assert reached.call("count", to=3) == "counted"
    steps = [(reached.way.name, "count", number, 3, f"step {number}") for number in (1, 2, 3)]
    eventually(lambda: reached.servers.progress[before:] == steps)


def test_cancelled_call_is_cancelled_on_the_server(fifo: Fifo, reached: Reached) -> None:
    wait = reached.tool("wait")

    async def cancel() -> None:
        call = asyncio.create_task(wait.acall({"fifo": fifo.name}))
        assert await asyncio.to_thread(fifo.line) == "started"
        call.cancel()
        await asyncio.wait([call])
        assert call.cancelled()

    asyncio.run(cancel())
    assert fifo.line() == "cancelled"
    assert reached.call("echo", text="still there") == "still there"


def test_added_tool_is_noticed(reached: Reached) -> None:
    before = reached.servers.changed.count(reached.way.name)
    name = f"new_{WAYS.index(reached.way)}"
    assert reached.call("grow", name=name) == "grown"
    eventually(lambda: reached.servers.changed.count(reached.way.name) > before)
    eventually(lambda: (reached.way.name, name) in reached.servers.tools())
    assert reached.call(name) == "fresh"


def test_calls_run_at_the_same_time(reached: Reached) -> None:
    echo = reached.tool("echo")

    async def call() -> list[object]:
        return await asyncio.gather(*(echo.acall({"text": str(n)}) for n in range(5)))

    assert asyncio.run(call()) == [str(n) for n in range(5)]


def test_model_calls_tools_of_all_servers(mcp: Servers) -> None:
    ways = [way.name for way in WAYS if missing(way.framework) is None]
    if not ways:
        pytest.skip(str(missing("sdk1")))
    tools = mcp.tools()
    calls = [(tools[way, "weather"].name, {"city": way}) for way in ways]
    model = ScriptedChatModel([calls, "Warm."])
    client = ChatClient(model, tools=[mcp.provider])
    assert client.call("How warm is it?").text == "Warm."
    results = [m for m in model.requests[-1].messages if isinstance(m, ToolMessage)][-len(ways) :]
    assert all(way in m.text and "21.5" in m.text for way, m in zip(ways, results, strict=True))
