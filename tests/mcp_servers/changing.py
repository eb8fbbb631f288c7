"""A server whose tool `grow` adds a tool and notifies of the change: `changing.py [notify|session]`.

`notify` uses the notification of new protocols, `session` that of old ones. Without an argument it sends both.
"""

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("changing")


def fresh() -> str:
    """A tool that `grow` adds."""
    return "fresh"


@server.tool()
async def grow(ctx: Context) -> str:
    """Add the tool `fresh`."""
    server.add_tool(fresh)
    if "session" not in sys.argv:
        await ctx.notify_tools_changed()
    if "notify" not in sys.argv:
        await ctx.session.send_tool_list_changed()
    return "grown"


if __name__ == "__main__":
    server.run()
