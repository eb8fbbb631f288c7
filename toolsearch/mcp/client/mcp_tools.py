"""`McpTools`: the tools of MCP servers, for sync and async code and any thread."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from ...errors import ConfigurationError, MissingExtraError
from ...loop.clock import Clock, SystemClock
from ...text import short_repr
from ...tools.tool_type import Tool
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

_DEFAULT_RECONNECT = Reconnect()


class McpTools:
    """A provider of the tools of MCP servers, for ``ChatClient(tools=[...])``.

    The servers start at first use, all at the same time. They run until `close`, the end of a ``with`` block or the
    end of the program. Their sessions live on a background event loop, so the tools work in sync code, in threads and
    on any event loop. Tools of one server run in parallel only if the server annotates them as read-only.

    When a server reports that its tools changed, the next `tools` returns the new ones; if the new list takes long, it
    still returns the old ones. When a server stops, the others keep running and its tools keep their names. The next
    call of one of its tools starts it again. If it keeps stopping, there is a wait before the next start; until then
    its tools answer that the server is not running.

    Args:
        servers: The servers, each with its own name. Without servers there are no tools.
        prefix: The rule for names. It depends on this configuration alone, so a tool has the same name in every
            process, whatever servers list and whichever of them run. ``"auto"`` names tools ``server_tool`` if there
            are several servers; the tools of a single server keep their own names. ``"always"`` prefixes the tools of
            a single server too. ``"never"`` keeps all own names. If two servers then list the same name, the first
            one keeps it, and the other's tool is left out with a warning; the name of a server that did not start is
            free for the next one. A function receives a server's name and returns its prefix, which no other may have.
        filter: A predicate called with the server's name and each tool as the SDK describes it. Only tools that it
            accepts are provided.
        on_error: ``"raise"`` if any server does not start; the others are closed again. ``"skip"`` keeps the error in
            `servers` and tries again later. The first turn waits for all servers, each at most its
            ``connect_timeout``.
        first_wait: With ``"skip"``, the seconds that the first turn waits for all servers. After that it continues as
            soon as one is ready; later turns have the tools of the others.
        reconnect: The waits before a server that ended is started again. None leaves restarts to `refresh`.
        on_progress: A hook called with server, tool, progress, total and message when a server reports the progress of
            a call. Total and message may be None. It runs on the background loop in the context of the call and must
            not block.
        on_tools_changed: A hook called with a server's name when the server reports a change of its tools. It must not
            block.
        clock: The clock for the waits between attempts.

    Raises:
        ConfigurationError: If two servers have the same name, or an option is unknown.
        MissingExtraError: If the extra ``mcp`` is not installed.

    Example:
        >>> import sys
        >>> from toolsearch.mcp import McpTools, StdioServer
        >>> server = "from mcp.server import MCPServer as S; s = S('demo'); s.tool()(abs); s.run()"
        >>> with McpTools(StdioServer("demo", sys.executable, ["-c", server])) as mcp:
        ...     [tool.name for tool in mcp.tools()]
        ['abs']
    """

    def __init__(
        self,
        *servers: Server,
        prefix: Prefix = "auto",
        filter: Callable[[str, McpTool], bool] | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        first_wait: float = 5.0,
        reconnect: Reconnect | None = _DEFAULT_RECONNECT,
        on_progress: ProgressHook | None = None,
        on_tools_changed: Callable[[str], object] | None = None,
        clock: Clock | None = None,
    ) -> None:
        _validate(servers, prefix, on_error, first_wait)
        clock = clock or SystemClock()
        self._group = ServerGroup(
            [Connection(server, Attempts(reconnect, clock), on_tools_changed=on_tools_changed) for server in servers],
            must_start=on_error == "raise",
            first_wait=first_wait,
        )
        self._provided = ProvidedTools(self._group, prefix=prefix, accepts=filter, on_progress=on_progress)

    @property
    def servers(self) -> tuple[ServerStatus, ...]:
        """The status of each server, in the order given. Reading it sends no request and starts no server."""
        return tuple(self._status(connection) for connection in self._group.connections)

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools of all servers; the first call starts the servers.

        Returns:
            The tools by server in the order given; the tools of each server in the order that it lists them.

        Raises:
            McpServerError: If a server did not start and `on_error` is ``"raise"``.
            ConfigurationError: If `close` was called before.
        """
        self._group.restart_soon()
        return self._provided.tools if self._is_current() else loop.run(partial(self._update, refresh=False))

    async def atools(self) -> tuple[Tool, ...]:
        """Return the tools as `tools` does, without blocking the event loop."""
        self._group.restart_soon()
        return self._provided.tools if self._is_current() else await loop.arun(partial(self._update, refresh=False))

    def refresh(self) -> tuple[Tool, ...]:
        """List all tools again and restart servers that failed or stopped; raises the errors of `tools`."""
        return loop.run(partial(self._update, refresh=True))

    async def arefresh(self) -> tuple[Tool, ...]:
        """List all tools again as `refresh` does, without blocking the event loop."""
        return await loop.arun(partial(self._update, refresh=True))

    def connect(self) -> Self:
        """Start the servers now rather than at first use; raises the errors of `tools`."""
        self.tools()
        return self

    async def aconnect(self) -> Self:
        """Start the servers as `connect` does, without blocking the event loop."""
        await self.atools()
        return self

    def close(self) -> None:
        """End all servers and wait until their processes are gone. Final and idempotent."""
        self._group.close()

    async def aclose(self) -> None:
        """End all servers as `close` does, without blocking the event loop."""
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
            connection.shown_state,
            tools=self._provided.counts[connection.server.name],
            title=(info.title or info.name) if info is not None else None,
            version=(info.version or None) if info is not None else None,
            error=connection.error,
            instructions=connection.instructions,
        )


def _validate(servers: Sequence[Server], prefix: object, on_error: str, first_wait: float) -> None:
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtraError("mcp", "McpTools")
    names: set[str] = set()
    for server in servers:
        if not isinstance(server, StdioServer | HttpServer):
            raise ConfigurationError(
                f"servers must be StdioServer or HttpServer objects, got {short_repr(server)}; write McpTools(a, b)"
            )
        if server.name in names:
            raise ConfigurationError(f"two MCP servers are named {server.name!r}; give each server its own name")
        names.add(server.name)
    if not callable(prefix) and prefix not in ("auto", "always", "never"):
        hint = '; write prefix="auto", which prefixes the tools of several servers' if prefix == "collision" else ""
        raise ConfigurationError(f"prefix must be 'auto', 'always' or 'never', got {prefix!r}{hint}")
    if on_error not in ("raise", "skip"):
        raise ConfigurationError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
    if not first_wait >= 0:
        raise ConfigurationError(f"first_wait must be 0 or more seconds, got {first_wait!r}")
