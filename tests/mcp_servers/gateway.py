"""A gateway over a few tools: `gateway.py [PORT]`; over HTTP, the header `x-user` also names a session."""

import sys

from toolsearch import Tool
from toolsearch.mcp import McpServer


def get_weather(city: str) -> str:
    """Current weather in a city."""
    return f"rain in {city}"


def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


def whoami() -> str:
    """Always there."""
    return "the gateway"


if __name__ == "__main__":
    server = McpServer(
        [get_weather, send_mail, whoami, [Tool(f"filler_{n}", "Nothing.", fn=lambda: "") for n in range(40)]],
        name="gateway",
        tool_search=True,
        pinned=["whoami"],
        session_key=lambda headers: headers.get("mcp-session-id") or headers.get("x-user"),
    )
    if len(sys.argv) > 1:
        server.run_http(port=int(sys.argv[1]))
    else:
        server.run_stdio()
