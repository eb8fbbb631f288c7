"""MCP servers as a source of tools: real processes, used from plain code, event loops and threads."""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("mcp")

from hypothesis import given
from hypothesis import strategies as st

from toolsearch import ChatClient
from toolsearch.errors import ConfigurationError, DuplicateToolError, MissingExtraError
from toolsearch.mcp import HttpServer, McpServerError, McpToolError, McpTools, Reconnect, StdioServer
from toolsearch.mcp.client import mcp_tools as mcp_tools_module
from toolsearch.mcp.client.prefixes import public_names
from toolsearch.mcp.client.reconnect import Attempts
from toolsearch.mcp.client.results import convert_result
from toolsearch.messages import Media, ToolMessage
from toolsearch.testing import FakeClock, ScriptedChatModel
from toolsearch.tools.tool import Tool, ToolContext

SCRIPTS = Path(__file__).parents[1] / "mcp_servers"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


def script(name: str, file: str, *arguments: str, **options: Any) -> StdioServer:
    return StdioServer(name, sys.executable, [str(SCRIPTS / file), *arguments], **options)


def plain(name: str, *tools: str, **options: Any) -> StdioServer:
    return script(name, "plain.py", name, *tools, **options)


def by_name(mcp: McpTools) -> dict[str, Tool]:
    return {tool.name: tool for tool in mcp.tools()}


def eventually(holds: Callable[[], bool]) -> None:
    """Look again until it holds; in between, other threads get a chance."""
    deadline, pause = time.monotonic() + 20, threading.Event()
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        pause.wait(0.01)


class Fifo:
    """A named pipe that a server writes lines to; reading one waits, but not for ever."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.name = str(path)
        self._fd = os.open(path, os.O_RDWR)  # so that neither opening nor the end of a writer matters
        self._read = b""

    def line(self) -> str:
        while b"\n" not in self._read:
            ready, _, _ = select.select([self._fd], [], [], 20)
            assert ready, "nothing was written"
            self._read += os.read(self._fd, 1000)
        line, _, self._read = self._read.partition(b"\n")
        return line.decode()

    def close(self) -> None:
        os.close(self._fd)


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Fifo]:
    with closing(Fifo(tmp_path / "fifo")) as pipe:
        yield pipe


def children() -> set[int]:
    return {int(pid) for tasks in Path("/proc/self/task").glob("*/children") for pid in tasks.read_text().split()}


@pytest.fixture(autouse=True)
def _nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test gives back the processes and threads it started."""
    if "kit" in request.fixturenames:  # shared by the module
        yield
        return
    threads, processes = set(threading.enumerate()), children()
    yield
    for thread in set(threading.enumerate()) - threads:
        if thread.name.startswith("asyncio-waitpid"):  # ends when its process is reaped
            thread.join(20)
    left = {thread.name for thread in set(threading.enumerate()) - threads}
    assert {name for name in left if not name.startswith("Trio thread")} == set()  # trio keeps a few for later
    if Path("/proc/self/task").exists():
        assert children() - processes == set()


@pytest.fixture(scope="module")
def kit() -> Iterator[McpTools]:
    with McpTools(script("kit", "kit.py", env={"KIT_COLOUR": "blue"}, cwd=SCRIPTS)) as mcp:
        yield mcp


# ---------------------------------------------------------------------- results


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("echo", {"text": "héllo 法令 \U0001f600"}, "héllo 法令 \U0001f600"),
        ("add", {"a": 2}, {"sum": 3}),
        ("picture", {}, ["a caption", Media("image/png", b"png bytes")]),
        ("sound", {}, Media("audio/wav", b"wav")),
        ("documents", {}, "inside the file\nb: file:///b.txt"),
        ("nothing", {}, None),
        ("arguments", {"self": "x", "type": "y"}, "x/y"),
        ("environment", {"name": "KIT_COLOUR"}, "blue"),
        ("cwd", {}, str(SCRIPTS)),
    ],
)
def test_result_is_the_same_from_plain_code_and_from_a_loop(
    kit: McpTools, tool: str, arguments: dict[str, Any], expected: object
) -> None:
    assert by_name(kit)[tool].call(arguments) == expected
    assert asyncio.run(by_name(kit)[tool].acall(arguments)) == expected


def test_error_result_is_raised_with_the_text_of_the_server(kit: McpTools) -> None:
    with pytest.raises(McpToolError, match=r"^the disk is full$"):
        by_name(kit)["fail"].call({"why": "the disk is full"})


def test_unfit_arguments_are_answered_by_the_server(kit: McpTools) -> None:
    with pytest.raises(McpToolError, match="a"):
        by_name(kit)["add"].call({"a": "two"})


