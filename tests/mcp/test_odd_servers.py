"""Servers that answer in ways that the protocol does not allow, and servers without tools."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

pytest.importorskip("mcp")

from toolsearch.mcp import HttpServer, McpServerError, McpToolError, McpTools, StdioServer
from toolsearch.messages import Media

from .servers import SCRIPTS, by_name

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TEXT = {"type": "text", "text": "3 rows"}
TOOL: dict[str, Any] = {"name": "report", "inputSchema": {"type": "object"}}


def about(**fields: Any) -> dict[str, Any]:
    start = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "x", "version": "1"},
    }
    return {"result": {**start, **fields}}


def scripted(
    name: str = "odd", *, tools: list[Any] | None = None, options: dict[str, Any] | None = None, **answers: Any
) -> StdioServer:
    given = {"initialize": about(), "tools/list": {"result": {"tools": [TOOL] if tools is None else tools}}, **answers}
    command = [str(SCRIPTS / "scripted.py"), json.dumps(given)]
    options = {"timeout": 20.0, **(options or {})}
    return StdioServer(name, sys.executable, command, handshake="legacy", **options)


def listed(names: list[str]) -> list[dict[str, Any]]:
    return [{**TOOL, "name": name} for name in names]


BLOCKS: dict[str, tuple[Any, str]] = {
    "unknown type": ({"type": "json", "json": {"rows": 3}}, '{"type": "json", "json": {"rows": 3}}'),
    "error": ({"type": "error", "text": "closed"}, '{"type": "error", "text": "closed"}'),
    "string": ("plain", "plain"),
    "number": (7, "7"),
    "list": ([1], "[1]"),
    "null text": ({"type": "text", "text": None}, ""),
    "number as text": ({"type": "text", "text": 5}, "5"),
    "text without type": ({"text": "hello"}, "hello"),
    "odd annotations": ({"type": "text", "text": "hello", "annotations": 5}, "hello"),
    "relative address": ({"type": "resource", "resource": {"uri": "wiki/Home.md", "text": "# Home"}}, "# Home"),
    "no address": ({"type": "resource", "resource": {"text": "# Home"}}, "# Home"),
    "empty resource": ({"type": "resource", "resource": {}}, '{"type": "resource", "resource": {}}'),
    "link without name": ({"type": "resource_link", "uri": "file:///a"}, "file:///a: file:///a"),
    "image without data": ({"type": "image"}, '{"type": "image"}'),
}


def test_each_block_is_repaired_alone() -> None:
    """A block that cannot be read becomes its JSON; the blocks beside it stay."""
    answers = {name: {"result": {"content": [TEXT, block]}} for name, (block, _) in BLOCKS.items()}
    with McpTools(scripted(tools=listed(list(BLOCKS)), **answers)) as mcp:
        tools = {tool.original_name: tool for tool in mcp.tools()}
        got = {name: tools[name].call() for name in BLOCKS}
    assert got == {name: "\n".join(filter(None, ["3 rows", expected])) for name, (_, expected) in BLOCKS.items()}


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ({"type": "image", "data": PNG}, "image/png"),
        ({"type": "image", "data": f"data:image/png;base64,{PNG}"}, "image/png"),
        ({"type": "image", "data": f"{PNG[:60]}\r\n{PNG[60:].rstrip('=')}", "mimeType": None}, "image/png"),
        ({"type": "image", "data": PNG, "mime_type": "image/x-own"}, "image/x-own"),
        ({"type": "resource", "resource": {"blob": "AAH/"}}, "application/octet-stream"),
    ],
)
def test_media_without_type_or_with_folded_data_is_read(block: Any, kind: str) -> None:
    with McpTools(scripted(report={"result": {"content": [TEXT, block]}})) as mcp:
        text, media = by_name(mcp)["report"].call()
    assert text == "3 rows"
    assert isinstance(media, Media)
    assert media.mime_type == kind
    assert media.data[:4] in (b"\x89PNG", b"\x00\x01\xff")


IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
PICTURE = Media("image/png", b"\x89PNG\r\n\x1a\n")
NULLS = {"annotations": None, "_meta": None}
LINK = {"type": "resource_link", "name": "c", "uri": "file:///c.txt"}
RESULTS: dict[str, tuple[Any, Any]] = {
    "blocks again": (
        {"content": [TEXT, IMAGE], "structuredContent": {"result": [TEXT | NULLS, IMAGE | NULLS]}},
        ["3 rows", PICTURE],
    ),
    "one block again": ({"content": [IMAGE], "structuredContent": IMAGE | NULLS}, PICTURE),
    "wrapped block again": ({"content": [IMAGE], "structuredContent": {"result": IMAGE}}, PICTURE),
    "text and block again": (
        {"content": [TEXT, IMAGE], "structuredContent": {"result": ["3 rows", IMAGE]}},
        ["3 rows", PICTURE],
    ),
    "link again": ({"content": [LINK], "structuredContent": {"result": [LINK | NULLS]}}, "c: file:///c.txt"),
    "other data beside an image": (
        {"content": [IMAGE], "structuredContent": {"width": 3}},
        [{"width": 3}, PICTURE],
    ),
    "null content": ({"content": None}, None),
    "no content": ({"structuredContent": {"rows": 3}}, {"rows": 3}),
    "null content beside data": ({"content": None, "structuredContent": {"rows": 3}}, {"rows": 3}),
    "empty": ({}, None),
    "text": ({"content": "fine"}, "fine"),
    "one block": ({"content": TEXT}, "3 rows"),
    "null structured": ({"content": [TEXT], "structuredContent": None}, "3 rows"),
    "list structured": ({"structuredContent": [1, 2]}, "[1, 2]"),
    "own form": ({"rows": 3}, '{"rows": 3}'),
    "odd meta": ({"content": [TEXT], "_meta": 5}, "3 rows"),
    "null error flag": ({"content": [TEXT], "isError": None}, "3 rows"),
    "false as text": ({"content": [TEXT], "isError": "false"}, "3 rows"),
    "zero": ({"content": [TEXT], "isError": 0}, "3 rows"),
    "result is null": (None, None),
    "result is text": ("fine", "fine"),
    "result is a list": ([TEXT, "fine"], "3 rows\nfine"),
}


def test_each_form_of_a_result_is_read() -> None:
    answers = {name: {"result": result} for name, (result, _) in RESULTS.items()}
    with McpTools(scripted(tools=listed(list(RESULTS)), **answers)) as mcp:
        tools = {tool.original_name: tool for tool in mcp.tools()}
        got = {name: tools[name].call() for name in RESULTS}
    assert got == {name: expected for name, (_, expected) in RESULTS.items()}


@pytest.mark.parametrize("flag", ["true", 1, "yes", [0]])
def test_odd_error_flags_are_errors(flag: object) -> None:
    server = scripted(report={"result": {"content": [TEXT], "isError": flag}})
    with McpTools(server) as mcp, pytest.raises(McpToolError, match=r"^3 rows$"):
        by_name(mcp)["report"].call()


@pytest.mark.parametrize("error", ["boom", {"code": "E", "message": "boom"}, {"message": "boom"}, {"code": "boom"}])
def test_odd_error_answers_do_not_wait_for_the_timeout(error: object) -> None:
    with McpTools(scripted(report={"error": error})) as mcp, pytest.raises(McpToolError, match="boom"):
        by_name(mcp)["report"].call()


@pytest.mark.parametrize("result", [{"content": [TEXT]}, {"content": [TEXT], "structuredContent": {"title": 5}}])
def test_result_that_differs_from_its_output_schema_is_kept(result: Any) -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    with McpTools(scripted(tools=[{**TOOL, "outputSchema": schema}], report={"result": result})) as mcp:
        assert str(by_name(mcp)["report"].call()).startswith("3 rows")


@pytest.mark.parametrize(
    ("capabilities", "reply"),
    [
        ({"prompts": {}}, None),  # the process would end if it were asked
        ({"resources": {"subscribe": True}, "logging": {}}, None),
        ({}, {"error": {"code": -32601, "message": "Method not found"}}),
        ({}, {"error": {"code": -32603, "message": "no"}}),
        ({"tools": {}}, {"error": {"code": -32601, "message": "Method not found"}}),
    ],
)
def test_server_without_tools_is_ready(capabilities: Any, reply: Any) -> None:
    empty = scripted("empty", **{"initialize": about(capabilities=capabilities), "tools/list": reply})
    with McpTools(empty, scripted("works"), prefix="never") as mcp:
        assert list(by_name(mcp)) == ["report"]
        mcp.refresh()
        assert [(s.state, s.tools, s.error) for s in mcp.servers] == [("ready", 0, None), ("ready", 1, None)]


def test_tools_of_a_server_that_declares_nothing_are_listed() -> None:
    with McpTools(scripted(initialize=about(capabilities={}))) as mcp:
        assert list(by_name(mcp)) == ["report"]


def test_instructions_reach_the_application() -> None:
    text = "Ask the price list first.\U000e0041"
    with McpTools(scripted("shop", initialize=about(instructions=text)), scripted("plain")) as mcp:
        mcp.tools()
        assert [s.instructions for s in mcp.servers] == ["Ask the price list first.", None]


@contextmanager
def web_server(statuses: dict[str, int], token: Callable[[], str] | None = None) -> Iterator[str]:
    """Serve one tool over HTTP; `statuses` maps methods to the HTTP status that refuses them."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            method = request["method"]
            status = statuses.get(method, statuses.get("*", 200))
            if token is not None and self.headers.get("authorization") != f"Bearer {token()}":
                status = 401
            fields = {
                "initialize": about(),
                "tools/list": {"result": {"tools": [TOOL]}},
                "tools/call": {"result": {"content": [TEXT]}},
            }.get(method, {"error": {"code": -32601, "message": "unknown method"}})
            body = (
                json.dumps({"jsonrpc": "2.0", "id": request.get("id"), **fields}).encode() if status == 200 else b"no"
            )
            self.send_response(202 if status == 200 and "id" not in request else status)
            self.send_header("content-type", "application/json" if status == 200 else "text/plain")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.send_error(405)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as web:
        thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{web.server_port}/mcp"
        finally:
            web.shutdown()
            thread.join()


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("handshake", ["auto", "legacy"])
def test_refused_credentials_are_reported_at_the_start(status: int, handshake: Any) -> None:
    with web_server({"*": status}) as url:
        headers = {"Authorization": "Bearer s3cret"}
        mcp = McpTools(HttpServer("sec", url, headers=headers, handshake=handshake), on_error="raise")
        with pytest.raises(McpServerError, match=rf"it refused the credentials with HTTP status {status}") as caught:
            mcp.connect()
        assert "s3cret" not in str(caught.value)
        assert mcp.servers[0].state == "unauthorized"
        mcp.close()


