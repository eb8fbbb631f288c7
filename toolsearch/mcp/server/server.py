"""Any tools of this library as an MCP server, over stdio or streamable HTTP."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, redirect_stdout
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ...chat.requests import ChatRequest
from ...disclosure.sentences import DEFAULT_INSTRUCTIONS
from ...errors import ConfigurationError, MissingExtraError, ToolSearchError
from ...loop.effects import RunTools
from ...loop.execution.batch import arun_batch
from ...messages import ToolCall, ToolMessage
from ...tools.collect import ToolLike
from ...tools.threads import run_in_worker_thread
from ...tools.tool import Tool
from .change_notifier import Announcer
from .encoding import describe_tool, to_call_result
from .progress import SendProgress, progress_to
from .sdk_server import sdk_server
from .served_tools import ServedTools

if TYPE_CHECKING:
    import anyio
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams
    from starlette.applications import Starlette

    from ...disclosure.disclosure import Disclosure
    from ...disclosure.pins import Pin
    from ...indexes.protocols import ToolIndex
    from .gateway import Gateway, GatewayTurn

__all__ = ["McpServer", "serve_mcp"]

_STDIO = "stdio"


class McpServer:
    """Serves tools to MCP clients; what a model would be told of a call here, a client is told there.

    Arguments are checked against the schema, sync tools run in worker threads, a failure is a result that says what to
    change, images are images, and a call that the client cancels is cancelled. Tools with ``concurrent=False`` of one
    source wait for each other, whichever client calls them. Tools of a provider, such as `McpTools`, are those of the
    moment; when they have changed, clients are told.

    Args:
        tools: whatever `ChatClient` takes.
        name: what the server calls itself.
        version: the version it tells.
        instructions: what clients may tell their model about it.
        context: values for tools, as `ChatClient` takes them. Nothing that a client sends is added.
        read_only: whether a tool only reads. Clients may run such tools side by side and without asking, so none is
            said to unless this says so.
        tool_search: True, an index or the name of one makes the server a gateway: a client's session lists
            `tool_search`, pinned tools, and what it has found; the client is told when it finds more. A `Disclosure`
            brings settings and eviction of yours.
        pinned: tools that a gateway always lists, as `ToolSearchAdvisor` takes them.
        session_key: the session of a request over HTTP by its headers, in lower case; by default that of the transport.
            Where there is none, as in the protocol of 2026 over HTTP, a gateway lists all tools.

    Raises:
        ConfigurationError: for what is not a tool.
        DuplicateToolError: for two tools of one name.
        MissingExtraError: the extra ``mcp`` is not installed.

    Example:
        >>> def add(a: int, b: int) -> int:
        ...     "Add two numbers."
        ...     return a + b
        >>> server = McpServer([add], name="sums")
        >>> server.name
        'sums'
    """

    def __init__(
        self,
        tools: Iterable[ToolLike] | ToolLike,
        *,
        name: str = "toolsearch",
        version: str = "",
        instructions: str | None = None,
        context: Mapping[str, Any] | None = None,
        read_only: Callable[[Tool], bool] | None = None,
        tool_search: bool | str | ToolIndex | Disclosure = False,
        pinned: Iterable[Pin] | Callable[[Tool], bool] = (),
        session_key: Callable[[Mapping[str, str]], str | None] | None = None,
    ) -> None:
        if importlib.util.find_spec("mcp") is None:
            raise MissingExtraError("mcp", "McpServer")
        if not isinstance(name, str) or not name.strip():
            raise ConfigurationError(f"an MCP server needs a name, not {name!r}")
        self.name = name
        self.version = version
        self.instructions = instructions
        self._context = dict(context or {})
        self._read_only = read_only
        self._announcers: list[Announcer] = []
        self._tools = ServedTools(tools, self._announcers)
        self._lanes: dict[str | None, anyio.Lock] = {}
        self._session_key = session_key or _transport_session
        self._gateway: Gateway | None = None
        if tool_search is not False:
            from .gateway import Gateway

            self._gateway = Gateway(tool_search, pinned)
            self.instructions = DEFAULT_INSTRUCTIONS if instructions is None else instructions

    # ------------------------------------------------------------------ ways to run

    def run_stdio(self) -> None:
        """Serve the client at the other end of standard input and output until it leaves.

        What tools print goes to standard error meanwhile.
        """
        import anyio

        anyio.run(self.arun_stdio)

    async def arun_stdio(self) -> None:
        """As `run_stdio`, on an event loop that runs already."""
        from mcp.server.stdio import stdio_server

        server = self._sdk_server()
        async with stdio_server() as (read, write):
            with redirect_stdout(sys.stderr):  # what is left in its buffer at the end would reach the client
                await server.run(read, write, server.create_initialization_options())

    def run_http(self, host: str = "127.0.0.1", port: int = 8000, *, path: str = "/mcp") -> None:
        """Serve streamable HTTP at ``http://host:port/path`` until the process is told to end.

        There is no authentication: where others can reach `host`, put `asgi_app` behind something that has it.
        """
        import uvicorn

        uvicorn.Server(uvicorn.Config(self.asgi_app(host=host, path=path), host=host, port=port)).run()

    def asgi_app(self, *, host: str = "127.0.0.1", path: str = "/mcp") -> Starlette:
        """The server as an ASGI application, for a web server or framework of yours; its lifespan must be run.

        Args:
            host: where it is reached; at a local one, requests for other hosts are refused (DNS rebinding).
            path: the endpoint.
        """
        return self._sdk_server().streamable_http_app(host=host, streamable_http_path=path)

    def tools_changed(self) -> None:
        """Tell clients that the tools may have changed; from any thread. Changes seen at a call are told anyway."""
        for announcer in tuple(self._announcers):
            announcer.changed()

    def __repr__(self) -> str:
        return f"<McpServer {self.name!r}>"

    # ------------------------------------------------------------------ requests

    def _sdk_server(self) -> Server[Any]:
        return sdk_server(
            self.name,
            version=self.version,
            instructions=self.instructions,
            changes=self._tools.change or self._gateway is not None,
            announcers=self._announcers,
            on_list=self._list,
            on_call=self._call,
        )

    async def _list(self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        from mcp import MCPError
        from mcp_types import INTERNAL_ERROR, ListToolsResult

        session = self._session_of(ctx)
        try:
            tools = await self._tools.current()
            async with self._turn(session, tools) as turn:
                tools = turn.listed if turn is not None else tools
        except ToolSearchError as error:  # a provider failed; others may say more than a client should read
            raise MCPError(INTERNAL_ERROR, f"the tools cannot be listed: {error}") from error
        return ListToolsResult(tools=[describe_tool(tool, read_only=self._only_reads(tool)) for tool in tools])

    async def _call(self, ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        session = self._session_of(ctx)
        call = ToolCall(str(ctx.request_id), params.name, json.dumps(params.arguments or {}))
        turn: GatewayTurn | None = None
        try:
            tools = await self._tools.current()
            async with self._turn(session, tools) as turn:
                message = turn.intercept(call) if turn is not None else None
                if message is None:
                    runnable = turn.tools if turn is not None else {tool.name: tool for tool in tools}
                    message = await self._run(call, runnable, ctx.session.report_progress, session)
        except ToolSearchError as error:
            message = ToolMessage(call.id, call.name, str(error), is_error=True)
        if turn is not None and turn.disclosed:
            for announcer in self._announcers:
                await announcer.tell(session)
        await self._tools.look_for_changes()
        return to_call_result(message)

    async def _run(
        self, call: ToolCall, tools: Mapping[str, Tool], progress: SendProgress, session: str | None
    ) -> ToolMessage:
        request = ChatRequest(messages=(), context=self._context, session_id=session)
        tool = tools.get(call.name)
        async with AsyncExitStack() as stack:
            if tool is not None and not tool.concurrent:
                await stack.enter_async_context(self._lane(tool.source))
            await stack.enter_async_context(progress_to(progress))
            return (await arun_batch(RunTools(calls=(call,), tools=tools, request=request))).messages[0]

    @asynccontextmanager
    async def _turn(self, session: str | None, tools: tuple[Tool, ...]) -> AsyncIterator[GatewayTurn | None]:
        """A gateway's view of a request; None where all tools are offered."""
        if self._gateway is None or session is None:
            yield None
            return
        turn = await run_in_worker_thread(partial(self._gateway.open, session, tools))  # it may build an index
        try:
            yield turn
        finally:
            turn.close()

    def _only_reads(self, tool: Tool) -> bool:
        return self._read_only is not None and bool(self._read_only(tool))

    def _lane(self, source: str | None) -> anyio.Lock:
        import anyio

        return self._lanes.setdefault(source, anyio.Lock())

    def _session_of(self, ctx: ServerRequestContext[Any]) -> str | None:
        """The client's session: one over stdio, over HTTP what `session_key` says."""
        session = _STDIO if ctx.request is None else self._session_key(ctx.request.headers)
        if session is not None and (self._tools.change or self._gateway is not None):
            for announcer in self._announcers:
                announcer.remember(session, ctx.session)
        return session


def serve_mcp(
    tools: Iterable[ToolLike] | ToolLike,
    *,
    name: str = "toolsearch",
    version: str = "",
    transport: Literal["stdio", "http"] = "stdio",
    host: str = "127.0.0.1",
    port: int = 8000,
    **options: Any,
) -> None:
    """Serve tools until the client leaves (stdio) or the process is told to end (http).

    Args:
        tools: whatever `ChatClient` takes.
        name: what the server calls itself.
        version: the version it tells.
        transport: ``"stdio"``, or ``"http"`` at ``http://host:port/mcp``.
        host: see `McpServer.run_http`.
        port: see `McpServer.run_http`.
        options: further ones of `McpServer`.

    Raises:
        ConfigurationError: for an unknown transport, or what `McpServer` refuses.
        MissingExtraError: the extra ``mcp`` is not installed.
    """
    if transport not in ("stdio", "http"):
        raise ConfigurationError(f"transport must be 'stdio' or 'http', not {transport!r}")
    server = McpServer(tools, name=name, version=version, **options)
    if transport == "stdio":
        server.run_stdio()
    else:
        server.run_http(host, port)


def _transport_session(headers: Mapping[str, str]) -> str | None:
    return headers.get("mcp-session-id")