def test_environment_is_not_inherited(kit: McpTools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_APPLICATION", "1")
    with McpTools(script("other", "kit.py")) as mcp:
        assert by_name(mcp)["environment"].call({"name": "SECRET_OF_THE_APPLICATION"}) == "unset"


def test_context_of_the_application_is_not_sent(kit: McpTools) -> None:
    meta = by_name(kit)["meta"].call({}, ToolContext({"user_id": "u-77"}, tool_call_id="call_9", session_id="s-5"))
    assert all(secret not in meta for secret in ("u-77", "user_id", "call_9", "s-5"))


def test_media_that_is_not_base64_becomes_a_note() -> None:
    from mcp_types import CallToolResult, ImageContent

    result = CallToolResult(content=[ImageContent(data="~~~", mime_type="image/png")])
    assert convert_result(result, server="s", tool="t") == "[image/png: 3 characters that are not base64]"


def test_binary_resource_becomes_media() -> None:
    from mcp_types import BlobResourceContents, CallToolResult, EmbeddedResource

    blob = BlobResourceContents(uri="file:///x", blob="AAE=", mime_type="application/pdf")
    result = CallToolResult(content=[EmbeddedResource(resource=blob)])
    assert convert_result(result, server="s", tool="t") == Media("application/pdf", b"\x00\x01")


@pytest.mark.parametrize(
    ("structured", "expected"),
    [({"why": "é"}, '{"why": "é"}'), (None, "tool 't' of server 's' failed without saying why")],
)
def test_error_without_text_says_what_there_is(structured: object, expected: str) -> None:
    from mcp_types import CallToolResult

    with pytest.raises(McpToolError) as caught:
        convert_result(CallToolResult(content=[], structured_content=structured, is_error=True), server="s", tool="t")
    assert str(caught.value) == expected


def test_text_is_preferred_to_its_structured_copy() -> None:
    from mcp_types import CallToolResult, TextContent

    result = CallToolResult(content=[TextContent(text="21 degrees")], structured_content={"degrees": 21})
    assert convert_result(result, server="s", tool="t") == "21 degrees"


# ---------------------------------------------------------------------- the tools themselves


def test_tools_carry_what_the_server_says_of_them(kit: McpTools) -> None:
    tools = by_name(kit)
    assert tools["echo"].description == "Say it again."
    assert tools["echo"].source == "kit"
    assert tools["echo"].parameters["required"] == ["text"]
    assert "Sum of two" in tools["add"].search_text
    assert {name for name, tool in tools.items() if tool.concurrent} == {"echo", "wait", "meet"}


def test_status_tells_name_version_and_count(kit: McpTools) -> None:
    (status,) = kit.servers
    assert (status.name, status.state, status.title, status.version) == ("kit", "ready", "kit", "1.2.3")
    assert status.tools == len(kit.tools())
    assert status.error is None


def test_unchanged_tools_stay_the_same_objects_over_a_refresh(kit: McpTools) -> None:
    before = kit.tools()
    assert all(a is b for a, b in zip(before, kit.refresh(), strict=True))


def test_all_pages_are_listed() -> None:
    with McpTools(script("paged", "paged.py")) as mcp:
        assert [tool.name for tool in mcp.tools()] == [f"tool_{n}" for n in range(25)]
        assert mcp.tools()[24].call() == "tool_24"


def test_filter_sees_server_and_tool() -> None:
    with McpTools(
        plain("a", "get", "drop"), plain("b", "drop"), filter=lambda server, tool: (server, tool.name) != ("a", "drop")
    ) as mcp:
        assert [(tool.source, tool.name) for tool in mcp.tools()] == [("a", "get"), ("b", "drop")]
        assert [status.tools for status in mcp.servers] == [1, 1]


def test_tool_that_cannot_work_is_left_out_and_the_others_stay(caplog: pytest.LogCaptureFixture) -> None:
    with McpTools(plain("a", "get", "odd")) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["get", "odd"]
        assert mcp.servers[0].tools == 2
    (record,) = (r for r in caplog.records if r.getMessage().startswith("toolsearch.mcp_tool_left_out server=a tool="))
    assert (record.__dict__["server"], record.__dict__["tool"]) == ("a", "' '")


def test_tools_that_the_protocol_does_not_allow_take_no_others_away(caplog: pytest.LogCaptureFixture) -> None:
    """The SDK would refuse the whole list, and the server with it. What can be mended is."""
    with McpTools(script("odd", "odd_tools.py")) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["fine", "without_type", "odd_output"]
        assert by_name(mcp)["without_type"].parameters == {"type": "object", "properties": {"a": {"type": "string"}}}
        assert [tool.name for tool in mcp.refresh()] == ["fine", "without_type", "odd_output"]
    left_out = {
        record.__dict__["tool"]: record.__dict__["error"]
        for record in caplog.records
        if record.getMessage().startswith("toolsearch.mcp_tool_left_out server=odd ")
    }
    cut = repr("x\n" * 1000)[:60]
    names = ("list", "odd_properties", "without_schema", "not_a_number", "odd_key", "", "text")
    assert left_out.keys() == {cut, *map(repr, names)}
    assert left_out["'list'"] == left_out[cut] == "inputSchema.type: Input should be 'object'"
    assert left_out["'not_a_number'"].endswith("/default is nan, which is not a JSON value")
    assert not any("\n" in message or len(message) > 300 for message in caplog.messages)


def test_since_2026_an_output_may_be_of_any_kind(caplog: pytest.LogCaptureFixture) -> None:
    """Its schema stays as the server gave it, also where other tools of the list are not allowed."""
    from mcp_types.version import LATEST_PROTOCOL_VERSION

    with McpTools(script("odd", "odd_tools.py", LATEST_PROTOCOL_VERSION)) as mcp:
        tools = by_name(mcp)
        assert list(tools) == [
            *("fine", "without_type", "odd_output", "odd_key"),
            *("array", "either", "referred", "no_schema", "refused"),
        ]
        for name in ("array", "either", "referred", "no_schema"):
            assert tools[name].call() == "[1, 2]", name
        with pytest.raises(McpToolError, match="is not of type 'string'"):
            tools["refused"].call()
    assert sum("mcp_tool_left_out server=odd" in message for message in caplog.messages) == 7


@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("odd", [[], [{"name": "odd"}], ["odd"]], ids=["alone", "beside a tool", "beside a text"])
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
def test_an_output_schema_is_changed_only_where_the_version_refuses_it(
    version: str | None, odd: list[Any], given: Any, before: Any, since: Any
) -> None:
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCResponse

    from toolsearch.mcp.client.session.tool_list_filter import drop_invalid_tools

    tool = {"name": "a", "inputSchema": {"type": "object"}, "outputSchema": given}
    response = JSONRPCResponse(jsonrpc="2.0", id=1, result={"tools": [tool, *odd]})
    drop_invalid_tools("a", SessionMessage(response), version)
    wanted = since if version == "2026-07-28" else before
    (kept,) = response.result["tools"]
    assert kept.pop("outputSchema", None) == wanted
    assert kept == {"name": "a", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize("handshake", ["auto", "legacy"])
def test_changed_list_is_seen_by_the_next_tools(handshake: Any) -> None:
    with McpTools(script("changing", "changing.py", handshake=handshake)) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["grow"]
        assert mcp.tools()[0].call() == "grown"
        assert [tool.name for tool in mcp.tools()] == ["grow", "fresh"]
        assert by_name(mcp)["fresh"].call() == "fresh"


@pytest.mark.parametrize(
    ("handshake", "way", "heard"),
    [
        ("auto", "notify", True),
        ("auto", "session", False),
        ("legacy", "notify", False),
        ("legacy", "session", True),
    ],
)
def test_change_is_heard_in_the_way_of_the_protocol_and_refresh_always_helps(
    handshake: Any, way: str, heard: bool
) -> None:
    """As the how-to says of the SDK; where a change becomes heard, the page is to be corrected."""
    with McpTools(script("changing", "changing.py", way, handshake=handshake)) as mcp:
        assert mcp.tools()[0].call() == "grown"
        assert ([tool.name for tool in mcp.tools()] == ["grow", "fresh"]) is heard
        assert [tool.name for tool in mcp.refresh()] == ["grow", "fresh"]


# ---------------------------------------------------------------------- names


def test_names_that_collide_are_all_prefixed_and_still_call_the_right_tool() -> None:
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
def test_prefix_always_is_stable_when_a_server_is_down(prefix: Any, expected: list[str]) -> None:
    down = StdioServer("a", "/no/such/command")
    with McpTools(plain("a", "get"), plain("b", "get"), prefix=prefix) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["a_get", "b_get"]
    with McpTools(down, plain("b", "get"), prefix=prefix, on_error="skip") as mcp:
        assert [tool.name for tool in mcp.tools()] == expected


def test_prefix_never_makes_a_collision_an_error_and_leaves_nothing_running() -> None:
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


# ---------------------------------------------------------------------- threads and loops


def test_servers_outlive_the_event_loop_they_were_first_used_from() -> None:
    mcp = McpTools(plain("a", "get", "pid"))

    async def use() -> tuple[object, object]:
        tools = {tool.name: tool for tool in await mcp.atools()}
        return await tools["get"].acall(), await tools["pid"].acall()

    assert asyncio.run(use()) == asyncio.run(use())
    assert by_name(mcp)["get"].call() == "a.get {}"
    asyncio.run(mcp.aclose())


def test_async_context_manager_closes() -> None:
    async def use() -> object:
        async with McpTools(plain("a", "get")) as mcp:
            return await (await mcp.atools())[0].acall({"x": 1})

    assert asyncio.run(use()) == 'a.get {"x": 1}'


def test_first_use_from_many_threads_starts_one_process() -> None:
    mcp = McpTools(plain("a", "pid"))
    start = threading.Barrier(6)

    def use(_: int) -> object:
        start.wait()
        return by_name(mcp)["pid"].call()

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(use, range(6)))) == 1
    mcp.close()


