"""Tools of MCP servers, for every driver and thread."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import weakref
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from ..clock import Clock, SystemClock
from ..errors import ConfigurationError, MissingExtraError
from ..predicates import decided
from ..tool import Tool
from . import loop
from .connection import Connection, ProgressHook, SessionLostError
from .errors import McpServerError
from .events import log_event
from .names import Prefix, public_names
from .reconnect import Attempts, Reconnect
from .results import convert_result
from .servers import HttpServer, Server, ServerStatus, StdioServer

if TYPE_CHECKING:
    from mcp_types import Tool as McpTool

__all__ = ["McpTools"]

T = TypeVar("T")

_RECONNECT = Reconnect()

# A turn that begins just after a change is to have the new tools, if only it need not wait for them.
_RELIST_WAIT = 1.0


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
        self._prefix: Prefix = prefix
        self._filter = filter
        self._on_error = on_error
        self._first_wait = first_wait
        clock = clock or SystemClock()
        self._connections = tuple(
            Connection(server, Attempts(reconnect, clock), on_progress=on_progress, on_tools_changed=on_tools_changed)
            for server in servers
        )
        self._tools: tuple[Tool, ...] = ()
        self._counts: Counter[str] = Counter()
        self._made: dict[tuple[str, str], tuple[McpTool, Tool]] = {}
        self._connected = False
        self._provided: tuple[int, ...] = ()
        self._closed = False
        self._lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        # Sessions hold their connections but not this object, so an object nobody uses any more takes them along.
        # At exit the loop thread closes them, and waits, which a finalizer must not.
        weakref.finalize(self, _abandon, self._connections).atexit = False

    # ------------------------------------------------------------------ use

    @property
    def servers(self) -> tuple[ServerStatus, ...]:
        """How each server is doing, in the order given; asks nobody and starts nothing."""
        return tuple(self._status(connection) for connection in self._connections)

    def tools(self) -> tuple[Tool, ...]:
        """The tools by server in the order given, each server's in its own order; connects at first use.

        Raises:
            McpServerError: a server did not start, and `on_error` is ``"raise"``.
            DuplicateToolError: two servers have a tool of one name, and `prefix` is ``"never"``.
            ConfigurationError: `close` has been called.
        """
        self._restart_soon()
        return self._tools if self._is_current() else loop.run(partial(self._update, refresh=False))

    async def atools(self) -> tuple[Tool, ...]:
        """As `tools`, without holding the event loop meanwhile."""
        self._restart_soon()
        return self._tools if self._is_current() else await loop.arun(partial(self._update, refresh=False))

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
        self._closed = True
        if self._lock is not None:
            loop.run(self._close_all)
            self._lock = None

    async def aclose(self) -> None:
        """As `close`, without holding the event loop meanwhile."""
        self._closed = True
        if self._lock is not None:
            await loop.arun(self._close_all)
            self._lock = None

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
        states = ", ".join(f"{connection.server.name}: {connection.state}" for connection in self._connections)
        return f"<McpTools {states}>"

    # ------------------------------------------------------------------ on the background loop

    def _is_current(self) -> bool:
        return (
            self._connected
            and not self._closed
            and self._provided == self._listings()
            and not any(connection.due for connection in self._connections)
        )

    def _listings(self) -> tuple[int, ...]:
        return tuple(connection.listings for connection in self._connections)

    def _restart_soon(self) -> None:
        """Start what has stopped again, beside the turn that begins; its calls wait for it if they must."""
        if self._connected and not self._closed and any(connection.may_start for connection in self._connections):
            loop.start(self._restart)

    async def _restart(self) -> None:
        await asyncio.gather(*(self._reopen(connection) for connection in self._connections))

    async def _reopen(self, connection: Connection) -> None:
        if not self._closed and not connection.running and connection.may_start:
            await connection.open()

    async def _update(self, *, refresh: bool) -> tuple[Tool, ...]:
        """Connect what is not, list what may have changed."""
        self._refuse_if_closed()
        if not self._connected:
            await self._connect()
        elif refresh:
            await self._renew()
        else:
            await self._catch_up()
        return self._provide()

    async def _connect(self) -> None:
        """Start all servers; one caller does, and others wait for it."""
        async with self._exclusively():
            self._refuse_if_closed()
            if self._connected:
                return
            try:
                await self._open(self._connections, self._first_wait if self._on_error == "skip" else None)
                self._provide()
            except BaseException:  # nobody will close what has never come to be
                await self._close_all()
                raise
            self._connected = True

    async def _renew(self) -> None:
        """Ask every server for its list, and start those that have none to ask."""
        missing = [connection for connection in self._connections if not connection.running]
        listed = [connection.relist() for connection in self._connections if connection.running]
        try:
            await asyncio.gather(self._open(missing, None), *listed)
        finally:
            self._provide()

    async def _catch_up(self) -> None:
        """Ask the servers whose list changed; one that is slow to answer is heard by a later turn."""
        asked = [connection.relist_soon() for connection in self._connections if connection.due]
        if asked:
            await asyncio.wait(asked, timeout=_RELIST_WAIT)

    def _exclusively(self) -> asyncio.Lock:
        # A lock belongs to the loop it was first waited for on; the background loop may have ended and begun again.
        running = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not running:
            self._lock = (running, asyncio.Lock())
        return self._lock[1]

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ConfigurationError("these McpTools have been closed; make new ones to start their servers again")

    async def _open(self, connections: Sequence[Connection], patience: float | None) -> None:
        """Start servers at the same time.

        Args:
            connections: which.
            patience: seconds to wait if one of them is there by then, and else until one is; None waits for all. The
                others go on starting, and a later turn has their tools.

        Raises:
            McpServerError: one did not start, and `on_error` is ``"raise"``.
        """
        opening = {asyncio.create_task(connection.open()) for connection in connections}
        try:
            if opening:
                _, opening = await asyncio.wait(opening, timeout=patience)
            while opening and not any(connection.running for connection in connections):
                _, opening = await asyncio.wait(opening, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in opening:
                task.cancel()  # it only waits; the server goes on starting
        if self._closed:
            await self._close_all()
        self._refuse_if_closed()
        errors = [connection.error for connection in connections if connection.error is not None]
        if errors and self._on_error == "raise":
            raise McpServerError("\n".join(errors))

    async def _close_all(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self._connections))

    # ------------------------------------------------------------------ tools

    def _provide(self) -> tuple[Tool, ...]:
        provided = self._listings()
        if provided == self._provided:
            return self._tools
        listed = {c.server.name: [t for t in c.tools if self._admits(c, t)] for c in self._connections}
        names = public_names({server: [tool.name for tool in tools] for server, tools in listed.items()}, self._prefix)
        made: dict[tuple[str, str], tuple[McpTool, Tool]] = {}
        for connection in self._connections:
            for described in listed[connection.server.name]:
                key = (connection.server.name, described.name)
                before = self._made.get(key)
                # An unchanged tool stays the same object, so that what others keep by tool stays valid.
                keep = before is not None and before[0] == described and before[1].name == names[key]
                try:
                    tool = before[1] if before is not None and keep else self._make(connection, described, names[key])
                except ConfigurationError as error:  # one bad schema must not take the others away
                    log_event(
                        logging.WARNING,
                        "mcp_tool_left_out",
                        server=connection.server.name,
                        tool=described.name,
                        error=str(error),
                    )
                else:
                    made[key] = (described, tool)
        self._made = made
        self._counts = Counter(server for server, _ in made)
        self._tools = tuple(tool for _, tool in made.values())
        self._provided = provided
        return self._tools

    def _admits(self, connection: Connection, tool: McpTool) -> bool:
        return self._filter is None or decided(self._filter(connection.server.name, tool), "filter")

    def _make(self, connection: Connection, described: McpTool, name: str) -> Tool:
        annotations = described.annotations
        title = described.title or (annotations.title if annotations is not None else None)

        # Bound to `self`, so that servers live as long as one of their tools does.
        def run(**arguments: Any) -> object:
            return loop.run(self._call(connection, described.name, arguments))

        async def arun(**arguments: Any) -> object:
            return await loop.arun(self._call(connection, described.name, arguments))

        return Tool(
            name,
            described.description or title or "",
            described.input_schema,
            run,
            afn=arun,
            source=connection.server.name,
            search_text=" ".join(text for text in (title, described.name) if text and text != name),
            concurrent=annotations is not None and annotations.read_only_hint is True,
        )

    def _call(
        self, connection: Connection, tool: str, arguments: dict[str, Any]
    ) -> Callable[[], Coroutine[Any, Any, object]]:
        if not connection.running and not connection.may_start:
            connection.refuse()

        async def call() -> object:
            await self._reopen(connection)
            try:
                result = await connection.call(tool, arguments)
            except SessionLostError:  # nothing was run, so it may be asked again
                await connection.over()
                await self._reopen(connection)
                result = await connection.call(tool, arguments)
            return convert_result(result, server=connection.server.name, tool=tool)

        return call

    def _status(self, connection: Connection) -> ServerStatus:
        info = connection.info
        return ServerStatus(
            connection.server.name,
            connection.state,
            tools=self._counts[connection.server.name],
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


def _abandon(connections: Sequence[Connection]) -> None:
    for connection in connections:
        connection.abandon()
