"""MCP, both ways: servers as a source of tools, and tools served; needs the extra ``mcp``.

::

    from toolsearch.mcp import McpTools, StdioServer

    with McpTools(StdioServer("time", "uvx", ["mcp-server-time"])) as mcp:
        client = ChatClient(model, tools=[mcp])

    serve_mcp([my_function, my_object, mcp])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import McpServerError, McpToolError
    from .progress import report_progress
    from .reconnect import Reconnect
    from .serve import McpServer, serve_mcp
    from .servers import HttpServer, ServerStatus, StdioServer
    from .tools import McpTools

__all__ = [
    "HttpServer",
    "McpServer",
    "McpServerError",
    "McpToolError",
    "McpTools",
    "Reconnect",
    "ServerStatus",
    "StdioServer",
    "report_progress",
    "serve_mcp",
]

_HOMES = {
    "HttpServer": "servers",
    "McpServer": "serve",
    "McpServerError": "errors",
    "McpToolError": "errors",
    "McpTools": "tools",
    "Reconnect": "reconnect",
    "ServerStatus": "servers",
    "StdioServer": "servers",
    "report_progress": "progress",
    "serve_mcp": "serve",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f".{home}", __name__), name)
