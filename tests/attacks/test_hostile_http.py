"""HTTP servers of MCP that answer in every broken way: one answer is lost, and everything else goes on."""

from __future__ import annotations

import gzip
import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("mcp")

from toolsearch import ChatClient
from toolsearch.mcp import HttpServer, McpToolError, McpTools
from toolsearch.messages import ToolMessage
from toolsearch.testing import ScriptedChatModel
from toolsearch.tools.tool_type import Tool

from .hostile_http import (
    EVENTS,
    FAULTS,
    JSON,
    PROGRESS,
    SLOW_FAULTS,
    Handler,
    HostileServer,
    body,
    fine,
    hostile,
    message,
    reset,
    silence,
    status,
    text,
)

MAX_BYTES = 5_000_000
REFUSED = ("status 401", "status 403")
# Answers that can be understood are not lost.
UNDERSTOOD = ("another id",)


@contextmanager
def connected(*servers: HostileServer, **options: Any) -> Iterator[McpTools]:
    options = {"handshake": "legacy", "timeout": 20, "connect_timeout": 20, "max_message_bytes": MAX_BYTES} | options
    definitions = [HttpServer(f"web{n}", web.url, **options) for n, web in enumerate(servers)]
    with McpTools(*definitions, prefix="always", on_error="skip", first_wait=20) as mcp:
        yield mcp


def by_name(mcp: McpTools) -> dict[str, Tool]:
    return {tool.name: tool for tool in mcp.tools()}


def held(web: HostileServer) -> tuple[threading.Event, threading.Event]:
    """Let the tool `slow` wait. Return its start and the permission to answer."""
    started, go = threading.Event(), threading.Event()

    def slow(h: Handler) -> None:
        started.set()
        go.wait(20)
        h.reply(200, fine(h))

    web.faults["slow"] = slow
    return started, go


@pytest.fixture(scope="module")
def two() -> Iterator[tuple[HostileServer, McpTools]]:
    with hostile() as web, hostile() as other, connected(web, other) as mcp:
        yield web, mcp


@pytest.mark.parametrize("fault", [name for name in FAULTS if name != "status 404"])
def test_broken_answer_fails_its_own_call_only(fault: str, two: tuple[HostileServer, McpTools]) -> None:
    web, mcp = two
    tools, begun = by_name(mcp), web.seen.count("initialize")
    web.faults["bad"] = FAULTS[fault]
    started, go = held(web)
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(tools["web0_slow"].call, {})
        assert started.wait(20)
        told = ""
        try:
            assert tools["web0_bad"].call() == "late"
        except McpToolError as error:
            told = str(error)
        states = [s.state for s in mcp.servers]
        go.set()
        assert slow.result(20) == "late"
    if fault not in UNDERSTOOD:
        assert "'web0'" in told
        assert "'bad'" in told
        assert not any(word in told for word in ("127.0.0.1", "hunter2", "validation", "Error:", "httpx", "/etc"))
    assert states == ["unauthorized" if fault in REFUSED else "ready", "ready"]
    assert tools["web0_good"].call() == tools["web1_good"].call() == "fine"
    assert web.seen.count("initialize") == begun  # the session went on
    assert [s.state for s in mcp.servers] == ["ready", "ready"]


@pytest.mark.parametrize("fault", SLOW_FAULTS)
def test_answer_that_never_ends_is_left_at_the_timeout(fault: str) -> None:
    with hostile() as web, connected(web, timeout=0.2, max_timeout=0.3) as mcp:
        tools = by_name(mcp)
        web.faults["bad"] = SLOW_FAULTS[fault]
        with pytest.raises(McpToolError, match=r"Tool 'bad' of server 'web0' did not answer within 0\.\d s"):
            tools["web0_bad"].call()
        assert tools["web0_good"].call() == "fine"


@pytest.mark.parametrize("fault", ["status 503", "reset at once", "half JSON", "no events", "chunks of garbage"])
def test_turn_goes_on_after_a_broken_answer(ask: Any, fault: str, two: tuple[HostileServer, McpTools]) -> None:
    web, mcp = two
    web.faults["bad"] = FAULTS[fault]
    model = ScriptedChatModel([[("web0_bad", {}), ("web0_good", {}), ("web1_good", {})], "Two of three."])
    assert ask(ChatClient(model, tools=[mcp]), "Go.").response.text == "Two of three."
    results = [m for m in model.requests[-1].messages if isinstance(m, ToolMessage)]
    assert [m.is_error for m in results] == [True, False, False]


