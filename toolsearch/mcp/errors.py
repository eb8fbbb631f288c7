"""What can go wrong with MCP servers: one error for the application, one for the model."""

from __future__ import annotations

from ..errors import ToolSearchError

__all__ = ["McpServerError", "McpToolError"]


class McpServerError(ToolSearchError):
    """A server could not be started, reached or listed; the message names it and ends with the tail of its stderr."""


class McpToolError(ToolSearchError):
    """A tool of a server did not do what was asked; the message is written for the model that called it.

    The execution layer turns it into a result with ``is_error``. Its text is the server's own where there is one, else
    says what happened: no answer in time, a server that is not running, an answer that is not MCP.
    """
