"""Lists of tools as a session takes them: one tool that the protocol does not allow must not take the others away.

The SDK refuses a whole list for one tool in it, and with its first list a server.
"""

from __future__ import annotations

import logging
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse, methods
from pydantic import ValidationError

from .events import log_event

__all__ = ["leave_out_odd_tools"]

_VERSION = "2025-11-25"
"""Of the protocol; no version asks more of a tool."""


def leave_out_odd_tools(server: str, message: SessionMessage | Exception) -> None:
    """Take out of a list of tools, if `message` is one, what the SDK would refuse it for; what can be mended stays."""
    response = None if isinstance(message, Exception) else message.message
    if not isinstance(response, JSONRPCResponse):
        return
    tools = response.result.get("tools")
    if isinstance(tools, list) and _problem(tools):
        mended = list(map(_mended, tools))
        problems = [_problem([tool]) for tool in mended]
        response.result["tools"] = [tool for tool, problem in zip(mended, problems, strict=True) if not problem]
        for tool, problem in zip(mended, problems, strict=True):
            if problem:
                name = str(tool.get("name", "")) if isinstance(tool, dict) else repr(tool)[:60]
                log_event(logging.WARNING, "mcp_tool_left_out", server=server, tool=name, error=problem)


def _problem(tools: list[Any]) -> str:
    """Return what is wrong with the first tool that is not allowed, or ""."""
    try:
        methods.validate_server_result("tools/list", _VERSION, {"tools": tools})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc'][2:])) or 'tool'}: {first['msg']}"
    return ""


def _mended(tool: Any) -> Any:
    """Add to its schemas the type that many servers leave out, and drop an output schema that is none."""
    if not isinstance(tool, dict):
        return tool
    mended = dict(tool)
    for key in ("inputSchema", "outputSchema"):
        if isinstance(schema := mended.get(key), dict) and "type" not in schema:
            mended[key] = {"type": "object", **schema}
    if "outputSchema" in mended and _problem([{**mended, "inputSchema": {"type": "object"}}]):
        del mended["outputSchema"]
    return mended
