"""The end of MCP servers: closing, exit, fork and garbage collection."""

from __future__ import annotations

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("mcp")


from toolsearch.errors import ConfigurationError
from toolsearch.mcp import McpToolError, McpTools

from .servers import Fifo, by_name, children, plain, run_python, script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


def test_close_is_final_and_idempotent() -> None:
    mcp = McpTools(plain("a", "get")).connect()
    tools = mcp.tools()
    mcp.close()
    mcp.close()
    assert mcp.servers[0].state == "closed"
    with pytest.raises(McpToolError, match=r"Server 'a' is not running \(closed by the application\)"):
        tools[0].call()
    with pytest.raises(ConfigurationError, match="closed"):
        mcp.tools()
    with pytest.raises(ConfigurationError, match="closed"):
        asyncio.run(mcp.arefresh())


def test_close_before_first_use_does_nothing() -> None:
    mcp = McpTools(plain("a", "get"))
    assert mcp.servers[0].state == "new"
    mcp.close()
    asyncio.run(McpTools(plain("a", "get")).aclose())


def test_close_ends_a_running_call(fifo: Fifo) -> None:
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
def test_server_that_ignores_end_of_input_is_killed() -> None:
    with McpTools(plain("a", "linger", "pid")) as mcp:
        pid = int(str(by_name(mcp)["pid"].call()))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


START = """
import os, sys
from toolsearch.mcp import McpTools, McpToolError, StdioServer
mcp = McpTools(StdioServer("a", sys.executable, [sys.argv[1], "a", "get", "pid"]))
get, pid = mcp.tools()
"""


def test_servers_end_with_the_last_reference_to_their_tools() -> None:
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


def test_cancelled_connect_leaves_no_process() -> None:
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


def test_program_exit_ends_the_servers() -> None:
    done = run_python(START + "print(pid.call())")
    assert (done.returncode, done.stderr) == (0, "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_forked_child_starts_its_own_servers() -> None:
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
        "Server 'a' is not running (it belongs to the process this one was forked from). Its tools cannot be used now.",
        "own a.get {}",
        "parent a.get {}",
    ]
