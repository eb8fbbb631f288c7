"""MCP servers as providers of tools; the public names are exported by `toolsearch.mcp`."""

__all__: list[str] = []
