"""Catalog files: tool definitions in JSON or JSONL, in the forms that servers and providers use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError
from .tool_type import Tool

__all__ = ["load_catalog", "read_json_lines"]

_EXPECTED = 'a list of tool definitions, {"tools": [...]}, or one definition a line'


@dataclass(frozen=True, slots=True)
class _Entry:
    """One definition, its place in the file, and its server if there is one."""

    definition: Any
    place: str
    source: str | None


def load_catalog(path: str | Path) -> tuple[Tool, ...]:
    """Load the tools of a JSON or JSONL file. They can be listed and searched, but not called.

    The file contains a list of definitions, ``{"tools": [...]}`` as MCP servers answer ``tools/list`` (with or without
    the JSON-RPC envelope), one definition, or one of these per line. Definitions can have the forms of OpenAI,
    Anthropic and MCP in any mixture. A ``"server"`` beside ``"tools"``, or in a definition, becomes the source.

    Raises:
        ConfigurationError: If the file cannot be read or contains something else. The message contains the file, and
            the line or the number of the tool.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        ...     print('{"name": "ping", "inputSchema": {"type": "object"}}', file=file, flush=True)
        ...     load_catalog(file.name)
        (Tool('ping'),)
    """
    path = Path(path)
    tools: list[Tool] = []
    places: dict[str, str] = {}
    for entry in _entries(path):
        tool = _tool(entry)
        if tool.name in places:
            raise ConfigurationError(
                f"{entry.place}: the tool name {tool.name!r} is already used in {places[tool.name]}"
            )
        places[tool.name] = entry.place
        tools.append(tool)
    if not tools:
        raise ConfigurationError(f"{path}: contains no tools; expected {_EXPECTED}")
    return tuple(tools)


def read_json_lines(path: str | Path) -> Iterator[tuple[int, Any]]:
    """Yield line number and value of each line of a JSONL file that is not blank.

    Raises:
        ConfigurationError: If the file cannot be read, or a line is not JSON.
    """
    path = Path(path)
    yield from _lines(_read(path), path)


def _read(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ConfigurationError(f"{path}:{line}: is not UTF-8 (byte {content[error.start]:#04x})") from error


def _entries(path: Path) -> Iterator[_Entry]:
    text = _read(path)
    if not text.strip():
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        if not _looks_like_lines(text):
            raise ConfigurationError(_json_error(path, 1, error)) from error
    else:
        yield from _definitions(value, str(path))
        return
    for number, value in _lines(text, path):
        yield from _definitions(value, f"{path}:{number}")


def _looks_like_lines(text: str) -> bool:
    """Return whether the first line is a complete JSON object, or all of several lines start like one."""
    # Not str.splitlines, which also breaks at characters that JSON allows within a string (U+2028 and others).
    lines = [line for line in text.split("\n") if line.strip()]
    starts = sum(line.startswith("{") for line in lines)
    try:
        first = json.loads(lines[0]) if lines else None
    except (ValueError, RecursionError):
        return starts > 1 and starts == len(lines)
    return isinstance(first, dict)


def _lines(text: str, path: Path) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ConfigurationError(_json_error(path, number, error)) from error


def _json_error(path: Path, line: int, error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{path}:{line + error.lineno - 1}: is not JSON: {error.msg} (column {error.colno})"
    reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    return f"{path}:{line}: cannot be read as JSON: {reason}"


def _definitions(value: Any, place: str, source: str | None = None) -> Iterator[_Entry]:
    """Yield the definitions in a value, in any of the known envelopes."""
    if isinstance(value, list):
        for number, item in enumerate(value, 1):
            yield from _definitions(item, f"{place}: tool {number}", source)
    elif isinstance(value, Mapping):
        server = value.get("server")
        source = server if isinstance(server, str) and server else source
        if isinstance(tools := value.get("tools"), list):
            yield from _definitions(tools, place, source)
        elif isinstance(result := value.get("result"), Mapping) and isinstance(result.get("tools"), list):
            yield from _definitions(result["tools"], place, source)
        else:
            yield _Entry(value, place, source)
    else:
        raise ConfigurationError(f"{place}: expected {_EXPECTED}, got {_kind(value)}")


def _tool(entry: _Entry) -> Tool:
    try:
        return Tool.from_definition(entry.definition, source=entry.source)
    except ConfigurationError as error:
        raise ConfigurationError(f"{entry.place}: {error}") from error


def _kind(value: Any) -> str:
    names = {str: "a string", bool: "true or false", int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), type(value).__name__)