def test_calls_overlap_from_threads(kit: McpTools) -> None:
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda _: by_name(kit)["meet"].call({"n": 3}), range(3))) == ["met 3"] * 3


def test_calls_overlap_from_a_loop() -> None:
    async def use() -> list[object]:
        async with McpTools(script("kit2", "kit.py")) as mcp:
            meet = next(tool for tool in await mcp.atools() if tool.name == "meet")
            return await asyncio.gather(*(meet.acall({"n": 4}) for _ in range(4)))

    assert asyncio.run(use()) == ["met 4"] * 4


def test_event_loop_is_free_while_servers_start() -> None:
    async def use() -> int:
        turns = 0
        async with asyncio.TaskGroup() as group:
            mcp = McpTools(plain("a", "get"))
            connecting = group.create_task(mcp.aconnect())
            while not connecting.done():
                await asyncio.sleep(0)
                turns += 1
        await mcp.aclose()
        return turns

    assert asyncio.run(use()) > 100


def test_servers_start_at_the_same_time(tmp_path: Path) -> None:
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    with McpTools(script("r", "rendezvous.py", fifo, "r"), script("w", "rendezvous.py", fifo, "w")) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["tool_r", "tool_w"]


def test_trio_uses_connects_and_closes() -> None:
    async def use() -> object:
        async with McpTools(plain("a", "get")) as mcp:
            return await (await mcp.arefresh())[0].acall({"x": 1})

    assert anyio.run(use, backend="trio") == 'a.get {"x": 1}'


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelling_an_awaited_call_cancels_it_in_the_server(kit: McpTools, fifo: Fifo, backend: str) -> None:
    wait = by_name(kit)["wait"]

    async def use() -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(wait.acall, {"fifo": fifo.name})
            assert await anyio.to_thread.run_sync(fifo.line) == "started"
            group.cancel_scope.cancel()
        return await anyio.to_thread.run_sync(fifo.line)

    assert anyio.run(use, backend=backend) == "cancelled"
    assert by_name(kit)["echo"].call({"text": "still there"}) == "still there"


