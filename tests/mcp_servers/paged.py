"""A server that lists 25 tools in pages of 10."""

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

TOOLS = [Tool(name=f"tool_{n}", description=f"Tool {n}", input_schema={"type": "object"}) for n in range(25)]


async def list_tools(ctx, params) -> ListToolsResult:
    start = int(params.cursor) if params is not None and params.cursor else 0
    end = start + 10
    return ListToolsResult(tools=TOOLS[start:end], next_cursor=str(end) if end < len(TOOLS) else None)


async def call_tool(ctx, params) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=params.name)])


server = Server("paged", on_list_tools=list_tools, on_call_tool=call_tool)


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
