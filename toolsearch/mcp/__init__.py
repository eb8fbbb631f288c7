"""MCP client and server: use the tools of MCP servers, and serve tools to MCP clients. Needs the extra ``mcp``.

::

    from toolsearch.mcp import McpTools, StdioServer, serve_mcp

    with McpTools(StdioServer("time", "uvx", ["mcp-server-time"])) as mcp:
        client = ChatClient(model, tools=[mcp])

    serve_mcp([my_function, my_object, mcp])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client.calls import ProgressHook
    from .client.mcp_tools import McpTools
    from .client.prefixes import Prefix
    from .client.reconnect import Reconnect
    from .client.servers import Handshake, Headers, HttpServer, Server, ServerStatus, StdioServer
    from .errors import McpServerError, McpToolError
    from .server.progress import report_progress
    from .server.server import McpServer, serve_mcp

__all__ = [
    "Handshake",
    "Headers",
    "HttpServer",
    "McpServer",
    "McpServerError",
    "McpToolError",
    "McpTools",
    "Prefix",
    "ProgressHook",
    "Reconnect",
    "Server",
    "ServerStatus",
    "StdioServer",
    "report_progress",
    "serve_mcp",
]

_MODULES = {
    "Handshake": "client.servers",
    "Headers": "client.servers",
    "HttpServer": "client.servers",
    "McpServer": "server.server",
    "McpServerError": "errors",
    "McpToolError": "errors",
    "McpTools": "client.mcp_tools",
    "Prefix": "client.prefixes",
    "ProgressHook": "client.calls",
    "Reconnect": "client.reconnect",
    "Server": "client.servers",
    "ServerStatus": "client.servers",
    "StdioServer": "client.servers",
    "report_progress": "server.progress",
    "serve_mcp": "server.server",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f".{module}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