# ---------------------------------------------------------------------- in a conversation


def test_model_uses_tools_in_every_driver(kit: McpTools, ask: Any) -> None:
    calls = [("echo", {"text": "é"}), ("picture", {}), ("fail", {"why": "no luck"}), ("add", {"a": 2})]
    model = ScriptedChatModel([calls, "Done."])
    assert ask(ChatClient(model, tools=[kit]), "Go on.").response.text == "Done."
    echo, picture, fail, add = (m for m in model.requests[1].messages if isinstance(m, ToolMessage))
    assert (echo.text, echo.is_error) == ("é", False)
    assert picture.text.startswith("a caption")
    assert picture.media == (Media("image/png", b"png bytes"),)
    assert (fail.text, fail.is_error) == ("no luck", True)
    assert add.text == '{"sum":3}'


def test_model_is_told_that_a_server_is_gone_and_the_turn_goes_on() -> None:
    calls = [[("a_get", {}), ("a_crash", {})], [("a_get", {}), ("b_get", {})], "Sorry."]
    model = ScriptedChatModel(calls)
    servers = plain("a", "get", "crash"), plain("b", "get")
    with McpTools(*servers, prefix="always", reconnect=None) as mcp:
        assert ChatClient(model, tools=[mcp]).call("Go on.").text == "Sorry."
    get, crash, get_again, other = (m for m in model.requests[2].messages if isinstance(m, ToolMessage))
    assert (get.text, get.is_error) == ("a.get {}", False)
    assert crash.is_error
    assert get_again.text.startswith("server 'a' is not running")
    assert (other.text, other.is_error) == ("b.get {}", False)


def test_new_tools_are_in_the_next_turn() -> None:
    model = ScriptedChatModel([[("grow", {})], "Grown.", [("fresh", {})], "Fresh."])
    with McpTools(script("changing", "changing.py")) as mcp:
        client = ChatClient(model, tools=[mcp])
        assert [client.call("Grow.").text, client.call("Go on.").text] == ["Grown.", "Fresh."]
    assert [[tool.name for tool in request.tools] for request in model.requests] == [
        ["grow"], ["grow"], ["grow", "fresh"], ["grow", "fresh"]
    ]  # fmt: skip


# ---------------------------------------------------------------------- what goes wrong


def test_call_without_an_answer_times_out_and_the_server_stays_usable() -> None:
    with McpTools(plain("a", "get", "hang", timeout=0.2)) as mcp:
        with pytest.raises(McpToolError, match=r"tool 'hang' of server 'a' did not answer within 0\.2 s"):
            by_name(mcp)["hang"].call()
        assert by_name(mcp)["get"].call() == "a.get {}"


def test_protocol_error_is_told_with_its_message() -> None:
    with (
        McpTools(plain("a", "refuse")) as mcp,
        pytest.raises(McpToolError, match="server 'a' refused the call of 'refuse': I would rather not"),
    ):
        by_name(mcp)["refuse"].call()


def test_crash_in_a_call_is_told_and_takes_only_its_own_tools_along() -> None:
    with McpTools(plain("a", "crash", "get"), plain("b", "other"), reconnect=None) as mcp:
        tools = by_name(mcp)
        with pytest.raises(McpToolError) as crash:
            tools["crash"].call()
        assert str(crash.value) == (
            "server 'a' stopped while it ran 'crash': it ended with exit code 3; whether the call took effect is "
            "unknown; its tools cannot be used now"
        )
        with pytest.raises(McpToolError) as gone:
            tools["get"].call()
        assert str(gone.value) == ("server 'a' is not running: it ended with exit code 3; its tools cannot be used now")
        assert tools["other"].call() == "b.other {}"
        assert list(by_name(mcp)) == ["crash", "get", "other"]
        stopped = mcp.servers[0]
        assert stopped.state == "stopped"
        assert stopped.error is not None
        assert stopped.error == (
            "MCP server 'a' stopped: it ended with exit code 3; its stderr ends with:\na: about to crash"
        )
        mcp.refresh()
        assert tools["get"].call() == "a.get {}"
        assert mcp.servers[0].error is None


