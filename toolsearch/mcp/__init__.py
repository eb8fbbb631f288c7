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
    from .client.mcp_tools import McpTools
    from .client.reconnect import Reconnect
    from .client.servers import HttpServer, ServerStatus, StdioServer
    from .errors import McpServerError, McpToolError
    from .server.progress import report_progress
    from .server.server import McpServer, serve_mcp

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
    "HttpServer": "client.servers",
    "McpServer": "server.server",
    "McpServerError": "errors",
    "McpToolError": "errors",
    "McpTools": "client.mcp_tools",
    "Reconnect": "client.reconnect",
    "ServerStatus": "client.servers",
    "StdioServer": "client.servers",
    "report_progress": "server.progress",
    "serve_mcp": "server.server",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f".{home}", __name__), name)