def test_expired_credentials_are_reported_by_the_call() -> None:
    statuses: dict[str, int] = {}
    with web_server(statuses) as url, McpTools(HttpServer("sec", url, handshake="legacy")) as mcp:
        report = by_name(mcp)["report"]
        statuses["tools/call"] = 401
        with pytest.raises(McpToolError, match=r"refused the call of 'report': it answered with HTTP status 401"):
            report.call()
        assert (mcp.servers[0].state, "401" in str(mcp.servers[0].error)) == ("unauthorized", True)
        statuses["tools/call"] = 503
        with pytest.raises(McpToolError, match=r"HTTP status 503 \(Service Unavailable\)"):
            report.call()
        del statuses["tools/call"]
        assert report.call() == "3 rows"
        assert (mcp.servers[0].state, mcp.servers[0].error) == ("ready", None)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_headers_of_a_function_are_renewed(kind: str) -> None:
    current = ["token-1"]

    def headers() -> dict[str, str]:
        return {"Authorization": f"Bearer {current[0]}"}

    async def aheaders() -> dict[str, str]:
        return headers()

    given: Any = headers if kind == "sync" else aheaders
    with web_server({}, lambda: current[0]) as url, McpTools(HttpServer("sec", url, given, handshake="legacy")) as mcp:
        report = by_name(mcp)["report"]
        assert report.call() == "3 rows"
        current[0] = "token-2"
        assert report.call() == "3 rows"


