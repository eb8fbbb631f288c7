"""The session with one server, opened and closed by one task."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import logging
import math
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal

from ....text import clip
from ....text.invisible import remove_invisible
from ....tools.threads.slots import FairSlots
from ...events import log_event
from ..reconnect import Attempts
from ..servers import Server
from .background_loop import LoopThread, hold, release
from .disconnects import (
    CLOSED,
    Disconnect,
    describe_failed_start,
    describe_status,
    describe_stop,
    log_failed_start,
    log_stop,
)
from .exit_code import ExitCode
from .stderr_tail import StderrTail
from .tool_list import ToolList

if TYPE_CHECKING:
    import anyio
    from mcp import Client
    from mcp_types import CallToolResult, Implementation

__all__ = ["Connection"]

# The SDK kills a process that ignores the end of its input within about six seconds. Only HTTP can take longer.
_CLOSE_TIMEOUT_SECONDS = 8.0
_UNAUTHORIZED = (401, 403)


class Connection:
    """The session with a server, from its start to its end.

    The attributes and properties and `abandon` may be used from any thread, everything else only on the background
    loop. One task (`_serve`) opens and closes the session, because the SDK's cancel scopes belong to the task that
    entered them. Requests may come from any task of the loop.

    Args:
        server: The server.
        attempts: The schedule of its restarts.
        on_tools_changed: A hook called with the server's name when it reports a change of its tools.

    Attributes:
        state: The state, as in `ServerStatus`.
        client: The SDK's client; None while there is no session.
        listed: The tools that the server listed last.
        info: The server's description of itself.
        closing: Whether the application closed the session.
        session_lost: Whether the HTTP server no longer knows the session.
        refused_status: The HTTP status 401 or 403 if the server refused the credentials the last time; else None.
        instructions: What the server says about the use of its tools.
        calls: The calls that the server may work on at once, shared between tenants.
    """

    def __init__(
        self, server: Server, attempts: Attempts, *, on_tools_changed: Callable[[str], object] | None = None
    ) -> None:
        self.server = server
        self.attempts = attempts
        self.state: Literal["new", "ready", "failed", "stopped", "closed"] = "new"
        self.client: Client | None = None
        self.listed = ToolList(server, lambda: self.client, on_tools_changed)
        self.info: Implementation | None = None
        self.closing = False
        self.session_lost = False
        self.refused_status: int | None = None
        self.instructions: str | None = None
        self.calls = FairSlots(server.max_calls)
        self._disconnect = Disconnect("it was not started yet")
        self._task: asyncio.Task[None] | None = None
        self._thread: LoopThread | None = None
        self._scope: anyio.CancelScope | None = None
        self._ended = asyncio.Event()  # set when the session is to end, or has
        self._settled = asyncio.Event()  # set when opening has come to a result

    # ------------------------------------------------------------------ callable from any thread

    @property
    def running(self) -> bool:
        """True if there is a session in this process; the end of one is noticed with a short delay."""
        return self.client is not None and not self.session_lost and not self.forked

    @property
    def may_start(self) -> bool:
        """True if the session ended and its wait is over; after a lost session there is no wait."""
        if self.forked or self.closing:
            return False
        return self.session_lost or (self.state in ("failed", "stopped") and self.attempts.wait == 0)

    @property
    def due(self) -> bool:
        """True if the server reported a change and no request for the new tools is under way."""
        return self.running and self.listed.due

    @property
    def reason(self) -> str:
        """The reason why there is no session, for the model."""
        return self._disconnect.reason

    @property
    def error(self) -> str | None:
        """The reason for the application; None while the server is ready or if the application closed it."""
        if self.state == "ready" and self.refused_status is not None:
            return (
                f"MCP server {self.server.name!r} refuses the credentials with {describe_status(self.refused_status)}"
            )
        return self._disconnect.error

    @property
    def shown_state(self) -> Literal["new", "ready", "failed", "unauthorized", "stopped", "closed"]:
        """The state for the application: a server that refuses the credentials is neither ready nor failed."""
        refused = self.refused_status is not None and self.state in ("ready", "failed", "stopped")
        return "unauthorized" if refused else self.state

    @property
    def forked(self) -> bool:
        """True if the process was forked after the session started; its loop exists only in the parent."""
        return self._thread is not None and self._thread.pid != os.getpid()

    def abandon(self) -> None:
        """Close soon, without waiting or locking; safe in finalizers."""
        if self._thread is not None and not self.forked:
            self._thread.call_soon(self._request_close)

    # ------------------------------------------------------------------ life of the session

    async def open(self) -> None:
        """Start the server and list its tools. Never raises; afterwards the state is ready or failed."""
        while self._task is not None and self._settled.is_set() and not self.running and not self.forked:
            await self.wait_ended()  # the session ended, but its process still runs
        if self._task is None or self.forked:
            self.closing = False
            self._ended = asyncio.Event()
            self._settled = asyncio.Event()
            self._thread = thread = hold()
            # A new context: that of the first caller must be neither kept alive nor traced by the session.
            own = contextvars.Context()
            self._task = asyncio.create_task(self._serve(), name=f"mcp {self.server.name}", context=own)
            self._task.add_done_callback(lambda _: release(thread))
        await self._settled.wait()

    async def wait_ended(self) -> None:
        """Wait until a session that is closing has ended."""
        task = self._task
        if task is not None and self._ended.is_set():
            await asyncio.wait([task])

    async def wait_ended_within(self, seconds: float) -> None:
        """Wait until the session has ended, at most `seconds`."""
        task = self._task
        if task is not None:
            await asyncio.wait([task], timeout=seconds)

    async def close(self) -> None:
        """End the session and wait until its process is gone; a session of the parent process is left alone."""
        if self.forked:
            return
        self._request_close()
        task = self._task
        if task is not None:
            done, _ = await asyncio.wait([task], timeout=_CLOSE_TIMEOUT_SECONDS)
            if not done and self._scope is not None:
                self._scope.cancel()
                await asyncio.wait([task])
        if self.state != "failed":
            self.state, self._disconnect = "closed", CLOSED

    def _request_close(self) -> None:
        self.closing = True
        self._ended.set()
        if self._scope is not None and self.state != "ready":
            self._scope.cancel()  # only a cancellation ends a connection attempt

    async def _serve(self) -> None:
        stderr = StderrTail()
        exit_code = ExitCode()
        failure: BaseException | None = None
        try:
            await self._session(stderr, exit_code)
        except Exception as error:
            failure = error
        except asyncio.CancelledError:  # the loop ends with the program
            self.closing = True
            raise
        finally:
            self.client = None
            self._scope = None
            self._task = None
            stderr.close()
            self._conclude(failure, str(exit_code), stderr.text())
            self._settled.set()

    async def _session(self, stderr: StderrTail, exit_code: ExitCode) -> None:
        if "mcp" not in sys.modules:  # the import takes up to a second; other sessions continue
            await asyncio.to_thread(importlib.import_module, "mcp")
        import anyio
        from mcp import Client
        from mcp_types import Implementation

        from .transports import open_transport

        # After the start the deadline is removed. The scope stays, because scopes must be left in order.
        with anyio.CancelScope(deadline=anyio.current_time() + self.server.connect_timeout) as self._scope:
            self.session_lost = False
            self.refused_status = None  # another start can fail for another reason
            transport = open_transport(
                self.server,
                stderr,
                exit_code,
                on_end=self._ended.set,
                on_session_lost=self._lose_session,
                on_status=self._note_status,
                version=lambda: _agreed_version(client),
            )
            # No response cache, because a refresh must ask. No `read_timeout`, because start and calls have their own.
            client = Client(
                transport,
                mode=self.server.handshake,
                message_handler=self.listed.on_message,
                cache=None,
                client_info=Implementation(name="toolsearch", version=version("toolsearch")),
            )
            async with client, anyio.create_task_group() as watchers:
                await self.listed.begin(client, watchers)
                self._scope.deadline = math.inf
                self.info = client.server_info
                self.instructions = remove_invisible(client.instructions or "").strip() or None
                _accept_mismatches(client, self.server.name)
                self._disconnect = Disconnect(self._disconnect.reason)
                self.state = "ready"
                self.attempts.started()
                self.client = client
                self._settled.set()
                await self._ended.wait()
                self.client = None
                watchers.cancel_scope.cancel()
        if self._scope.cancelled_caught and not self.closing:
            raise TimeoutError(f"no answer to the handshake within {self.server.connect_timeout:g} s")

    def _note_status(self, status: int) -> None:
        if status in _UNAUTHORIZED:
            if self.refused_status is None:
                log_event(logging.WARNING, "mcp_credentials_refused", server=self.server.name, status=status)
            self.refused_status = status
        elif status < 400:
            self.refused_status = None

    def _lose_session(self) -> None:
        self.session_lost = True
        self._ended.set()

    def _conclude(self, failure: BaseException | None, exited: str, stderr: str) -> None:
        started = self.state == "ready"
        self.listed.session_ended()
        if not self.closing and not self.session_lost:  # a server that lost the session still runs
            self.attempts.ended(started=started)
        if self.closing:
            self.state, self._disconnect = "closed", CLOSED
        elif started:
            disconnect = describe_stop(self.server, failure, exited, stderr, session_lost=self.session_lost)
            self.state, self._disconnect = "stopped", disconnect
            log_stop(self.server, disconnect, stderr, session_lost=self.session_lost)
        else:
            disconnect = describe_failed_start(self.server, failure, exited, stderr, refused=self.refused_status)
            self.state, self._disconnect = "failed", disconnect
            log_failed_start(self.server, disconnect)


def _accept_mismatches(client: Client, server: str) -> None:
    """Let results pass that do not match the output schema of their tool: the call has had its effect."""
    validate = client.session.validate_tool_result

    async def check(name: str, result: CallToolResult) -> None:
        try:
            await validate(name, result)
        except Exception as error:
            shown = clip(name, 100)
            log_event(logging.INFO, "mcp_result_mismatch", error=error, show_text=False, server=server, tool=shown)

    client.session.validate_tool_result = check  # type: ignore[method-assign]  # the SDK has no option for it


def _agreed_version(client: Client) -> str | None:
    """Return the protocol version of the session; None during the handshake."""
    try:
        return client.protocol_version
    except RuntimeError:
        return None
