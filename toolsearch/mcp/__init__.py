"""MCP servers as a source of tools; needs the extra ``mcp``.

::

    from toolsearch.mcp import McpTools, StdioServer

    with McpTools(StdioServer("time", "uvx", ["mcp-server-time"])) as mcp:
        client = ChatClient(model, tools=[mcp])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import McpServerError, McpToolError
    from .servers import HttpServer, ServerStatus, StdioServer
    from .tools import McpTools

__all__ = ["HttpServer", "McpServerError", "McpToolError", "McpTools", "ServerStatus", "StdioServer"]

_HOMES = {
    "HttpServer": "servers",
    "McpServerError": "errors",
    "McpToolError": "errors",
    "McpTools": "tools",
    "ServerStatus": "servers",
    "StdioServer": "servers",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f".{home}", __name__), name)
