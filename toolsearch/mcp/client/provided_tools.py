"""`Tool` objects for the tools of MCP servers: named, filtered, and run by calling the server."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ConfigurationError, ToolSearchError
from ...shared.fork import new_lock
from ...text import clip
from ...tools.predicates import evaluate_predicate
from ...tools.threads.running import hold_slot
from ...tools.threads.tenants import current_tenant
from ...tools.tool_type import Tool
from ..errors import McpToolError
from ..events import log_event
from .calls import ProgressHook, SessionLostError, call_tool, raise_unavailable
from .prefixes import Prefix, PublicNames
from .results import convert_result, returns_value
from .server_group import ServerGroup
from .session import background_loop as loop
from .session.connection import Connection

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ToolAnnotations
    from mcp_types import Tool as McpTool

__all__ = ["ProvidedTools"]


_MAX_LOGGED = 20


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
        self._names = PublicNames([connection.server.name for connection in group.connections], prefix)
        self._filter = accepts
        self._on_progress = on_progress
        self._made: dict[tuple[str, str], tuple[McpTool, Tool]] = {}
        self._left_out: dict[tuple[str, str], str] = {}
        self._listings: tuple[int, ...] = ()
        self._lock = new_lock()

    @property
    def current(self) -> bool:
        """True if `tools` come from the newest lists."""
        return self._listings == self._group.listings

    def update(self) -> tuple[Tool, ...]:
        """Create the tools that are new or changed, and return all. A tool without a name of its own is left out."""
        with self._lock:  # several threads update if there are many tools
            return self._update()

    def _update(self) -> tuple[Tool, ...]:
        listings = self._group.listings
        if listings == self._listings:
            return self.tools
        connections = self._group.connections
        listed = {c.server.name: [t for t in c.listed.tools if self._accepts(c, t)] for c in connections}
        made: dict[tuple[str, str], tuple[McpTool, Tool]] = {}
        owners: dict[str, str] = {}
        self._left_out, before_left_out = {}, self._left_out
        for connection in connections:
            for described in listed[connection.server.name]:
                key = (connection.server.name, described.name)
                before = self._made.get(key)
                try:
                    name = self._names.of(*key)
                    if (owner := owners.get(name)) is not None:
                        raise ConfigurationError(f"the name {name!r} belongs to a tool of {owner!r}")
                    # An unchanged tool stays the same object, so caches by tool stay valid.
                    keep = before is not None and before[0] == described
                    tool = before[1] if before is not None and keep else self._create(connection, described, name)
                except ConfigurationError as error:  # one invalid tool must not remove the others
                    self._left_out[key] = str(error)
                else:
                    made[key] = (described, tool)
                    owners[name] = connection.server.name
        self._log_left_out(before_left_out)
        self._made = made
        self.counts = Counter(server for server, _ in made)
        self.tools = tuple(tool for _, tool in made.values())
        self._listings = listings
        return self.tools

    def _log_left_out(self, before: Mapping[tuple[str, str], str]) -> None:
        """Log the tools that were not left out before, or for another reason."""
        new = [(key, error) for key, error in self._left_out.items() if before.get(key) != error]
        for (server, tool), error in new[:_MAX_LOGGED]:
            log_event(logging.WARNING, "mcp_tool_left_out", server=server, tool=clip(tool, 100), error=error)
        if len(new) > _MAX_LOGGED:
            log_event(logging.WARNING, "mcp_tools_left_out", tools=len(new))

    def _accepts(self, connection: Connection, tool: McpTool) -> bool:
        return self._filter is None or evaluate_predicate(self._filter(connection.server.name, tool), "filter")

    def _create(self, connection: Connection, described: McpTool, name: str) -> Tool:
        annotations = described.annotations
        if described.execution is not None and described.execution.task_support == "required":
            raise ConfigurationError("it can only run as a task, which is not supported")
        title = described.title or (annotations.title if annotations is not None else None)

        # `self` holds the group, so servers run as long as one of their tools is referenced.
        def run(**arguments: Any) -> object:
            return loop.run(self._call(connection, described.name, arguments))

        async def arun(**arguments: Any) -> object:
            return await loop.arun(self._call(connection, described.name, arguments))

        tool = Tool(
            described.name,
            described.description or title or "",
            described.input_schema,
            run,
            afn=arun,
            source=connection.server.name,
            search_text=title if title and title != name else "",
            concurrent=annotations is not None and annotations.read_only_hint is True,
            returns_value=returns_value(described.output_schema),
            annotations=_plain(annotations),
            output_schema=described.output_schema,
        ).as_provided()
        return tool if name == tool.name else tool.published_as(name)

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
                async with hold_slot(connection.calls, current_tenant()):
                    return convert_result(await ask(), server=server, tool=tool)
            except ToolSearchError:
                raise
            except Exception as error:  # of the SDK, whose text is not for the model
                shown = clip(tool, 100)
                log_event(logging.ERROR, "mcp_call_failed", error=error, show_text=False, server=server, tool=shown)
                raise McpToolError(f"The call of {tool!r} of server {server!r} failed unexpectedly.") from error

        return call


def _plain(annotations: ToolAnnotations | None) -> dict[str, Any] | None:
    return None if annotations is None else annotations.model_dump(by_alias=True, exclude_none=True)
