"""Lists of tools as a session takes them: one tool that the protocol does not allow must not take the others away.

The SDK refuses a whole list for one tool in it, and with its first list a server.
"""

from __future__ import annotations

import logging
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse, methods
from pydantic import ValidationError

from ....text import short_repr
from ...events import log_event

__all__ = ["leave_out_odd_tools"]

_UNKNOWN = "2025-11-25"
"""Of the protocol: what the SDK goes by as long as nothing is agreed."""

_OBJECT = {"type": "object"}
_REST = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
"""What some versions ask of a list beside its tools."""


def leave_out_odd_tools(server: str, message: SessionMessage | Exception, version: str | None) -> None:
    """Take out of a list of tools, if `message` is one, what the SDK would refuse it for; what can be mended stays.

    Args:
        server: for the log.
        message: what came from it; a list of tools is changed in place.
        version: of the protocol, as agreed with the server; None: not yet.
    """
    response = None if isinstance(message, Exception) else message.message
    if not isinstance(response, JSONRPCResponse):
        return
    tools = response.result.get("tools")
    version = version or _UNKNOWN
    if isinstance(tools, list) and _problem(tools, version):
        mended = [_mended(tool, version) for tool in tools]
        problems = [_problem([tool], version) for tool in mended]
        response.result["tools"] = [tool for tool, problem in zip(mended, problems, strict=True) if not problem]
        for tool, problem in zip(mended, problems, strict=True):
            if problem:
                name = short_repr(tool.get("name", "") if isinstance(tool, dict) else tool, 60)
                log_event(logging.WARNING, "mcp_tool_left_out", server=server, tool=name, error=problem)


def _problem(tools: list[Any], version: str) -> str:
    """Return what is wrong with the first tool that is not allowed, or ""."""
    try:
        methods.validate_server_result("tools/list", version, {**_REST, "tools": tools})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = short_repr(".".join(map(str, first["loc"][2:])) or "tool", 60).strip("'\"")
        return f"{place}: {first['msg']}"
    return ""


def _mended(tool: Any, version: str) -> Any:
    """Add to its schemas the type that many servers leave out, and drop an output schema that is none.

    What the version allows stays as it is: since 2026 an output schema may be one of arrays, or of anything.
    """
    if not isinstance(tool, dict) or not _problem([tool], version):
        return tool
    mended = dict(tool)
    if isinstance(schema := mended.get("inputSchema"), dict):
        mended["inputSchema"] = _OBJECT | schema
    output = mended.pop("outputSchema", None)
    for schema in (output, _OBJECT | output) if isinstance(output, dict) else ():
        if not _problem([{"name": "", "inputSchema": _OBJECT, "outputSchema": schema}], version):
            mended["outputSchema"] = schema
            break
    return mended