# ---------------------------------------------------------------- what a server says


@pytest.mark.parametrize(
    ("retry_after", "told"),
    [
        ("30", r"status 429 \(Too Many Requests\); try again in 30 s$"),
        (" 5 ", r"; try again in 5 s$"),
        ("Fri, 31 Dec 1999 23:59:59 GMT", r"\(Too Many Requests\)$"),
        ("soon", r"\(Too Many Requests\)$"),
        ("-1", r"\(Too Many Requests\)$"),
        ("9" * 400, r"\(Too Many Requests\)$"),
    ],
)
def test_wait_that_a_server_asks_for_is_told(retry_after: str, told: str, two: tuple[HostileServer, McpTools]) -> None:
    web, mcp = two
    web.faults["bad"] = status(429, retry_after=retry_after)
    with pytest.raises(McpToolError, match=told):
        by_name(mcp)["web0_bad"].call()


def _answers() -> dict[str, Any]:
    return {
        "batch": lambda h: h.reply(200, b"[" + fine(h) + b"]"),
        "batch with a notification": lambda h: h.reply(200, b'[{"jsonrpc":"2.0","method":"x"},' + fine(h) + b"]"),
        "id as text": lambda h: h.reply(200, json.dumps({**json.loads(fine(h)), "id": str(h.request_id)}).encode()),
        "no version": lambda h: h.reply(200, json.dumps({"id": h.request_id, "result": {"content": []}}).encode()),
        "type of text": lambda h: h.reply(200, fine(h), "text/plain"),
        "without a type": lambda h: h.reply(200, fine(h), None),
        "status 201": lambda h: h.reply(201, fine(h)),
        "status 202 with the answer": lambda h: h.reply(202, fine(h)),
        "not a number": lambda h: h.reply(200, fine(h).replace(b'"content"', b'"x": NaN, "content"')),
        "batch with a lone surrogate": lambda h: h.reply(200, b"[" + fine(h).replace(b"late", b"late\\ud800") + b"]"),
        "half an emoji": lambda h: h.reply(200, fine(h).replace(b"late", b"late\\ud83d")),
        "half an emoji in events": lambda h: h.reply(
            200, b"data: " + fine(h).replace(b"late", b"late\\ude00") + b"\n\n", EVENTS
        ),
        "half an emoji in gzip": lambda h: h.reply(
            200, gzip.compress(fine(h).replace(b"late", b"late\\ud83d")), content_encoding="gzip"
        ),
        "byte order mark": lambda h: h.reply(200, b"\xef\xbb\xbf" + fine(h)),
        "gzip": lambda h: h.reply(200, gzip.compress(fine(h)), content_encoding="gzip"),
        "gzip of events": lambda h: h.reply(
            200, gzip.compress(b"data: " + fine(h) + b"\n\n"), EVENTS, content_encoding="gzip"
        ),
        "large event": lambda h: h.reply(
            200,
            b"data: " + message(h, result={"content": [{"type": "text", "text": "x" * 2_000_000}]}) + b"\n\n",
            EVENTS,
        ),
        "events after it": lambda h: h.reply(200, b"data: " + fine(h) + b"\n\n" + b"data: }{\n\n" * 50, EVENTS),
        "progress for nobody": lambda h: h.reply(
            200, PROGRESS.replace(b":1,", b':"x",') + b"data: " + fine(h) + b"\n\n", EVENTS
        ),
    }


@pytest.mark.parametrize("kind", _answers())
def test_odd_answer_is_read(kind: str, two: tuple[HostileServer, McpTools]) -> None:
    web, mcp = two
    web.faults["bad"] = _answers()[kind]
    assert str(by_name(mcp)["web0_bad"].call())[:4] in ("late", "None", "xxxx")


@pytest.mark.parametrize("code", [-32000, -32001, -32098, -32099, -32603, -32700, 0, 500])
@pytest.mark.parametrize("http_status", [200, 400, 500])
def test_servers_own_error_is_told_whatever_its_code(
    code: int, http_status: int, two: tuple[HostileServer, McpTools]
) -> None:
    """The SDK uses some codes for connections that closed and calls that timed out."""
    web, mcp = two
    error = {"code": code, "message": "the printer is on fire"}
    web.faults["bad"] = lambda h: h.reply(http_status, message(h, error=error))
    begun = web.seen.count("initialize")
    with pytest.raises(McpToolError, match=r"web0.*bad.*the printer is on fire"):
        by_name(mcp)["web0_bad"].call()
    assert web.seen.count("initialize") == begun


