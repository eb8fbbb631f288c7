"""One server's session, opened and closed by one task."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import logging
import math
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

from .errors import McpToolError
from .events import log_event
from .exit_code import ExitCode
from .loop import LoopThread, hold, release
from .reconnect import Attempts
from .servers import HttpServer, Server, StdioServer
from .stderr_tail import StderrTail

if TYPE_CHECKING:
    import anyio
    from anyio.abc import TaskGroup
    from mcp import Client
    from mcp.shared.dispatcher import ProgressFnT
    from mcp_types import CallToolResult, Implementation, ServerNotification
    from mcp_types import Tool as McpTool

__all__ = ["Connection", "ProgressHook", "SessionLostError"]

ProgressHook: TypeAlias = Callable[[str, str, float, float | None, str | None], object]
"""Called with the server's name, its name of the tool, the progress, and the total and a message if there are any."""

_MAX_PAGES = 1000
_LISTEN_PATIENCE = 5.0
_RELISTEN_PAUSE = 1.0
# A process that ignores the end of its input is killed by the SDK within about six seconds; what takes longer is HTTP.
_CLOSE_PATIENCE = 8.0
_REASON_PATIENCE = 1.0
_CLOSED = "it was closed by the application"


class SessionLostError(McpToolError):
    """The server refused a request because it has forgotten the session: it was restarted, or the session expired."""


