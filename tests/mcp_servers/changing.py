"""A server whose tool `grow` adds a tool and says that the list has changed: `changing.py [notify|session]`.

`notify` is heard on new protocols, `session` on old ones; without an argument it does both.
"""

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("changing")


def fresh() -> str:
    """A tool that was not there at first."""
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
