"""Tools served to MCP clients; the public names are exported by `toolsearch.mcp`."""

__all__: list[str] = []
