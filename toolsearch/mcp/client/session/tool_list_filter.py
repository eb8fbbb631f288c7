"""Removal of invalid tools and invisible characters from a server's tool list.

The SDK rejects a whole list if one tool in it is invalid, and rejects the server if this is its first list.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse, methods
from pydantic import ValidationError

from ....text import short_repr
from ....text.invisible import remove_invisible_in
from ...events import log_event

__all__ = ["drop_invalid_tools"]

_HANDSHAKE_VERSION = "2025-11-25"
"""The protocol version that the SDK assumes during the handshake."""

_OBJECT = {"type": "object"}
_OTHER_FIELDS = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
"""The fields of a tool list, other than its tools, that some protocol versions require."""


_SLICE = 200
"""The number of tools that are validated before other work of the event loop gets its turn."""


async def drop_invalid_tools(server: str, message: SessionMessage | Exception, version: str | None) -> None:
    """Repair the tools of a tool list that the SDK would reject, and remove those that cannot be repaired.

    Args:
        server: The server's name, for the log.
        message: A message from the server. A tool list is changed in place, any other message is left alone.
        version: The protocol version of the session; None during the handshake.
    """
    response = None if isinstance(message, Exception) else message.message
    if not isinstance(response, JSONRPCResponse):
        return
    tools = response.result.get("tools")
    if not isinstance(tools, list):
        return
    version = version or _HANDSHAKE_VERSION
    kept: list[Any] = []
    for start in range(0, len(tools), _SLICE):
        if start:
            await asyncio.sleep(0)
        listed = [_visible(tool) for tool in tools[start : start + _SLICE]]
        kept += _valid(server, listed, version) if _problem(listed, version) else listed
    response.result["tools"] = kept


def _visible(tool: Any) -> Any:
    """Remove invisible characters from what a model reads of a tool. The name stays: the server knows it by that."""
    if not isinstance(tool, dict):
        return tool
    return {key: value if key == "name" else remove_invisible_in(value) for key, value in tool.items()}


def _valid(server: str, tools: list[Any], version: str) -> list[Any]:
    repaired = [_repaired(tool, version) for tool in tools]
    problems = [_problem([tool], version) for tool in repaired]
    for tool, problem in zip(repaired, problems, strict=True):
        if problem:
            name = tool.get("name", "") if isinstance(tool, dict) else tool
            log_event(logging.WARNING, "mcp_tool_left_out", server=server, tool=name, error=problem, max_length=100)
    return [tool for tool, problem in zip(repaired, problems, strict=True) if not problem]


def _problem(tools: list[Any], version: str) -> str:
    """Return what is wrong with the first invalid tool, or an empty string."""
    try:
        methods.validate_server_result("tools/list", version, {**_OTHER_FIELDS, "tools": tools})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = short_repr(".".join(map(str, first["loc"][2:])) or "tool", 60).strip("'\"")
        return f"{place}: {first['msg']}"
    return ""


def _repaired(tool: Any, version: str) -> Any:
    """Add the type that many servers leave out of schemas, and drop an invalid output schema.

    A valid tool stays as it is. Since the protocol of 2026 an output schema may have any type.
    """
    if not isinstance(tool, dict) or not _problem([tool], version):
        return tool
    repaired = dict(tool)
    if isinstance(schema := repaired.get("inputSchema"), dict):
        repaired["inputSchema"] = _OBJECT | schema
    output = repaired.pop("outputSchema", None)
    for schema in (output, _OBJECT | output) if isinstance(output, dict) else ():
        if not _problem([{"name": "", "inputSchema": _OBJECT, "outputSchema": schema}], version):
            repaired["outputSchema"] = schema
            break
    return repaired
