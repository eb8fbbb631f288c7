"""Catalog files: every form is loaded, and errors contain the place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolsearch.errors import ConfigurationError
from toolsearch.tools.catalog_file import load_catalog, read_json_lines

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
OPENAI = {"type": "function", "function": {"name": "openai_one", "description": "One.", "parameters": SCHEMA}}
RESPONSES = {"type": "function", "name": "responses_one", "description": "Two.", "parameters": SCHEMA}
ANTHROPIC = {"name": "anthropic_one", "description": "Three.", "input_schema": SCHEMA}
MCP = {"name": "mcp_one", "description": "Four.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}
ALL = [OPENAI, RESPONSES, ANTHROPIC, MCP]
NAMES = ["openai_one", "responses_one", "anthropic_one", "mcp_one"]


def write(tmp_path: Path, content: Any, name: str = "tools.json") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def json_lines(values: list[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(json.dumps(ALL), id="list"),
        pytest.param(json.dumps({"tools": ALL}), id="tools"),
        pytest.param(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": ALL}}), id="json-rpc"),
        pytest.param(json_lines(ALL), id="jsonl"),
        pytest.param("\n" + json_lines(ALL).replace("\n", "\r\n\r\n"), id="jsonl with blank lines and CRLF"),
        pytest.param(json_lines([{"tools": ALL[:2]}, *ALL[2:]]), id="jsonl of answers and definitions"),
        pytest.param(json.dumps([{"tools": ALL[:2]}, {"tools": ALL[2:]}], indent=2), id="list of answers"),
        pytest.param("\ufeff" + json.dumps(ALL), id="byte order mark"),
        pytest.param("\ufeff" + json_lines(ALL), id="jsonl with byte order mark"),
    ],
)
def test_every_form_is_loaded(tmp_path: Path, content: str) -> None:
    tools = load_catalog(write(tmp_path, content))
    assert [tool.name for tool in tools] == NAMES
    assert all(tool.parameters["required"] == ["city"] for tool in tools)


def test_a_file_of_one_definition_is_loaded(tmp_path: Path) -> None:
    assert [tool.name for tool in load_catalog(write(tmp_path, json.dumps(MCP)))] == ["mcp_one"]


def test_the_server_becomes_the_source(tmp_path: Path) -> None:
    answers = [{"server": "git", "tools": [MCP]}, {**ANTHROPIC, "server": "web"}, OPENAI]
    assert [tool.source for tool in load_catalog(write(tmp_path, json.dumps(answers)))] == ["git", "web", None]


def test_a_unicode_line_separator_does_not_end_a_line(tmp_path: Path) -> None:
    lines = [{**MCP, "description": "before\u2028after"}, ANTHROPIC]
    content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    assert [tool.name for tool in load_catalog(write(tmp_path, content))] == ["mcp_one", "anthropic_one"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("", "contains no tools", id="empty"),
        pytest.param(" \n\n", "contains no tools", id="blank"),
        pytest.param("[]", "contains no tools", id="no tools"),
        pytest.param('{"tools": []}', "contains no tools", id="no tools in an answer"),
        pytest.param("[\n  {\n    'name': 1\n  }\n]", ":3: is not JSON", id="single quotes"),
        pytest.param(json_lines(ALL[:2]) + "{broken\n", ":3: is not JSON", id="a broken line"),
        pytest.param("{broken\n" + json_lines(ALL), ":1: is not JSON", id="a broken first line"),
        pytest.param(b"[]\n\n\xff", ":3: is not UTF-8", id="not UTF-8"),
        pytest.param("42", "got a number", id="a number"),
        pytest.param(json.dumps([MCP, "mcp_two"]), "tool 2: expected", id="a name alone"),
        pytest.param(json_lines([MCP, [1]]), ":2: tool 1: expected", id="a number in a line"),
        pytest.param(json.dumps([MCP, {"description": "x"}]), "tool 2: a tool definition must have", id="no name"),
        pytest.param(
            json_lines([MCP, {"type": "web_search", "name": "w"}]),
            ":2: tool 'w': the provider",
            id="built in",
        ),
        pytest.param(json_lines([MCP, OPENAI, MCP]), ":3: the tool name 'mcp_one' is already used", id="twice"),
        pytest.param(
            json.dumps([{**MCP, "inputSchema": {"type": "string"}}]), "tool 'mcp_one': parameters", id="schema"
        ),
        pytest.param("[" * 100_000, "is", id="deep"),
        pytest.param("[" + "9" * 5_000 + "]", "cannot be read as JSON", id="a huge number"),
    ],
)
def test_an_error_is_one_line_with_its_place(tmp_path: Path, content: str | bytes, expected: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(ConfigurationError) as caught:
        load_catalog(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert expected in message
    assert "\n" not in message


def test_a_missing_file_and_a_folder_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        load_catalog(tmp_path / "none.json")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_catalog(tmp_path)


def test_lines_have_their_numbers(tmp_path: Path) -> None:
    assert list(read_json_lines(write(tmp_path, "\n1\n\n[2]\n"))) == [(2, 1), (4, [2])]


def test_the_bundled_catalog_is_loaded(tmp_path: Path) -> None:
    bundled = Path(__file__).parents[2] / "benchmarks" / "data" / "outfit_catalog.json"
    assert len(load_catalog(bundled)) == 28