@pytest.mark.parametrize("events", [False, True])
def test_few_bytes_that_expand_are_too_large(events: bool, two: tuple[HostileServer, McpTools]) -> None:
    web, mcp = two
    packed = gzip.compress(b"data: " * events + b"x" * (MAX_BYTES * 4), 1)
    web.faults["bad"] = body(packed, EVENTS if events else JSON, content_encoding="gzip")
    with pytest.raises(McpToolError, match="its answer was larger than 5,000,000 bytes"):
        by_name(mcp)["web0_bad"].call()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_headers_that_fail_once_fail_one_call(asynchronous: bool, caplog: pytest.LogCaptureFixture) -> None:
    broken = [False]

    def headers() -> dict[str, str]:
        if broken[0]:
            raise RuntimeError("token hunter2 expired")
        return {}

    async def aheaders() -> dict[str, str]:
        return headers()

    with hostile() as web:
        server = HttpServer("web0", web.url, aheaders if asynchronous else headers, handshake="legacy")
        with McpTools(server, prefix="always") as mcp:
            good = by_name(mcp)["web0_good"]
            broken[0] = True
            with pytest.raises(McpToolError, match=r"gave no answer.*the request could not be sent") as caught:
                good.call()
            assert "hunter2" not in str(caught.value) + caplog.text
            assert "mcp_request_not_sent" in caplog.text
            broken[0] = False
            assert good.call() == "fine"
            assert web.seen.count("initialize") == 1


# ---------------------------------------------------------------- sessions


@pytest.mark.parametrize(
    "unknown",
    [
        status(404),
        status(404, b'{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}', JSON),
        status(400, b"Bad Request: No valid session ID provided"),
    ],
)
def test_call_of_a_lost_session_is_repeated_but_not_one_that_runs(unknown: Any) -> None:
    with hostile() as web, connected(web) as mcp:
        tools = by_name(mcp)
        started, go = held(web)
        calls = iter([unknown])

        def once(h: Handler) -> None:
            next(calls, lambda h: h.reply(200, fine(h)))(h)

        web.faults["bad"] = once
        with ThreadPoolExecutor() as pool:
            slow = pool.submit(tools["web0_slow"].call, {})
            assert started.wait(20)
            assert tools["web0_bad"].call() == "late"  # it was not run, so it is safe to repeat
            go.set()
            with pytest.raises(McpToolError, match=r"while it ran 'slow'.*may or may not have taken effect"):
                slow.result(20)
        assert web.seen.count("tools/call") == 3
        assert web.seen.count("initialize") == 2
        assert mcp.servers[0].state == "ready"


def test_tool_that_is_always_unknown_does_not_stop_the_others() -> None:
    with hostile() as web, connected(web) as mcp:
        tools = by_name(mcp)
        web.faults["bad"] = status(404)
        for _ in range(3):
            with pytest.raises(McpToolError, match=r"did not run 'bad': .*HTTP status 404 \(Not Found\)"):
                tools["web0_bad"].call()
            assert tools["web0_good"].call() == "fine"


@pytest.mark.parametrize("fault", [status(404), status(500), text(), text(b"retry: 0\n\n"), silence, reset()])
def test_broken_stream_of_notifications_does_no_harm(fault: Any) -> None:
    """Many servers have no such stream, and answer the GET for it with any status."""
    with hostile() as web:
        web.faults["GET"] = fault
        with connected(web) as mcp:
            tools = by_name(mcp)
            assert [tools["web0_good"].call() for _ in range(3)] == ["fine"] * 3
            assert web.seen.count("initialize") == 1
            assert web.gets <= 3


@pytest.mark.parametrize("fault", [status(404), status(500), text(), silence, reset()])
def test_notifications_and_the_end_need_no_answer(fault: Any) -> None:
    with hostile() as web:
        web.faults["notifications/initialized"] = web.faults["notifications/cancelled"] = web.faults["DELETE"] = fault
        with connected(web, timeout=0.2, connect_timeout=2) as mcp:
            tools = by_name(mcp)
            web.faults["bad"] = silence
            with pytest.raises(McpToolError, match="did not answer"):
                tools["web0_bad"].call()  # sends the notification that it is cancelled
            assert tools["web0_good"].call() == "fine"
            assert web.seen.count("initialize") == 1


# ---------------------------------------------------------------- the start

