"""A server of a Python framework with a tool for each scenario: `python_server.py sdk1|sdk2|fastmcp [PORT]`.

It uses standard input and output, or with a port streamable HTTP at `/mcp` and events at `/sse`.
"""

import base64
import sys
from pathlib import Path
from typing import Any

import anyio
from pydantic import BaseModel

framework, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None
if framework == "sdk1":
    import mcp.types as types
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as Server
elif framework == "sdk2":
    import mcp_types as types
    from mcp.server import MCPServer as Server
    from mcp.server.mcpserver import Context
else:
    from fastmcp import Context
    from fastmcp import FastMCP as Server

    try:
        import mcp_types as types
    except ImportError:
        import mcp.types as types

ABOUT = "Ask for the weather before you paint."
options: dict[str, Any] = {"list_page_size": 4} if framework == "fastmcp" else {"log_level": "CRITICAL"}
server = Server("foreign", instructions=ABOUT, **options)
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n rest").decode()


class Weather(BaseModel):
    city: str
    celsius: float


@server.tool(title="Say it again", annotations=types.ToolAnnotations(readOnlyHint=True, openWorldHint=False))
def echo(text: str) -> str:
    """Return the text."""
    return text


@server.tool()
def weather(city: str) -> Weather:
    """Tell the weather."""
    return Weather(city=city, celsius=21.5)


@server.tool()
def picture() -> list[types.TextContent | types.ImageContent | types.AudioContent]:
    """Return a caption, an image and audio."""
    return [
        types.TextContent(type="text", text="a caption"),
        types.ImageContent(type="image", data=PNG, mimeType="image/png"),
        types.AudioContent(type="audio", data=base64.b64encode(b"RIFF").decode(), mimeType="audio/wav"),
    ]


@server.tool()
def documents() -> list[types.EmbeddedResource | types.ResourceLink]:
    """Return embedded resources and a link."""
    return [
        types.EmbeddedResource(
            type="resource",
            resource=types.TextResourceContents(uri="file:///a.txt", text="inside", mimeType="text/plain"),
        ),
        types.EmbeddedResource(
            type="resource", resource=types.BlobResourceContents(uri="file:///b.png", blob=PNG, mimeType="image/png")
        ),
        types.ResourceLink(type="resource_link", name="c", uri="file:///c.txt"),
    ]


@server.tool()
def nothing() -> None:
    """Return nothing."""


@server.tool()
def large(size: int) -> str:
    """Return a long text."""
    return "ü" * size


@server.tool()
def explode() -> str:
    """Raise an exception."""
    raise RuntimeError("the boiler exploded")


if framework == "fastmcp":
    from fastmcp.exceptions import ToolError

    @server.tool()
    def refuse(why: str) -> str:
        """Return an error."""
        raise ToolError(why)

else:

    @server.tool()
    def refuse(why: str) -> types.CallToolResult:
        """Return an error."""
        return types.CallToolResult(content=[types.TextContent(type="text", text=why)], isError=True)


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Report progress."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"step {number}")
    return "counted"


@server.tool()
async def wait(fifo: str) -> str:
    """Never answer; write to the fifo at the start and at a cancellation."""
    with Path(fifo).open("w", buffering=1) as signal:  # noqa: ASYNC230
        signal.write("started\n")
        try:
            await anyio.sleep_forever()
        finally:
            signal.write("cancelled\n")
    return "never"


def fresh() -> str:
    return "fresh"


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    """Add a tool and notify of the change."""
    if framework == "fastmcp":
        server.tool(fresh, name=name)
        await ctx.send_notification(types.ToolListChangedNotification(method="notifications/tools/list_changed"))
        return "grown"
    server.add_tool(fresh, name=name)
    if framework == "sdk2":
        await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "grown"


@server.resource("foreign://readme")
def readme() -> str:
    return "Read me."


@server.prompt()
def ask(question: str) -> str:
    """Ask."""
    return question


if framework == "sdk1":
    PAGE = 4
    low: Any = server._mcp_server

    @low.list_tools()
    async def pages(request: types.ListToolsRequest) -> types.ListToolsResult:
        tools, start = await server.list_tools(), int((request.params and request.params.cursor) or 0)
        following = str(start + PAGE) if start + PAGE < len(tools) else None
        return types.ListToolsResult(tools=tools[start : start + PAGE], nextCursor=following)


def over_http(port: int) -> None:
    import uvicorn

    if framework == "fastmcp":
        app, events = server.http_app(path="/mcp"), server.http_app(path="/sse", transport="sse")
    else:
        app, events = server.streamable_http_app(), server.sse_app()
    app.router.routes.extend(events.routes)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="info", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    if port is not None:
        over_http(port)
    elif framework == "fastmcp":
        server.run(show_banner=False)
    else:
        server.run()
