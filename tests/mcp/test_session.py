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
    """The latest result of each tool."""
    return {message.name: message for message in request.messages if isinstance(message, ToolMessage)}


def answer(words: str, *names: str) -> Callable[[ChatRequest], str]:
    """A model's answer made of what the tools said."""
    return lambda request: words.format(*(results(request)[name].text for name in names))


def declared(model: ScriptedChatModel) -> list[list[str]]:
    return [[tool.name for tool in request.tools] for request in model.requests]


def search(query: str) -> tuple[str, dict[str, Any]]:
    return "tool_search", {"query": query, "max_results": 1}


def killed_when_it_starts(fifo: Path, pid: int) -> threading.Thread:
    """Kill the process as soon as its tool `wait` says that it has started."""
    os.mkfifo(fifo)

    def kill() -> None:
        with fifo.open() as signals:
            assert signals.readline() == "started\n"
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_turn_is_finished_with_correct_answers_whatever_servers_do(ask: Any, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    model = ScriptedChatModel(
        [
            # Turn 1: three tools of three servers, called at once.
            [search("wait"), search("hang"), search("grow")],
            [("wait", {"fifo": str(fifo)}), ("hang", {}), ("grow", {})],
            # The killed server is asked again, and so is the slow one, for something it can do.
            [search("echo"), search("get")],
            [("echo", {"n": 1}), ("get", {"n": 2})],
            answer("{}; {}; {}", "echo", "get", "grow"),
            # Turn 2: what the changing server has added is there.
            [search("fresh")],
            [("fresh", {}), ("echo", {"n": 3})],
            answer("{} {}", "fresh", "echo"),
            # Turn 3: it is taken away again.
            [search("shrink")],
            [("shrink", {})],
            answer("{}", "shrink"),
            # Turn 4: so it is neither sent nor run.
            [("fresh", {}), ("echo", {"n": 4})],
            answer("{} / {}", "fresh", "echo"),
        ]
    )
    with McpTools(
        server("archive", "plain.py", "archive", "wait", "echo", "pid"),
        server("slow", "plain.py", "slow", "hang", "get", timeout=2),
        server("changing", "served.py"),
        filter=lambda name, tool: name != "changing" or tool.name in ("grow", "shrink", "fresh"),
    ) as mcp:
        pid = int(next(str(tool.call()) for tool in mcp.tools() if tool.name == "pid"))
        killer = killed_when_it_starts(fifo, pid)
        advisor = ToolSearchAdvisor("bm25")
        client = ChatClient(model, tools=[mcp], advisors=[advisor])

        first = ask(client, "Do three things.", session_id="ann").response
        killer.join()
        assert first.text == 'archive.echo {"n": 1}; slow.get {"n": 2}; grown'
        broken = results(model.requests[2])
        assert broken["wait"].is_error
        assert broken["wait"].text.startswith("server 'archive' stopped while it ran 'wait'")
        assert broken["hang"].is_error
        assert "did not answer within 2 s" in broken["hang"].text
        assert not broken["grow"].is_error

        conversation = [*first.messages]
        for said, expected in [
            ("And now?", 'fresh archive.echo {"n": 3}'),
            ("Take it away.", "shrunk"),
        ]:
            reply = ask(client, said, messages=conversation, session_id="ann").response
            assert reply.text == expected
            conversation += reply.messages
        last = ask(client, "Once more.", messages=conversation, session_id="ann").response
        gone, echo = last.text.split(" / ")
        assert gone.startswith("There is no tool 'fresh'.")
        assert echo == 'archive.echo {"n": 4}'
        assert [status.state for status in mcp.servers] == ["ready"] * 3

    found = ["tool_search", "wait", "hang", "grow"]
    more = [*found, "echo", "get"]
    grown = [*more, "fresh"]
    assert declared(model) == [
        ["tool_search"], found, found, more, more,
        more, grown, grown,
        grown, [*grown, "shrink"], [*grown, "shrink"],
        [*more, "shrink"], [*more, "shrink"],
    ]  # fmt: skip


def test_found_tools_outlive_a_server_that_is_gone_for_a_while() -> None:
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
    with McpTools(*servers, reconnect=None) as mcp:
        client = ChatClient(model, tools=[mcp], advisors=[ToolSearchAdvisor("bm25")])
        assert client.call("Go.", session_id="ann").text == "It is down."
        assert client.call("Again.", session_id="ann").text == "Still down."
        assert results(model.requests[5])["get"].text.startswith("server 'a' is not running")
        assert results(model.requests[5])["other"].text == "b.other {}"
        mcp.refresh()
        assert client.call("And now?", session_id="ann").text == "a.get {}"
    names = ["tool_search", "get", "other", "crash"]
    assert declared(model) == [names[:1], names[:3], *[names] * 6]


class RecordingIndex:
    """An index that notes what it builds."""

    def __init__(self) -> None:
        self.built: list[list[str]] = []

    def build(self, tools: Sequence[ToolReference]) -> ToolSearcher:
        self.built.append([tool.name for tool in tools])
        return RegexToolIndex().build(tools)


def test_only_sessions_over_changed_tools_are_indexed_again() -> None:
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
    assert declared(model)[-2:] == [["tool_search", "grow", "fresh"], ["tool_search"]]
