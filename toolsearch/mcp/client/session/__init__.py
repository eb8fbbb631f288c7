"""The session with one MCP server: its event loop, transport, tool list and end."""

__all__: list[str] = []