def test_killed_server_is_told_of() -> None:
    with McpTools(plain("a", "pid", "get"), reconnect=None) as mcp:
        tools = by_name(mcp)
        os.kill(int(str(tools["pid"].call())), signal.SIGKILL)
        with pytest.raises(McpToolError, match=r"server 'a' (stopped|is not running)"):
            tools["get"].call()
        with pytest.raises(McpToolError, match=r"server 'a' is not running: it was killed \(signal 9\); "):
            asyncio.run(tools["get"].acall())
        assert mcp.servers[0].error == "MCP server 'a' stopped: it was killed (signal 9)"


def test_what_a_server_writes_to_stderr_is_told_to_the_application_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "toolsearch.mcp")
    model = ScriptedChatModel([[("crash", {})], [("get", {})], "It is gone."])
    with McpTools(plain("a", "crash", "get"), reconnect=None) as mcp:
        reply = ChatClient(model, tools=[mcp]).call("Go.")
    assert "about to crash" not in str(reply.messages)
    assert [(r.levelname, r.getMessage()) for r in caplog.records if r.name == "toolsearch.mcp"] == [
        ("WARNING", "toolsearch.mcp_server_stopped server=a reason=it ended with exit code 3"),
        ("DEBUG", "toolsearch.mcp_server_stderr server=a stderr=a: about to crash"),
    ]


def test_model_is_not_told_why_a_server_does_not_start(tmp_path: Path) -> None:
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
            "server 'late' is not running: it ended with exit code 1; its tools cannot be used now; it can be started "
            "again in 60.0 s"
        )
        assert str(mcp.servers[0].error).endswith("its stderr ends with:\nNO_TOKEN")


def test_server_that_stopped_is_started_again_by_the_next_call() -> None:
    with McpTools(plain("a", "crash", "get", "pid"), plain("b", "get")) as mcp:
        tools = by_name(mcp)
        with pytest.raises(McpToolError, match="the next call of one of its tools starts it again"):
            tools["crash"].call()
        assert tools["a_get"].call() == "a.get {}"
        os.kill(int(str(tools["pid"].call())), signal.SIGKILL)
        eventually(lambda: mcp.servers[0].state == "stopped")
        assert asyncio.run(tools["a_get"].acall()) == "a.get {}"
        assert list(by_name(mcp)) == list(tools)
        assert mcp.servers[0].error is None


def test_server_that_keeps_stopping_is_started_again_after_longer_and_longer_waits() -> None:
    clock = FakeClock()
    with McpTools(plain("a", "crash", "get"), reconnect=Reconnect(first=10, longest=15), clock=clock) as mcp:
        tools = by_name(mcp)

        def crash() -> str:
            with pytest.raises(McpToolError) as caught:
                tools["crash"].call()
            return str(caught.value).rpartition("; ")[2]

        assert crash() == "the next call of one of its tools starts it again"
        for wait in (10, 15, 15):
            assert crash() == f"it can be started again in {wait}.0 s"
            with pytest.raises(McpToolError, match=rf"server 'a' is not running: .* started again in {wait}\.0 s"):
                tools["get"].call()
            assert mcp.tools() == tuple(tools.values())
            clock.advance(wait)
        assert tools["get"].call() == "a.get {}"
        assert crash() == "the next call of one of its tools starts it again"


def test_server_that_could_not_start_is_tried_again_beside_later_turns(tmp_path: Path) -> None:
    late, clock = tmp_path / "late.py", FakeClock()
    servers = StdioServer("late", sys.executable, [str(late), "late", "new"]), plain("a", "get")
    with McpTools(*servers, on_error="skip", clock=clock) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["get"]
        late.write_text((SCRIPTS / "plain.py").read_text())
        assert [tool.name for tool in mcp.tools()] == ["get"]
        clock.advance(1)
        eventually(lambda: [tool.name for tool in mcp.tools()] == ["new", "get"])
        assert by_name(mcp)["new"].call() == "late.new {}"


def test_calls_that_wait_for_a_restart_share_it() -> None:
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
def test_waits_grow_and_are_bounded(ends: int, started: bool, wait: float) -> None:
    assert Reconnect().wait(ends, started=started) == wait


def test_timed_out_call_is_cancelled_in_the_server_and_others_go_on(fifo: Fifo) -> None:
    with McpTools(script("kit5", "kit.py", timeout=0.5), plain("b", "get")) as mcp:
        tools = by_name(mcp)
        with pytest.raises(McpToolError, match=r"did not answer within 0\.5 s; it was told to stop"):
            tools["wait"].call({"fifo": fifo.name})
        assert [fifo.line(), fifo.line()] == ["started", "cancelled"]
        assert tools["echo"].call({"text": "still there"}) == "still there"
        assert tools["get"].call() == "b.get {}"


# ---------------------------------------------------------------------- progress and changes

caller: ContextVar[str] = ContextVar("caller")


