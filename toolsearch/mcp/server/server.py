"""`McpServer`: the tools of this library as an MCP server, over stdio or streamable HTTP."""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, redirect_stdout
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ...chat.requests import ChatRequest
from ...disclosure.sentences import DEFAULT_INSTRUCTIONS
from ...errors import ConfigurationError, MissingExtraError, public_text
from ...loop.effects import RunTools
from ...loop.execution.batch import arun_batch
from ...messages import ToolCall, ToolMessage
from ...observability.log import with_debug_log
from ...tools.argument_types import validate_type
from ...tools.collect import ToolLike
from ...tools.guard import DefinitionRule, ToolFilter, ToolGuard
from ...tools.predicates import evaluate_predicate, validate_predicate
from ...tools.results.limits import RESULT_MEDIA_BYTES, RESULT_TOKENS, ResultLimits
from ...tools.threads import ToolThreads, run_library_work
from ...tools.threads.running import hold_slot
from ...tools.threads.slots import FairSlots
from ...tools.threads.tenants import acting_for, current_tenant
from ...tools.tool_type import Tool
from ..events import log_event
from .change_notifier import ChangeNotifier
from .client_sessions import ClientSession, find_session
from .encoding import describe_tool, to_call_result
from .progress import SendProgress, progress_to
from .sdk_server import sdk_server
from .served_tools import ServedTools

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams
    from starlette.applications import Starlette

    from ...disclosure.disclosure import Disclosure
    from ...disclosure.pins import Pin
    from ...indexes.protocols import ToolIndex
    from .gateway import Gateway, GatewayTurn

__all__ = ["McpServer", "serve_mcp"]


