"""`Tool` objects for the tools of MCP servers: named, filtered, and run by calling the server."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from ...errors import ConfigurationError, ToolSearchError
from ...text import clip
from ...tools.predicates import evaluate_predicate
from ...tools.tool_type import Tool
from ..errors import McpToolError
from ..events import log_event
from .calls import ProgressHook, SessionLostError, call_tool, raise_unavailable
from .prefixes import Prefix, public_names
from .results import convert_result, returns_value
from .server_group import ServerGroup
from .session import background_loop as loop
from .session.connection import Connection

if TYPE_CHECKING:
    from mcp_types import CallToolResult
    from mcp_types import Tool as McpTool

__all__ = ["ProvidedTools"]


class ProvidedTools:
    """The tools of a group of servers; an unchanged tool stays the same object.

    Args:
        group: The servers.
        prefix: The rule for prefixes, as in `McpTools`.
        accepts: A predicate of a server's name and a tool; other tools are left out.
        on_progress: The hook for the progress of calls.

    Attributes:
        tools: The tools by server in the order given, each server's in the order that it lists them.
        counts: The number of tools by server.
    """

    def __init__(
        self,
        group: ServerGroup,
        *,
        prefix: Prefix,
        accepts: Callable[[str, McpTool], bool] | None,
        on_progress: ProgressHook | None,
    ) -> None:
        self.tools: tuple[Tool, ...] = ()
        self.counts: Counter[str] = Counter()
        self._group = group
        self._prefix: Prefix = prefix
        self._filter = accepts
        self._on_progress = on_progress
        self._made: dict[tuple[str, str], tuple[McpTool, Tool]] = {}
        self._listings: tuple[int, ...] = ()

    @property
    def current(self) -> bool:
        """True if `tools` come from the newest lists."""
        return self._listings == self._group.listings

    def update(self) -> tuple[Tool, ...]:
        """Create the tools that are new or changed, and return all.

        Raises:
            DuplicateToolError: If two servers have a tool of the same name and `prefix` is ``"never"``.
        """
        listings = self._group.listings
        if listings == self._listings:
            return self.tools
        connections = self._group.connections
        listed = {c.server.name: [t for t in c.listed.tools if self._accepts(c, t)] for c in connections}
        names = public_names({server: [tool.name for tool in tools] for server, tools in listed.items()}, self._prefix)
        made: dict[tuple[str, str], tuple[McpTool, Tool]] = {}
        for connection in connections:
            for described in listed[connection.server.name]:
                key = (connection.server.name, described.name)
                before = self._made.get(key)
                # An unchanged tool stays the same object, so caches by tool stay valid.
                keep = before is not None and before[0] == described and before[1].name == names[key]
                try:
                    tool = before[1] if before is not None and keep else self._create(connection, described, names[key])
                except ConfigurationError as error:  # one invalid tool must not remove the others
                    log_event(
                        logging.WARNING,
                        "mcp_tool_left_out",
                        server=connection.server.name,
                        tool=clip(described.name, 100),
                        error=str(error),
                    )
                else:
                    made[key] = (described, tool)
        self._made = made
        self.counts = Counter(server for server, _ in made)
        self.tools = tuple(tool for _, tool in made.values())
        self._listings = listings
        return self.tools

    def _accepts(self, connection: Connection, tool: McpTool) -> bool:
        return self._filter is None or evaluate_predicate(self._filter(connection.server.name, tool), "filter")

    def _create(self, connection: Connection, described: McpTool, name: str) -> Tool:
        annotations = described.annotations
        title = described.title or (annotations.title if annotations is not None else None)

        # `self` holds the group, so servers run as long as one of their tools is referenced.
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
            returns_value=returns_value(described.output_schema),
        )

    def _call(
        self, connection: Connection, tool: str, arguments: dict[str, Any]
    ) -> Callable[[], Coroutine[Any, Any, object]]:
        if not connection.running and not connection.may_start:
            raise_unavailable(connection)

        async def ask() -> CallToolResult:
            await self._group.reopen(connection)
            try:
                return await call_tool(connection, tool, arguments, self._on_progress)
            except SessionLostError:  # the server ran nothing, so a second call is safe
                await connection.wait_ended()
                await self._group.reopen(connection)
                return await call_tool(connection, tool, arguments, self._on_progress)

        async def call() -> object:
            server = connection.server.name
            try:
                return convert_result(await ask(), server=server, tool=tool)
            except ToolSearchError:
                raise
            except Exception as error:  # of the SDK, whose text is not for the model
                shown = clip(tool, 100)
                log_event(logging.ERROR, "mcp_call_failed", error=error, show_text=False, server=server, tool=shown)
                raise McpToolError(f"The call of {tool!r} of server {server!r} failed unexpectedly.") from error

        return call