def test_progress_reaches_the_hook_in_the_context_of_the_call(ask: Any) -> None:
    seen: list[tuple[Any, ...]] = []

    def hook(*progress: Any) -> None:
        seen.append((caller.get(), *progress))
        raise RuntimeError("is logged and does no harm")

    model = ScriptedChatModel([[("slow_count", {"steps": 2})], [("count", {"steps": 1})], "Done."])
    with McpTools(script("served", "served.py"), on_progress=hook) as mcp:
        token = caller.set("me")
        assert ask(ChatClient(model, tools=[mcp]), "Count.").response.text == "Done."
        caller.reset(token)
    assert seen == [
        ("me", "served", "slow_count", 1, 2, "step 1"),
        ("me", "served", "slow_count", 2, 2, "step 2"),
        ("me", "served", "count", 1, 1, None),
    ]


def test_progress_is_asked_for_only_if_somebody_listens(kit: McpTools) -> None:
    assert "progress" not in by_name(kit)["meta"].call()
    with McpTools(script("kit6", "kit.py"), on_progress=lambda *_: None) as mcp:
        assert "progress" in by_name(mcp)["meta"].call()


def test_application_is_told_of_changes() -> None:
    changed = threading.Event()
    with McpTools(script("changing", "changing.py"), on_tools_changed=lambda name: changed.set()) as mcp:
        mcp.tools()[0].call()
        assert changed.wait(20)


SLOW_TO_LIST = plain("slow", "change", "release", connect_timeout=300)


def test_server_that_is_slow_to_list_its_new_tools_holds_no_turn(ask: Any) -> None:
    model = ScriptedChatModel([[("change", {})], "Changed.", [("get", {}), ("release", {})], "Released."])
    with McpTools(SLOW_TO_LIST, plain("a", "get")) as mcp:
        client = ChatClient(model, tools=[mcp])
        assert ask(client, "Change.").response.text == "Changed."
        assert ask(client, "Go on.").response.text == "Released."
        eventually(lambda: [tool.name for tool in mcp.tools()] == ["change", "release", "fresh", "get"])
        assert by_name(mcp)["fresh"].call() == "slow.fresh {}"
    assert {tuple(tool.name for tool in request.tools) for request in model.requests} == {("change", "release", "get")}


def test_refresh_waits_for_a_slow_list_and_holds_no_turn() -> None:
    with McpTools(SLOW_TO_LIST, plain("a", "get")) as mcp, ThreadPoolExecutor(1) as pool:
        tools = by_name(mcp)
        tools["change"].call()
        refreshed = pool.submit(mcp.refresh)
        assert tuple(mcp.tools()) == tuple(tools.values())
        assert not refreshed.done()
        tools["release"].call()
        assert [tool.name for tool in refreshed.result(20)] == ["change", "release", "fresh", "get"]


def test_list_that_never_comes_is_given_up_and_the_known_tools_stay(caplog: pytest.LogCaptureFixture) -> None:
    with McpTools(plain("slow", "change", "release", connect_timeout=3)) as mcp:
        tools = mcp.tools()
        tools[0].call()
        assert mcp.tools() == tools
        eventually(lambda: "toolsearch.mcp_tools_not_listed server=slow error=TimeoutError()" in caplog.text)
        assert mcp.tools() == tools
        tools[1].call()
        assert [tool.name for tool in mcp.refresh()] == ["change", "release", "fresh"]


@pytest.mark.parametrize("first_wait", [0, 0.1])
def test_server_that_is_slow_to_start_is_not_waited_for_if_another_is_there(tmp_path: Path, first_wait: float) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    late = script("late", "rendezvous.py", str(fifo), "r", connect_timeout=300)
    with McpTools(late, plain("a", "get"), on_error="skip", first_wait=first_wait) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["get"]
        assert [status.state for status in mcp.servers] == ["new", "ready"]
        fifo.open("w").close()  # the other end is closed at once, so nothing may be written
        eventually(lambda: [tool.name for tool in mcp.tools()] == ["tool_r", "get"])
        assert [status.state for status in mcp.servers] == ["ready", "ready"]


def test_closing_ends_a_server_that_is_still_starting() -> None:
    mute = script("mute", "broken.py", "silent", connect_timeout=300)
    with McpTools(mute, plain("a", "get"), on_error="skip", first_wait=0) as mcp:
        assert [status.state for status in mcp.servers] == ["new", "ready"]
    assert [status.state for status in mcp.servers] == ["closed", "closed"]


def test_failure_to_start_is_raised_with_stderr_and_closes_the_others() -> None:
    mcp = McpTools(plain("good", "get"), script("bad", "broken.py", "dies"), StdioServer("none", "/no/such/command"))
    with pytest.raises(McpServerError) as caught:
        mcp.tools()
    message = str(caught.value)
    assert "MCP server 'bad' did not start" in message
    assert "NO_TOKEN: set the token" in message
    assert "MCP server 'none' did not start: [Errno 2] No such file or directory: '/no/such/command'" in message
    assert [status.state for status in mcp.servers] == ["closed", "failed", "failed"]


