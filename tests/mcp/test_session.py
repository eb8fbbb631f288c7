"""Three MCP servers in one conversation: one is killed in a call, one is too slow, one changes its tools."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from toolsearch import ChatClient, ChatRequest, ToolSearchAdvisor
from toolsearch.indexes import RegexToolIndex, ToolReference, ToolSearcher
from toolsearch.mcp import McpTools, StdioServer
from toolsearch.messages import ToolMessage
from toolsearch.testing import ScriptedChatModel

SCRIPTS = Path(__file__).parents[1] / "mcp_servers"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


def server(name: str, file: str, *arguments: str, **options: Any) -> StdioServer:
    return StdioServer(name, sys.executable, [str(SCRIPTS / file), *arguments], **options)


def results(request: ChatRequest) -> dict[str, ToolMessage]:
    """Return the latest result of each tool."""
    return {message.name: message for message in request.messages if isinstance(message, ToolMessage)}


def answer(words: str, *names: str) -> Callable[[ChatRequest], str]:
    """Return a script step that answers with the results of tools."""
    return lambda request: words.format(*(results(request)[name].text for name in names))


def sent_tools(model: ScriptedChatModel) -> list[list[str]]:
    return [[tool.name for tool in request.tools] for request in model.requests]


def search(query: str) -> tuple[str, dict[str, Any]]:
    return "tool_search", {"query": query, "max_results": 1}


def kill_at_start_of_wait(fifo: Path, pid: int) -> threading.Thread:
    """Kill the process as soon as its tool `wait` starts."""
    os.mkfifo(fifo)

    def kill() -> None:
        with fifo.open() as signals:
            assert signals.readline() == "started\n"
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_turns_finish_while_servers_fail_and_change(ask_pair: Any, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    model = ScriptedChatModel(
        [
            # Turn 1: three tools of three servers, called at once.
            [search("wait"), search("hang"), search("grow")],
            [("wait", {"fifo": str(fifo)}), ("hang", {}), ("grow", {})],
            # The killed and the slow server work for the next calls.
            [search("echo"), search("get")],
            [("echo", {"n": 1}), ("get", {"n": 2})],
            answer("{}; {}; {}", "echo", "get", "grow"),
            # Turn 2: the tool that the changing server added is available.
            [search("fresh")],
            [("fresh", {}), ("echo", {"n": 3})],
            answer("{} {}", "fresh", "echo"),
            # Turn 3: the server removes it.
            [search("shrink")],
            [("shrink", {})],
            answer("{}", "shrink"),
            # Turn 4: it is neither sent nor run.
            [("fresh", {}), ("echo", {"n": 4})],
            answer("{} / {}", "fresh", "echo"),
        ]
    )
    with McpTools(
        server("archive", "plain.py", "archive", "wait", "echo", "pid"),
        server("slow", "plain.py", "slow", "hang", "get", timeout=1),
        server("changing", "served.py"),
        prefix="never",
        filter=lambda name, tool: name != "changing" or tool.name in ("grow", "shrink", "fresh"),
    ) as mcp:
        pid = int(next(str(tool.call()) for tool in mcp.tools() if tool.name == "pid"))
        killer = kill_at_start_of_wait(fifo, pid)
        advisor = ToolSearchAdvisor("bm25")
        client = ChatClient(model, tools=[mcp], advisors=[advisor])

        first = ask_pair(client, "Do three things.", session_id="ann").response
        killer.join()
        assert first.text == 'archive.echo {"n": 1}; slow.get {"n": 2}; grown'
        broken = results(model.requests[2])
        assert broken["wait"].is_error
        assert broken["wait"].text.startswith("Server 'archive' stopped while it ran 'wait'")
        assert broken["hang"].is_error
        assert "did not answer within 1 s" in broken["hang"].text
        assert not broken["grow"].is_error

        conversation = [*first.messages]
        for said, expected in [
            ("And now?", 'fresh archive.echo {"n": 3}'),
            ("Take it away.", "shrunk"),
        ]:
            reply = ask_pair(client, said, messages=conversation, session_id="ann").response
            assert reply.text == expected
            conversation += reply.messages
        last = ask_pair(client, "Once more.", messages=conversation, session_id="ann").response
        gone, echo = last.text.split(" / ")
        assert gone.startswith("There is no tool 'fresh'.")
        assert echo == 'archive.echo {"n": 4}'
        assert [status.state for status in mcp.servers] == ["ready"] * 3

    found = ["tool_search", "wait", "hang", "grow"]
    more = [*found, "echo", "get"]
    grown = [*more, "fresh"]
    assert sent_tools(model) == [
        ["tool_search"], found, found, more, more,
        more, grown, grown,
        grown, [*grown, "shrink"], [*grown, "shrink"],
        [*more, "shrink"], [*more, "shrink"],
    ]  # fmt: skip


def test_revealed_tools_survive_a_server_outage() -> None:
    """Without restarts: turns go on while the server is away, and its tools work when it is back."""
    model = ScriptedChatModel(
        [
            [search("get"), search("other")],
            [("crash", {}), ("other", {})],
            [("crash", {})],
            "It is down.",
            [("get", {}), ("other", {})],
            "Still down.",
            [("get", {})],
            answer("{}", "get"),
        ]
    )
    servers = server("a", "plain.py", "a", "crash", "get"), server("b", "plain.py", "b", "other")
    with McpTools(*servers, prefix="never", reconnect=None) as mcp:
        client = ChatClient(model, tools=[mcp], advisors=[ToolSearchAdvisor("bm25")])
        assert client.call("Go.", session_id="ann").text == "It is down."
        assert client.call("Again.", session_id="ann").text == "Still down."
        assert results(model.requests[5])["get"].text.startswith("Server 'a' is not running")
        assert results(model.requests[5])["other"].text == "b.other {}"
        mcp.refresh()
        assert client.call("And now?", session_id="ann").text == "a.get {}"
    names = ["tool_search", "get", "other", "crash"]
    assert sent_tools(model) == [names[:1], names[:3], *[names] * 6]


class RecordingIndex:
    """An index that records the tools of every build."""

    def __init__(self) -> None:
        self.built: list[list[str]] = []

    def build(self, tools: Sequence[ToolReference]) -> ToolSearcher:
        self.built.append([tool.name for tool in tools])
        return RegexToolIndex().build(tools)


def test_only_changed_tool_sets_are_indexed_again() -> None:
    model = ScriptedChatModel(
        ["Hi.", "Hi.", [("grow", {})], [("grow", {})], "Grown.", "Hi.", [search("fresh")], "Found.", "Hi."]
    )
    index = RecordingIndex()
    advisor = ToolSearchAdvisor(index)
    with (
        McpTools(server("changing", "changing.py")) as changing,
        McpTools(server("a", "plain.py", "a", "get")) as steady,
    ):
        one = ChatClient(model, tools=[changing], advisors=[advisor])
        two = ChatClient(model, tools=[steady], advisors=[advisor])
        for client, who in ((one, "ann"), (two, "bob"), (one, "ann"), (two, "bob"), (one, "ann"), (one, "cara")):
            client.call("Hello.", session_id=who)
    assert index.built == [["grow"], ["get"], ["fresh", "grow"]]
    assert sent_tools(model)[-2:] == [["tool_search", "grow", "fresh"], ["tool_search"]]
