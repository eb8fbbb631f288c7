"""MCP tools used from threads, event loops and conversations."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("mcp")


from toolsearch import ChatClient
from toolsearch.mcp import McpTools
from toolsearch.messages import Media, ToolMessage
from toolsearch.testing import ScriptedChatModel

from .servers import Fifo, by_name, plain, script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


def test_servers_outlive_the_first_event_loop() -> None:
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


def test_concurrent_first_use_starts_one_process() -> None:
    mcp = McpTools(plain("a", "pid"))
    start = threading.Barrier(6)

    def use(_: int) -> object:
        start.wait()
        return by_name(mcp)["pid"].call()

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(use, range(6)))) == 1
    mcp.close()


def test_calls_from_threads_overlap(kit: McpTools) -> None:
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda _: by_name(kit)["meet"].call({"n": 3}), range(3))) == ["met 3"] * 3


def test_calls_from_an_event_loop_overlap(kit: McpTools) -> None:
    async def use() -> list[object]:
        meet = next(tool for tool in await kit.atools() if tool.name == "meet")
        return await asyncio.gather(*(meet.acall({"n": 4}) for _ in range(4)))

    assert asyncio.run(use()) == ["met 4"] * 4


def test_event_loop_runs_while_servers_start() -> None:
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


def test_servers_start_concurrently(tmp_path: Path) -> None:
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    with McpTools(
        script("r", "rendezvous.py", fifo, "r"), script("w", "rendezvous.py", fifo, "w"), prefix="never"
    ) as mcp:
        assert [tool.name for tool in mcp.tools()] == ["tool_r", "tool_w"]


def test_servers_work_on_trio() -> None:
    async def use() -> object:
        async with McpTools(plain("a", "get")) as mcp:
            return await (await mcp.arefresh())[0].acall({"x": 1})

    assert anyio.run(use, backend="trio") == 'a.get {"x": 1}'


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelled_call_is_cancelled_in_the_server(kit: McpTools, fifo: Fifo, backend: str) -> None:
    wait = by_name(kit)["wait"]

    async def use() -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(wait.acall, {"fifo": fifo.name})
            assert await anyio.to_thread.run_sync(fifo.line) == "started"
            group.cancel_scope.cancel()
        return await anyio.to_thread.run_sync(fifo.line)

    assert anyio.run(use, backend=backend) == "cancelled"
    assert by_name(kit)["echo"].call({"text": "still there"}) == "still there"


def test_model_calls_tools_of_a_server(kit: McpTools, ask: Any) -> None:
    calls = [("echo", {"text": "é"}), ("picture", {}), ("fail", {"why": "no luck"}), ("add", {"a": 2})]
    model = ScriptedChatModel([calls, "Done."])
    assert ask(ChatClient(model, tools=[kit]), "Go on.").response.text == "Done."
    echo, picture, fail, add = (m for m in model.requests[1].messages if isinstance(m, ToolMessage))
    assert (echo.text, echo.is_error) == ("é", False)
    assert picture.text.startswith("a caption")
    assert picture.media == (Media("image/png", b"png bytes"),)
    assert (fail.text, fail.is_error) == ("no luck", True)
    assert add.text == '{"sum":3}'


def test_turn_continues_after_a_server_stops() -> None:
    calls = [[("a_get", {}), ("a_crash", {})], [("a_get", {}), ("b_get", {})], "Sorry."]
    model = ScriptedChatModel(calls)
    servers = plain("a", "get", "crash"), plain("b", "get")
    with McpTools(*servers, prefix="always", reconnect=None) as mcp:
        assert ChatClient(model, tools=[mcp]).call("Go on.").text == "Sorry."
    get, crash, get_again, other = (m for m in model.requests[2].messages if isinstance(m, ToolMessage))
    assert (get.text, get.is_error) == ("a.get {}", False)
    assert crash.is_error
    assert get_again.text.startswith("Server 'a' is not running")
    assert (other.text, other.is_error) == ("b.get {}", False)


def test_next_turn_has_new_tools() -> None:
    model = ScriptedChatModel([[("grow", {})], "Grown.", [("fresh", {})], "Fresh."])
    with McpTools(script("changing", "changing.py")) as mcp:
        client = ChatClient(model, tools=[mcp])
        assert [client.call("Grow.").text, client.call("Go on.").text] == ["Grown.", "Fresh."]
    assert [[tool.name for tool in request.tools] for request in model.requests] == [
        ["grow"], ["grow"], ["grow", "fresh"], ["grow", "fresh"]
    ]  # fmt: skip
