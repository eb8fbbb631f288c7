"""Progress reports and changed tool lists of MCP servers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

import pytest

pytest.importorskip("mcp")


from toolsearch import ChatClient
from toolsearch.mcp import McpTools
from toolsearch.testing import ScriptedChatModel

from .servers import by_name, eventually, plain, script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


caller: ContextVar[str] = ContextVar("caller", default="nobody")
seen: list[tuple[Any, ...]] = []


@pytest.fixture(scope="module")
def counted() -> Iterator[McpTools]:
    """The server `served.py` with a progress hook that records its calls in `seen` and fails."""

    def hook(*progress: Any) -> None:
        seen.append((caller.get(), *progress))
        raise RuntimeError("logged, without an effect on the call")

    with McpTools(script("served", "served.py"), on_progress=hook) as mcp:
        yield mcp


def test_progress_hook_runs_in_the_context_of_the_call(counted: McpTools, ask: Any) -> None:
    seen.clear()
    model = ScriptedChatModel([[("slow_count", {"steps": 2})], [("count", {"steps": 1})], "Done."])
    token = caller.set("me")
    assert ask(ChatClient(model, tools=[counted]), "Count.").response.text == "Done."
    caller.reset(token)
    assert seen == [
        ("me", "served", "slow_count", 1, 2, "step 1"),
        ("me", "served", "slow_count", 2, 2, "step 2"),
        ("me", "served", "count", 1, 1, None),
    ]


def test_progress_is_requested_without_a_hook(kit: McpTools) -> None:
    """It extends the timeout of the call."""
    assert "progress" in by_name(kit)["meta"].call()


def test_hook_is_notified_of_changes() -> None:
    changed = threading.Event()
    with McpTools(plain("a", "change"), on_tools_changed=lambda name: changed.set()) as mcp:
        mcp.tools()[0].call()
        assert changed.wait(20)


SLOW_TO_LIST = plain("slow", "change", "release", connect_timeout=300)


def test_slow_tool_list_does_not_delay_a_turn(ask_pair: Any) -> None:
    model = ScriptedChatModel([[("change", {})], "Changed.", [("get", {}), ("release", {})], "Released."])
    with McpTools(SLOW_TO_LIST, plain("a", "get"), prefix="never") as mcp:
        client = ChatClient(model, tools=[mcp])
        assert ask_pair(client, "Change.").response.text == "Changed."
        assert ask_pair(client, "Go on.").response.text == "Released."
        eventually(lambda: [tool.name for tool in mcp.tools()] == ["change", "release", "fresh", "get"])
        assert by_name(mcp)["fresh"].call() == "slow.fresh {}"
    assert {tuple(tool.name for tool in request.tools) for request in model.requests} == {("change", "release", "get")}


def test_refresh_waits_for_a_slow_tool_list() -> None:
    with McpTools(SLOW_TO_LIST, plain("a", "get"), prefix="never") as mcp, ThreadPoolExecutor(1) as pool:
        tools = by_name(mcp)
        tools["change"].call()
        refreshed = pool.submit(mcp.refresh)
        assert tuple(mcp.tools()) == tuple(tools.values())
        assert not refreshed.done()
        tools["release"].call()
        assert [tool.name for tool in refreshed.result(20)] == ["change", "release", "fresh", "get"]


def test_tool_list_timeout_keeps_the_known_tools(caplog: pytest.LogCaptureFixture) -> None:
    with McpTools(plain("slow", "change", "release", connect_timeout=1.5)) as mcp:
        tools = mcp.tools()
        tools[0].call()
        assert mcp.tools() == tools
        eventually(lambda: "toolsearch.mcp_tools_not_listed server=slow error_type=TimeoutError" in caplog.text)
        assert mcp.tools() == tools
        tools[1].call()
        assert [tool.name for tool in mcp.refresh()] == ["change", "release", "fresh"]
