"""Fixtures of the MCP tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from toolsearch.mcp import McpTools

from .servers import SCRIPTS, Fifo, children, script


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Fifo]:
    with closing(Fifo(tmp_path / "fifo")) as pipe:
        yield pipe


@pytest.fixture(autouse=True)
def _check_leftovers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a process or a thread behind."""
    if {"kit", "mcp", "counted"} & set(request.fixturenames):  # shared by the module
        yield
        return
    threads, processes = set(threading.enumerate()), children()
    yield
    for thread in set(threading.enumerate()) - threads:
        if thread.name.startswith("asyncio-waitpid"):  # ends when its process is reaped
            thread.join(20)
    left = {thread.name for thread in set(threading.enumerate()) - threads}
    idle = ("Trio thread", "toolsearch-worker")  # kept for a while, to be used again
    assert {name for name in left if not name.startswith(idle)} == set()
    if Path("/proc/self/task").exists():
        assert children() - processes == set()


@pytest.fixture(scope="module")
def kit() -> Iterator[McpTools]:
    """The server `kit.py`, started with a variable in the environment that it must not inherit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_OF_THE_APPLICATION", "1")
        mcp = McpTools(script("kit", "kit.py", env={"KIT_COLOUR": "blue"}, cwd=SCRIPTS)).connect()
    with mcp:
        yield mcp