def test_failure_to_start_in_a_loop_leaves_nothing_behind() -> None:
    with pytest.raises(McpServerError, match="did not start"):
        asyncio.run(McpTools(script("bad", "broken.py", "dies")).aconnect())


def test_connecting_can_be_tried_again(tmp_path: Path) -> None:
    late = tmp_path / "late.py"
    mcp = McpTools(StdioServer("late", sys.executable, [str(late), "late", "get"]))
    with pytest.raises(McpServerError, match=r"can't open file"):
        mcp.connect()
    late.write_text((SCRIPTS / "plain.py").read_text())
    with mcp:
        assert [tool.name for tool in mcp.tools()] == ["get"]


def test_skipped_server_keeps_its_error_and_the_others_work(caplog: pytest.LogCaptureFixture) -> None:
    with McpTools(script("bad", "broken.py", "dies"), plain("good", "get"), on_error="skip") as mcp:
        assert [tool.call() for tool in mcp.tools()] == ["good.get {}"]
        assert [status.state for status in mcp.servers] == ["failed", "ready"]
        assert "NO_TOKEN" in str(mcp.servers[0].error)
    assert "NO_TOKEN" in caplog.text


@pytest.mark.parametrize("handshake", ["auto", "legacy"])
def test_server_that_never_answers_times_out(handshake: Any) -> None:
    mcp = McpTools(script("mute", "broken.py", "silent", connect_timeout=0.5, handshake=handshake))
    with pytest.raises(McpServerError, match=r"no answer to the handshake within 0\.5 s"):
        mcp.connect()