class McpServer:
    """An MCP server for any tools of this library, over stdio or streamable HTTP.

    A client gets the results that a model would get from `ChatClient`. Arguments are checked against the schema, a
    failed call is a result that says what to change, and images stay images. Sync tools run in worker threads. A call
    that the client cancels is cancelled. Tools of one source with ``concurrent=False`` run one at a time, whichever
    client calls them; clients take turns. If a provider such as `McpTools` changes its tools, clients are notified.

    Args:
        tools: The tools, in any form that `ChatClient` accepts.
        name: The name that the server reports.
        version: The version that the server reports.
        instructions: Text about the server that clients may give to their model.
        context: Values for tools, as in `ChatClient`. Nothing that a client sends is added.
        tool_filter: ``(tool, context) -> bool``: the tools that a client may have, as in `ToolCallingAdvisor`. The
            context has `context`, and the session and tenant of the client. A rejected tool is neither listed, found
            nor run. It is asked at each request.
        on_definition_changed: What becomes of a tool whose definition differs from the one that the session of a client
            listed before, as in `ToolCallingAdvisor`. A withheld tool is neither listed, found nor run. Clients without
            a session get every definition as it is.
        read_only: A predicate of a tool that only reads. Clients may run such tools in parallel and without asking the
            user, so by default no tool is annotated as read-only.
        tool_search: True, an index or the name of one makes the server a gateway. The session of a client lists
            `tool_search`, the pinned tools and the revealed tools, and the client is notified when a search reveals
            more. Pass a `Disclosure` for other settings and eviction.
        pinned: Tools that a gateway always lists, as in `ToolSearchAdvisor`.
        session_key: A function from the headers of an HTTP request (lower-case names) to the session, or to a pair of
            tenant and session. A client can write any header, so use one that a layer in front has authenticated. The
            default is the session that the transport opened. Without a session, as in the protocol of 2026 over HTTP,
            a gateway lists all tools.
        max_result_tokens: Tokens after which the text of a result is cut, as in `ToolCallingAdvisor`. None sets no
            limit. Clients cannot read the rest, so they are advised to ask for less.
        max_result_media_bytes: Bytes of media above which media of a result are left out. None sets no limit.
        threads: The worker threads of sync tools, shared fairly between clients. By default those of the process.

    Raises:
        ConfigurationError: If the name is empty or `tools` contains something that is not a tool.
        DuplicateToolError: If two tools have the same name.
        MissingExtraError: If the extra ``mcp`` is not installed.

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
        tool_filter: ToolFilter | None = None,
        on_definition_changed: DefinitionRule = "reveal",
        read_only: Callable[[Tool], bool] | None = None,
        tool_search: bool | str | ToolIndex | Disclosure = False,
        pinned: Iterable[Pin] | Callable[[Tool], bool] = (),
        session_key: Callable[[Mapping[str, str]], str | tuple[str | None, str] | None] | None = None,
        max_result_tokens: float | None = RESULT_TOKENS,
        max_result_media_bytes: float | None = RESULT_MEDIA_BYTES,
        threads: ToolThreads | None = None,
    ) -> None:
        if importlib.util.find_spec("mcp") is None:
            raise MissingExtraError("mcp", "McpServer")
        if not name.strip():
            raise ConfigurationError(f"name must be a non-empty string, got {name!r}")
        if read_only is not None:
            validate_predicate(read_only, "read_only", "tool")
        if threads is not None:
            validate_type(threads, ToolThreads, "threads", "a ToolThreads", "threads=ToolThreads(64)")
        if session_key is not None:
            validate_predicate(session_key, "session_key", "headers", returns="str | None")
        self.name = name
        self.version = version
        self.instructions = instructions
        self._context = dict(context or {})
        self._guard = ToolGuard(tool_filter, on_definition_changed)
        self._read_only = read_only
        self._notifiers: list[ChangeNotifier] = []
        self._tools = ServedTools(tools, self._notifiers)
        self._lanes: dict[str | None, FairSlots] = {}
        self._threads = threads
        self._session_key = session_key
        self._results = ResultLimits(max_tokens=max_result_tokens, max_media_bytes=max_result_media_bytes)
        self._gateway: Gateway | None = None
        if tool_search is not False:
            from .gateway import Gateway

            self._gateway = Gateway(tool_search, pinned)
            self.instructions = DEFAULT_INSTRUCTIONS if instructions is None else instructions

    # ------------------------------------------------------------------ ways to run

    def run_stdio(self) -> None:
        """Serve one client over standard input and output until it disconnects.

        The output of ``print`` in tools goes to standard error.
        """
        import anyio

        anyio.run(self.arun_stdio)

    async def arun_stdio(self) -> None:
        """Serve one client as `run_stdio` does, on the running event loop."""
        from mcp.server.stdio import stdio_server

        server = self._sdk_server()
        async with stdio_server() as (read, write):
            with redirect_stdout(sys.stderr):  # buffered output would reach the client at exit
                await server.run(read, write, server.create_initialization_options())

    def run_http(self, host: str = "127.0.0.1", port: int = 8000, *, path: str = "/mcp") -> None:
        """Serve streamable HTTP at ``http://host:port/path`` until the process is interrupted.

        There is no authentication. If others can reach `host`, serve `asgi_app` behind a layer that authenticates.

        Args:
            host: The address to listen on.
            port: The port to listen on.
            path: The path of the endpoint.
        """
        import uvicorn

        uvicorn.Server(uvicorn.Config(self.asgi_app(host=host, path=path), host=host, port=port)).run()

    def asgi_app(self, *, host: str = "127.0.0.1", path: str = "/mcp") -> Starlette:
        """Return the server as an ASGI application for a web server or framework, which must run its lifespan.

        Args:
            host: The address of the server. On a local one, requests for other hosts are refused, as a protection
                against DNS rebinding.
            path: The path of the endpoint.
        """
        return self._sdk_server().streamable_http_app(host=host, streamable_http_path=path)

    def tools_changed(self) -> None:
        """Notify clients that the tools may have changed; callable from any thread.

        Changes that the server sees during a request are notified without this.
        """
        for notifier in tuple(self._notifiers):
            notifier.notify_soon()

    def __repr__(self) -> str:
        return f"<McpServer {self.name!r}>"

    # ------------------------------------------------------------------ requests

    def _sdk_server(self) -> Server[Any]:
        return sdk_server(
            self.name,
            version=self.version,
            instructions=self.instructions,
            notifies_changes=self._tools.may_change or self._gateway is not None,
            notifiers=self._notifiers,
            on_list=self._list,
            on_call=self._call,
        )

    async def _list(self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        from mcp import MCPError
        from mcp_types import INTERNAL_ERROR, ListToolsResult

        # The SDK sends the text of an exception to the client, so none may leave this method as it is.
        try:
            session = self._session_of(ctx)
            with acting_for(session.share if session is not None else None):
                tools = await self._admitted_tools(session)
                async with self._turn(session, tools) as turn:
                    tools = turn.listed if turn is not None else tools
            if session is not None and self._tools.may_change:
                self._guard.watch.note_sent(session.key, tools)
            return ListToolsResult(tools=[describe_tool(tool, read_only=self._is_read_only(tool)) for tool in tools])
        except Exception as error:
            log_event(logging.ERROR, "mcp_request_failed", method="tools/list", error=error)
            raise MCPError(INTERNAL_ERROR, f"The tools cannot be listed. {public_text(error)}") from error

    async def _call(self, ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        try:
            session = self._session_of(ctx)
        except Exception as error:
            log_event(logging.ERROR, "mcp_request_failed", method="tools/call", error=error)
            return to_call_result(ToolMessage("", params.name, public_text(error), is_error=True))
        with acting_for(session.share if session is not None else None):
            return await self._call_for(session, ctx, params)

    async def _call_for(
        self, session: ClientSession | None, ctx: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        try:
            tools = await self._admitted_tools(session)
        except Exception as error:
            log_event(logging.ERROR, "mcp_request_failed", method="tools/call", error=error)
            return to_call_result(ToolMessage("", params.name, public_text(error), is_error=True))
        try:
            result, revealed = await self._answer(ctx, params, session, tools)
        except Exception as error:  # its text can quote the arguments
            log_event(logging.ERROR, "mcp_request_failed", method="tools/call", error=error, show_text=False)
            return to_call_result(ToolMessage("", params.name, public_text(error), is_error=True))
        if revealed and session is not None:
            for notifier in self._notifiers:
                await notifier.notify(session.key)
        await self._tools.notify_if_changed()
        return result

    async def _answer(
        self,
        ctx: ServerRequestContext[Any],
        params: CallToolRequestParams,
        session: ClientSession | None,
        tools: tuple[Tool, ...],
    ) -> tuple[CallToolResult, bool]:
        """Return the result of a call, and whether it revealed tools to the session."""
        call = ToolCall(str(ctx.request_id), params.name, json.dumps(params.arguments or {}))
        async with self._turn(session, tools) as turn:
            message = turn.intercept(call) if turn is not None else None
            if message is not None:
                message = self._results.limit(message, None)
            else:
                runnable = turn.tools if turn is not None else {tool.name: tool for tool in tools}
                message = await self._run(call, runnable, ctx.session.report_progress, session)
            return to_call_result(message), turn is not None and turn.revealed_tools

    async def _run(
        self, call: ToolCall, tools: Mapping[str, Tool], progress: SendProgress, session: ClientSession | None
    ) -> ToolMessage:
        request = self._request_of(session)
        tool = tools.get(call.name)
        async with AsyncExitStack() as stack:
            if tool is not None and not tool.concurrent:
                lane = self._lanes.setdefault(tool.source, FairSlots(1))
                await stack.enter_async_context(hold_slot(lane, current_tenant()))
            await stack.enter_async_context(progress_to(progress))
            batch = RunTools(calls=(call,), tools=tools, request=request, results=self._results)
            # Limited, also if it is a direct result, which is for a model here.
            done = await arun_batch(batch, with_debug_log(None), threads=self._threads, tenant=current_tenant())
            return batch.limit(done.messages[0])

    async def _admitted_tools(self, session: ClientSession | None) -> tuple[Tool, ...]:
        tools = await self._tools.current()
        key = session.key if session is not None and self._tools.may_change else None
        if key is None and not self._guard.filters:
            return tools
        guard = self._guard.open(self._request_of(session).tool_context(), key)

        def select() -> tuple[Tool, ...]:
            admitted = guard.select(tools)
            guard.compare(admitted)
            return tuple(tool for tool in admitted if not guard.withholds(tool))

        return await run_library_work(select)  # the filter and the rule may block

    def _request_of(self, session: ClientSession | None) -> ChatRequest:
        if session is None:
            return ChatRequest(messages=(), context=self._context)
        return ChatRequest(
            messages=(), context=self._context, session_id=session.session_id, tenant_id=session.tenant_id
        )

    @asynccontextmanager
    async def _turn(self, session: ClientSession | None, tools: tuple[Tool, ...]) -> AsyncIterator[GatewayTurn | None]:
        """Open a gateway's turn for a request; None if the session lists all tools."""
        if self._gateway is None or session is None:
            yield None
            return
        turn = await run_library_work(partial(self._gateway.open, session.key, tools))  # it may build an index
        try:
            yield turn
        finally:
            turn.close()

    def _is_read_only(self, tool: Tool) -> bool:
        try:
            return self._read_only is not None and evaluate_predicate(self._read_only(tool), "read_only")
        except Exception as error:
            log_event(logging.ERROR, "mcp_hook_failed", hook="read_only", tool=tool.name, error=error)
            return False

    def _session_of(self, ctx: ServerRequestContext[Any]) -> ClientSession | None:
        session = find_session(ctx, self._session_key)
        if session is not None and (self._tools.may_change or self._gateway is not None):
            for notifier in self._notifiers:
                notifier.remember(session.key, ctx.session)
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
    """Serve tools until the client disconnects (stdio) or the process is interrupted (HTTP).

    Args:
        tools: The tools, in any form that `ChatClient` accepts.
        name: The name that the server reports.
        version: The version that the server reports.
        transport: ``"stdio"``, or ``"http"`` at ``http://host:port/mcp``.
        host: The address to listen on, for HTTP.
        port: The port to listen on, for HTTP.
        options: Further arguments of `McpServer`.

    Raises:
        ConfigurationError: If the transport is unknown, or for the reasons given in `McpServer`.
        MissingExtraError: If the extra ``mcp`` is not installed.
    """
    if transport not in ("stdio", "http"):
        raise ConfigurationError(f"transport must be 'stdio' or 'http', got {transport!r}")
    server = McpServer(tools, name=name, version=version, **options)
    if transport == "stdio":
        server.run_stdio()
    else:
        server.run_http(host, port)
