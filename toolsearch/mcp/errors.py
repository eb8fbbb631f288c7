"""Errors of MCP servers: one for the application, one for the model."""

from __future__ import annotations

from ..errors import ToolSearchError

__all__ = ["McpServerError", "McpToolError"]


class McpServerError(ToolSearchError):
    """A server that could not be started, reached or listed.

    The message names the server and quotes the end of its standard error. It is for the application: a model or an
    MCP client reads `public_text`.

    Example:
        >>> raise McpServerError("MCP server 'git' did not start: no such file [uvx]")
        Traceback (most recent call last):
        toolsearch.mcp.errors.McpServerError: MCP server 'git' did not start: no such file [uvx]
    """

    _public = "A server that provides tools cannot be used now."


class McpToolError(ToolSearchError):
    """A failed call of a server's tool; the message is written for the model that called it.

    The tool-calling loop converts it to a tool result with ``is_error``. The message is the server's own text if there
    is one. Otherwise it says what happened: a timeout, a server that is not running, or an invalid answer.

    Example:
        >>> raise McpToolError("city not found")
        Traceback (most recent call last):
        toolsearch.mcp.errors.McpToolError: city not found
    """

    _public = None