def test_noise_on_stdout_is_a_failure_to_start(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(McpServerError, match="MCP server 'noisy' did not start: it ended with exit code 0"):
        McpTools(script("noisy", "broken.py", "babbles")).connect()
    assert "JSONRPC" in caplog.text


def test_stderr_of_servers_does_not_reach_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with McpTools(script("kit3", "kit.py")) as mcp:
        mcp.tools()
    assert capfd.readouterr().err == ""


def test_secrets_are_not_shown() -> None:
    stdio = StdioServer("a", "/no/such/command", ["--key", "SECRET"], env={"TOKEN": "SECRET"})
    http = HttpServer("b", "http://127.0.0.1:9/mcp", headers={"Authorization": "SECRET"})
    assert "SECRET" not in repr(http)
    assert "TOKEN" not in repr(stdio)
    with pytest.raises(McpServerError) as caught:
        McpTools(stdio).connect()
    assert "SECRET" not in str(caught.value)


# ---------------------------------------------------------------------- the end


def test_close_is_final_and_can_be_repeated() -> None:
    mcp = McpTools(plain("a", "get")).connect()
    tools = mcp.tools()
    mcp.close()
    mcp.close()
    assert mcp.servers[0].state == "closed"
    with pytest.raises(McpToolError, match="server 'a' is not running: it was closed by the application"):
        tools[0].call()
    with pytest.raises(ConfigurationError, match="closed"):
        mcp.tools()
    with pytest.raises(ConfigurationError, match="closed"):
        asyncio.run(mcp.arefresh())


def test_closing_what_was_never_used_does_nothing() -> None:
    mcp = McpTools(plain("a", "get"))
    assert mcp.servers[0].state == "new"
    mcp.close()
    asyncio.run(McpTools(plain("a", "get")).aclose())


def test_close_ends_a_call_that_is_under_way(fifo: Fifo) -> None:
    mcp = McpTools(script("kit4", "kit.py"))
    wait = by_name(mcp)["wait"]
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(wait.call, {"fifo": fifo.name})
        assert fifo.line() == "started"
        mcp.close()
        with pytest.raises(McpToolError, match="closed by the application"):
            call.result(20)


@pytest.mark.parametrize("started", [True, False])
def test_close_interrupts_connecting(started: bool) -> None:
    async def use() -> None:
        mcp = McpTools(script("mute", "broken.py", "silent", connect_timeout=300))
        before = children()
        connecting = asyncio.create_task(mcp.aconnect())
        while started and children() == before:  # noqa: ASYNC110
            await asyncio.sleep(0)
        await mcp.aclose()
        with pytest.raises(ConfigurationError, match="closed"):
            await connecting

    asyncio.run(use())


@pytest.mark.slow
def test_server_that_ignores_the_end_of_its_input_is_killed() -> None:
    with McpTools(plain("a", "linger", "pid")) as mcp:
        pid = int(str(by_name(mcp)["pid"].call()))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", code, str(SCRIPTS / "plain.py")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


START = """
import os, sys
from toolsearch.mcp import McpTools, McpToolError, StdioServer
mcp = McpTools(StdioServer("a", sys.executable, [sys.argv[1], "a", "get", "pid"]))
get, pid = mcp.tools()
"""


def test_forgotten_servers_end_with_the_last_reference_to_their_tools() -> None:
    done = run_python(
        START
        + """
import gc, threading
loop_thread = next(thread for thread in threading.enumerate() if thread.name == "toolsearch-mcp")
print(pid.call(), flush=True)
del mcp
gc.collect()
get.call()
del get, pid
gc.collect()
loop_thread.join(20)
os._exit(loop_thread.is_alive())
"""
    )
    assert (done.returncode, done.stderr) == (0, "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_cancelled_connecting_leaves_nothing_behind() -> None:
    done = run_python(
        """
import asyncio, os, sys, threading
from pathlib import Path
from toolsearch.mcp import McpTools, StdioServer

async def use(path):
    os.mkfifo(path)
    mute = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text('up'); sys.stdin.read()"
    mcp = McpTools(StdioServer("mute", sys.executable, ["-c", mute, path], connect_timeout=300))
    connecting = asyncio.create_task(mcp.aconnect())
    await asyncio.to_thread(Path(path).read_text)
    loop_thread = next(thread for thread in threading.enumerate() if thread.name == "toolsearch-mcp")
    connecting.cancel()
    try:
        await connecting
    except asyncio.CancelledError:
        loop_thread.join(20)
        print("cancelled", loop_thread.is_alive(), flush=True)

import tempfile
with tempfile.TemporaryDirectory() as folder:
    asyncio.run(use(folder + "/fifo"))
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no children")
"""
    )
    assert (done.stdout, done.returncode, done.stderr) == ("cancelled False\nno children\n", 0, "")


def test_program_that_forgets_to_close_ends_and_takes_its_servers_along() -> None:
    done = run_python(START + "print(pid.call())")
    assert (done.returncode, done.stderr) == (0, "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_forked_child_is_told_and_can_start_its_own() -> None:
    done = run_python(
        START
        + """
child = os.fork()
if child == 0:
    try:
        get.call()
    except McpToolError as error:
        print(error, flush=True)
    mcp.refresh()
    print("own", get.call(), flush=True)
    mcp.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("parent", get.call())
mcp.close()
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "server 'a' is not running: it belongs to the process this one was forked from; its tools cannot be used now",
        "own a.get {}",
        "parent a.get {}",
    ]


# ---------------------------------------------------------------------- configuration


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: McpTools(), "at least one"),
        (lambda: McpTools(plain("a"), plain("a")), "two MCP servers are named 'a'"),
        (lambda: McpTools("npx"), "not 'npx'"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: McpTools(plain("a"), prefix="maybe"), "prefix must be"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: McpTools(plain("a"), on_error="ignore"), "on_error must be"),  # type: ignore[arg-type]
        (lambda: McpTools(plain("a"), first_wait=-1), "first_wait must be"),
        (lambda: StdioServer(" ", "x"), "needs a name"),
        (lambda: StdioServer("a", "x", "--flag"), "sequence of strings"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: StdioServer("a", "x", timeout=0), "timeout of MCP server 'a'"),
        (lambda: HttpServer("a", "example.org/mcp"), "http"),
    ],
)
def test_what_cannot_work_is_refused_at_once(make: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make()


def test_missing_sdk_is_told_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_tools_module.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"toolsearch\[mcp\]"):
        McpTools(plain("a"))


def test_importing_and_making_loads_no_sdk() -> None:
    done = run_python(
        "import sys; from toolsearch.mcp import McpTools, StdioServer; McpTools(StdioServer('a', 'x'));"
        "print([m for m in ('mcp', 'mcp_types', 'anyio', 'httpx2') if m in sys.modules])"
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


# ---------------------------------------------------------------------- streamable HTTP


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def over_http(file: str, *arguments: str) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, str(SCRIPTS / file), *arguments], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    with process.stderr:
        try:
            for line in process.stderr:
                if "running on" in line:
                    break
            yield
        finally:
            process.kill()
            process.wait(20)


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


def test_unreachable_http_server_is_told() -> None:
    with pytest.raises(McpServerError, match=r"MCP server 'web' did not start: .*127\.0\.0\.1:9"):
        McpTools(HttpServer("web", "http://127.0.0.1:9/mcp")).connect()


@pytest.mark.parametrize("reconnect", [Reconnect(first=60), None])
def test_forgotten_session_is_replaced_whatever_the_server_did_before(reconnect: Reconnect | None) -> None:
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


def test_server_that_started_has_no_wait_left_from_before() -> None:
    attempts = Attempts(Reconnect(first=60), FakeClock())
    attempts.ended(started=False)
    assert attempts.wait == 60
    attempts.started()
    assert attempts.wait == 0
    attempts.ended(started=True)
    assert attempts.wait == 60, "an end before any answer is counted with those before"


def test_http_server_that_is_away_is_not_started_but_reached_again() -> None:
    port, clock = free_port(), FakeClock()
    server = HttpServer("web", f"http://127.0.0.1:{port}/mcp?key=SECRET", handshake="legacy")
    with over_http("forgetful.py", str(port)):
        mcp = McpTools(server, clock=clock).connect()
    with closing(mcp):
        get = by_name(mcp)["get"]
        with pytest.raises(McpToolError, match=r"unknown; the next call of one of its tools reaches it again$"):
            get.call()
        with pytest.raises(McpToolError) as caught:
            get.call()
        assert str(caught.value) == (
            "server 'web' is not connected: it could not be reached; its tools cannot be used now; it can be reached "
            "again in 1.0 s"
        )
        clock.advance(1)
        with over_http("forgetful.py", str(port)):
            assert get.call() == "session 1"
