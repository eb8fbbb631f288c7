"""Tools of MCP servers, for every driver and thread."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from ...errors import ConfigurationError, MissingExtraError
from ...loop.clock import Clock, SystemClock
from ...tools.tool import Tool
from .calls import ProgressHook
from .prefixes import Prefix
from .provided_tools import ProvidedTools
from .reconnect import Attempts, Reconnect
from .server_group import ServerGroup
from .servers import HttpServer, Server, ServerStatus, StdioServer
from .session import background_loop as loop
from .session.connection import Connection

if TYPE_CHECKING:
    from mcp_types import Tool as McpTool

__all__ = ["McpTools"]

_RECONNECT = Reconnect()


class McpTools:
    """A provider of the tools of MCP servers; pass it to ``ChatClient(tools=[...])`` like any other tool.

    Servers are started at first use, all at once, and live until `close`, the end of a ``with`` or the end of the
    program. Their sessions run on a background event loop, so that their tools work from plain code, from threads and
    from any event loop, and outlive the loop they were first used from. A tool may run beside others of its server only
    if it is annotated as read-only. When a server says that its tools have changed, the next `tools` returns the new
    ones, or still the old ones if it takes long to list them. When it stops, nothing else does: its tools keep their
    names, and the next use of one starts it again, after a wait if it keeps stopping; until then they answer that it is
    not running.

    Args:
        servers: `StdioServer` and `HttpServer` objects, each with a name of its own.
        prefix: ``"collision"`` prefixes a tool with the name of its server if another server has one of that name too
            (both are prefixed, so that no order matters); ``"always"`` prefixes all; ``"never"`` makes a collision an
            error. A server that did not start has no part in collisions; ``"always"`` keeps names free even of that.
        filter: called with the server's name and each tool as the SDK describes it; only tools it accepts are provided.
        on_error: ``"raise"`` if any server does not start (the others are closed again), or ``"skip"`` it and keep
            the error in `servers`; it is tried again later, and its tools appear when it starts. The first turn waits
            for all servers, each within its ``connect_timeout``.
        first_wait: with ``"skip"``, the seconds after which the first turn goes on with the servers that are there, if
            any is; the others go on starting, and a later turn has their tools.
        reconnect: when servers that stopped or did not start are started again; None leaves that to `refresh`.
        on_progress: called with server, tool, progress, total and message when a server tells how far a call is; total
            and message may be None. Runs on the background loop in the context of the call, and must not block.
        on_tools_changed: called with a server's name when it says that its tools changed; must not block either.
        clock: what tells the time between attempts.

    Raises:
        ConfigurationError: no servers, two servers of one name, or an unknown option.
        MissingExtraError: the extra ``mcp`` is not installed.

    Example:
        >>> import sys
        >>> server = "from mcp.server import MCPServer as S; s = S('demo'); s.tool()(abs); s.run()"
        >>> with McpTools(StdioServer("demo", sys.executable, ["-c", server])) as mcp:
        ...     [tool.name for tool in mcp.tools()]
        ['abs']
    """

    def __init__(
        self,
        *servers: Server,
        prefix: Prefix = "collision",
        filter: Callable[[str, McpTool], bool] | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        first_wait: float = 5.0,
        reconnect: Reconnect | None = _RECONNECT,
        on_progress: ProgressHook | None = None,
        on_tools_changed: Callable[[str], object] | None = None,
        clock: Clock | None = None,
    ) -> None:
        _check(servers, prefix, on_error, first_wait)
        clock = clock or SystemClock()
        self._group = ServerGroup(
            [Connection(server, Attempts(reconnect, clock), on_tools_changed=on_tools_changed) for server in servers],
            must_start=on_error == "raise",
            first_wait=first_wait,
        )
        self._provided = ProvidedTools(self._group, prefix=prefix, admits=filter, on_progress=on_progress)

    @property
    def servers(self) -> tuple[ServerStatus, ...]:
        """How each server is doing, in the order given; asks nobody and starts nothing."""
        return tuple(self._status(connection) for connection in self._group.connections)

    def tools(self) -> tuple[Tool, ...]:
        """The tools by server in the order given, each server's in its own order; connects at first use.

        Raises:
            McpServerError: a server did not start, and `on_error` is ``"raise"``.
            DuplicateToolError: two servers have a tool of one name, and `prefix` is ``"never"``.
            ConfigurationError: `close` has been called.
        """
        self._group.restart_soon()
        return self._provided.tools if self._is_current() else loop.run(partial(self._update, refresh=False))

    async def atools(self) -> tuple[Tool, ...]:
        """As `tools`, without holding the event loop meanwhile."""
        self._group.restart_soon()
        return self._provided.tools if self._is_current() else await loop.arun(partial(self._update, refresh=False))

    def refresh(self) -> tuple[Tool, ...]:
        """List all tools again, and start again the servers that failed or stopped; raises as `tools` does."""
        return loop.run(partial(self._update, refresh=True))

    async def arefresh(self) -> tuple[Tool, ...]:
        """As `refresh`, without holding the event loop meanwhile."""
        return await loop.arun(partial(self._update, refresh=True))

    def connect(self) -> Self:
        """Start the servers now rather than at first use; raises as `tools` does."""
        self.tools()
        return self

    async def aconnect(self) -> Self:
        """As `connect`, without holding the event loop meanwhile."""
        await self.atools()
        return self

    def close(self) -> None:
        """End all servers and wait until their processes are gone. It is final; closing again does nothing."""
        self._group.close()

    async def aclose(self) -> None:
        """As `close`, without holding the event loop meanwhile."""
        await self._group.aclose()

    def __enter__(self) -> Self:
        return self.connect()

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await self.aconnect()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        states = ", ".join(f"{connection.server.name}: {connection.state}" for connection in self._group.connections)
        return f"<McpTools {states}>"

    def _is_current(self) -> bool:
        return self._group.settled and self._provided.current

    async def _update(self, *, refresh: bool) -> tuple[Tool, ...]:
        return await self._group.update(self._provided.update, refresh=refresh)

    def _status(self, connection: Connection) -> ServerStatus:
        info = connection.info
        return ServerStatus(
            connection.server.name,
            connection.state,
            tools=self._provided.counts[connection.server.name],
            title=(info.title or info.name) if info is not None else None,
            version=(info.version or None) if info is not None else None,
            error=connection.error,
        )


def _check(servers: Sequence[Server], prefix: str, on_error: str, first_wait: float) -> None:
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtraError("mcp", "McpTools")
    if not servers:
        raise ConfigurationError("McpTools needs at least one StdioServer or HttpServer")
    names: set[str] = set()
    for server in servers:
        if not isinstance(server, StdioServer | HttpServer):
            raise ConfigurationError(f"McpTools takes StdioServer and HttpServer objects, not {server!r}")
        if server.name in names:
            raise ConfigurationError(f"two MCP servers are named {server.name!r}; names tell their tools apart")
        names.add(server.name)
    if prefix not in ("collision", "always", "never"):
        raise ConfigurationError(f"prefix must be 'collision', 'always' or 'never', not {prefix!r}")
    if on_error not in ("raise", "skip"):
        raise ConfigurationError(f"on_error must be 'raise' or 'skip', not {on_error!r}")
    if not first_wait >= 0:
        raise ConfigurationError(f"first_wait must be 0 or more seconds, not {first_wait!r}")
