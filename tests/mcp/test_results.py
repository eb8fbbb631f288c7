"""Results, tool lists and names of the tools of an MCP server."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

pytest.importorskip("mcp")


from toolsearch.mcp import McpToolError, McpTools
from toolsearch.mcp.client.results import convert_result, returns_value
from toolsearch.messages import Media
from toolsearch.tools.tool_type import ToolContext

from .servers import SCRIPTS, by_name

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses fifos and POSIX signals")


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
def test_results_are_equal_in_sync_and_async_code(
    kit: McpTools, tool: str, arguments: dict[str, Any], expected: object
) -> None:
    assert by_name(kit)[tool].call(arguments) == expected
    assert asyncio.run(by_name(kit)[tool].acall(arguments)) == expected


def test_error_result_raises_with_the_text_of_the_server(kit: McpTools) -> None:
    with pytest.raises(McpToolError, match=r"^the disk is full$"):
        by_name(kit)["fail"].call({"why": "the disk is full"})


def test_server_rejects_invalid_arguments(kit: McpTools) -> None:
    with pytest.raises(McpToolError, match="a"):
        by_name(kit)["add"].call({"a": "two"})


def test_environment_is_not_inherited(kit: McpTools) -> None:
    assert by_name(kit)["environment"].call({"name": "SECRET_OF_THE_APPLICATION"}) == "unset"


def test_context_of_the_application_is_not_sent(kit: McpTools) -> None:
    meta = by_name(kit)["meta"].call({}, ToolContext({"user_id": "u-77"}, tool_call_id="call_9", session_id="s-5"))
    assert all(secret not in meta for secret in ("u-77", "user_id", "call_9", "s-5"))


def test_media_with_invalid_base64_becomes_text() -> None:
    from mcp_types import CallToolResult, ImageContent

    result = CallToolResult(content=[ImageContent(data="~~~", mime_type="image/png")])
    assert convert_result(result, server="s", tool="t") == "[image/png: 3 characters of invalid base64]"


def test_binary_resource_becomes_media() -> None:
    from mcp_types import BlobResourceContents, CallToolResult, EmbeddedResource

    blob = BlobResourceContents(uri="file:///x", blob="AAE=", mime_type="application/pdf")
    result = CallToolResult(content=[EmbeddedResource(resource=blob)])
    assert convert_result(result, server="s", tool="t") == Media("application/pdf", b"\x00\x01")


@pytest.mark.parametrize(
    ("structured", "expected"),
    [({"why": "é"}, '{"why": "é"}'), (None, "tool 't' of server 's' failed without saying why")],
)
def test_error_without_text_has_a_message(structured: object, expected: str) -> None:
    from mcp_types import CallToolResult

    with pytest.raises(McpToolError) as caught:
        convert_result(CallToolResult(content=[], structured_content=structured, is_error=True), server="s", tool="t")
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("texts", "structured", "expected"),
    [
        (["21 degrees"], {"degrees": 21}, '21 degrees\n{"degrees": 21}'),
        (["See the data."], ["é"], 'See the data.\n["é"]'),
        (['{ "degrees": 21 }'], {"degrees": 21}, '{ "degrees": 21 }'),
        (["Summary", '{"degrees": 21}'], {"degrees": 21}, 'Summary\n{"degrees": 21}'),
        (['```json\n{"degrees": 21}\n```'], {"degrees": 21}, '```json\n{"degrees": 21}\n```'),
        (["warm"], {"result": "warm"}, "warm"),
        (["1", "2"], {"result": [1, 2]}, "1\n2"),
        (["a", "b"], {"result": ["a", "b"]}, "a\nb"),
        (["True"], {"result": True}, "True"),
        (["12"], {"result": "12"}, "12"),
    ],
)
def test_structured_content_follows_a_text_that_is_not_its_copy(
    texts: list[str], structured: object, expected: str
) -> None:
    from mcp_types import CallToolResult, TextContent

    result = CallToolResult(content=[TextContent(text=text) for text in texts], structured_content=structured)
    assert convert_result(result, server="s", tool="t") == expected


@pytest.mark.parametrize("data", ["aGk_\naGk=", "aGk/\r\n aGk", "aGk/aGk=\n", "aGk/aGk"])
def test_base64_is_read_in_any_spelling(data: str) -> None:
    from mcp_types import CallToolResult, ImageContent

    result = CallToolResult(content=[ImageContent(data=data, mime_type="image/png")])
    assert convert_result(result, server="s", tool="t") == Media("image/png", b"hi?hi")


@pytest.mark.parametrize(("structured", "expected"), [({"result": None}, None), ({"result": 0}, {"result": 0})])
def test_a_wrapped_none_is_none(structured: object, expected: object) -> None:
    from mcp_types import CallToolResult

    result = CallToolResult(content=[], structured_content=structured)
    assert convert_result(result, server="s", tool="t") == expected


def test_empty_text_is_preferred_to_structured_content() -> None:
    from mcp_types import CallToolResult, TextContent

    result = CallToolResult(content=[TextContent(text="")], structured_content={"result": ""})
    assert convert_result(result, server="s", tool="t") == ""


@pytest.mark.parametrize(
    ("result", "declares"),
    [({"type": "null"}, False), ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, True), ({}, True)],
)
def test_the_output_schema_says_whether_none_is_a_value(result: object, declares: bool) -> None:
    assert returns_value({"type": "object", "properties": {"result": result}}) is declares
    assert returns_value({"type": "object"})
    assert not returns_value(None)