def test_auth_of_the_http_client_is_used() -> None:
    import httpx2

    class Bearer(httpx2.Auth):
        def auth_flow(self, request: httpx2.Request) -> Any:
            request.headers["Authorization"] = "Bearer abc"
            yield request

    with web_server({}, lambda: "abc") as url, McpTools(HttpServer("sec", url, auth=Bearer())) as mcp:
        assert by_name(mcp)["report"].call() == "3 rows"


def test_failing_headers_fail_the_start_without_hanging() -> None:
    def headers() -> dict[str, str]:
        raise RuntimeError("no token")

    with web_server({}) as url, pytest.raises(McpServerError, match="did not start"):
        McpTools(HttpServer("sec", url, headers, handshake="legacy", connect_timeout=5)).connect()


@pytest.mark.parametrize(("longest", "answers"), [(600.0, True), (1.0, False)])
def test_progress_extends_the_timeout_up_to_a_maximum(longest: float, answers: bool) -> None:
    options = {"timeout": 1.0, "max_timeout": longest}
    with McpTools(scripted(tools=listed(["slow"]), options=options, slow={"result": {"content": [TEXT]}})) as mcp:
        slow = by_name(mcp)["slow"]
        if answers:
            assert slow.call() == "3 rows"
        else:
            with pytest.raises(McpToolError, match="did not answer within 1 s"):
                slow.call()


def test_tools_that_must_run_as_tasks_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    tools = [{**TOOL, "name": kind, "execution": {"taskSupport": kind}} for kind in ("required", "optional")]
    with McpTools(scripted(tools=tools)) as mcp:
        assert list(by_name(mcp)) == ["optional"]
    assert "it can only run as a task" in caplog.text


def test_chosen_variables_are_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:1")
    inherited = ["HTTPS_PROXY", "NOT_SET"]
    for names, expected in ((inherited, "http://proxy:1"), ([], "unset")):
        server = StdioServer("kit", sys.executable, [str(SCRIPTS / "kit.py")], inherit_env=names)
        with McpTools(server) as mcp:
            assert by_name(mcp)["environment"].call({"name": "HTTPS_PROXY"}) == expected
