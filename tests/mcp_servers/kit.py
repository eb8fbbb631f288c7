"""A server with tools of every kind of result. `argv[1]`, if given, is the name it reports."""

import base64
import json
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

READ_ONLY = ToolAnnotations(read_only_hint=True)
server = MCPServer(sys.argv[1] if len(sys.argv) > 1 else "kit", version="1.2.3")
print("kit is starting", file=sys.stderr)


@server.tool(annotations=READ_ONLY)
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool(title="Sum of two")
def add(a: int, b: int = 1) -> CallToolResult:
    """Add two numbers."""
    return CallToolResult(content=[], structured_content={"sum": a + b})


@server.tool()
def picture() -> CallToolResult:
    """A caption and an image."""
    image = ImageContent(data=base64.b64encode(b"png bytes").decode(), mime_type="image/png")
    return CallToolResult(content=[TextContent(text="a caption"), image])


@server.tool()
def sound() -> CallToolResult:
    """Only audio."""
    return CallToolResult(content=[AudioContent(data=base64.b64encode(b"wav").decode(), mime_type="audio/wav")])


@server.tool()
def documents() -> CallToolResult:
    """An embedded resource and a link to one."""
    embedded = EmbeddedResource(resource=TextResourceContents(uri="file:///a.txt", text="inside the file"))
    return CallToolResult(content=[embedded, ResourceLink(name="b", uri="file:///b.txt")])


@server.tool()
def nothing() -> CallToolResult:
    """No content at all."""
    return CallToolResult(content=[])


@server.tool()
def fail(why: str) -> CallToolResult:
    """An error result."""
    return CallToolResult(content=[TextContent(text=why)], is_error=True)


@server.tool()
def arguments(self: str, type: str) -> str:
    """Take argument names that have a meaning in Python."""
    return f"{self}/{type}"


@server.tool(annotations=READ_ONLY)
async def wait(fifo: str) -> str:
    """Never answer; write to the fifo at the start and at a cancellation."""
    with Path(fifo).open("w", buffering=1) as signal:  # noqa: ASYNC230
        signal.write("started\n")
        try:
            await anyio.sleep_forever()
        finally:
            signal.write("cancelled\n")
    return "never"


_waiting: Counter[int] = Counter()
_complete: defaultdict[int, anyio.Event] = defaultdict(anyio.Event)


@server.tool(annotations=READ_ONLY)
async def meet(n: int) -> str:
    """Answer when `n` calls run at the same time."""
    _waiting[n] += 1
    if _waiting[n] == n:
        _complete[n].set()
    await _complete[n].wait()
    return f"met {n}"


@server.tool()
def pid() -> str:
    """The process id."""
    return str(os.getpid())


@server.tool()
def environment(name: str) -> str:
    """An environment variable."""
    return os.environ.get(name, "unset")


@server.tool()
def cwd() -> str:
    """The working directory."""
    return str(Path.cwd())


@server.tool()
def meta(ctx: Context) -> str:
    """The metadata of the request."""
    return json.dumps(dict(ctx.request_context.meta or {}), default=str)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run()