class Connection:
    """A server's session and what is known of it.

    Everything but `running`, `may_start`, `refuse`, `abandon` and the plain attributes is used on the background loop.
    The session lives in one task (`_serve`) from opening to closing, because the SDK's cancel scopes belong to the task
    that entered them; requests come from any task of the loop.

    Attributes:
        state: see `ServerStatus`.
        attempts: when it may be started again.
        tools: the tools listed last; kept when the server stops, so that the names of the others stay what they are.
        listings: how often they were taken, so that others see when there are new ones.
        error: what ended it, with the end of its stderr; for the application.
        reason: the same in a few words of ours, for the model, which has no business with paths, addresses or stderr.
    """

    def __init__(
        self,
        server: Server,
        attempts: Attempts,
        *,
        on_progress: ProgressHook | None = None,
        on_tools_changed: Callable[[str], object] | None = None,
    ) -> None:
        self.server = server
        self.attempts = attempts
        self._on_progress = on_progress
        self._on_tools_changed = on_tools_changed
        self.state: Literal["new", "ready", "failed", "stopped", "closed"] = "new"
        self.tools: tuple[McpTool, ...] = ()
        self.info: Implementation | None = None
        self.listings = 0
        self.error: str | None = None
        self.reason = "it has not been started"
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread: LoopThread | None = None
        self._scope: anyio.CancelScope | None = None
        self._ended = asyncio.Event()  # set when the session is to end, or has
        self._settled = asyncio.Event()  # set when opening has come to a result
        self._closing = False
        self._forgotten = False
        self._stale = False  # the server has said that its list changed since
        self._relisting: asyncio.Task[None] | None = None
        self._asked = 0  # listings asked for
        self._taken = 0  # the latest of them that was answered

    # ------------------------------------------------------------------ from any thread

    @property
    def running(self) -> bool:
        """Whether it has a session here (one that has just died may still seem to)."""
        return self._client is not None and not self._elsewhere

    @property
    def may_start(self) -> bool:
        """Whether it has ended and may be started again by now; one that only forgot its session runs all the same."""
        waited = self._forgotten or self.attempts.wait == 0
        return self.state in ("failed", "stopped") and not self._elsewhere and waited

    @property
    def due(self) -> bool:
        """Whether its list has changed and nobody asks for the new one yet."""
        return self._stale and self.running and (self._relisting is None or self._relisting.done())

    @property
    def _elsewhere(self) -> bool:
        """Whether this process was forked since the session was opened: the loop it lives on has stayed behind."""
        return self._thread is not None and self._thread.pid != os.getpid()

    def abandon(self) -> None:
        """Close soon, without waiting or locking: for finalizers."""
        if self._thread is not None and not self._elsewhere:
            self._thread.call_soon(self._request_close)

    # ------------------------------------------------------------------ life of the session

    async def open(self) -> None:
        """Start the server, shake hands and list its tools; on return it is ready or failed, and never raises."""
        while self._task is not None and self._settled.is_set() and not self.running and not self._elsewhere:
            await self.over()  # no session any more, but its process is not quite gone
        if self._task is None or self._elsewhere:
            self._closing = False
            self._ended = asyncio.Event()
            self._settled = asyncio.Event()
            self._thread = thread = hold()
            # A context of its own: whoever happens to be the first caller must not be kept, nor traced, for ever.
            own = contextvars.Context()
            self._task = asyncio.create_task(self._serve(), name=f"mcp {self.server.name}", context=own)
            self._task.add_done_callback(lambda _: release(thread))
        await self._settled.wait()

    async def over(self) -> None:
        """Wait for the end of a session that is ending."""
        task = self._task
        if task is not None and self._ended.is_set():
            await asyncio.wait([task])

    async def close(self) -> None:
        """End the session and wait until its process is gone; a session opened before a fork is left alone."""
        if self._elsewhere:
            return
        self._request_close()
        task = self._task
        if task is not None:
            done, _ = await asyncio.wait([task], timeout=_CLOSE_PATIENCE)
            if not done and self._scope is not None:
                self._scope.cancel()
                await asyncio.wait([task])
        if self.state != "failed":
            self.state, self.reason, self.error = "closed", _CLOSED, None

    def _request_close(self) -> None:
        self._closing = True
        self._ended.set()
        if self._scope is not None and self.state != "ready":
            self._scope.cancel()  # still connecting: nothing but a cancellation ends that

    async def _serve(self) -> None:
        stderr = StderrTail()
        exit_code = ExitCode()
        failure: BaseException | None = None
        try:
            await self._session(stderr, exit_code)
        except Exception as error:
            failure = error
        except asyncio.CancelledError:  # by the loop, which ends with the program
            self._closing = True
            raise
        finally:
            self._client = None
            self._scope = None
            self._task = None
            stderr.close()
            self._conclude(failure, str(exit_code), stderr.text())
            self._settled.set()

    async def _session(self, stderr: StderrTail, exit_code: ExitCode) -> None:
        if "mcp" not in sys.modules:  # takes the better part of a second, in which other sessions go on
            await asyncio.to_thread(importlib.import_module, "mcp")
        import anyio
        from mcp import Client

        from .transports import open_transport

        # The deadline is lifted, not the scope left: scopes must be left in the order they were entered.
        with anyio.CancelScope(deadline=anyio.current_time() + self.server.connect_timeout) as self._scope:
            self._forgotten = False
            transport = open_transport(self.server, stderr, exit_code, ended=self._ended.set, forgotten=self._forget)
            # No response cache: a refresh must ask. No `read_timeout`: connecting has its deadline, calls have theirs.
            client = Client(transport, mode=self.server.handshake, message_handler=self._on_message, cache=None)
            async with client, anyio.create_task_group() as watchers:
                await self._start_watching(client, watchers)
                self._take(await self._list(client))
                self._scope.deadline = math.inf
                self.info = client.server_info
                self.error = None
                self.state = "ready"
                self.attempts.started()
                self._client = client
                self._settled.set()
                await self._ended.wait()
                self._client = None
                watchers.cancel_scope.cancel()
        if self._scope.cancelled_caught and not self._closing:
            raise TimeoutError(f"no answer to the handshake within {self.server.connect_timeout:g} s")

    def _forget(self) -> None:
        self._forgotten = True
        self._ended.set()

    def _conclude(self, failure: BaseException | None, exited: str, stderr: str) -> None:
        started = self.state == "ready"
        self._stale = False
        if not self._closing and not self._forgotten:  # a server that forgets sessions is there all the same
            self.attempts.ended(started=started)
        if self._closing:
            self.state, self.reason, self.error = "closed", _CLOSED, None
        elif started:
            self._stopped(failure, exited, stderr)
        else:
            self._failed(failure, exited, stderr)

    def _stopped(self, failure: BaseException | None, exited: str, stderr: str) -> None:
        name = self.server.name
        self.state = "stopped"
        self.reason = "it has forgotten this session" if self._forgotten else exited or "the connection to it broke"
        detail = self.reason if exited or failure is None or self._forgotten else _describe(failure)
        self.error = f"MCP server {name!r} stopped: {detail}{_quoted(stderr)}"
        level = logging.INFO if self._forgotten else logging.WARNING
        log_event(level, "mcp_server_stopped", server=name, reason=detail)
        if stderr:
            log_event(logging.DEBUG, "mcp_server_stderr", server=name, stderr=stderr)

    def _failed(self, failure: BaseException | None, exited: str, stderr: str) -> None:
        server = self.server
        self.state = "failed"
        started = "reached" if isinstance(server, HttpServer) else "started"
        self.reason = exited or f"it could not be {started}"
        detail = exited if exited or failure is None else _describe(failure)
        # Arguments and headers may hold secrets, and stay out.
        where = server.command if isinstance(server, StdioServer) else server.url
        self.error = f"MCP server {server.name!r} did not start: {detail or self.reason} [{where}]{_quoted(stderr)}"
        log_event(logging.WARNING, "mcp_server_not_started", server=server.name, error=self.error)

    # ------------------------------------------------------------------ the list of tools

    def relist_soon(self) -> asyncio.Task[None]:
        """List the tools again in a task of its own, which whoever began it need not wait for."""
        own = contextvars.Context()
        self._relisting = asyncio.create_task(self.relist(), name=f"mcp list {self.server.name}", context=own)
        return self._relisting

    async def relist(self) -> None:
        """List the tools again; if that fails, the tools known so far stay."""
        client = self._client
        if client is None:
            return
        import anyio

        self._stale = False  # before asking: a change while the answer is under way counts again
        self._asked += 1
        asked = self._asked
        try:
            with anyio.fail_after(self.server.connect_timeout):
                tools = await self._list(client)
        except Exception as error:
            if self._client is client:  # else it has ended, and whoever calls is told
                log_event(logging.WARNING, "mcp_tools_not_listed", server=self.server.name, error=repr(error))
        else:
            if self._client is client and asked > self._taken:  # nobody who asked later has been answered
                self._taken = asked
                self._take(tools)

    def _take(self, tools: tuple[McpTool, ...]) -> None:
        self.tools = tools
        self.listings += 1

    async def _list(self, client: Client) -> tuple[McpTool, ...]:
        tools: dict[str, McpTool] = {}
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(_MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                tools.setdefault(tool.name, tool)
            cursor = page.next_cursor
            if cursor is None or cursor in seen:
                break
            seen.add(cursor)
        return tuple(tools.values())

    async def _on_message(self, message: ServerNotification | Exception) -> None:
        if not isinstance(message, Exception) and message.method == "notifications/tools/list_changed":
            self._changed()

    def _changed(self) -> None:
        self._stale = True
        if self._on_tools_changed is not None:
            try:
                self._on_tools_changed(self.server.name)
            except Exception:
                self._hook_failed("on_tools_changed")

    async def _start_watching(self, client: Client, watchers: TaskGroup) -> None:
        """On protocols since 2026 a client must ask to be told of changes; before, `_on_message` is told unasked."""
        import anyio
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        capability = client.server_capabilities.tools
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS and capability is not None and capability.list_changed:
            watching = anyio.Event()
            watchers.start_soon(self._watch, client, watching)
            with anyio.move_on_after(_LISTEN_PATIENCE):
                await watching.wait()

    async def _watch(self, client: Client, watching: anyio.Event) -> None:
        import anyio
        from mcp.client.subscriptions import SubscriptionLost

        try:
            while True:
                async with client.listen(tools_list_changed=True) as changes:
                    watching.set()
                    with suppress(SubscriptionLost):
                        async for _ in changes:
                            self._changed()
                await anyio.sleep(_RELISTEN_PAUSE)
                self._changed()  # nothing is replayed: what changed meanwhile is unknown
        except Exception as error:  # its tools work all the same
            log_event(logging.DEBUG, "mcp_changes_not_told", server=self.server.name, error=repr(error))
        finally:
            watching.set()

    # ------------------------------------------------------------------ calls

    def refuse(self) -> NoReturn:
        """Tell the model that this server's tools cannot be used.

        Raises:
            McpToolError: always.
        """
        reason, outlook = self.reason, self._outlook
        if self._elsewhere:
            reason = "it belongs to the process this one was forked from"
        if self._elsewhere or self.state == "closed":
            outlook = "its tools cannot be used now"
        running = "connected" if isinstance(self.server, HttpServer) else "running"
        raise McpToolError(f"server {self.server.name!r} is not {running}: {reason}; {outlook}")

    @property
    def _outlook(self) -> str:
        return self.attempts.outlook(remote=isinstance(self.server, HttpServer))

    async def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool.

        Raises:
            McpToolError: no result came; the message says why.
            SessionLostError: the server, reached over HTTP, does not know this session any more; it ran nothing.
        """
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

        client = self._client
        if client is None:
            self.refuse()
        try:
            result = await client.call_tool(
                tool,
                arguments,
                read_timeout_seconds=self.server.timeout,
                progress_callback=self._progress_of(tool),
            )
        except MCPError as error:
            if self._forgotten and not self._closing:
                raise SessionLostError(
                    f"server {self.server.name!r} has forgotten this session; nothing was run"
                ) from error
            if error.code == CONNECTION_CLOSED:
                raise McpToolError(await self._broke_off(tool)) from error
            if error.code == REQUEST_TIMEOUT:
                raise McpToolError(
                    f"tool {tool!r} of server {self.server.name!r} did not answer within {self.server.timeout:g} s; "
                    "it was told to stop, but what it had done by then is not undone"
                ) from error
            raise McpToolError(f"server {self.server.name!r} refused the call of {tool!r}: {error.message}") from error
        except Exception as error:
            raise McpToolError(
                f"server {self.server.name!r} gave an answer to {tool!r} that cannot be used: {_describe(error)}"
            ) from error
        self.attempts.answered()
        return result

    def _progress_of(self, tool: str) -> ProgressFnT | None:
        """What the SDK calls with a call's progress; None, so that servers are not asked for it, if nobody listens."""
        hook = self._on_progress
        if hook is None:
            return None
        context = contextvars.copy_context()  # the caller's; the SDK calls from a task with its own

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            try:
                context.run(hook, self.server.name, tool, progress, total, message)
            except Exception:
                self._hook_failed("on_progress")

        return tell

    def _hook_failed(self, hook: str) -> None:
        log_event(logging.ERROR, "mcp_hook_failed", exc_info=True, server=self.server.name, hook=hook)

    async def _broke_off(self, tool: str) -> str:
        task = self._task
        if task is not None:  # wait a little for the reason; a process that lingers takes longer than is worth waiting
            await asyncio.wait([task], timeout=_REASON_PATIENCE)
        reason, outlook = self.reason, self._outlook
        if self._closing:
            reason, outlook = _CLOSED, "its tools cannot be used now"
        elif self._client is not None or self.state == "ready":
            reason, outlook = "it closed the connection", "its tools can be tried again"
        return (
            f"server {self.server.name!r} stopped while it ran {tool!r}: {reason}; whether the call took effect is "
            f"unknown; {outlook}"
        )


def _quoted(stderr: str) -> str:
    return f"; its stderr ends with:\n{stderr}" if stderr else ""


def _describe(error: BaseException) -> str:
    """One line for an error, looking through the groups that anyio wraps errors in."""
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return "it closed the connection"
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and text:  # a timeout, a missing command
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