START = ["page instead of an answer", "accepted without an answer", "half JSON", "status 500", "redirect elsewhere"]
START += ["no events", "chunks of garbage", "reset at once", "gzip bomb"]


@pytest.mark.parametrize("fault", START)
def test_server_that_breaks_at_the_first_question_is_asked_in_the_older_way(fault: str) -> None:
    with hostile() as web:
        web.faults["server/discover"] = FAULTS[fault]
        with connected(web, handshake="auto") as mcp:
            assert by_name(mcp)["web0_good"].call() == "fine"


@pytest.mark.parametrize("method", ["initialize", "tools/list"])
@pytest.mark.parametrize("fault", START)
def test_server_that_breaks_at_the_start_fails_alone_and_is_tried_again(fault: str, method: str) -> None:
    with hostile() as web, hostile() as other:
        web.faults[method] = FAULTS[fault]
        with connected(web, other) as mcp:
            assert list(by_name(mcp)) == ["web1_good", "web1_bad", "web1_slow"]
            assert [s.state for s in mcp.servers] == ["failed", "ready"]
            assert (mcp.servers[0].error or "").startswith("MCP server 'web0' did not start: ")
            del web.faults[method]
            mcp.refresh()
            assert by_name(mcp)["web0_good"].call() == "fine"
            assert [s.state for s in mcp.servers] == ["ready", "ready"]


# ---------------------------------------------------------------- the older transport, which answers by events

REFUSALS = [f"status {code}" for code in (400, 401, 403, 405, 409, 413, 500, 502)]
REFUSALS += ["status 503", "redirect elsewhere", "redirect without end", "huge header", "header of garbage"]
REFUSALS += ["status line of garbage", "no HTTP", "reset at once"]


@pytest.fixture(scope="module")
def by_events() -> Iterator[tuple[HostileServer, McpTools]]:
    with hostile(events=True) as web, connected(web, transport="sse") as mcp:
        yield web, mcp


@pytest.mark.parametrize("fault", REFUSALS)
def test_refused_request_fails_its_own_call_only(fault: str, by_events: tuple[HostileServer, McpTools]) -> None:
    web, mcp = by_events
    tools = by_name(mcp)
    web.faults["bad"] = FAULTS[fault]
    with pytest.raises(McpToolError, match=r"'web0'.*'bad'"):
        tools["web0_bad"].call()
    assert tools["web0_good"].call() == "fine"
    assert web.seen.count("initialize") == 1


@pytest.mark.parametrize(
    "events",
    [b"data: }{\n\n", b"event: endpoint\ndata: http://example.org/\n\n", b"event: x\ndata: {}\n\n", b": \xff\n\n"],
)
def test_odd_event_does_no_harm(events: bytes, by_events: tuple[HostileServer, McpTools]) -> None:
    web, mcp = by_events
    assert web.events is not None
    web.events.put(events)
    assert by_name(mcp)["web0_good"].call() == "fine"
    assert web.seen.count("initialize") == 1


def test_end_of_the_events_is_noticed_and_they_are_opened_again() -> None:
    with hostile(events=True) as web, connected(web, transport="sse") as mcp:
        tools = by_name(mcp)
        assert web.events is not None
        web.faults["slow"] = lambda h: (h.reply(202), web.events and web.events.put(None))
        with pytest.raises(McpToolError, match=r"stopped while it ran 'slow'.*may or may not"):
            tools["web0_slow"].call()
        assert tools["web0_good"].call() == "fine"
        assert web.seen.count("initialize") == 2


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (status(404), r"HTTP status 404 \(Not Found\)"),
        (status(401), r"it refused the credentials with HTTP status 401"),
        (body(b"{}"), "its events cannot be read"),
        (text(), "it named no endpoint"),
        (text(b"event: endpoint\ndata: http://127.0.0.1:1/x\n\n"), "it named an endpoint of another server"),
        (text(b"event: endpoint\ndata: file:///etc/passwd\n\n"), "it named an endpoint of another server"),
        (reset(), "the connection broke|disconnected|Error"),
    ],
)
def test_events_that_cannot_be_opened_fail_the_start(fault: Any, told: str) -> None:
    with hostile(events=True) as web, hostile() as other:
        web.faults["GET"] = fault
        with connected(web, transport="sse") as mcp, connected(other) as beside:
            assert mcp.tools() == ()
            assert re.search(told, str(mcp.servers[0].error))
            assert by_name(beside)["web0_good"].call() == "fine"
