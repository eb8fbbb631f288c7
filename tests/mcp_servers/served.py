"""An `McpServer` with tools of every kind: `served.py [PORT]`, over HTTP if a port is given."""

import json
import sys
import threading
from pathlib import Path

import anyio
import anyio.lowlevel

from toolsearch import Media, Tool, ToolContext
from toolsearch.mcp import McpServer, report_progress


def greet(name: str, times: int = 1) -> str:
    """Say hello.

    Args:
        name: whom to greet.
    """
    print("this must not reach the client")
    return " ".join(["hello", name] * times)


def weather(city: str) -> dict[str, object]:
    """Current weather."""
    return {"city": city, "degrees": 21}


def fail(why: str) -> None:
    """Raise an error."""
    raise RuntimeError(why)


def picture() -> list[object]:
    """A caption and an image."""
    return ["a caption", Media("image/png", b"png bytes")]


def files() -> list[Media]:
    """A sound, a document and a link."""
    return [
        Media("audio/wav", b"wav"),
        Media("application/pdf", b"pdf"),
        Media("image/png", url="https://x.test/a.png"),
    ]


def nothing() -> None:
    """Return nothing."""


def context(ctx: ToolContext) -> str:
    """Return the context of the call."""
    return json.dumps({**ctx, "call": bool(ctx.tool_call_id), "session": ctx.session_id})


def slow_count(steps: int) -> str:
    """Count in a thread and report the progress."""
    for step in range(1, steps + 1):
        report_progress(step, steps, f"step {step}")
    return threading.current_thread().name.split()[0]


async def count(steps: int) -> str:
    """Count on the event loop and report the progress."""
    for step in range(1, steps + 1):
        report_progress(step, steps)
        await anyio.lowlevel.checkpoint()
    return "counted"


async def wait(fifo: str) -> str:
    """Never answer; write to the fifo at the start and at a cancellation."""
    with Path(fifo).open("w", buffering=1) as signal:  # noqa: ASYNC230
        signal.write("started\n")
        try:
            await anyio.sleep_forever()
        finally:
            signal.write("cancelled\n")
    return "never"


_inside = 0


async def alone() -> str:
    """Return the number of running calls of this tool."""
    global _inside
    _inside += 1
    await anyio.sleep(0.01)
    seen = _inside
    _inside -= 1
    return str(seen)


class Growing:
    """A provider whose tools change."""

    def __init__(self) -> None:
        self._tools = [Tool.from_function(self.grow), Tool.from_function(self.shrink)]

    def tools(self) -> list[Tool]:
        return list(self._tools)

    def grow(self) -> str:
        """Add the tool `fresh`."""
        self._tools.append(Tool("fresh", fn=lambda: "fresh"))
        return "grown"

    def shrink(self) -> str:
        """Remove the tool `fresh`."""
        self._tools = self._tools[:2]
        return "shrunk"


FUNCTIONS = [greet, weather, fail, picture, files, nothing, context, slow_count, count, wait]

if __name__ == "__main__":
    server = McpServer(
        [FUNCTIONS, Tool.from_function(alone, concurrent=False), Growing()],
        name="served",
        version="7",
        instructions="Ask nicely.",
        context={"tenant": "acme"},
        read_only=lambda tool: tool.name in ("greet", "alone"),
    )
    if len(sys.argv) > 1:
        server.run_http(port=int(sys.argv[1]))
    else:
        server.run_stdio()
